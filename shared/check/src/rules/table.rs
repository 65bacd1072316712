//! The table of rules, and their sources.

use super::info::{Info, Profile, Severity, Source, bits, source};

const PROTOCOL: Source = source("sitemaps.org", "https://www.sitemaps.org/protocol.html");
const XML: Source = source("XML 1.0", "https://www.w3.org/TR/xml/");
const ROBOTS: Source = source("RFC 9309", "https://www.rfc-editor.org/rfc/rfc9309");
const HTTP: Source = source("RFC 9110", "https://www.rfc-editor.org/rfc/rfc9110");
const GZIP: Source = source("RFC 1952", "https://www.rfc-editor.org/rfc/rfc1952");
const URI: Source = source("RFC 3986", "https://www.rfc-editor.org/rfc/rfc3986");
const W3C: Source = source(
    "W3C date and time formats",
    "https://www.w3.org/TR/NOTE-datetime",
);
const LIGHTHOUSE: Source = source(
    "Lighthouse",
    "https://developer.chrome.com/docs/lighthouse/seo/invalid-robots-txt",
);
const GOOGLE: Source = source(
    "Google",
    "https://developers.google.com/search/docs/crawling-indexing/sitemaps/build-sitemap",
);
const GOOGLE_ROBOTS: Source = source(
    "Google",
    "https://developers.google.com/search/docs/crawling-indexing/robots/robots_txt",
);
const GOOGLE_URLS: Source = source(
    "Google",
    "https://developers.google.com/search/docs/crawling-indexing/url-structure",
);
const GOOGLE_IMAGES: Source = source(
    "Google",
    "https://developers.google.com/search/docs/crawling-indexing/sitemaps/image-sitemaps",
);
const GOOGLE_VIDEOS: Source = source(
    "Google",
    "https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps",
);
const GOOGLE_NEWS: Source = source(
    "Google",
    "https://developers.google.com/search/docs/crawling-indexing/sitemaps/news-sitemap",
);
const GOOGLE_LANGUAGES: Source = source(
    "Google",
    "https://developers.google.com/search/docs/specialty/international/localized-versions",
);
const BING: Source = source(
    "Bing",
    "https://www.bing.com/webmasters/help/sitemaps-3b5cf6ed",
);
const GOOGLE_TAGS: Source = source(
    "Google",
    "https://developers.google.com/search/docs/crawling-indexing/robots-meta-tag",
);
const GOOGLE_CANONICAL: Source = source(
    "Google",
    "https://developers.google.com/search/docs/crawling-indexing/consolidate-duplicate-urls",
);
const GOOGLE_CRAWLING: Source = source(
    "Google",
    "https://developers.google.com/search/docs/crawling-indexing/http-network-errors",
);
const CACHING: Source = source("RFC 9111", "https://www.rfc-editor.org/rfc/rfc9111");
const FETCH: Source = source("WHATWG Fetch", "https://fetch.spec.whatwg.org/");
const YOAST: Source = source(
    "Yoast",
    "https://developer.yoast.com/features/xml-sitemaps/functional-specification/",
);
const WAYMARK: Source = source("Waymark", "https://www.sitemaps.org/protocol.html");

const SIGNALS: Source = source("Content signals", "https://contentsignals.org/");

const EVERYBODY: u8 = bits(&[
    Profile::Protocol,
    Profile::Google,
    Profile::Bing,
    Profile::Waymark,
]);
const ANYBODY: u8 = bits(&[Profile::Protocol, Profile::Waymark]);
const GOOGLES: u8 = bits(&[Profile::Google, Profile::Waymark]);
const NAMES: u8 = bits(&[Profile::Yoast, Profile::Waymark]);
const PROMISES: u8 = bits(&[Profile::Waymark]);
const ENGINES: u8 = bits(&[Profile::Google, Profile::Bing, Profile::Waymark]);

macro_rules! rules {
    ($($rule:ident $id:literal $severity:ident $profiles:ident $source:ident, $what:literal, $why:literal, $remedy:literal;)*) => {
        /// A rule.
        #[expect(clippy::doc_markdown, reason = "texts for people, shown without markup")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Rule {
            $(#[doc = $what] $rule,)*
        }

        impl Rule {
            /// All rules, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$rule,)*];
        }

        pub(super) const TABLE: [Info; Rule::ALL.len()] = [$(Info {
            id: $id,
            severity: Severity::$severity,
            profiles: $profiles,
            what: $what,
            why: $why,
            remedy: $remedy,
            source: $source,
        },)*];
    };
}

rules! {
    RobotsStatus "robots.status" Error ANYBODY ROBOTS,
        "robots.txt answers 200 as text/plain",
        "Crawlers find sitemaps through robots.txt; one that fails may stop all crawling.",
        "Serve /robots.txt with status 200 and Content-Type: text/plain.";
    RobotsAbsent "robots.absent" Warning ANYBODY ROBOTS,
        "a site has a robots.txt",
        "With a status 4xx crawlers assume that there is no robots.txt: they read everything, and find no sitemap \
         through it.",
        "Serve /robots.txt with a line that names the sitemap.";
    RobotsSitemap "robots.sitemap" Error ANYBODY PROTOCOL,
        "robots.txt names a sitemap by its absolute URL",
        "Crawlers that know no other address find no sitemap, and several readers lose relative URLs.",
        "Add a line `Sitemap: https://www.example.com/sitemap.xml`.";
    RobotsForm "robots.form" Warning ANYBODY ROBOTS,
        "robots.txt has no byte order mark, no comment after a sitemap's URL, and at most 500 KiB",
        "Some readers lose the first line or the sitemap, and crawlers may ignore everything after 500 KiB.",
        "Save the file as UTF-8 without a mark, put comments on lines of their own, and shorten it.";
    RobotsUnknown "robots.unknown" Warning GOOGLES LIGHTHOUSE,
        "robots.txt has only directives that are known",
        "An unknown directive is ignored, and is often a misspelt one.",
        "Correct the directive's name, or remove the line.";
    RobotsGroup "robots.group" Warning ANYBODY ROBOTS,
        "rules in robots.txt follow a User-agent line",
        "A rule outside of a group applies to no crawler.",
        "Put the line below the User-agent line that it applies to.";
    RobotsEncoding "robots.encoding" Warning GOOGLES GOOGLE_ROBOTS,
        "paths in robots.txt are percent-encoded",
        "Google's matcher reads raw letters. Crawlers that compare bytes, as Colly does, find that the rule matches nothing.",
        "Percent-encode the path as UTF-8.";
    RobotsSplit "robots.split" Warning ANYBODY ROBOTS,
        "no other lines separate the User-agent lines of a group",
        "Only a rule ends the list of agents, but some widely used readers end it at other lines too, and so obey \
         different rules.",
        "Put the line after the group's rules, or give each agent its own rules.";
    RobotsSignal "robots.signal" Warning ANYBODY SIGNALS,
        "a Content-Signal has keys with yes or no, each once in a group",
        "Other values have no meaning, and of two values it is unclear which applies.",
        "Write it as in search=yes, ai-input=yes, ai-train=no.";
    RobotsProposal "robots.proposal" Note GOOGLES LIGHTHOUSE,
        "robots.txt has no directive or signal that is only proposed",
        "Crawlers that do not follow the proposal ignore it, and Lighthouse reports the directive.",
        "Keep it if it is meant for crawlers that follow the proposal.";
    RobotsBlocks "robots.blocks" Error EVERYBODY ROBOTS,
        "robots.txt blocks neither Googlebot nor Bingbot from a sitemap or a listed URL",
        "Crawlers do not fetch what robots.txt disallows, even if a sitemap lists it.",
        "Allow the path, or take the URL out of the sitemap.";

    IndexReachable "index.reachable" Error ANYBODY PROTOCOL,
        "the sitemap or index that the site names can be read",
        "Crawlers find none of the pages that it lists.",
        "Correct the address, or the server.";
    IndexInRobots "index.in_robots" Warning ANYBODY PROTOCOL,
        "robots.txt names the index that is checked",
        "Search engines to which it was not submitted do not find it.",
        "Add its URL to robots.txt as a Sitemap line.";
    IndexNaming "index.naming" Error NAMES YOAST,
        "sitemaps are named {type}-sitemap{n}.xml: the first without a number, the others from 2 on",
        "Search engines know the old addresses, and redirects lead from /{type}-sitemap1.xml to the first.",
        "Rename the sitemaps.";
    IndexNested "index.nested" Warning ANYBODY PROTOCOL,
        "no index lists an index",
        "Google and others do not follow it.",
        "List the sitemaps in one index, or name several indexes in robots.txt.";
    IndexLastmod "index.lastmod" Warning ANYBODY PROTOCOL,
        "the index's lastmod is not older than what the sitemap lists",
        "A crawler that compares it does not fetch the sitemap again, and misses the change.",
        "Write the newest lastmod of the sitemap into the index.";
    IndexDup "index.dup" Warning ANYBODY PROTOCOL,
        "no sitemap is listed twice",
        "It is fetched twice, and counts twice towards limits.",
        "List each sitemap once.";
    IndexScope "index.scope" Error ANYBODY PROTOCOL,
        "an index lists sitemaps of its own scheme and host",
        "Others are ignored, unless the other host's robots.txt allows it.",
        "Move the sitemap to the index's host, or name it in robots.txt.";
    IndexDead "index.dead" Error ANYBODY PROTOCOL,
        "no index lists a sitemap that is gone",
        "Search engines report the index as faulty and retry for months.",
        "Take the sitemap out of the index, or bring it back.";
    IndexEmpty "index.empty" Warning ANYBODY PROTOCOL,
        "no sitemap or index is empty, except a feed",
        "The schemas forbid an empty one, and Google warns of it.",
        "Take an empty sitemap out of the index.";

    FileStatus "file.status" Error ANYBODY HTTP,
        "every listed sitemap answers 200",
        "Crawlers find none of the pages that it lists.",
        "Look at the server's answer, and allow everyone to read the sitemap.";
    FileRedirect "file.redirect" Warning ANYBODY PROTOCOL,
        "a sitemap's address does not redirect",
        "Each fetch needs another request, and some readers do not follow redirects.",
        "List the address to which the redirect leads.";
    FileCtype "file.ctype" Warning ANYBODY HTTP,
        "the Content-Type fits the document's format",
        "Browsers and some readers rely on it.",
        "Serve XML as application/xml, text as text/plain, .gz as application/gzip.";
    FileHtml "file.html" Error ANYBODY PROTOCOL,
        "a sitemap's address does not answer with a web page",
        "A catch-all page answers 200 for everything, so nobody notices that the sitemap is missing.",
        "Make the server answer 404 for addresses that do not exist, and publish the sitemap.";
    FileGzip "file.gzip" Error ANYBODY GZIP,
        "a compressed body is compressed once, as one complete gzip member, and declared as gzip",
        "Readers inflate once, and many stop after the first member.",
        "Compress once: either as .gz, or with Content-Encoding: gzip.";
    FileTruncated "file.truncated" Error ANYBODY PROTOCOL,
        "a document is complete",
        "Some readers silently use the part that arrived, others use nothing.",
        "Write to a temporary name first, then replace the old document in one step.";
    FileLength "file.length" Warning ANYBODY HTTP,
        "Content-Length is the number of bytes sent",
        "Readers wait for bytes that never come, or drop the document.",
        "Let the server compute the length.";
    FileWellformed "file.wellformed" Error ANYBODY XML,
        "a document is well-formed XML in UTF-8, with nothing before its declaration",
        "Readers drop the whole document.",
        "Write it with an XML library, as UTF-8.";
    FileBom "file.bom" Note ANYBODY XML,
        "a document has no byte order mark",
        "XML allows it. A reader of text files may lose the first URL, as crawlee for Python does.",
        "Save the file as UTF-8 without a mark.";
    FileDtd "file.dtd" Warning ANYBODY XML,
        "a document has no DOCTYPE",
        "Entities may expand without limit, so careful readers refuse it.",
        "Remove the DOCTYPE.";
    FileEntity "file.entity" Error ANYBODY XML,
        "no entity of a DOCTYPE is used",
        "Careful readers do not expand it, so URLs change or are lost.",
        "Write the text itself, and remove the DOCTYPE.";
    FileSchema "file.schema" Error ANYBODY PROTOCOL,
        "elements, attributes and values follow the schemas, in the right order",
        "A reader that validates drops the entry or the document.",
        "Write the elements in the order of the protocol.";
    FilePrefix "file.prefix" Note ANYBODY XML,
        "the elements of a sitemap have no prefix",
        "XML allows one. Several readers look for <loc> alone, and find no URL.",
        "Declare the sitemap's namespace without a prefix: <urlset xmlns=…>.";
    FileLimits "file.limits" Error ANYBODY PROTOCOL,
        "at most 50,000 entries and 52,428,800 bytes uncompressed",
        "Search engines refuse the document or read only its beginning.",
        "Split it, and list the parts in an index.";
    FileNear "file.near" Note ANYBODY PROTOCOL,
        "a document is below 95 % of each limit",
        "It will soon be over it.",
        "Split it now.";
    FileSlow "file.slow" Warning ENGINES GOOGLE,
        "a document arrives within 10 seconds",
        "Crawlers give up, and come less often to a slow site.",
        "Write sitemaps when content changes, not on each request.";

    LocHost "loc.host" Error ANYBODY PROTOCOL,
        "a sitemap lists URLs of its own scheme and host, below its folder",
        "Search engines ignore other URLs.",
        "List the URL in a sitemap of its own host, or name this one in the other host's robots.txt.";
    ScopeUnknown "scope.unknown" Warning ANYBODY PROTOCOL,
        "where a sitemap lists URLs of another host, that host's robots.txt can be read",
        "The sitemap may list them only if that robots.txt names it.",
        "Make the other host's robots.txt readable, and name the sitemap in it.";
    LocForm "loc.form" Error ANYBODY URI,
        "a loc is an absolute http or https URL, with spaces and other special characters percent-encoded",
        "Readers repair it in different ways, or drop it.",
        "Write the URL as a browser sends it.";
    LocSpelling "loc.spelling" Warning ANYBODY URI,
        "a loc is in ASCII, has scheme and host in lower case, and no fragment",
        "Other spellings are valid, but readers that compare texts see two pages.",
        "Write the URL as a browser sends it.";
    LocEscape "loc.escape" Note ANYBODY PROTOCOL,
        "a loc is plain text with only the five predefined entities, and without white space around it",
        "XML allows CDATA, references, comments and spaces, but some readers keep them in the URL or lose it.",
        "Write the URL right between the tags, with & as &amp;.";
    LocAbsent "loc.absent" Warning ANYBODY PROTOCOL,
        "each item of a feed has a link",
        "An item without one lists nothing.",
        "Give each item the address of its page.";
    LocSitemap "loc.sitemap" Warning ANYBODY PROTOCOL,
        "no sitemap is listed as a page",
        "A sitemap is not a page for people, and only an index should list it.",
        "Take it out, or list it in an index.";
    LocDoubleEncoded "loc.double_encoded" Warning ANYBODY URI,
        "a loc is percent-encoded once",
        "%2520 and %20 are different addresses, and the first is usually a 404.",
        "Encode the URL once.";
    LocLength "loc.length" Error ANYBODY PROTOCOL,
        "a loc has 12 to 2,047 characters",
        "Longer ones are not read.",
        "Shorten the URL.";
    LocDup "loc.dup" Warning ANYBODY PROTOCOL,
        "no sitemap lists a URL twice, however it is spelled",
        "It is unclear which lastmod counts, and the limit is reached sooner.",
        "List each URL once.";
    LocDupAcross "loc.dup_across" Warning ANYBODY PROTOCOL,
        "no URL is in two sitemaps, except one of videos, one of news and a feed",
        "It is unclear which lastmod counts.",
        "List each URL in one sitemap of pages.";
    LocVariants "loc.variants" Warning GOOGLES GOOGLE_URLS,
        "only one form of a page's URL is listed",
        "With and without a slash, with a word in other case, with http or www are different pages for a crawler.",
        "List only the canonical form.";
    LocTracking "loc.tracking" Note GOOGLES GOOGLE_URLS,
        "a loc has no tracking or session parameter",
        "Crawlers see a different page for each value.",
        "List the URL without it.";

    LastmodW3c "lastmod.w3c" Error ANYBODY W3C,
        "a lastmod is a date, or a date and time with seconds and a zone",
        "Readers ignore it, or the entry; the schema refuses 2026-01 and 10:20Z.",
        "Write 2026-01-02 or 2026-01-02T03:04:05+00:00.";
    LastmodFuture "lastmod.future" Error ENGINES BING,
        "no lastmod is more than a day in the future",
        "Bing rejects it, and search engines stop trusting the site's lastmods.",
        "Write when the page last changed.";
    LastmodZone "lastmod.zone" Warning ENGINES GOOGLE,
        "a lastmod with a time has a zone",
        "Without a zone the time is uncertain by 26 hours.",
        "Add Z or +00:00.";
    LastmodSame "lastmod.same" Warning ENGINES GOOGLE,
        "lastmods differ from page to page",
        "When nearly all pages share one, it is the time of a build, and search engines stop trusting it.",
        "Write when each page itself last changed.";
    LastmodNow "lastmod.now" Warning ENGINES GOOGLE,
        "a lastmod is not the time of the fetch",
        "It changes with each fetch, so search engines stop trusting it.",
        "Write when the page last changed.";
    LastmodAbsent "lastmod.absent" Note ENGINES BING,
        "at least one page of the site has a lastmod",
        "Bing's main signal for fetching a page again is missing.",
        "Write when each page last changed.";

    ExtImage "ext.image" Warning GOOGLES GOOGLE_IMAGES,
        "at most 1,000 images a page, each with an absolute image:loc",
        "Search engines ignore other images.",
        "Give each image its absolute URL.";
    ExtImageDead "ext.image_dead" Note GOOGLES GOOGLE_IMAGES,
        "no image has caption, geo_location, title or license",
        "Google has not read them since August 2022.",
        "Leave them out.";
    ExtOrder "ext.order" Error ANYBODY PROTOCOL,
        "elements of extensions are in the order of their schemas, and after lastmod, changefreq and priority",
        "A reader that validates drops the entry or the document.",
        "Write the elements in the schemas' order.";
    ExtVideoRequired "ext.video_required" Error GOOGLES GOOGLE_VIDEOS,
        "a video has thumbnail_loc, title, description, and content_loc or player_loc",
        "The video is ignored.",
        "Add what is missing, or leave the video out.";
    ExtVideoDead "ext.video_dead" Note GOOGLES GOOGLE_VIDEOS,
        "no video has category, gallery_loc, price or tvshow",
        "Google no longer reads them.",
        "Leave them out.";
    ExtNewsAge "ext.news_age" Warning GOOGLES GOOGLE_NEWS,
        "news are at most two days old",
        "Older ones are ignored, and mean that the sitemap is stale.",
        "Take news out after two days.";
    ExtNewsCount "ext.news_count" Error GOOGLES GOOGLE_NEWS,
        "at most 1,000 news a sitemap",
        "The rest is ignored.",
        "Split the sitemap.";
    ExtNewsLanguage "ext.news_language" Error GOOGLES GOOGLE_NEWS,
        "a news language has two or three letters, or is zh-cn or zh-tw",
        "The news item is ignored.",
        "Write `en`, not `en-GB`.";
    ExtHreflangCode "ext.hreflang_code" Error GOOGLES GOOGLE_LANGUAGES,
        "hreflang is a language, optionally with a script and a region of ISO 3166-1, or x-default",
        "The link is ignored.",
        "Write `en-GB`, not `en_GB`, `en-UK` or `uk-english`.";
    ExtLink "ext.link" Error GOOGLES GOOGLE_LANGUAGES,
        "a link has an href",
        "The link is ignored.",
        "Write the address as href=\"…\".";
    ExtHreflangSelf "ext.hreflang_self" Warning GOOGLES GOOGLE_LANGUAGES,
        "a page with alternates lists itself among them",
        "Search engines may ignore the set.",
        "Add a link to the page itself.";
    ExtHreflangReturn "ext.hreflang_return" Warning GOOGLES GOOGLE_LANGUAGES,
        "pages listed as alternates link back",
        "Search engines ignore alternates that are linked in one direction only.",
        "Give all pages of a set the same links.";
    ExtHreflangTwo "ext.hreflang_two" Warning GOOGLES GOOGLE_LANGUAGES,
        "a set of alternates has each language once",
        "It is unclear which page is meant.",
        "Remove one of the two, or distinguish them by region.";
    ExtForeign "ext.foreign" Warning ANYBODY PROTOCOL,
        "a document has only elements of known extensions, and only inside entries",
        "Several readers find no URL in such a document.",
        "Remove the element.";
    ExtIgnored "ext.ignored" Note PROMISES GOOGLE,
        "no entry has priority or changefreq",
        "Google ignores both, and Bing largely; Yandex says that it uses priority. They are valid and harmless, so \
         only the profile waymark reports them.",
        "Leave them out.";

    SetMissing "set.missing" Error ANYBODY WAYMARK,
        "every expected URL is listed",
        "The --expected file lists it.",
        "Find out why it is not published.";
    SetExtra "set.extra" Error ANYBODY WAYMARK,
        "nothing but the expected URLs is listed",
        "The --expected file does not list it.",
        "Find out why it is published, or add it to the file.";
    SetLastmod "set.lastmod" Error ANYBODY WAYMARK,
        "lastmods match the expected ones",
        "The --expected file has a different one.",
        "Check when the page last changed.";

    SetImages "set.images" Error ANYBODY WAYMARK,
        "a page's images match the expected ones",
        "The --expected file has different ones.",
        "Check which images the page has.";
    SetAlternates "set.alternates" Error ANYBODY WAYMARK,
        "a page's alternates match the expected ones",
        "The --expected file has different ones.",
        "Check which translations the page has.";

    PageStatus "page.status" Error ENGINES GOOGLE,
        "a listed page answers 200",
        "Search engines drop it, and trust the sitemap less.",
        "Remove pages that are gone from the sitemap, let crawlers in, and fix server errors.";
    PageSoft404 "page.soft_404" Warning ENGINES GOOGLE_CRAWLING,
        "a listed page answers differently from a missing page, and does not redirect to the home page",
        "Search engines treat it as missing, whatever its status, and drop it.",
        "Answer 404 for pages that do not exist, and remove pages that are gone from the sitemap.";
    PageRedirect "page.redirect" Warning ENGINES GOOGLE,
        "a listed page does not redirect",
        "Each fetch needs another request, and search engines index the other URL.",
        "List the URL to which the redirect leads.";
    PageNoindex "page.noindex" Error ENGINES GOOGLE_TAGS,
        "a listed page may be indexed",
        "The sitemap asks search engines to index it, and the page forbids it.",
        "Take the page out of the sitemap, or remove noindex.";
    PageCanonical "page.canonical" Error ENGINES GOOGLE_CANONICAL,
        "a listed page is its own canonical page",
        "The sitemap names one URL of the page, and the page another. A canonical URL that redirects or is gone \
         helps nobody.",
        "List the canonical URL, and let the page name one that answers 200.";
    PageBlocked "page.blocked" Error ENGINES ROBOTS,
        "robots.txt allows a listed page, if the sitemap was checked without its site's robots.txt",
        "Crawlers do not fetch what robots.txt disallows, even if a sitemap lists it.",
        "Allow the path, or take the page out of the sitemap.";
    PageAlternates "page.alternates" Warning GOOGLES GOOGLE_LANGUAGES,
        "a page's own alternates match those in the sitemap",
        "It is unclear which set counts.",
        "Write the same set in both, or only in one of them.";
    PageOlder "page.older" Warning ENGINES GOOGLE,
        "a lastmod is not older than the page's own date",
        "A crawler that compares lastmods does not fetch the page again, and misses the change.",
        "Write when the page last changed.";

    HdrRobotsTag "hdr.robots_tag" Error NAMES YOAST,
        "a sitemap has X-Robots-Tag: noindex, follow",
        "Sitemaps may show up as search results.",
        "Add the header.";
    HdrValidators "hdr.validators" Error PROMISES HTTP,
        "a sitemap has an ETag and a Last-Modified, both well formed",
        "Every fetch costs the whole document.",
        "Send both headers.";
    HdrCache "hdr.cache" Error PROMISES CACHING,
        "a sitemap has Cache-Control with an age, no-cache or no-store",
        "Caches guess how long it is fresh.",
        "Send Cache-Control.";
    Hdr304 "hdr.304" Error PROMISES HTTP,
        "a conditional GET gets a 304 without a body if nothing changed, and else a 200; If-None-Match comes first",
        "Crawlers that send conditional requests download too much, or miss a change.",
        "Compare validators as RFC 9110, 13 says.";
    HdrHead "hdr.head" Error PROMISES HTTP,
        "HEAD has GET's status and headers, and no body",
        "Clients that send HEAD learn something wrong about the document.",
        "Answer HEAD like GET, without the body.";
    HdrIdentity "hdr.identity" Error PROMISES HTTP,
        "the compressed and the plain form have the same content, only clients that accept gzip get the compressed \
         one, and Vary says so",
        "Caches send clients a form that they cannot read.",
        "Send Vary: Accept-Encoding, and compress only for clients that accept it.";
    HdrEtagVariants "hdr.etag_variants" Error PROMISES HTTP,
        "the compressed and the plain form do not share a strong ETag",
        "A cache may join the parts of two different bodies.",
        "Give each form an ETag of its own, or a weak one.";
    HdrCrawlerAccept "hdr.crawler_accept" Error PROMISES WAYMARK,
        "a crawler gets XML whatever its Accept says",
        "Crawlers send browsers' Accept headers, and cannot read a web page.",
        "Show a web page only to navigations, by Sec-Fetch-Dest.";
    HdrBrowserView "hdr.browser_view" Error PROMISES FETCH,
        "a browser's navigation gets a web page, or XML with a stylesheet; Vary says so if they differ",
        "People see bare XML, or a cache sends them the form for crawlers.",
        "Serve a view, with Vary: Sec-Fetch-Dest.";
    HdrNosniff "hdr.nosniff" Error PROMISES FETCH,
        "a sitemap has X-Content-Type-Options: nosniff",
        "Browsers guess types, and guess wrong.",
        "Send the header.";

    RouteSitemapXml "route.sitemap_xml" Error NAMES YOAST,
        "/sitemap.xml is the index, or a 301 to it",
        "It is where many readers look first.",
        "Redirect it.";
    RoutePage01 "route.page01" Error NAMES YOAST,
        "{type}-sitemap1.xml and {type}-sitemap0.xml are 301 to {type}-sitemap.xml",
        "Search engines may know those addresses.",
        "Redirect them.";
    Route404 "route.404" Error NAMES YOAST,
        "other addresses are a 404: unknown types, numbers past the end, numbers with leading zeros",
        "Crawlers treat whatever answers as a sitemap.",
        "Answer 404.";
    Route405 "route.405" Error PROMISES HTTP,
        "POST, PUT and DELETE are 405 with Allow: GET, HEAD, or 403 from a CDN",
        "A request that should only read might change something.",
        "Answer 405.";
    RouteQuery "route.query" Error PROMISES WAYMARK,
        "a query does not change the document",
        "Caches and crawlers add queries.",
        "Ignore the query.";

    CheckLimits "check.limits" Warning ANYBODY WAYMARK,
        "the whole site was checked",
        "A limit of this command ended the check early.",
        "Raise the limit that the message names.";
    CheckAllowance "check.allowance" Warning ANYBODY WAYMARK,
        "no allowance of waymark-check.toml is past its date",
        "It was meant to end then, and its findings count again.",
        "Fix these findings, or set a later date.";
}

//! All rules, in one table: id, severity, who asks for it, what it says, why, and how to mend it.
//!
//! Rules of the independent checker in `tests/conformance` have the same names here, where both have them.

use std::fmt;
use std::sync::Arc;

use crate::known::Known;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Good to know.
    Note,
    /// Some reader may lose something.
    Warning,
    /// The protocol forbids it, or readers lose pages.
    Error,
}

impl Severity {
    /// `note`, `warning` or `error`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Whose demands are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// sitemaps.org, the schemas, and the RFCs of HTTP, gzip and robots.txt.
    Protocol,
    /// Google's search engine.
    Google,
    /// Microsoft's search engine.
    Bing,
    /// What Waymark promises of its own sitemaps.
    Waymark,
}

impl Profile {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Protocol, Self::Google, Self::Bing, Self::Waymark];
    /// Those that are checked unless others are asked for.
    pub const DEFAULT: [Self; 3] = [Self::Protocol, Self::Google, Self::Bing];

    /// Its name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Protocol => "protocol",
            Self::Google => "google",
            Self::Bing => "bing",
            Self::Waymark => "waymark",
        }
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

const fn of(profiles: &[Profile]) -> u8 {
    let (mut bits, mut at) = (0, 0);
    while at < profiles.len() {
        bits |= profiles[at].bit();
        at += 1;
    }
    bits
}

/// Who says so, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its name.
    pub name: &'static str,
    /// Where it says so.
    pub link: &'static str,
}

const fn source(name: &'static str, link: &'static str) -> Source {
    Source { name, link }
}

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
const WAYMARK: Source = source("Waymark", "https://www.sitemaps.org/protocol.html");

const ANYBODY: u8 = of(&[Profile::Protocol, Profile::Waymark]);
const GOOGLES: u8 = of(&[Profile::Google, Profile::Waymark]);
const ENGINES: u8 = of(&[Profile::Google, Profile::Bing, Profile::Waymark]);

/// What a rule says.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Its name, `group.rule`.
    pub id: &'static str,
    /// How bad it is, unless the user says otherwise.
    pub severity: Severity,
    profiles: u8,
    /// What must be so.
    pub what: &'static str,
    /// What happens if it is not.
    pub why: &'static str,
    /// How to mend it.
    pub remedy: &'static str,
    /// Whose rule it is.
    pub source: Source,
}

impl Info {
    /// Whether one of these profiles asks for it.
    #[must_use]
    pub fn is_in(&self, profiles: &[Profile]) -> bool {
        self.profiles & of(profiles) != 0
    }

    /// The profiles that ask for it.
    pub fn profiles(&self) -> impl Iterator<Item = Profile> {
        let bits = self.profiles;
        Profile::ALL
            .into_iter()
            .filter(move |profile| bits & profile.bit() != 0)
    }
}

macro_rules! rules {
    ($($rule:ident $id:literal $severity:ident $profiles:ident $source:ident, $what:literal, $why:literal, $remedy:literal;)*) => {
        /// A rule.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Rule {
            $(#[doc = $what] $rule,)*
        }

        impl Rule {
            /// All rules, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$rule,)*];
        }

        const TABLE: [Info; Rule::ALL.len()] = [$(Info {
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
    RobotsSitemap "robots.sitemap" Error ANYBODY PROTOCOL,
        "robots.txt names a sitemap by its absolute URL",
        "A crawler that was told nothing else finds no sitemap; relative URLs are lost by several readers.",
        "Add a line `Sitemap: https://www.example.com/sitemap.xml`.";
    RobotsForm "robots.form" Warning ANYBODY ROBOTS,
        "robots.txt has no byte order mark, no comment behind a sitemap's URL, and at most 500 KiB",
        "Some readers lose the first line, or the sitemap; what is behind 500 KiB need not be read.",
        "Save the file as UTF-8 without a mark, put comments on lines of their own, and shorten it.";
    RobotsUnknown "robots.unknown" Warning GOOGLES LIGHTHOUSE,
        "robots.txt has only directives that are known",
        "An unknown directive is ignored, and is often a misspelt one.",
        "Correct the directive's name, or remove the line.";
    RobotsGroup "robots.group" Warning ANYBODY ROBOTS,
        "rules of robots.txt are behind a User-agent line",
        "A rule outside a group is for nobody.",
        "Put the line below the User-agent line that it is for.";
    RobotsEncoding "robots.encoding" Warning GOOGLES GOOGLE_ROBOTS,
        "paths in robots.txt are percent-encoded",
        "Crawlers compare encoded paths: a raw letter may match nothing.",
        "Percent-encode the path as UTF-8.";
    RobotsBlocks "robots.blocks" Error ANYBODY ROBOTS,
        "robots.txt disallows neither a sitemap nor a URL that is listed",
        "A crawler will not fetch what it is told to list.",
        "Allow the path, or take the URL out of the sitemap.";

    IndexReachable "index.reachable" Error ANYBODY PROTOCOL,
        "the sitemap or index that the site names can be read",
        "Nothing that it lists is found.",
        "Correct the address, or the server.";
    IndexNested "index.nested" Warning ANYBODY PROTOCOL,
        "no index lists an index",
        "Google and others do not follow it.",
        "List the sitemaps in one index, or name several indexes in robots.txt.";
    IndexLastmod "index.lastmod" Warning ANYBODY PROTOCOL,
        "the index's lastmod is not older than what the sitemap lists",
        "A crawler that compares it does not fetch the sitemap again, and misses the change.",
        "Write the newest lastmod of the sitemap into the index.";
    IndexDup "index.dup" Error ANYBODY PROTOCOL,
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
        "a sitemap or index lists something",
        "The schemas forbid an empty one, and Google warns of it.",
        "Take an empty sitemap out of the index.";

    FileStatus "file.status" Error ANYBODY HTTP,
        "every listed sitemap answers 200",
        "What it lists is not found.",
        "See what the server answers, and let everybody read it.";
    FileRedirect "file.redirect" Warning ANYBODY PROTOCOL,
        "a sitemap is where its address says",
        "Each fetch costs another one, and some readers do not follow it.",
        "List the address to which the redirect leads.";
    FileCtype "file.ctype" Warning ANYBODY HTTP,
        "the Content-Type fits the form",
        "Browsers and some readers go by it.",
        "Serve XML as application/xml, text as text/plain, .gz as application/gzip.";
    FileHtml "file.html" Error ANYBODY PROTOCOL,
        "a sitemap's address does not answer with a web page",
        "A catch-all page answers 200 for everything, so nobody notices that the sitemap is missing.",
        "Let the server answer 404 for what is not there, and publish the sitemap.";
    FileGzip "file.gzip" Error ANYBODY GZIP,
        "a body is compressed once, by one whole gzip member, and says so",
        "Readers inflate once, and many stop after the first member.",
        "Compress once: either as .gz, or with Content-Encoding: gzip.";
    FileTruncated "file.truncated" Error ANYBODY PROTOCOL,
        "a document is whole",
        "Some readers take a part for the whole without a word, others take nothing.",
        "Write documents to another name first, and replace the old one at once.";
    FileLength "file.length" Warning ANYBODY HTTP,
        "Content-Length is the number of bytes sent",
        "Readers wait for what never comes, or drop the document.",
        "Let the server compute the length.";
    FileWellformed "file.wellformed" Error ANYBODY XML,
        "a document is well-formed XML in UTF-8, with nothing before its declaration",
        "Readers drop the whole document.",
        "Write it with an XML library, as UTF-8 without a byte order mark.";
    FileDtd "file.dtd" Error ANYBODY XML,
        "a document has no DOCTYPE",
        "Entities may expand without limit, so careful readers refuse it.",
        "Remove the DOCTYPE.";
    FileSchema "file.schema" Error ANYBODY PROTOCOL,
        "elements, attributes and values are those of the schemas, in their order",
        "A reader that validates drops the entry or the document.",
        "Write the elements in the order of the protocol.";
    FileLimits "file.limits" Error ANYBODY PROTOCOL,
        "at most 50,000 entries and 52,428,800 bytes uncompressed",
        "Search engines refuse the document or read its beginning.",
        "Split it, and list the parts in an index.";
    FileNear "file.near" Note ANYBODY PROTOCOL,
        "a document is not over 95 % of a limit",
        "It will soon be over it.",
        "Split it now.";
    FileSlow "file.slow" Warning ENGINES GOOGLE,
        "a document comes within 10 seconds",
        "Crawlers give up, and come less often to a slow site.",
        "Write sitemaps when content changes, not when they are asked for.";

    LocHost "loc.host" Error ANYBODY PROTOCOL,
        "a sitemap lists URLs of its own scheme and host, below its folder",
        "Others are ignored.",
        "List the URL in a sitemap of its own host, or name this one in the other host's robots.txt.";
    LocForm "loc.form" Error ANYBODY URI,
        "a loc is an absolute, percent-encoded http or https URL without a fragment",
        "Readers repair it in different ways, or drop it.",
        "Write the URL as a browser sends it.";
    LocEscape "loc.escape" Error ANYBODY PROTOCOL,
        "a loc is plain text with only the five predefined entities, and without white space around it",
        "Readers that search for tags take CDATA, character references and spaces into the URL.",
        "Write the URL right between the tags, with & as &amp;.";
    LocDoubleEncoded "loc.double_encoded" Warning ANYBODY URI,
        "a loc is percent-encoded once",
        "%2520 is another address than %20, and is mostly a 404.",
        "Encode the URL once.";
    LocLength "loc.length" Error ANYBODY PROTOCOL,
        "a loc has 12 to 2,047 characters",
        "Longer ones are not read.",
        "Shorten the URL.";
    LocDup "loc.dup" Error ANYBODY PROTOCOL,
        "no URL is twice in a sitemap",
        "It is unclear which lastmod counts, and the limit is reached sooner.",
        "List each URL once.";
    LocDupAcross "loc.dup_across" Warning ANYBODY PROTOCOL,
        "no URL is in two sitemaps",
        "It is unclear which lastmod counts.",
        "List each URL in one sitemap.";
    LocVariants "loc.variants" Warning GOOGLES GOOGLE_URLS,
        "only one form of a page's URL is listed",
        "With and without a slash, in other case, with http or www are different pages for a crawler.",
        "List the canonical form alone.";
    LocTracking "loc.tracking" Note GOOGLES GOOGLE_URLS,
        "a loc has no tracking or session parameter",
        "Each value is a page of its own for a crawler.",
        "List the URL without it.";

    LastmodW3c "lastmod.w3c" Error ANYBODY W3C,
        "a lastmod is a date, or a date and time with seconds and a zone",
        "Readers ignore it, or the entry; the schema refuses 2026-01 and 10:20Z.",
        "Write 2026-01-02 or 2026-01-02T03:04:05+00:00.";
    LastmodFuture "lastmod.future" Error ENGINES BING,
        "no lastmod is more than a day ahead",
        "Bing rejects it, and a site that does so is not believed.",
        "Write when the page last changed.";
    LastmodZone "lastmod.zone" Warning ENGINES GOOGLE,
        "a lastmod with a time has a zone",
        "It may mean any of 26 hours.",
        "Add Z or +00:00.";
    LastmodSame "lastmod.same" Warning ENGINES GOOGLE,
        "lastmods differ",
        "When nearly all pages share one, it is the time of a build, and search engines stop to believe it.",
        "Write when each page itself last changed.";
    LastmodNow "lastmod.now" Warning ENGINES GOOGLE,
        "a lastmod is not the time of the fetch",
        "It changes with each fetch, so search engines stop to believe it.",
        "Write when the page last changed.";
    LastmodAbsent "lastmod.absent" Note ENGINES BING,
        "some page of the site has a lastmod",
        "Bing's main signal for fetching a page again is missing.",
        "Write when each page last changed.";

    ExtImage "ext.image" Warning GOOGLES GOOGLE_IMAGES,
        "at most 1,000 images a page, each with an absolute image:loc",
        "Others are ignored.",
        "Give each image its absolute URL.";
    ExtImageDead "ext.image_dead" Note GOOGLES GOOGLE_IMAGES,
        "no image has caption, geo_location, title or license",
        "Google has not read them since August 2022.",
        "Leave them out.";
    ExtOrder "ext.order" Error ANYBODY PROTOCOL,
        "elements of extensions are in the order of their schemas, and behind lastmod, changefreq and priority",
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
        "hreflang is a language, perhaps with a script and a region, or x-default",
        "The link is ignored.",
        "Write `en-GB`, not `en_GB` or `uk-english`.";
    ExtHreflangSelf "ext.hreflang_self" Warning GOOGLES GOOGLE_LANGUAGES,
        "a page with alternates is among them",
        "Search engines may ignore the set.",
        "Add a link to the page itself.";
    ExtHreflangReturn "ext.hreflang_return" Warning GOOGLES GOOGLE_LANGUAGES,
        "alternates link back",
        "A pair that is linked one way is ignored.",
        "Give all pages of a set the same links.";
    ExtHreflangTwo "ext.hreflang_two" Error GOOGLES GOOGLE_LANGUAGES,
        "a set has each language once",
        "It is unclear which page is meant.",
        "Remove one of the two, or tell them apart by region.";
    ExtForeign "ext.foreign" Warning ANYBODY PROTOCOL,
        "only elements of known extensions, and only inside of an entry",
        "Several readers find no URL in such a document.",
        "Remove the element.";
    ExtIgnored "ext.ignored" Note GOOGLES GOOGLE,
        "no entry has priority or changefreq",
        "Google ignores both, and Bing largely.",
        "Leave them out.";

    SetMissing "set.missing" Error ANYBODY WAYMARK,
        "every expected URL is listed",
        "The file of --expected names it.",
        "See why it is not published.";
    SetExtra "set.extra" Error ANYBODY WAYMARK,
        "nothing but the expected URLs is listed",
        "The file of --expected does not name it.",
        "See why it is published, or add it to the file.";
    SetLastmod "set.lastmod" Error ANYBODY WAYMARK,
        "lastmods are the expected ones",
        "The file of --expected has another one.",
        "See when the page last changed.";

    CheckLimits "check.limits" Warning ANYBODY WAYMARK,
        "all of the site was looked at",
        "A limit of this command ended the check early.",
        "Raise the limit that the message names.";
    CheckAllowance "check.allowance" Warning ANYBODY WAYMARK,
        "no allowance of waymark-check.toml is past its date",
        "It was meant to hold until then. What it allowed is a finding again.",
        "Mend what it allowed, or give it a later date.";
}

const _: () = assert!(TABLE.len() == Rule::ALL.len());

impl Rule {
    /// What it says.
    #[must_use]
    pub const fn info(self) -> &'static Info {
        const INFOS: &[Info] = &TABLE;
        &INFOS[self as usize]
    }

    /// Its name.
    #[must_use]
    pub const fn id(self) -> &'static str {
        self.info().id
    }

    /// The rule of this name.
    #[must_use]
    pub fn named(id: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|rule| rule.id() == id)
    }

    /// The rule of this name, or all whose names begin so: `ext.` or `ext`.
    #[must_use]
    pub fn matching(prefix: &str) -> Vec<Self> {
        match Self::named(prefix) {
            Some(rule) => vec![rule],
            None if prefix.is_empty() => Vec::new(),
            None => Self::ALL
                .iter()
                .copied()
                .filter(|rule| rule.id().starts_with(prefix))
                .collect(),
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.id())
    }
}

/// Which rules hold, and how bad each is.
#[derive(Clone, Debug)]
pub struct Policy {
    levels: [Option<Severity>; Rule::ALL.len()],
    strict: bool,
    known: Option<Arc<Known>>,
}

impl Policy {
    /// The rules of these profiles.
    #[must_use]
    pub fn of(profiles: &[Profile]) -> Self {
        let mut levels = [None; Rule::ALL.len()];
        for rule in Rule::ALL {
            if rule.info().is_in(profiles) {
                levels[*rule as usize] = Some(rule.info().severity);
            }
        }
        Self {
            levels,
            strict: profiles.contains(&Profile::Waymark),
            known: None,
        }
    }

    /// Sets what is known already.
    pub fn set_known(&mut self, known: Known) {
        self.known = Some(Arc::new(known));
    }

    /// What is known of a rule, if anything is.
    pub(crate) fn known(&self, rule: Rule) -> Option<&Known> {
        self.known.as_deref().filter(|known| known.knows(rule))
    }

    /// Sets a rule's level, or switches it off.
    pub fn set(&mut self, rule: Rule, level: Option<Severity>) {
        self.levels[rule as usize] = level;
    }

    /// How bad a finding of this rule is; nothing if it is off.
    #[must_use]
    pub fn level(&self, rule: Rule) -> Option<Severity> {
        self.levels[rule as usize]
    }

    /// Whether what Waymark promises beyond the rules' words is asked for: an index's lastmod is exactly its sitemap's.
    pub(crate) fn is_strict(&self) -> bool {
        self.strict
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::of(&Profile::DEFAULT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_say_what_to_do() {
        for rule in Rule::ALL {
            let info = rule.info();
            assert_eq!(Rule::named(info.id), Some(*rule));
            assert!(info.id.contains('.'), "{}", info.id);
            assert!(info.source.link.starts_with("https://"), "{}", info.id);
            assert!(info.remedy.ends_with('.'), "{}", info.id);
            assert!(info.profiles().count() > 0, "{}", info.id);
        }
    }

    #[test]
    fn a_prefix_means_a_group() {
        assert_eq!(Rule::matching("loc.dup"), [Rule::LocDup]);
        assert!(Rule::matching("ext.").len() > 10);
        assert!(Rule::matching("nothing").is_empty());
        assert!(Rule::matching("").is_empty());
    }

    #[test]
    fn a_profile_decides_which_rules_hold() {
        let usual = Policy::default();
        assert_eq!(usual.level(Rule::LocHost), Some(Severity::Error));
        let google = Policy::of(&[Profile::Google]);
        assert_eq!(google.level(Rule::RobotsUnknown), Some(Severity::Warning));
        assert_eq!(google.level(Rule::LocHost), None);
    }
}

//! An entry of a sitemap as the fields of a record, and the type that a sitemap's name says.

use check::document::elements::Element;
use check::url::path_of;
use serde_json::{Map, Value, json};
use sitemap::record::MAX_TYPE_BYTES;
use sitemap::site::SITE_TYPE;
use sitemap::time::When;

use super::fields::Fields;

/// The type of pages whose sitemap's name says none.
pub(super) const PAGE: &str = "page";
/// Names of the sitemaps that list pages a second time, for what is on them.
const BESIDE: [&str; 2] = ["video", "news"];
/// What is read of an entry, by the element around it.
const READ: [(&str, &[&str]); 5] = [
    (
        "url",
        &[
            "loc",
            "lastmod",
            "image:image",
            "video:video",
            "news:news",
            "xhtml:link",
        ],
    ),
    ("image:image", &["image:loc"]),
    (
        "news:news",
        &["news:publication", "news:publication_date", "news:title"],
    ),
    ("news:publication", &["news:name", "news:language"]),
    (
        "video:video",
        &[
            "video:thumbnail_loc",
            "video:title",
            "video:description",
            "video:content_loc",
            "video:player_loc",
            "video:duration",
            "video:expiration_date",
            "video:rating",
            "video:view_count",
            "video:publication_date",
            "video:family_friendly",
            "video:restriction",
            "video:platform",
            "video:requires_subscription",
            "video:uploader",
            "video:live",
            "video:tag",
        ],
    ),
];
/// What WordPress's own sitemaps have before a type's name.
const CORE: [&str; 2] = ["wp-sitemap-posts-", "wp-sitemap-taxonomies-"];

/// Returns the type of the pages in a sitemap of this name. `post-sitemap2.xml` lists posts, so that Waymark gives its sitemaps the same
/// names.
pub(super) fn type_of(name: &str) -> String {
    if let Some(found) = without_permalinks(name) {
        return as_type(&found);
    }
    // A query may have a slash in it, and a folder's name what begins a query.
    let path = path_of(name).and_then(|path| path.split(['?', '#']).next());
    let name = path.unwrap_or(name).rsplit('/').next().unwrap_or_default();
    let name = name.split(['?', '#']).next().unwrap_or_default();
    let stem = name.strip_suffix(".gz").unwrap_or(name);
    let stem = stem.rsplit_once('.').map_or(stem, |(stem, _)| stem);
    let bare = |text: &str| {
        let text = text.trim_end_matches(|c: char| c.is_ascii_digit());
        text.trim_matches(['-', '_', '.']).to_owned()
    };
    let found = if let Some(rest) = CORE.iter().find_map(|core| stem.strip_prefix(core)) {
        bare(rest)
    } else if stem.starts_with("wp-sitemap-users") {
        "author".to_owned()
    } else if let Some((before, number)) = stem.rsplit_once("-sitemap")
        && number.bytes().all(|byte| byte.is_ascii_digit())
    {
        before.to_owned()
    } else {
        // sitemap-products-1, sitemap_products_1, products_sitemap
        bare(&stem.replacen("sitemap", "", 1))
    };
    as_type(&found)
}

/// Reads the type of the pages from the query of a sitemap's name. WordPress's own sitemaps and Yoast's have it there on a site without
/// permalinks. The type of an index is empty.
fn without_permalinks(name: &str) -> Option<String> {
    let query = name.split('#').next()?.split_once('?')?.1;
    let value = |key: &str| {
        let mut pairs = url::form_urlencoded::parse(query.as_bytes());
        pairs.find_map(|(own, value)| (own == key).then(|| value.into_owned()))
    };
    let subtype = value("sitemap-subtype");
    Some(match (value("sitemap")?.as_str(), subtype) {
        ("users", _) => "author".to_owned(),
        ("index" | "1", _) => String::new(),
        (_, Some(subtype)) => subtype,
        (kind, None) => kind.to_owned(),
    })
}

/// Converts a text to a valid type.
fn as_type(found: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let found: String = found
        .chars()
        .map(|c| if fits(c) { c } else { '-' })
        .take(MAX_TYPE_BYTES)
        .collect();
    match found.as_str() {
        "" | "index" => PAGE.to_owned(),
        SITE_TYPE => format!("{SITE_TYPE}-page"),
        _ => found,
    }
}

/// Returns whether a sitemap of this name lists pages that another sitemap lists, too.
pub(super) fn is_beside(type_name: &str) -> bool {
    BESIDE.contains(&type_name)
}

/// Converts a time of a sitemap to that of a record. Its error says why a record cannot have it.
pub(super) fn time(text: &str) -> Result<String, String> {
    if When::parse(text).is_ok() {
        return Ok(text.to_owned());
    }
    if let Ok(when) = When::parse_relaxed(text, None) {
        return Ok(when.to_string());
    }
    // Seconds may be missing in a W3C time.
    if let Some((date, clock)) = text.split_once('T')
        && let Some(at) = clock.find(['Z', '+', '-'])
        && let (clock, zone) = clock.split_at(at)
        && clock.len() == 5
    {
        let full = format!("{date}T{clock}:00{zone}");
        if When::parse(&full).is_ok() {
            return Ok(full);
        }
    }
    match When::parse_relaxed(text, None) {
        Ok(when) => Ok(when.to_string()),
        Err(error) => Err(format!("{text:?}: {error}")),
    }
}

/// Returns the fields of an entry, except its type. It calls `note` for what it leaves out.
pub(super) fn fields(entry: &Element, mut note: impl FnMut(&str, String)) -> Option<Fields> {
    let loc = entry.get("loc")?;
    let mut fields = Map::new();
    fields.insert("url".to_owned(), loc.into());
    if let Some(text) = entry.get("lastmod") {
        match time(text) {
            Ok(time) => drop(fields.insert("modified_at".to_owned(), time.into())),
            Err(reason) => note("lastmod", format!("{loc}: {reason}")),
        }
    }
    let mut images = Vec::new();
    for image in entry.all("image:image") {
        match image.get("image:loc") {
            Some(url) => images.push(json!({ "url": url })),
            None => note("an image without an address", loc.to_owned()),
        }
    }
    if !images.is_empty() {
        fields.insert("images".to_owned(), images.into());
    }
    let videos: Vec<Value> = entry.all("video:video").map(video).collect();
    if !videos.is_empty() {
        fields.insert("videos".to_owned(), videos.into());
    }
    if let Some(news) = entry.all("news:news").next() {
        let mut own = Map::new();
        let language = news.all("news:publication").next();
        let language = language.and_then(|publication| publication.get("news:language"));
        for (name, text) in [("title", news.get("news:title")), ("language", language)] {
            if let Some(text) = text {
                own.insert(name.to_owned(), text.into());
            }
        }
        fields.insert("news".to_owned(), own.into());
        match news.get("news:publication_date").map(time) {
            Some(Ok(time)) => drop(fields.insert("published_at".to_owned(), time.into())),
            Some(Err(reason)) => note("news:publication_date", format!("{loc}: {reason}")),
            None => {}
        }
    }
    let mut alternates = Vec::new();
    for link in entry.all("xhtml:link") {
        let value = |name| link.attribute(name).filter(|value| !value.is_empty());
        match (value("rel"), value("hreflang"), value("href")) {
            (Some("alternate"), Some(language), Some(url)) => {
                alternates.push(json!({"hreflang": language, "url": url}));
            }
            (Some("alternate"), ..) => {
                note("an alternate without hreflang or href", loc.to_owned());
            }
            _ => note("a link that is no alternate", loc.to_owned()),
        }
    }
    if !alternates.is_empty() {
        fields.insert("alternates".to_owned(), alternates.into());
    }
    pass_over(entry, &mut |name| {
        note(&format!("<{name}>"), loc.to_owned())
    });
    Some(fields)
}

/// Reports each element in an entry for which a record has no place.
fn pass_over(element: &Element, report: &mut impl FnMut(&str)) {
    let read = READ.iter().find(|(name, _)| *name == element.name());
    for child in element.children() {
        if read.is_some_and(|(_, names)| names.contains(&child.name())) {
            pass_over(child, report);
        } else {
            let name = child.name();
            report(name.strip_prefix("other:").unwrap_or(name));
        }
    }
}

/// Returns the publication of an entry that is news.
pub(super) fn publication(entry: &Element) -> Option<&str> {
    let news = entry.all("news:news").next()?;
    news.all("news:publication").next()?.get("news:name")
}

fn video(video: &Element) -> Value {
    let mut fields = Map::new();
    let mut tags = Vec::new();
    for child in video.children() {
        let (Some(name), text) = (child.name().strip_prefix("video:"), child.text()) else {
            continue;
        };
        let value: Value = match name {
            "tag" => {
                tags.push(Value::from(text));
                continue;
            }
            "thumbnail_loc" | "content_loc" | "player_loc" | "title" | "description" => text.into(),
            "publication_date" | "expiration_date" => {
                time(text).unwrap_or_else(|_| text.to_owned()).into()
            }
            // What is no number stays text, so that the record says what is wrong with it.
            "duration" | "view_count" => text
                .parse::<u64>()
                .map_or_else(|_| text.into(), Value::from),
            "rating" => text
                .parse::<f64>()
                .map_or_else(|_| text.into(), Value::from),
            "family_friendly" | "requires_subscription" | "live" => {
                (!text.eq_ignore_ascii_case("no")).into()
            }
            "restriction" | "platform" => {
                let relationship = child.attribute("relationship").unwrap_or("allow");
                let of: Vec<&str> = text.split_ascii_whitespace().collect();
                json!({ relationship: of })
            }
            "uploader" => match child.attribute("info") {
                Some(info) => json!({"name": text, "info": info}),
                None => text.into(),
            },
            _ => continue,
        };
        fields.insert(name.to_owned(), value);
    }
    if !tags.is_empty() {
        fields.insert("tags".to_owned(), tags.into());
    }
    fields.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sitemaps_name_says_the_type_of_its_pages() {
        for (name, expected) in [
            ("https://www.example.com/post-sitemap.xml", "post"),
            ("https://www.example.com/post-sitemap2.xml.gz", "post"),
            ("post_tag-sitemap12.xml", "post_tag"),
            ("my-own-type-sitemap.xml", "my-own-type"),
            ("video-sitemap.xml", "video"),
            ("wp-sitemap-posts-page-1.xml", "page"),
            ("wp-sitemap-taxonomies-category-2.xml", "category"),
            ("wp-sitemap-users-1.xml", "author"),
            ("sitemap_products_1.xml?from=1&to=9", "products"),
            ("sitemap-blog.xml", "blog"),
            ("products_sitemap.xml", "products"),
            ("sitemap.xml", "page"),
            ("sitemap-3.xml.gz", "page"),
            ("sitemap_index.xml", "page"),
            ("site-sitemap.xml", "site-page"),
            ("a.b c-sitemap.xml", "a-b-c"),
            ("käse-sitemap.txt", "k-se"),
            // WordPress without permalinks, and Yoast SEO.
            ("https://a.example/?sitemap=index", "page"),
            (
                "https://a.example/?sitemap=posts&sitemap-subtype=post&paged=1",
                "post",
            ),
            (
                "https://a.example/blog/?paged=2&sitemap-subtype=my_type&sitemap=posts",
                "my_type",
            ),
            (
                "?sitemap=taxonomies&sitemap-subtype=post_tag&paged=1#a",
                "post_tag",
            ),
            (
                "https://a.example/index.php?sitemap=users&paged=1",
                "author",
            ),
            ("https://a.example/?sitemap=1", "page"),
            (
                "https://a.example/?sitemap=product_cat&sitemap_n=2",
                "product_cat",
            ),
            ("https://a.example/post-sitemap.xml?from=a/b", "post"),
            ("old#1?/post-sitemap.xml", "post"),
            ("-", "page"),
        ] {
            assert_eq!(type_of(name), expected, "{name}");
        }
    }

    #[test]
    fn times_of_the_protocol_become_those_of_a_record() {
        for (text, expected) in [
            ("2026-01-02", Some("2026-01-02")),
            ("2026-01-02T03:04:05Z", Some("2026-01-02T03:04:05Z")),
            (
                "2026-01-02T03:04:05.123-08:00",
                Some("2026-01-02T03:04:05.123-08:00"),
            ),
            ("2026-01-02T03:04+01:00", Some("2026-01-02T03:04:00+01:00")),
            ("2026-01-02T03:04Z", Some("2026-01-02T03:04:00Z")),
            ("2026-01", None),
            ("2026-01-02 03:04:05", None),
            (
                "2026-01-02 03:04:05+0100",
                Some("2026-01-02T02:04:05+00:00"),
            ),
            ("2026-01-02 03:04:05 UTC", Some("2026-01-02T03:04:05+00:00")),
            ("2026-01-02T03:04", None),
        ] {
            assert_eq!(time(text).ok().as_deref(), expected, "{text}");
        }
    }
}

//! Names of attributes in the tables of others.
//!
//! They are without `_` and `-` and in lower case, the likeliest first.

pub(super) const KINDS: [&str; 9] = [
    "dynamodeentity",
    "edbe",
    "en",
    "entity",
    "entitytype",
    "type",
    "kind",
    "model",
    "et",
];
pub(super) const URLS: [&str; 4] = ["url", "permalink", "link", "href"];
pub(super) const SLUGS: [&str; 5] = ["slug", "path", "urlpath", "uri", "handle"];
pub(super) const STATES: [&str; 3] = ["status", "state", "poststatus"];
pub(super) const FLAGS: [&str; 5] = ["published", "ispublished", "live", "ispublic", "visible"];
pub(super) const HIDDEN: [&str; 5] = [
    "noindex",
    "hidden",
    "ishidden",
    "unlisted",
    "excludefromsitemap",
];
pub(super) const TEXTS: [(&str, &[&str]); 4] = [
    ("title", &["title", "headline", "name"]),
    ("description", &["description", "summary", "excerpt"]),
    ("canonical_url", &["canonicalurl", "canonical"]),
    ("language", &["language", "lang", "locale"]),
];
pub(super) const TIMES: [(&str, &[&str]); 3] = [
    (
        "modified_at",
        &[
            "modifiedat",
            "updatedat",
            "lastmodified",
            "modified",
            "updated",
            "lastupdated",
            "md",
        ],
    ),
    (
        "published_at",
        &["publishedat", "publishdate", "pubdate", "publishedon"],
    ),
    (
        "expires_at",
        &["expiresat", "expires", "expiry", "unpublishat"],
    ),
];
pub(super) const CREATED: [&str; 4] = ["createdat", "created", "ct", "date"];
pub(super) const IMAGES: [&str; 8] = [
    "images",
    "photos",
    "gallery",
    "media",
    "image",
    "heroimage",
    "cover",
    "thumbnail",
];
pub(super) const IMAGE_URLS: [&str; 4] = ["url", "src", "href", "uri"];
pub(super) const TERMS: [(&str, &[&str]); 2] = [
    ("tag", &["tags", "tag", "keywords"]),
    ("category", &["categories", "category", "section"]),
];
pub(super) const PARTITION_KEYS: [&str; 3] = ["pk", "id", "partitionkey"];
pub(super) const SORT_KEYS: [&str; 3] = ["sk", "sortkey", "rangekey"];

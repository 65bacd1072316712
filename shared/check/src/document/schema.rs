//! The elements of sitemaps as data: their order and number, their attributes and values, and the rules for errors.
//!
//! Written after <https://www.sitemaps.org/schemas/sitemap/0.9/sitemap.xsd>, siteindex.xsd, and Google's schemas for images,
//! videos and news. Limits that Waymark obeys too are those of `waymark-sitemap`.

use sitemap::video::{MAX_DESCRIPTION_CHARS, MAX_DURATION, MAX_TAGS, MAX_TITLE_CHARS, PLATFORMS};

use crate::rules::Rule;
use crate::text::quoted;
use crate::xsd;

mod ns;

pub(crate) use ns::{INSTANCE, Ns};

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Type {
    Text,
    /// A text of at most this many characters.
    Short(usize),
    /// `xsd:anyURI`.
    Address,
    Time,
    Decimal(f64, f64),
    Integer(f64, f64),
    OneOf(&'static [&'static str]),
    /// A language as in the news schema.
    NewsLanguage,
    Genres,
    Tickers,
    Countries,
    Platforms,
    Currency,
    Language,
}

impl Type {
    /// Returns the problem of a value, or `None` if it is valid.
    pub(crate) fn problem(self, text: &str) -> Option<String> {
        (!self.accepts(text)).then(|| self.refusal(text))
    }

    fn accepts(self, text: &str) -> bool {
        match self {
            Self::Text => true,
            Self::Address => xsd::is_any_uri(text),
            Self::Short(most) => text.len() <= most || text.chars().count() <= most,
            Self::Time => xsd::is_date_or_time(text),
            Self::Decimal(least, most) => xsd::is_decimal(text, least, most),
            Self::Integer(least, most) => xsd::is_integer(text, least, most),
            Self::OneOf(words) => words.contains(&text),
            Self::NewsLanguage => {
                matches!(text, "zh-cn" | "zh-tw")
                    || ((2..=3).contains(&text.len())
                        && text.bytes().all(|b| b.is_ascii_lowercase()))
            }
            Self::Genres => !text.is_empty() && items(text).all(|genre| GENRES.contains(&genre)),
            Self::Tickers => {
                text.is_empty() || (items(text).count() <= 5 && items(text).all(is_ticker))
            }
            Self::Countries => {
                let is_country =
                    |code: &str| code.len() == 2 && code.bytes().all(|b| b.is_ascii_uppercase());
                text.is_empty()
                    || (!text.starts_with(' ')
                        && !text.ends_with(' ')
                        && text
                            .split(' ')
                            .all(|code| code.is_empty() || is_country(code)))
            }
            Self::Platforms => {
                text.is_empty() || text.split(' ').all(|name| PLATFORMS.contains(&name))
            }
            Self::Currency => text.len() == 3 && text.bytes().all(|b| b.is_ascii_uppercase()),
            Self::Language => xsd::is_language(text),
        }
    }

    /// Returns the problem of an invalid value.
    fn refusal(self, text: &str) -> String {
        let what = match self {
            Self::Text => return String::new(),
            Self::Short(most) => {
                return format!("has {} characters, more than {most}", text.chars().count());
            }
            Self::Time => "neither a date nor a time with seconds: write 2026-01-02 or 2026-01-02T03:04:05+00:00".to_owned(),
            Self::Decimal(least, most) => format!("not a number from {least} to {most}"),
            Self::Integer(least, most) if most.is_finite() => {
                format!("not a whole number from {least} to {most}")
            }
            Self::Integer(least, _) => format!("not a whole number, {least} or more"),
            Self::OneOf(words) => format!("not one of {}", words.join(", ")),
            Self::NewsLanguage => {
                "not a language of two or three letters, zh-cn or zh-tw".to_owned()
            }
            Self::Genres => format!("not a list of {}", GENRES.join(", ")),
            Self::Tickers => "not a list of at most five EXCHANGE:SYMBOL".to_owned(),
            Self::Countries => "not a list of countries, such as DE AT".to_owned(),
            Self::Platforms => format!("not a list of {}", PLATFORMS.join(", ")),
            Self::Currency => "not a currency, such as EUR".to_owned(),
            Self::Language => "not a language".to_owned(),
            Self::Address => "not an address".to_owned(),
        };
        format!("{} is {what}", quoted(text))
    }
}

/// Returns the items of a comma-separated list. Blanks are allowed before all but the first.
fn items(list: &str) -> impl Iterator<Item = &str> {
    let mut items = list.split(',');
    let first = items.next();
    first
        .into_iter()
        .chain(items.map(|item| item.trim_start_matches(' ')))
}

/// Returns whether a text is an exchange and a symbol, such as `NASDAQ:AMAT`.
fn is_ticker(text: &str) -> bool {
    let is_word = |part: &str| !part.is_empty() && part.chars().all(char::is_alphanumeric);
    text.split_once(':')
        .is_some_and(|(exchange, symbol)| is_word(exchange) && is_word(symbol))
}

const GENRES: [&str; 6] = [
    "PressRelease",
    "Satire",
    "Blog",
    "OpEd",
    "Opinion",
    "UserGenerated",
];

/// The use of an element's text after the check of its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    Nothing,
    Loc,
    Lastmod,
    /// Search engines ignore it.
    Ignored,
    ImageLoc,
    /// An address of a video.
    Address,
    /// The time of a news item.
    NewsDate,
    /// It is obsolete, and this rule reports it.
    Dead(Rule),
}

/// An allowed attribute.
#[derive(Debug)]
pub(crate) struct Attribute {
    pub(crate) name: &'static str,
    pub(crate) kind: Type,
    pub(crate) required: bool,
}

/// The content of an element.
#[derive(Debug)]
pub(crate) enum Content {
    Value(Type),
    Sequence(&'static [Element]),
    /// A sequence of elements, and then elements of extensions.
    Extended(&'static [Element]),
}

/// An element, and how often it may occur at its place.
#[derive(Debug)]
pub(crate) struct Element {
    pub(crate) ns: Ns,
    pub(crate) name: &'static str,
    pub(crate) least: u32,
    pub(crate) most: u32,
    pub(crate) content: Content,
    pub(crate) attributes: &'static [Attribute],
    /// The rule for an invalid value.
    pub(crate) wrong: Rule,
    /// The rule for a missing element.
    pub(crate) missing: Rule,
    pub(crate) used: Use,
}

impl Element {
    /// Returns its name with the usual prefix.
    pub(crate) fn shown(&self) -> String {
        format!("{}{}", self.ns.prefix(), self.name)
    }

    pub(crate) fn children(&self) -> Option<&'static [Element]> {
        match self.content {
            Content::Sequence(children) | Content::Extended(children) => Some(children),
            Content::Value(_) => None,
        }
    }
}

const MANY: u32 = u32::MAX;
const UNLIMITED: f64 = f64::INFINITY;

const fn new(ns: Ns, name: &'static str, least: u32, most: u32, content: Content) -> Element {
    Element {
        ns,
        name,
        least,
        most,
        content,
        attributes: &[],
        wrong: Rule::FileSchema,
        missing: Rule::FileSchema,
        used: Use::Nothing,
    }
}

const fn one(ns: Ns, name: &'static str, kind: Type) -> Element {
    new(ns, name, 1, 1, Content::Value(kind))
}

const fn maybe(ns: Ns, name: &'static str, kind: Type) -> Element {
    new(ns, name, 0, 1, Content::Value(kind))
}

impl Element {
    const fn used(mut self, used: Use) -> Self {
        self.used = used;
        self
    }

    const fn wrong(mut self, rule: Rule) -> Self {
        self.wrong = rule;
        self
    }

    const fn missing(mut self, rule: Rule) -> Self {
        self.missing = rule;
        self
    }

    const fn with(mut self, attributes: &'static [Attribute]) -> Self {
        self.attributes = attributes;
        self
    }

    const fn most(mut self, most: u32) -> Self {
        self.most = most;
        self
    }
}

const fn attribute(name: &'static str, kind: Type) -> Attribute {
    Attribute {
        name,
        kind,
        required: false,
    }
}

const fn required(name: &'static str, kind: Type) -> Attribute {
    Attribute {
        name,
        kind,
        required: true,
    }
}

/// Its length is checked together with its form.
const LOC: Element = one(Ns::Sitemap, "loc", Type::Address).used(Use::Loc);
const LASTMOD: Element = maybe(Ns::Sitemap, "lastmod", Type::Time)
    .used(Use::Lastmod)
    .wrong(Rule::LastmodW3c);
const FREQUENCIES: &[&str] = &[
    "always", "hourly", "daily", "weekly", "monthly", "yearly", "never",
];
const YES_NO: Type = Type::OneOf(&["yes", "Yes", "YES", "no", "No", "NO"]);
const RELATIONSHIP: &[Attribute] = &[required("relationship", Type::OneOf(&["allow", "deny"]))];

static URL: [Element; 4] = [
    LOC,
    LASTMOD,
    maybe(Ns::Sitemap, "changefreq", Type::OneOf(FREQUENCIES)).used(Use::Ignored),
    maybe(Ns::Sitemap, "priority", Type::Decimal(0.0, 1.0)).used(Use::Ignored),
];
static SITEMAP: [Element; 2] = [LOC, LASTMOD];
static IN_URLSET: [Element; 1] = [new(Ns::Sitemap, "url", 1, MANY, Content::Extended(&URL))];
static IN_INDEX: [Element; 1] = [new(
    Ns::Sitemap,
    "sitemap",
    1,
    MANY,
    Content::Extended(&SITEMAP),
)];

/// The root of a sitemap.
pub(crate) static URLSET: Element = new(Ns::Sitemap, "urlset", 1, 1, Content::Extended(&IN_URLSET));
/// The root of an index.
pub(crate) static INDEX: Element = new(
    Ns::Sitemap,
    "sitemapindex",
    1,
    1,
    Content::Extended(&IN_INDEX),
);

const fn dead_image(name: &'static str, kind: Type) -> Element {
    maybe(Ns::Image, name, kind).used(Use::Dead(Rule::ExtImageDead))
}

const fn video(name: &'static str, kind: Type) -> Element {
    one(Ns::Video, name, kind).missing(Rule::ExtVideoRequired)
}

const fn of_video(name: &'static str, kind: Type) -> Element {
    maybe(Ns::Video, name, kind)
}

static IN_IMAGE: [Element; 5] = [
    one(Ns::Image, "loc", Type::Address)
        .used(Use::ImageLoc)
        .missing(Rule::ExtImage),
    dead_image("caption", Type::Text),
    dead_image("geo_location", Type::Text),
    dead_image("title", Type::Text),
    dead_image("license", Type::Address),
];
const SECONDS: Type = Type::Integer(0.0, MAX_DURATION as f64);
static IN_SHOW: [Element; 6] = [
    one(Ns::Video, "show_title", Type::Text),
    one(
        Ns::Video,
        "video_type",
        Type::OneOf(&["full", "preview", "clip", "interview", "news", "other"]),
    ),
    of_video("episode_title", Type::Text),
    of_video("season_number", Type::Integer(1.0, UNLIMITED)),
    of_video("episode_number", Type::Integer(1.0, UNLIMITED)),
    of_video("premier_date", Type::Time),
];
static IN_VIDEO: [Element; 23] = [
    video("thumbnail_loc", Type::Address).used(Use::Address),
    video("title", Type::Short(MAX_TITLE_CHARS)),
    video("description", Type::Short(MAX_DESCRIPTION_CHARS)),
    of_video("content_loc", Type::Address).used(Use::Address),
    of_video("player_loc", Type::Address)
        .used(Use::Address)
        .with(&[
            attribute("allow_embed", YES_NO),
            attribute("autoplay", Type::Text),
        ]),
    of_video("duration", SECONDS),
    of_video("expiration_date", Type::Time),
    of_video("rating", Type::Decimal(0.0, 5.0)),
    of_video("content_segment_loc", Type::Address)
        .most(MANY)
        .with(&[attribute("duration", SECONDS)]),
    of_video("view_count", Type::Integer(0.0, UNLIMITED)),
    of_video("publication_date", Type::Time),
    of_video("tag", Type::Text).most(MAX_TAGS as u32),
    of_video("category", Type::Short(256)).used(Use::Dead(Rule::ExtVideoDead)),
    of_video("family_friendly", YES_NO),
    of_video("restriction", Type::Countries).with(RELATIONSHIP),
    of_video("gallery_loc", Type::Address)
        .with(&[attribute("title", Type::Text)])
        .used(Use::Dead(Rule::ExtVideoDead)),
    of_video("price", Type::Text)
        .most(MANY)
        .with(&[
            attribute("currency", Type::Currency),
            attribute(
                "type",
                Type::OneOf(&["purchase", "PURCHASE", "rent", "RENT"]),
            ),
            attribute("resolution", Type::OneOf(&["sd", "SD", "hd", "HD"])),
        ])
        .used(Use::Dead(Rule::ExtVideoDead)),
    of_video("requires_subscription", YES_NO),
    of_video("uploader", Type::Text).with(&[attribute("info", Type::Address)]),
    new(Ns::Video, "tvshow", 0, 1, Content::Sequence(&IN_SHOW)).used(Use::Dead(Rule::ExtVideoDead)),
    of_video("platform", Type::Platforms).with(RELATIONSHIP),
    of_video("live", YES_NO),
    of_video("id", Type::Text).most(MANY).with(&[required(
        "type",
        Type::OneOf(&[
            "tms:series",
            "tms:program",
            "rovi:series",
            "rovi:program",
            "freebase",
            "url",
        ]),
    )]),
];
static IN_PUBLICATION: [Element; 2] = [
    one(Ns::News, "name", Type::Text),
    one(Ns::News, "language", Type::NewsLanguage)
        .wrong(Rule::ExtNewsLanguage)
        .missing(Rule::ExtNewsLanguage),
];
static IN_NEWS: [Element; 7] = [
    new(
        Ns::News,
        "publication",
        1,
        1,
        Content::Sequence(&IN_PUBLICATION),
    ),
    maybe(
        Ns::News,
        "access",
        Type::OneOf(&["Subscription", "Registration"]),
    ),
    maybe(Ns::News, "genres", Type::Genres),
    one(Ns::News, "publication_date", Type::Time).used(Use::NewsDate),
    maybe(Ns::News, "title", Type::Text),
    maybe(Ns::News, "keywords", Type::Text),
    maybe(Ns::News, "stock_tickers", Type::Tickers),
];

/// The elements of extensions. They may occur in any order and any number.
pub(crate) static EXTENSIONS: [Element; 4] = [
    new(Ns::Image, "image", 0, MANY, Content::Sequence(&IN_IMAGE)),
    new(Ns::Video, "video", 0, MANY, Content::Sequence(&IN_VIDEO)),
    new(Ns::News, "news", 0, MANY, Content::Sequence(&IN_NEWS)),
    new(Ns::Xhtml, "link", 0, MANY, Content::Sequence(&[])).with(&[
        attribute("rel", Type::Text),
        attribute("hreflang", Type::Language),
        attribute("href", Type::Address),
        attribute("media", Type::Text),
        attribute("type", Type::Text),
        attribute("title", Type::Text),
        attribute("charset", Type::Text),
        attribute("rev", Type::Text),
        attribute("id", Type::Text),
        attribute("class", Type::Text),
        attribute("lang", Type::Language),
    ]),
];

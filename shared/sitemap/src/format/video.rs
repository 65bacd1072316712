//! Videos of a page: their fields in a record, and their `<video:video>` elements.
//!
//! - A video with a missing or invalid required field is excluded with a reason. Its page and the other videos stay. Any other
//!   invalid field is omitted alone.
//! - Elements are in the schema's order: <https://www.google.com/schemas/sitemap-video/1.1/sitemap-video.xsd>. Elements that
//!   Google no longer reads are not written: `category`, `gallery_loc`, `price`, `tvshow`. The schema has no width and no height.

use serde_json::{Map, Value};

use crate::format::xml;
use crate::loc::Loc;
use crate::problem::{Problem, cut};
use crate::time::When;

/// The most characters of a title (the schema).
pub const MAX_TITLE_CHARS: usize = 100;
/// The most characters of a description (the schema).
pub const MAX_DESCRIPTION_CHARS: usize = 2_048;
/// The most seconds of a video (the schema): eight hours.
pub const MAX_DURATION: u64 = 28_800;
/// The most tags of a video (the schema).
pub const MAX_TAGS: usize = 32;
/// The most videos of one page. Like the limit of images, this is more than a page can usefully show.
pub const MAX_VIDEOS: usize = 1_000;
/// The most countries of a restriction. There are fewer countries.
const MAX_COUNTRIES: usize = 300;

/// One video.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Video {
    /// The picture.
    pub thumbnail: Loc,
    /// The title, of at most [`MAX_TITLE_CHARS`] characters.
    pub title: String,
    /// The description, of at most [`MAX_DESCRIPTION_CHARS`] characters.
    pub description: String,
    /// The video file. `None` if there is only a player.
    pub content: Option<Loc>,
    /// The player. `None` if there is only a file.
    pub player: Option<Loc>,
    /// The duration in seconds, 1 to [`MAX_DURATION`].
    pub duration: Option<u64>,
    /// The time from which the video is excluded.
    pub expires_at: Option<When>,
    /// The rating in tenths, 0 to 50.
    pub rating: Option<u8>,
    /// The number of views.
    pub view_count: Option<u64>,
    /// The time of the first publication.
    pub published_at: Option<When>,
    /// The tags, at most [`MAX_TAGS`].
    pub tags: Vec<String>,
    /// Whether it is suitable for everybody.
    pub family_friendly: Option<bool>,
    /// The countries where it may be seen, or where it may not.
    pub restriction: Option<Restriction>,
    /// Whether it is for subscribers.
    pub requires_subscription: Option<bool>,
    /// The uploader's name, and the address of a page about them.
    pub uploader: Option<(String, Option<Loc>)>,
    /// The devices on which it may be seen, or on which it may not. See [`PLATFORMS`].
    pub platform: Option<Restriction>,
    /// Whether it is a live stream.
    pub live: Option<bool>,
}

/// A list of allowed or of denied values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restriction {
    /// Whether the values are allowed. Otherwise they are denied.
    pub allow: bool,
    /// The values, in the order given.
    pub of: Vec<String>,
}

/// The platforms of the schema.
pub const PLATFORMS: [&str; 3] = ["web", "mobile", "tv"];

/// The page's values that a video without its own gets.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// The page's title.
    pub title: Option<&'a str>,
    /// The page's description.
    pub description: Option<&'a str>,
    /// The page's tags.
    pub tags: &'a [String],
}

impl Video {
    /// Reads the video at position `at` of a page. Its problems are appended to `problems`.
    #[must_use]
    pub fn parse(
        page: Page<'_>,
        at: usize,
        value: &Value,
        problems: &mut Vec<Problem>,
    ) -> Option<Self> {
        let place = format!("videos[{at}]");
        let Some(map) = value.as_object() else {
            problems.push(Problem::new(&place, "not an object", false));
            return None;
        };
        let mut fields = Fields {
            place,
            map,
            problems,
        };
        let thumbnail = fields.url(&["thumbnail_url", "thumbnail_loc"]);
        let content = fields.url(&["content_url", "content_loc"]);
        let player = fields.url(&["player_url", "player_loc"]);
        let title = fields.text("title").or(page.title.map(str::to_owned));
        let title = title.filter(|title| !xml::is_blank(title));
        let required = |problem: Option<&str>, fields: &mut Fields<'_, '_>| {
            problem.map(|reason| fields.bad("", format!("left out: {reason}")))
        };
        let missing = match (&thumbnail, &title, content.is_none() && player.is_none()) {
            (None, ..) => Some("it has no thumbnail_url"),
            (_, None, _) => Some("neither it nor its page has a title"),
            (_, _, true) => Some("it has neither a content_url nor a player_url"),
            _ => None,
        };
        if required(missing, &mut fields).is_some() {
            return None;
        }
        let (thumbnail, title) = thumbnail.zip(title)?;
        let own = fields.text("description");
        let description = [own, page.description.map(str::to_owned)]
            .into_iter()
            .flatten()
            .find(|text| !xml::is_blank(text))
            .or_else(|| Some(content.as_ref().or(player.as_ref())?.as_str().to_owned()))?;
        let tags = match fields.get("tags") {
            Some(value) => fields.texts("tags", value, MAX_TAGS, |tag| !xml::is_blank(tag)),
            None => page.tags.iter().take(MAX_TAGS).cloned().collect(),
        };
        Some(Self {
            thumbnail,
            title: fields.shortened("title", title, MAX_TITLE_CHARS),
            description: fields.shortened("description", description, MAX_DESCRIPTION_CHARS),
            content,
            player,
            duration: fields.whole("duration", 1..=MAX_DURATION),
            expires_at: fields.when(&["expires_at", "expiration_date"]),
            rating: fields.rating(),
            view_count: fields.whole("view_count", 0..=u64::MAX),
            published_at: fields.when(&["published_at", "publication_date"]),
            tags,
            family_friendly: fields.flag("family_friendly"),
            restriction: fields.restriction("restriction", "countries", MAX_COUNTRIES, |code| {
                code.len() == 2 && code.bytes().all(|b| b.is_ascii_uppercase())
            }),
            requires_subscription: fields.flag("requires_subscription"),
            uploader: fields.uploader(),
            platform: fields.restriction("platform", "platforms", PLATFORMS.len(), |name| {
                PLATFORMS.contains(&name)
            }),
            live: fields.flag("live"),
        })
    }

    /// Appends `<video:video>…</video:video>`.
    pub fn render(&self, out: &mut Vec<u8>) {
        let yes_no = |flag: bool| if flag { "yes" } else { "no" };
        out.extend_from_slice(b"<video:video>");
        element(out, "thumbnail_loc", "", self.thumbnail.as_str());
        element(out, "title", "", &self.title);
        element(out, "description", "", &self.description);
        for (name, loc) in [("content_loc", &self.content), ("player_loc", &self.player)] {
            loc.iter()
                .for_each(|loc| element(out, name, "", loc.as_str()));
        }
        let mut optional = |name, text: Option<String>| {
            text.iter().for_each(|text| element(out, name, "", text));
        };
        optional("duration", self.duration.map(|seconds| seconds.to_string()));
        optional("expiration_date", self.expires_at.map(|at| at.to_string()));
        let rating = |tenths: u8| format!("{}.{}", tenths / 10, tenths % 10);
        optional("rating", self.rating.map(rating));
        optional("view_count", self.view_count.map(|count| count.to_string()));
        optional(
            "publication_date",
            self.published_at.map(|at| at.to_string()),
        );
        self.tags
            .iter()
            .for_each(|tag| element(out, "tag", "", tag));
        let flag = |name, flag: Option<bool>, out: &mut Vec<u8>| {
            flag.iter()
                .for_each(|flag| element(out, name, "", yes_no(*flag)));
        };
        flag("family_friendly", self.family_friendly, out);
        let restricted = |name, restriction: &Option<Restriction>, out: &mut Vec<u8>| {
            if let Some(Restriction { allow, of }) = restriction {
                let relationship = if *allow { "allow" } else { "deny" };
                let attribute = format!(" relationship=\"{relationship}\"");
                element(out, name, &attribute, &of.join(" "));
            }
        };
        restricted("restriction", &self.restriction, out);
        flag("requires_subscription", self.requires_subscription, out);
        if let Some((name, info)) = &self.uploader {
            let mut attribute = Vec::new();
            if let Some(info) = info {
                attribute.extend_from_slice(b" info=\"");
                xml::escape_loc(info, &mut attribute);
                attribute.push(b'"');
            }
            element(out, "uploader", &String::from_utf8_lossy(&attribute), name);
        }
        restricted("platform", &self.platform, out);
        flag("live", self.live, out);
        out.extend_from_slice(b"</video:video>");
    }
}

fn element(out: &mut Vec<u8>, name: &str, attribute: &str, text: &str) {
    for part in ["<video:", name, attribute, ">"] {
        out.extend_from_slice(part.as_bytes());
    }
    xml::escape(text, out);
    for part in ["</video:", name, ">"] {
        out.extend_from_slice(part.as_bytes());
    }
}

struct Fields<'a, 'p> {
    place: String,
    map: &'a Map<String, Value>,
    problems: &'p mut Vec<Problem>,
}

impl<'a> Fields<'a, '_> {
    fn get(&self, field: &str) -> Option<&'a Value> {
        self.map.get(field).filter(|value| !value.is_null())
    }

    fn bad(&mut self, field: &str, reason: impl AsRef<str>) {
        let dot = if field.is_empty() { "" } else { "." };
        let field = format!("{}{dot}{field}", self.place);
        self.problems
            .push(Problem::new(&field, reason.as_ref(), false));
    }

    /// Returns the value of a field as `read` parses it. Notes a problem if the value is invalid.
    fn read<T>(
        &mut self,
        field: &str,
        expected: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Option<T> {
        let value = self.get(field)?;
        let read = read(value);
        if read.is_none() {
            self.bad(field, format!("{} is {expected}", cut(&value.to_string())));
        }
        read
    }

    /// Returns the first existing field among the record's own name and that of the schema.
    fn named(&self, names: &[&'static str]) -> Option<&'static str> {
        names.iter().copied().find(|name| self.get(name).is_some())
    }

    fn text(&mut self, field: &str) -> Option<String> {
        self.read(field, "not text", |value| value.as_str().map(str::to_owned))
    }

    fn url(&mut self, names: &[&'static str]) -> Option<Loc> {
        let name = self.named(names)?;
        let text = self.text(name)?;
        let loc = Loc::parse_any(&text);
        loc.map_err(|error| self.bad(name, error.to_string())).ok()
    }

    fn when(&mut self, names: &[&'static str]) -> Option<When> {
        let name = self.named(names)?;
        let text = self.text(name)?;
        let when = When::parse_relaxed(&text, None);
        when.map_err(|error| self.bad(name, error.to_string())).ok()
    }

    fn flag(&mut self, field: &str) -> Option<bool> {
        self.read(field, "neither true nor false", Value::as_bool)
    }

    fn whole(&mut self, field: &str, range: std::ops::RangeInclusive<u64>) -> Option<u64> {
        let (least, most) = (range.start(), range.end());
        let expected = match *most {
            u64::MAX => format!("not a whole number, {least} or more"),
            most => format!("not a whole number from {least} to {most}"),
        };
        self.read(field, &expected, |value| {
            value.as_u64().filter(|number| range.contains(number))
        })
    }

    fn rating(&mut self) -> Option<u8> {
        self.read("rating", "not a number from 0.0 to 5.0", |value| {
            let rating = value.as_f64().filter(|rating| (0.0..=5.0).contains(rating));
            rating.map(|rating| (rating * 10.0).round() as u8)
        })
    }

    /// Returns the texts of a list that `accepts` allows, at most `limit`.
    fn texts(
        &mut self,
        field: &str,
        value: &Value,
        limit: usize,
        accepts: impl Fn(&str) -> bool,
    ) -> Vec<String> {
        let Some(values) = value.as_array() else {
            self.bad(field, "not a list");
            return Vec::new();
        };
        if values.len() > limit {
            let reason = format!("{} are given; the first {limit} are kept", values.len());
            self.bad(field, reason);
        }
        let mut texts = Vec::new();
        for value in values.iter().take(limit) {
            match value.as_str().filter(|text| accepts(text)) {
                Some(text) => texts.push(text.to_owned()),
                None => self.bad(
                    field,
                    format!("{} is not allowed here", cut(&value.to_string())),
                ),
            }
        }
        texts
    }

    /// Reads `{"allow": […]}` or `{"deny": […]}`, or in the schema's words `{"relationship": "allow", list: […]}`. A restriction
    /// with an invalid part is omitted whole, because half a list would allow denied values.
    fn restriction(
        &mut self,
        field: &str,
        list: &str,
        limit: usize,
        accepts: impl Fn(&str) -> bool,
    ) -> Option<Restriction> {
        let expected = "neither {\"allow\": […]} nor {\"deny\": […]} of known codes";
        self.read(field, expected, |value| {
            let (allow, of) = match (value.get("allow"), value.get("deny")) {
                (Some(of), None) => (true, of),
                (None, Some(of)) => (false, of),
                (None, None) => match value.get("relationship").and_then(Value::as_str) {
                    Some("allow") => (true, value.get(list)?),
                    Some("deny") => (false, value.get(list)?),
                    _ => return None,
                },
                (Some(_), Some(_)) => return None,
            };
            let of = of.as_array().filter(|of| of.len() <= limit)?;
            let text = |value: &Value| {
                value
                    .as_str()
                    .filter(|text| accepts(text))
                    .map(str::to_owned)
            };
            let of = of.iter().map(text).collect::<Option<_>>()?;
            Some(Restriction { allow, of })
        })
    }

    fn uploader(&mut self) -> Option<(String, Option<Loc>)> {
        let expected = "neither a name nor an object with a name";
        let (name, info) = self.read("uploader", expected, |value| match value {
            Value::String(name) => Some((name.clone(), None)),
            value => {
                let text = |name| value.get(name).and_then(Value::as_str);
                Some((text("name")?.to_owned(), text("info")))
            }
        })?;
        let info = info.and_then(|info| {
            let loc = Loc::parse_any(info);
            loc.map_err(|error| self.bad("uploader.info", error.to_string()))
                .ok()
        });
        Some((name, info))
    }

    /// Cuts a text to `limit` characters, and notes a problem if it was longer.
    fn shortened(&mut self, field: &str, text: String, limit: usize) -> String {
        match text.char_indices().nth(limit) {
            None => text,
            Some((end, _)) => {
                let reason = format!(
                    "{} characters long; the first {limit} are kept",
                    text.chars().count()
                );
                self.bad(field, reason);
                text[..end].to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(value: &Value) -> (Option<Video>, Vec<String>) {
        let page = Page {
            title: Some("The page"),
            description: None,
            tags: &["lamp".to_owned()],
        };
        let mut problems = Vec::new();
        let video = Video::parse(page, 2, value, &mut problems);
        (video, problems.iter().map(ToString::to_string).collect())
    }

    fn with(fields: Value) -> Value {
        let mut video = json!({"thumbnail_url": "https://i.example/1.jpg", "content_url": "https://v.example/1.mp4"});
        let map = video.as_object_mut().unwrap();
        map.extend(fields.as_object().unwrap().clone());
        video
    }

    fn rendered(value: &Value) -> String {
        let (video, problems) = parse(value);
        assert_eq!(problems, [] as [&str; 0]);
        let mut out = Vec::new();
        video.unwrap().render(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_text_of_nothing_that_xml_allows_is_none() {
        let (video, _) = parse(&with(json!({"description": "\u{8} \n"})));
        assert_eq!(video.unwrap().description, "https://v.example/1.mp4");
        let (video, problems) = parse(&with(json!({"title": "\u{0}\u{1} \n"})));
        assert_eq!((video, problems.len()), (None, 1));
    }

    #[test]
    fn elements_stand_in_the_schemas_order() {
        let value = with(json!({
            "title": "A & B", "description": "d", "player_url": "https://v.example/p?a=1&b", "duration": 60,
            "expires_at": "2030-01-01", "rating": 4.25, "view_count": 7, "published_at": "2026-01-02T03:04:05Z",
            "tags": ["x", "y"], "family_friendly": true, "restriction": {"deny": ["DE", "AT"]},
            "requires_subscription": false, "uploader": {"name": "Jane", "info": "https://v.example/jane?a&b"},
            "platform": {"relationship": "allow", "platforms": ["web", "tv"]}, "live": false, "width": 1, "height": 2,
        }));
        assert_eq!(
            rendered(&value),
            "<video:video><video:thumbnail_loc>https://i.example/1.jpg</video:thumbnail_loc>\
             <video:title>A &amp; B</video:title><video:description>d</video:description>\
             <video:content_loc>https://v.example/1.mp4</video:content_loc>\
             <video:player_loc>https://v.example/p?a=1&amp;b</video:player_loc>\
             <video:duration>60</video:duration><video:expiration_date>2030-01-01</video:expiration_date>\
             <video:rating>4.3</video:rating><video:view_count>7</video:view_count>\
             <video:publication_date>2026-01-02T03:04:05+00:00</video:publication_date>\
             <video:tag>x</video:tag><video:tag>y</video:tag>\
             <video:family_friendly>yes</video:family_friendly>\
             <video:restriction relationship=\"deny\">DE AT</video:restriction>\
             <video:requires_subscription>no</video:requires_subscription>\
             <video:uploader info=\"https://v.example/jane?a&amp;b\">Jane</video:uploader>\
             <video:platform relationship=\"allow\">web tv</video:platform><video:live>no</video:live></video:video>"
        );
    }

    #[test]
    fn what_is_missing_comes_from_the_page_or_the_address() {
        assert_eq!(
            rendered(&with(json!({}))),
            "<video:video><video:thumbnail_loc>https://i.example/1.jpg</video:thumbnail_loc>\
             <video:title>The page</video:title><video:description>https://v.example/1.mp4</video:description>\
             <video:content_loc>https://v.example/1.mp4</video:content_loc><video:tag>lamp</video:tag></video:video>"
        );
    }

    #[test]
    fn a_video_without_what_is_required_is_left_out() {
        for (value, reason) in [
            (json!("x"), "videos[2]: not an object"),
            (
                json!({"content_url": "https://v.example/1"}),
                "videos[2]: left out: it has no thumbnail_url",
            ),
            (
                json!({"thumbnail_url": "https://i.example/1"}),
                "videos[2]: left out: it has neither a content_url nor a player_url",
            ),
            (
                with(json!({"title": " "})),
                "videos[2]: left out: neither it nor its page has a title",
            ),
        ] {
            assert_eq!(parse(&value), (None, vec![reason.to_owned()]), "{value}");
        }
    }

    #[test]
    fn a_bad_field_costs_itself_alone() {
        let long = "ü".repeat(MAX_TITLE_CHARS + 1);
        for fields in [
            json!({"duration": 0}),
            json!({"duration": 28_801}),
            json!({"rating": 5.1}),
            json!({"view_count": -1}),
            json!({"expires_at": "soon"}),
            json!({"live": "yes"}),
            json!({"restriction": {"allow": ["de"]}}),
            json!({"restriction": {"allow": ["DE"], "deny": ["AT"]}}),
            json!({"platform": {"allow": ["radio"]}}),
            json!({"uploader": {}}),
            json!({"uploader": {"name": "Jane", "info": "jane"}}),
            json!({"title": long}),
            json!({"tags": (0..=MAX_TAGS).map(|n| n.to_string()).collect::<Vec<_>>()}),
            json!({"player_url": "//v.example"}),
        ] {
            let (video, problems) = parse(&with(fields.clone()));
            assert_eq!(problems.len(), 1, "{fields}: {problems:?}");
            assert!(
                video.is_some_and(|video| video.title.chars().count() <= MAX_TITLE_CHARS),
                "{fields}"
            );
        }
    }
}

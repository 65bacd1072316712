//! Records that are kept in a temporary file until every source was read.
//!
//! - An address may be listed again later: what that entry says is added to its record, however it spells the address.
//! - With `--alternates group`, pages that all list the same alternates become a translation group. That a page is in a whole
//!   set is known once all pages of the set were seen.
//!
//! In memory is where the further entries of an address are, and a number for each set.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};

use serde_json::Value;
use sitemap::language::{X_DEFAULT, is_language};
use sitemap::loc::{Loc, normalized};
use sitemap::record::ContentRecord;
use sitemap::time::When;

use super::fields::Fields;
use super::options::ImportError;
use crate::content::forecast::{Prediction, digest};
use crate::terminal::text::json_escaped;

/// Fields that are added if the record has none: what only one of its entries says.
const SINGLE: [&str; 4] = ["news", "published_at", "title", "language"];

/// Records that wait until all are seen.
#[derive(Debug)]
pub(super) struct Held {
    /// Each a line: the digest of its address, and its JSON.
    records: BufWriter<File>,
    /// Further entries of addresses, each a line.
    entries: BufWriter<File>,
    /// Where they begin, by the digest of the address.
    places: HashMap<u64, Vec<u64>>,
    end: u64,
    /// Whether alternates become groups.
    groups: bool,
}

impl Held {
    /// Makes the temporary files.
    pub(super) fn new(groups: bool) -> io::Result<Self> {
        Ok(Self {
            records: BufWriter::new(tempfile::tempfile()?),
            entries: BufWriter::new(tempfile::tempfile()?),
            places: HashMap::new(),
            end: 0,
            groups,
        })
    }

    /// Keeps a record whose address has this digest. One without a digest has an id of its own, and nothing is added to it.
    pub(super) fn hold(&mut self, address: Option<u64>, value: &Value) -> io::Result<()> {
        let (line, address) = (serde_json::to_string(value)?, address.unwrap_or_default());
        writeln!(self.records, "{address} {}", json_escaped(&line))
    }

    /// Keeps what a further entry of an address says.
    pub(super) fn add(&mut self, address: u64, value: &Value) -> io::Result<()> {
        let line = serde_json::to_string(value)?;
        self.places.entry(address).or_default().push(self.end);
        self.end += line.len() as u64 + 1;
        writeln!(self.entries, "{line}")
    }

    /// Writes the records in their order, as lines without an end.
    pub(super) fn finish(
        &mut self,
        prediction: &mut Prediction,
        mut write: impl FnMut(&str) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        let mut records = reread(&mut self.records).map_err(ImportError::Spool)?;
        let mut entries = reread(&mut self.entries).map_err(ImportError::Spool)?;
        let mut joined = |address: u64, line: &str| -> io::Result<Option<Value>> {
            let places = self.places.get(&address).map_or(&[][..], Vec::as_slice);
            if places.is_empty() && !(self.groups && line.contains("\"alternates\"")) {
                return Ok(None);
            }
            let mut value: Value = serde_json::from_str(line)?;
            for place in places {
                let mut entry = String::new();
                entries.seek(SeekFrom::Start(*place))?;
                entries.read_line(&mut entry)?;
                join(&mut value, serde_json::from_str(&entry)?);
            }
            Ok(Some(value))
        };
        let mut seen: HashMap<u64, u32> = HashMap::new();
        if self.groups {
            each(&mut records, |address, line| {
                let value = joined(address, line).map_err(ImportError::Spool)?;
                if let Some(set) = value.as_ref().and_then(Set::of) {
                    *seen.entry(set.digest).or_default() += 1;
                }
                Ok(())
            })?;
            let begin = SeekFrom::Start(0);
            records.seek(begin).map_err(ImportError::Spool)?;
        }
        each(&mut records, |address, line| {
            let Some(mut value) = joined(address, line).map_err(ImportError::Spool)? else {
                return write(line);
            };
            if self.places.contains_key(&address) {
                let first = serde_json::from_str(line);
                let first = first.map_err(|error| ImportError::Spool(error.into()))?;
                prediction.amend(&record(&first), &record(&value));
            }
            if self.groups
                && let Some(set) = Set::of(&value)
                && seen.get(&set.digest) == Some(&set.pages)
                && let Some(fields) = value.as_object_mut()
            {
                set.replace_alternates(fields);
            }
            let line = serde_json::to_string(&value);
            let line = line.map_err(|error| ImportError::Output(error.into()))?;
            write(&json_escaped(&line))
        })
    }
}

/// Reads a temporary file that was written.
fn reread(file: &mut BufWriter<File>) -> io::Result<BufReader<&File>> {
    file.flush()?;
    let mut file = file.get_ref();
    file.seek(SeekFrom::Start(0))?;
    Ok(BufReader::new(file))
}

/// Passes on each record's digest and line.
fn each(
    records: &mut BufReader<&File>,
    mut take: impl FnMut(u64, &str) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    let mut line = String::new();
    loop {
        line.clear();
        if records.read_line(&mut line).map_err(ImportError::Spool)? == 0 {
            return Ok(());
        }
        let parts = line.trim_end_matches('\n').split_once(' ');
        let parts = parts.and_then(|(address, json)| Some((address.parse().ok()?, json)));
        let damaged = || ImportError::Spool(io::ErrorKind::InvalidData.into());
        let (address, json) = parts.ok_or_else(damaged)?;
        take(address, json)?;
    }
}

fn record(value: &Value) -> ContentRecord {
    let id = value.get("id").and_then(Value::as_str);
    ContentRecord::parse(id.unwrap_or_default(), value)
}

/// Adds to a record what a further entry of its address says. These are the newest lastmod, and each image, video and alternate that the
/// record does not have. It also adds what the record says nothing of.
fn join(value: &mut Value, entry: Fields) {
    let Some(fields) = value.as_object_mut() else {
        return;
    };
    for (name, said) in entry {
        let Some(own) = fields.get_mut(&name) else {
            let is_list = key_of(&name).is_some();
            if is_list || name == "modified_at" || SINGLE.contains(&name.as_str()) {
                fields.insert(name, said);
            }
            continue;
        };
        if let (Some(key), Value::Array(own), Value::Array(said)) =
            (key_of(&name), &mut *own, &said)
        {
            for one in said {
                if !own.iter().any(|other| key(other) == key(one)) {
                    own.push(one.clone());
                }
            }
        } else if name == "modified_at" && is_newer(&said, own) {
            *own = said;
        }
    }
}

fn is_newer(said: &Value, own: &Value) -> bool {
    let time = |value: &Value| When::parse(value.as_str()?).ok();
    time(said) > time(own)
}

/// Returns the function that computes a key for each value of a list. Returns `None` for a field that is not such a list.
fn key_of(name: &str) -> Option<fn(&Value) -> Vec<String>> {
    fn texts(value: &Value, names: &[&str]) -> Vec<String> {
        let texts = names.iter().filter_map(|name| value.get(name)?.as_str());
        texts.map(|text| normalized(text).into_owned()).collect()
    }
    match name {
        "images" => Some(|image| texts(image, &["url"])),
        "videos" => Some(|video| texts(video, &["content_loc", "player_loc", "thumbnail_loc"])),
        "alternates" => Some(|link| {
            let mut texts = texts(link, &["hreflang", "url"]);
            texts[..1]
                .iter_mut()
                .for_each(|code| code.make_ascii_lowercase());
            texts
        }),
        _ => None,
    }
}

/// A set of alternates, as one of its pages lists it.
#[derive(Debug, PartialEq, Eq)]
struct Set {
    digest: u64,
    pages: u32,
    /// The language of the page itself.
    language: String,
    /// Whether the page is the one for everybody else.
    is_default: bool,
}

impl Set {
    /// Reads the set of alternates of a page. Returns `None` if it cannot be a group: the page itself is
    /// not in it, or a page has two languages. It is not a group either if the page for everybody else has no language.
    fn of(value: &Value) -> Option<Self> {
        let record = record(value);
        let own = Loc::parse_any(&record.url).ok()?;
        let own = own.normalized();
        let (mut pages, mut default) = (BTreeMap::new(), None);
        for alternate in &record.alternates {
            let (language, page) = (
                alternate.hreflang.to_ascii_lowercase(),
                alternate.href.normalized(),
            );
            if language == X_DEFAULT {
                default = Some(page);
            } else if !is_language(&alternate.hreflang) || pages.insert(page, language).is_some() {
                return None;
            }
        }
        if default
            .as_ref()
            .is_some_and(|page| !pages.contains_key(page))
            || pages.len() < 2
        {
            return None;
        }
        pages.get(&own)?;
        let language = record.alternates.iter().find(|alternate| {
            alternate.href.normalized() == own && alternate.hreflang != X_DEFAULT
        });
        let mut texts: Vec<&str> = Vec::new();
        for (page, language) in &pages {
            texts.extend([page, language.as_str()]);
        }
        texts.extend(default.as_deref());
        Some(Self {
            digest: digest(&texts),
            pages: u32::try_from(pages.len()).ok()?,
            language: language?.hreflang.clone(),
            is_default: default.as_ref() == Some(&own),
        })
    }

    /// Makes a page a member of the group that the set is.
    fn replace_alternates(self, fields: &mut Fields) {
        fields.remove("alternates");
        let group = format!("alternates-{:016x}", self.digest);
        fields.insert("translation_group".to_owned(), group.into());
        fields.insert("language".to_owned(), self.language.into());
        if self.is_default {
            fields.insert("x_default".to_owned(), true.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_record_keeps_what_each_entry_of_its_address_says() {
        let link = |code: &str, url: &str| json!({"hreflang": code, "url": url});
        let video = |url: &str, title: &str| json!({"content_loc": url, "title": title});
        for (first, second, expected) in [
            // What only one says.
            (
                json!({}),
                json!({"modified_at": "2026-01-02"}),
                json!({"modified_at": "2026-01-02"}),
            ),
            (
                json!({}),
                json!({"news": {"title": "N"}}),
                json!({"news": {"title": "N"}}),
            ),
            (
                json!({"title": "A"}),
                json!({"title": "B"}),
                json!({"title": "A"}),
            ),
            // The newest time, and never one that is none.
            (
                json!({"modified_at": "2026-01-02"}),
                json!({"modified_at": "2026-01-02T00:00:01Z"}),
                json!({"modified_at": "2026-01-02T00:00:01Z"}),
            ),
            (
                json!({"modified_at": "2026-01-02"}),
                json!({"modified_at": "2026-01-01T10:00:00Z"}),
                json!({"modified_at": "2026-01-02"}),
            ),
            (
                json!({"modified_at": "2026-01-02"}),
                json!({"modified_at": "tomorrow"}),
                json!({"modified_at": "2026-01-02"}),
            ),
            // Each of a list once, however it is spelled.
            (
                json!({"images": [{"url": "https://a.example/%c3%a9"}, {"url": "https://a.example/1"}]}),
                json!({"images": [{"url": "https://a.example/2"}, {"url": "https://a.example/%C3%A9"}]}),
                json!({"images": [{"url": "https://a.example/%c3%a9"}, {"url": "https://a.example/1"},
                    {"url": "https://a.example/2"}]}),
            ),
            (
                json!({"alternates": [link("de-AT", "https://a.example/~de")]}),
                json!({"alternates": [link("de-at", "https://a.example/%7Ede"), link("fr", "https://a.example/~de")]}),
                json!({"alternates": [link("de-AT", "https://a.example/~de"), link("fr", "https://a.example/~de")]}),
            ),
            (
                json!({"videos": [video("https://v.example/1", "A")]}),
                json!({"videos": [video("https://V.example/1", "B"), video("https://v.example/2", "A")]}),
                json!({"videos": [video("https://v.example/1", "A"), video("https://v.example/2", "A")]}),
            ),
            // The address and the type are the first one's, and nothing decides about listing that it does not say.
            (
                json!({"url": "https://a.example/~", "type": "post"}),
                json!({"url": "https://a.example/%7E", "type": "page", "noindex": true}),
                json!({"url": "https://a.example/~", "type": "post"}),
            ),
        ] {
            let mut value = first.clone();
            let Value::Object(entry) = second.clone() else {
                panic!("{second}")
            };
            join(&mut value, entry);
            assert_eq!(value, expected, "{first} {second}");
        }
    }

    #[test]
    fn a_set_is_one_however_its_pages_spell_it() {
        let set = |url: &str, links: [(&str, &str); 3]| {
            let links = links.map(|(code, url)| json!({"hreflang": code, "url": url}));
            Set::of(&json!({"url": url, "type": "page", "alternates": links})).unwrap()
        };
        let (en, de) = ("https://a.example/~en", "https://a.example/d%c3%a9");
        let (en_too, de_too) = ("https://a.example/%7Een", "https://a.example/d%C3%A9");
        let one = set(en_too, [("en", en), ("de", de), ("x-default", en_too)]);
        let other = set(de, [("x-default", en), ("de", de_too), ("en", en)]);
        assert_eq!((one.digest, one.pages), (other.digest, other.pages));
        assert_eq!((one.language.as_str(), one.is_default), ("en", true));
        assert_eq!((other.language.as_str(), other.is_default), ("de", false));
    }
}

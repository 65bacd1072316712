//! The writer of an import: completes records, counts them, and writes them as JSON Lines.

use std::collections::{BTreeMap, HashSet};
use std::io::{self, Write};

use check::document::elements::Element;
use check::document::feed::Base;
use check::url::path_of;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use sitemap::loc::{Loc, normalized};
use sitemap::mapping::SOURCE_MARK;
use sitemap::record::{ContentRecord, MAX_ID_BYTES};
use sitemap::site::{
    DEFAULT_ENTRIES, MAX_ENTRIES, SITE_ID_PREFIX, SITE_TYPE, SiteSettings, host_of_site_id,
};

use super::fields::Fields;
use super::held::Held;
use super::options::{ImportError, Options};
use super::report::Report;
use crate::content::forecast::{Prediction, digest};
use crate::terminal::progress::{Progress, Unit};
use crate::terminal::text::json_escaped;

/// Kinds of what records do without, each with its own count.
const MAX_NOTES: usize = 200;
const MAX_NOTE_BYTES: usize = 200;
/// Records between two looks at the clock.
const PROGRESS_EVERY: u64 = 1_000;
/// The beginning of the ids of redirects.
const REDIRECT: &str = "redirect/";

/// What a record's id is made from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Id<'a> {
    /// Its address. A second record with the same address is left out.
    Address,
    /// Its address. What a second entry of the same address says is added to the first one's record.
    Entry,
    /// Its address, among redirects: a page with the address keeps its own record. A second redirect from the address is left out.
    Redirect,
    /// A name of its own on its site: `post/7`.
    OnSite(&'a str),
    /// This is it.
    Given(&'a str),
}

/// What is known of a site beside its records.
#[derive(Clone, Debug, Default)]
pub(super) struct SiteFacts {
    pub(super) name: Option<String>,
    pub(super) language: Option<String>,
    pub(super) news_name: Option<String>,
    /// It was seen with this scheme first.
    scheme: String,
    /// Its settings came as a record.
    is_given: bool,
    /// The entries of its largest sitemap that has another one behind it.
    entries: u64,
}

/// Where records go.
pub(super) struct Sink<'a> {
    pub(super) options: &'a Options,
    pub(super) report: Report,
    out: &'a mut dyn Write,
    prediction: Prediction,
    /// The addresses of records that have no other id, as they are compared.
    addresses: HashSet<u64>,
    held: Held,
    sites: BTreeMap<String, SiteFacts>,
    progress: Progress,
    /// What was not made a record, for whatever reason.
    pub(super) skips: u64,
}

impl<'a> Sink<'a> {
    pub(super) fn new(options: &'a Options, out: &'a mut dyn Write) -> io::Result<Self> {
        Ok(Self {
            options,
            report: Report::default(),
            out,
            prediction: Prediction::new(options.now),
            addresses: HashSet::new(),
            held: Held::new(options.groups)?,
            sites: BTreeMap::new(),
            progress: Progress::begin("importing", Unit::Things("records"), None),
            skips: 0,
        })
    }

    /// Counts an entry that does not become a record.
    pub(super) fn skip(&mut self, reason: &str, example: impl FnOnce() -> String) {
        self.skips += 1;
        let skipped = &mut self.report.skipped;
        skipped.entry(reason.to_owned()).or_default().add(example);
    }

    /// Counts an element that is not an entry, where nothing else should be.
    pub(super) fn pass_over(&mut self, element: &Element, document: &str, line: u64) {
        let name = element.local();
        self.skip("an element that is no entry", || {
            format!("{document}: line {line}: <{name}>")
        });
    }

    /// Counts what a record does without.
    pub(super) fn note(&mut self, what: &str, example: impl FnOnce() -> String) {
        let notes = &mut self.report.notes;
        // Documents may make up names.
        let is_room = notes.len() < MAX_NOTES && what.len() < MAX_NOTE_BYTES;
        let what = match is_room || notes.contains_key(what) {
            true => what,
            false => "something else",
        };
        notes.entry(what.to_owned()).or_default().add(example);
    }

    /// Counts the entries that became a record, or were added to one.
    pub(super) fn taken(&self) -> u64 {
        self.report.records + self.report.joined
    }

    /// Returns what relative addresses in a document are relative to.
    pub(super) fn base(&self, document: &str) -> Base {
        match &self.options.site {
            Some(site) => {
                let path = path_of(document).unwrap_or("/");
                Base::of(&format!("https://{site}{path}"))
            }
            None => Base::of(document),
        }
    }

    /// Returns the facts about a site.
    pub(super) fn site(&mut self, host: &str) -> &mut SiteFacts {
        self.sites.entry(host.to_owned()).or_default()
    }

    /// Notes the entries of a full sitemap: the site has further sitemaps of its series.
    pub(super) fn full_sitemap(&mut self, host: &str, entries: u64) {
        let facts = self.site(host);
        facts.entries = facts.entries.max(entries);
    }

    /// Converts an address to the one that is imported: absolute, and on the host that the options say.
    pub(super) fn address(&self, raw: &str) -> String {
        let mut url = raw.trim().to_owned();
        if let Some(site) = &self.options.site
            && let Some(path) = url.strip_prefix('/').filter(|path| !path.starts_with('/'))
        {
            url = format!("https://{site}/{path}");
        }
        for (from, to) in &self.options.map_urls {
            if let Some(rest) = url.strip_prefix(from.as_str())
                && (from.ends_with('/') || rest.is_empty() || rest.starts_with(['/', '?', '#']))
            {
                return format!("{to}{rest}");
            }
        }
        url
    }

    /// Takes a record.
    pub(super) fn record(&mut self, mut fields: Fields, id: Id<'_>) -> Result<(), ImportError> {
        self.replace_addresses(&mut fields);
        let Some(url) = fields.get("url").and_then(Value::as_str).map(str::to_owned) else {
            self.skip("it has no address", || shown(&fields, id));
            return Ok(());
        };
        if let Some(language) = &self.options.language
            && !fields.contains_key("language")
        {
            fields.insert("language".to_owned(), language.as_str().into());
        }
        let mut value = Value::Object(fields);
        let given = if let Id::Given(id) = id { id } else { "" };
        if matches!(id, Id::Given(_)) && (given.is_empty() || given.starts_with(SOURCE_MARK)) {
            self.skip("its id is empty, or begins with @", || url);
            return Ok(());
        }
        let mut record = ContentRecord::parse(given, &value);
        if let Some(site) = self
            .options
            .site
            .as_ref()
            .filter(|site| **site != record.site)
        {
            self.skip(&format!("it is not on {site} (--site)"), || url);
            self.report.chosen_out += 1;
            return Ok(());
        }
        if let (Some(since), Some(at)) = (self.options.since, record.last_change())
            && at.seconds() < since
        {
            self.skip("it is older than --since", || url);
            self.report.chosen_out += 1;
            return Ok(());
        }
        let address = match id {
            Id::Address | Id::Entry => Some(digest(&[&normalized(&url)])),
            Id::Redirect => Some(digest(&[REDIRECT, &normalized(&url)])),
            Id::OnSite(_) | Id::Given(_) => None,
        };
        let is_known = address.is_some_and(|address| !self.addresses.insert(address));
        if is_known && matches!(id, Id::Address | Id::Redirect) {
            self.skip("its address was there before", || url);
            return Ok(());
        }
        record.id = match id {
            Id::Given(id) => id.to_owned(),
            Id::OnSite(name) => format!("{}/{name}", record.site),
            Id::Address | Id::Entry => id_of_address("", &url),
            Id::Redirect => id_of_address(REDIRECT, &url),
        };
        for problem in record.problems.iter().filter(|problem| !problem.closes) {
            let field = problem.field.split(['[', '.']).next().unwrap_or_default();
            self.note(field, || format!("{}: {problem}", record.id));
        }
        if let Some(address) = address.filter(|_| is_known) {
            self.report.joined += 1;
            return self.held.add(address, &value).map_err(ImportError::Spool);
        }
        value["id"] = record.id.as_str().into();
        self.meet(&record.site, &url);
        self.prediction.add(&record);
        self.count(&record.site, &record.type_name);
        if address.is_some() || (self.options.groups && !record.alternates.is_empty()) {
            return self.held.hold(address, &value).map_err(ImportError::Spool);
        }
        write(self.out, &value)
    }

    /// Takes a site's settings as they are. They apply to the records after them.
    pub(super) fn settings(&mut self, id: &str, value: &Value) -> Result<(), ImportError> {
        if let Some(host) = host_of_site_id(id) {
            if let Ok(settings) = SiteSettings::parse(host, value) {
                self.prediction.set_site(settings);
            }
            self.site(host).is_given = true;
        }
        self.count(host_of_site_id(id).unwrap_or_default(), SITE_TYPE);
        write(self.out, value)
    }

    fn replace_addresses(&self, fields: &mut Fields) {
        for name in ["url", "canonical_url", "moved_to"] {
            if let Some(Value::String(url)) = fields.get_mut(name) {
                *url = self.address(url);
            }
        }
        if self.options.map_urls.is_empty() {
            return;
        }
        if let Some(Value::Array(alternates)) = fields.get_mut("alternates") {
            for alternate in alternates {
                if let Some(Value::String(url)) = alternate.get_mut("url") {
                    *url = self.address(url);
                }
            }
        }
    }

    /// Chooses the scheme by which a site is predicted: that of its first record.
    fn meet(&mut self, host: &str, url: &str) {
        if self.prediction.has_site(host) {
            return;
        }
        let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
        let scheme = scheme.to_ascii_lowercase();
        self.site(host).scheme.clone_from(&scheme);
        if self.options.settings
            && scheme == "http"
            && let Ok(settings) =
                SiteSettings::parse(host, &json!({"base_url": format!("http://{host}")}))
        {
            self.prediction.set_site(settings);
        }
    }

    fn count(&mut self, site: &str, type_name: &str) {
        self.report.records += 1;
        let name = format!("{site} {type_name}");
        *self.report.types.entry(name).or_default() += 1;
        if self.report.records.is_multiple_of(PROGRESS_EVERY) {
            self.progress.reach(self.report.records);
        }
    }

    /// Writes the records that were kept back and the settings, and returns the report.
    pub(super) fn finish(mut self) -> Result<Report, ImportError> {
        let out = &mut *self.out;
        self.held
            .finish(&mut self.prediction, |line| write_line(out, line))?;
        if self.options.settings {
            for (host, facts) in std::mem::take(&mut self.sites) {
                if facts.is_given || !self.prediction.has_site(&host) {
                    continue;
                }
                let settings = facts.settings(&host);
                self.count(&host, SITE_TYPE);
                write(self.out, &settings)?;
                if let Ok(settings) = SiteSettings::parse(&host, &settings) {
                    self.prediction.set_site(settings);
                }
            }
        } else {
            for (host, facts) in &self.sites {
                if facts.scheme == "http" {
                    let what =
                        "sites whose addresses begin with http://: --settings says so to Waymark";
                    let notes = &mut self.report.notes;
                    notes
                        .entry(what.to_owned())
                        .or_default()
                        .add(|| host.clone());
                }
            }
        }
        self.out.flush().map_err(ImportError::Output)?;
        self.report.predicted = self.prediction.finish();
        Ok(self.report)
    }
}

/// Returns the id of a page that has no other name: its host and path, behind a prefix.
fn id_of_address(prefix: &str, url: &str) -> String {
    let loc = Loc::parse_any(url);
    let loc = loc.as_ref().map_or(url, Loc::as_str);
    let id = loc.split_once("://").map_or(loc, |(_, id)| id);
    let id = &*format!("{prefix}{id}");
    if id.len() <= MAX_ID_BYTES && !id.starts_with(SOURCE_MARK) {
        return id.to_owned();
    }
    let hash = Sha256::digest(id.as_bytes());
    let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{prefix}address/{hash}")
}

impl SiteFacts {
    /// Returns the record of a site's settings.
    fn settings(&self, host: &str) -> Value {
        let mut fields = json!({"id": format!("{SITE_ID_PREFIX}{host}"), "type": SITE_TYPE});
        if self.scheme == "http" {
            fields["base_url"] = format!("http://{host}").into();
        }
        let texts = [
            ("name", &self.name),
            ("language", &self.language),
            ("news_name", &self.news_name),
        ];
        for (field, text) in texts {
            if let Some(text) = text {
                fields[field] = text.as_str().into();
            }
        }
        let entries = self.entries;
        if (1..=u64::from(MAX_ENTRIES)).contains(&entries) && entries != u64::from(DEFAULT_ENTRIES)
        {
            fields["entries_per_sitemap"] = entries.into();
        }
        fields
    }
}

/// Returns the name that messages use for a record without an address.
fn shown(fields: &Fields, id: Id<'_>) -> String {
    match id {
        Id::OnSite(name) | Id::Given(name) => name.to_owned(),
        Id::Address | Id::Entry | Id::Redirect => {
            let title = fields.get("title").and_then(Value::as_str);
            title.unwrap_or("a record without a title").to_owned()
        }
    }
}

fn write(out: &mut dyn Write, value: &Value) -> Result<(), ImportError> {
    let line = serde_json::to_string(value).map_err(|error| ImportError::Output(error.into()))?;
    write_line(out, &json_escaped(&line))
}

fn write_line(out: &mut dyn Write, line: &str) -> Result<(), ImportError> {
    out.write_all(line.as_bytes())
        .and_then(|()| out.write_all(b"\n"))
        .map_err(ImportError::Output)
}

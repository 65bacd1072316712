//! Content records: from an item to its published entries.

use quick_xml::Reader;
use quick_xml::events::Event;
use serde_json::Value;
use sitemap::eligibility::Newest;
use sitemap::loc::Loc;
use sitemap::plan::{
    Change, Claim, Inputs, Ledger, MAX_ENTRY_BYTES, Page, Plan, Reuse, Series, Slot, plan,
};
use sitemap::record::{
    ContentRecord, MAX_ALTERNATES, MAX_IMAGES, MAX_QUOTED_CHARS, MAX_TERMS, is_type_name,
};
use sitemap::site::{FOREIGN_INDEX_SERIES, MAX_SERIES_BYTES, SiteSettings};
use sitemap::time::When;
use sitemap::video::{MAX_DESCRIPTION_CHARS, MAX_TITLE_CHARS};

use crate::loc::{is_on, is_written_in_one_way};
use crate::settings;

/// Before any record was written, in 2027, and after the last possible time.
const CLOCKS: [i64; 3] = [0, 1_800_000_000, i64::MAX];

/// The most actions of a plan: those of a transaction (DynamoDB), less the ledger's, those of three offered slots and of ten rows
/// that a repair found.
const MAX_ACTIONS: usize = 100 - 1 - 3 - 10;

/// The most bytes of a ledger. It is in an item (DynamoDB: 400 KB), and is written whenever something in it changes.
const MAX_LEDGER_BYTES: usize = 100_000;

/// Checks an input: JSON items, one after the other in a list or a single one, which are the history of one record.
///
/// An item may have DynamoDB's form, `{"url": {"S": "…"}}`. A field `settings` has the settings of the record's site.
pub fn check(data: &[u8]) {
    let Ok(value) = serde_json::from_slice::<Value>(data) else {
        return;
    };
    let history = match value {
        Value::Array(items) => items,
        item => vec![item],
    };
    let mut ledger = Ledger::default();
    for (at, item) in history.into_iter().take(8).enumerate() {
        let item = from_dynamodb(&item).unwrap_or(item);
        let id = item.get("id").and_then(Value::as_str).unwrap_or("post/1");
        let record = ContentRecord::parse(id, &item);
        is_read_within_limits(&record, id);
        let site = site(&record, &item);
        for now in CLOCKS {
            ledger = planned(Some(&record), site.as_ref(), &ledger, now, at);
        }
    }
    let gone = planned(None, None, &ledger, CLOCKS[1], 0);
    assert_eq!(
        gone,
        Ledger::default(),
        "something is left of a record that is gone"
    );
}

/// Returns the item that `waymark_store` makes of DynamoDB's form.
fn from_dynamodb(item: &Value) -> Option<Value> {
    let item: serde_dynamo::Item = serde_json::from_value(item.clone()).ok()?;
    let item = std::collections::HashMap::<String, serde_dynamo::AttributeValue>::from(item);
    Some(from_attribute(serde_dynamo::AttributeValue::M(item)))
}

fn from_attribute(attribute: serde_dynamo::AttributeValue) -> Value {
    match attribute {
        serde_dynamo::AttributeValue::M(map) => {
            let fields = map.into_iter();
            let fields = fields.map(|(name, value)| (name, from_attribute(value)));
            Value::Object(fields.collect())
        }
        serde_dynamo::AttributeValue::L(list) => list.into_iter().map(from_attribute).collect(),
        other => serde_dynamo::from_attribute_value(other)
            .unwrap_or_else(|_| serde_json::json!({"binary": true})),
    }
}

fn site(record: &ContentRecord, item: &Value) -> Option<SiteSettings> {
    let site = match item.get("settings") {
        Some(settings) => SiteSettings::parse(&record.site, settings),
        None => SiteSettings::default_for(&record.site),
    };
    let site = site.ok()?;
    settings::are_sound(&site, &record.site);
    Some(site)
}

fn is_read_within_limits(record: &ContentRecord, id: &str) {
    assert_eq!(record.id, id);
    assert!(record.type_name.is_empty() || is_type_name(&record.type_name));
    assert!(record.images.len() <= MAX_IMAGES && record.alternates.len() <= MAX_ALTERNATES);
    assert!(record.terms.values().map(Vec::len).sum::<usize>() <= MAX_TERMS);
    record.images.iter().for_each(is_written_in_one_way);
    for problem in &record.problems {
        for text in [&problem.field, &problem.reason] {
            assert!(text.chars().count() <= MAX_QUOTED_CHARS + 1, "{text}");
        }
    }
}

/// Plans, with another record at the address in every third step, and then once more. Returns the new ledger.
fn planned(
    record: Option<&ContentRecord>,
    site: Option<&SiteSettings>,
    before: &Ledger,
    now: i64,
    step: usize,
) -> Ledger {
    let page = Page {
        record,
        part: 1,
        site,
    }
    .assess(now);
    let newest = match page.wanted_term() {
        None => Newest::Unread,
        Some(_) if step.is_multiple_of(2) => Newest::Nobody,
        Some(_) => Newest::Page(Some(When::at(now))),
    };
    let claim = match page.wanted_address(newest, before) {
        None => Claim::Unread,
        Some(_) if step % 3 == 2 => Claim::Other("post/other".to_owned()),
        Some(_) if step % 5 == 4 => Claim::Departed("post/other".to_owned()),
        Some(_) => Claim::Free,
    };
    let inputs = Inputs {
        newest,
        notify: true,
        ..Inputs::of(&page, before, &claim)
    };
    let mut first = plan("post/1", &inputs);
    assert_eq!(
        first,
        plan("post/1", &inputs),
        "the same inputs have two plans"
    );
    place(&mut first, 1, step);
    is_sound(&first, record, site);
    let after = first.ledger.unwrap_or_default();
    let waits = after.waits.is_some();
    let claim = if waits { claim } else { Claim::Unread };
    let evict = after
        .placed
        .first()
        .map(|placement| (&placement.series, placement.slot));
    let inputs = Inputs {
        newest,
        notify: true,
        ..Inputs::of(&page, &after, &claim)
    };
    let again = plan("post/1", &inputs);
    assert!(
        again.is_empty(),
        "what was planned is not what is wanted: {again:?}"
    );
    let mut moved = plan("post/1", &Inputs { evict, ..inputs });
    place(&mut moved, 2, step);
    is_sound(&moved, record, site);
    let placed = |ledger: Option<Ledger>| ledger.map_or(0, |ledger| ledger.placed.len());
    assert_eq!(
        placed(moved.ledger),
        after.placed.len(),
        "an entry was lost in a move"
    );
    after
}

/// Sets a slot of a shard for each entry that needs one.
fn place(plan: &mut Plan, n: u32, step: usize) {
    let series: Vec<Series> = plan.needs_slots().cloned().collect();
    for series in &series {
        let i = step as u32;
        plan.place(series, Slot { n, i });
    }
}

fn is_sound(plan: &Plan, record: Option<&ContentRecord>, site: Option<&SiteSettings>) {
    // Giving a slot back writes a row of its own, and waiting for an address checks its claim.
    let weight = |change: &Change| match change {
        Change::Remove(_, Reuse::Free) => 2,
        Change::Take(..) => 3,
        _ => 1,
    };
    let actions = plan.changes.iter().map(weight).sum::<usize>();
    assert!(actions <= MAX_ACTIONS, "{actions} actions");
    assert_eq!(plan.needs_slots().count(), 0, "a series twice");
    let ledger = plan.ledger.clone().unwrap_or_default();
    assert!(ledger.placed.len() <= 3, "its own, the videos', the news'");
    assert_eq!(
        ledger.placed.is_empty(),
        ledger.claim.is_none() || ledger.departed.is_some(),
        "an entry without a claim, or a claim without one"
    );
    let stored = serde_json::to_string(&ledger).expect("a ledger has text keys alone");
    assert!(
        stored.len() <= MAX_LEDGER_BYTES,
        "{} bytes of ledger",
        stored.len()
    );
    assert_eq!(serde_json::from_str::<Ledger>(&stored).ok(), Some(ledger));
    for change in &plan.changes {
        if let (Change::Replace(placement, rendered), Some(record), Some(site)) =
            (change, record, site)
        {
            assert!(
                rendered.xml.len() <= MAX_ENTRY_BYTES,
                "{} bytes of entry",
                rendered.xml.len()
            );
            is_series_name(&placement.series.name);
            is_one_entry(&rendered.xml, record, site);
        }
    }
}

/// Checks that `/{name}-sitemap.xml` leads to the series.
fn is_series_name(name: &str) {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    assert!(
        (1..=MAX_SERIES_BYTES).contains(&name.len()) && name.bytes().all(is_allowed),
        "{name:?}"
    );
    assert_ne!(name, FOREIGN_INDEX_SERIES);
}

fn is_of_so_many(text: &str, chars: usize) {
    assert!((1..=chars).contains(&text.chars().count()), "{text:?}");
}

/// Checks that an XML parser finds one entry, of a page on the site, with nothing in it that is not the record's.
fn is_one_entry(xml: &str, record: &ContentRecord, site: &SiteSettings) {
    // Only the elements of videos and news contain titles and names.
    let has_texts = xml.contains("<video:") || xml.contains("<news:");
    assert!((has_texts || xml.is_ascii()) && xml.ends_with("</url>\n"));
    let mut reader = Reader::from_str(xml);
    reader.config_mut().check_end_names = true;
    let (mut open, mut texts) = (Vec::new(), Vec::new());
    let mut links = 0;
    loop {
        match reader.read_event().expect("well-formed XML") {
            Event::Start(tag) => {
                open.push(tag.name().as_ref().to_owned());
                let names: Vec<String> = tag
                    .attributes()
                    .map(|attribute| attribute.expect("well-formed").key.as_ref().to_owned())
                    .collect();
                let allowed = match tag.name().as_ref() {
                    "video:restriction" | "video:platform" => names == ["relationship"],
                    "video:uploader" => names.is_empty() || names == ["info"],
                    _ => names.is_empty(),
                };
                assert!(allowed, "{names:?}");
                texts.push(String::new());
            }
            Event::Text(text) => {
                if let Some(last) = texts.last_mut() {
                    last.push_str(&text);
                } else {
                    assert_eq!(&*text, "\n", "text outside the entry");
                }
            }
            Event::GeneralRef(name) => {
                let character =
                    quick_xml::escape::resolve_xml_entity(&name).expect("a predefined entity");
                texts
                    .last_mut()
                    .expect("inside the entry")
                    .push_str(character);
            }
            Event::Empty(tag) => {
                assert_eq!(tag.name().as_ref(), "xhtml:link");
                let names: Vec<String> = tag
                    .attributes()
                    .map(|attribute| attribute.expect("well-formed").key.as_ref().to_owned())
                    .collect();
                assert_eq!(names, ["rel", "hreflang", "href"]);
                links += 1;
            }
            Event::End(_) => {
                let (path, text) = (open.join("/"), texts.pop().unwrap_or_default());
                let elsewhere = || record.images.iter().any(|image| image.as_str() == text);
                match path.as_str() {
                    "url/loc" => {
                        let loc = Loc::parse_any(&text).expect("a loc");
                        assert!(is_on(&loc, &site.origin), "{loc} is not on {}", site.origin);
                        assert_eq!(loc.as_str(), text);
                    }
                    "url/image:image/image:loc" => {
                        assert!(elsewhere(), "{text} is none of its images")
                    }
                    "url" | "url/lastmod" | "url/changefreq" | "url/priority"
                    | "url/image:image" => {}
                    "url/video:video/video:title" => is_of_so_many(&text, MAX_TITLE_CHARS),
                    "url/video:video/video:description" => {
                        is_of_so_many(&text, MAX_DESCRIPTION_CHARS);
                    }
                    "url/video:video/video:thumbnail_loc"
                    | "url/video:video/video:content_loc"
                    | "url/video:video/video:player_loc" => {
                        assert!(Loc::parse_any(&text).is_ok(), "{text}");
                    }
                    other if other.starts_with("url/video:video") => {}
                    other if other.starts_with("url/news:news") => {}
                    other => panic!("an element {other}"),
                }
                open.pop();
            }
            Event::Eof => break,
            other => panic!("{other:?} in an entry"),
        }
    }
    assert!(open.is_empty() && xml.matches("<url>").count() == 1);
    assert!(links == 0 || links == record.alternates.len());
}

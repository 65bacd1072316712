//! Writes the rows of a first load as DynamoDB JSON, as DynamoDB's import from S3 takes it: a prototype, see
//! `docs/design/bulk-on-aws.md`.
//!
//!     cargo run --profile sim -p waymark-sim --example import_rows -- content.jsonl folder
//!
//! It writes pages' rows and series' counters alone. Rows of sites and scans are the functions' own, and so are objects.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Parser;
use engine::bulk::{Page, Placer, Planned, Planner, Shard, Store, Survey, rows_of};
use engine::reconcile::KnownSites;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Map, Value as Json, json};
use sitemap::record::ContentRecord;
use sitemap::site::{SiteSettings, host_of_site_id};
use table::{Item, Value};

type Fallible<T> = Result<T, Box<dyn Error>>;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Bytes that DynamoDB stores of an item beside its own.
const BYTES_OF_AN_ITEM: usize = 100;

/// What JSON allows in a text and some readers of JSON lines take for the end of a line.
const ENDS_OF_LINES: [(char, &str); 3] = [
    ('\u{85}', "\\u0085"),
    ('\u{2028}', "\\u2028"),
    ('\u{2029}', "\\u2029"),
];

/// Write the rows of a first load for DynamoDB's import
#[derive(Parser)]
struct Arguments {
    /// Content, one JSON record a line
    content: PathBuf,
    /// Folder for the files; it must not exist
    folder: PathBuf,
    /// Rows in a file
    #[arg(long, default_value_t = 200_000)]
    rows: usize,
    /// Token of all ledgers: the first fence replaces it
    #[arg(long, default_value = "import")]
    token: String,
}

/// The files, and what is in them.
struct Files {
    folder: PathBuf,
    token: String,
    limit: usize,
    /// Rows of the next file, with the hash of their keys.
    waiting: Vec<(u64, String)>,
    files: usize,
    pages: usize,
    json_bytes: usize,
    item_bytes: usize,
    kinds: BTreeMap<String, usize>,
}

impl Files {
    fn add(&mut self, item: &Item) -> Fallible<()> {
        let key = |name| item.text(name).ok_or("a row without its key");
        let (pk, sk) = (key("pk")?, key("sk")?);
        let kind = pk.split('#').next().unwrap_or_default();
        *self.kinds.entry(kind.to_owned()).or_default() += 1;
        let mut hasher = DefaultHasher::new();
        (pk, sk).hash(&mut hasher);
        let mut line = serde_json::to_string(&json!({"Item": dynamodb_json(item)?}))?;
        for (end, escaped) in ENDS_OF_LINES {
            if line.contains(end) {
                line = line.replace(end, escaped);
            }
        }
        self.json_bytes += line.len() + 1;
        self.item_bytes += BYTES_OF_AN_ITEM + item.bytes();
        self.waiting.push((hasher.finish(), line));
        if self.waiting.len() < self.limit {
            return Ok(());
        }
        self.write()
    }

    /// Writes a file, in the order of the keys' hashes: neighbours in a segment would be written to one partition at a time.
    fn write(&mut self) -> Fallible<()> {
        self.waiting.sort_unstable();
        self.files += 1;
        let name = format!("rows-{:05}.json.gz", self.files);
        let file = File::create_new(self.folder.join(name))?;
        let mut gzip = GzEncoder::new(file, Compression::fast());
        for (_, line) in self.waiting.drain(..) {
            gzip.write_all(line.as_bytes())?;
            gzip.write_all(b"\n")?;
        }
        gzip.finish()?.sync_all()?;
        Ok(())
    }
}

impl Store for Files {
    type Error = Box<dyn Error>;

    fn keeps_rows(&self) -> bool {
        true
    }

    fn page(&mut self, page: &Page<'_>) -> Fallible<()> {
        self.pages += 1;
        for item in rows_of(page.name, page.plan, &self.token) {
            self.add(&item)?;
        }
        Ok(())
    }

    // Publishing makes the objects, of the imported rows.
    fn shard(&mut self, _: &Arc<SiteSettings>, _: Shard) -> Fallible<()> {
        Ok(())
    }
}

/// Returns an item in DynamoDB's JSON.
fn dynamodb_json(item: &Item) -> Fallible<Json> {
    let attributes = item.iter();
    let attributes = attributes.map(|(name, value)| Ok((name.to_string(), typed(value)?)));
    Ok(Json::Object(attributes.collect::<Fallible<Map<_, _>>>()?))
}

fn typed(value: &Value) -> Fallible<Json> {
    Ok(match value {
        Value::Text(text) => json!({"S": text}),
        Value::Number(number) => json!({"N": number}),
        Value::Bool(value) => json!({"BOOL": value}),
        other => return Err(format!("a page has no row with such a value: {other:?}").into()),
    })
}

/// Returns the records of a file, in their order.
fn records(content: &Path) -> Fallible<impl Iterator<Item = Fallible<(String, Json)>>> {
    let lines = BufReader::new(File::open(content)?).lines();
    Ok(lines.map(|line| {
        let record: Json = serde_json::from_str(&line?)?;
        let id = record["id"].as_str().ok_or("a record without an id")?;
        Ok((id.to_owned(), record))
    }))
}

#[expect(
    clippy::disallowed_methods,
    reason = "the rows are for now, and not for a simulated world"
)]
fn now() -> Fallible<i64> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH)?;
    Ok(i64::try_from(since.as_secs())?)
}

fn main() -> Fallible<()> {
    let arguments = Arguments::parse();
    fs::create_dir(&arguments.folder)?;
    // An import keeps any one of several rows with one key, and does not say so.
    let mut ids = BTreeSet::new();
    let (mut recorded, mut depends) = (BTreeMap::new(), false);
    for record in records(&arguments.content)? {
        let (id, record) = record?;
        depends |= Planned::depends(&ContentRecord::parse(&id, &record));
        if let Some(host) = host_of_site_id(&id) {
            recorded.insert(host.to_owned(), record);
        }
        if let Some(id) = ids.replace(id) {
            return Err(format!("two records have the id {id}").into());
        }
    }
    drop(ids);
    let mut planner = Planner::new(now()?, KnownSites::Any, recorded);
    let parsed = || Fallible::Ok((0..).zip(records(&arguments.content)?));
    if depends {
        let mut survey = Survey::default();
        for (at, record) in parsed()? {
            let (id, record) = record?;
            let planned = planner.plan(ContentRecord::parse(&id, &record), at);
            survey.see(&planner, planned);
        }
        planner = survey.finish(planner);
    }
    let mut files = Files {
        folder: arguments.folder.clone(),
        token: arguments.token,
        limit: arguments.rows.max(1),
        waiting: Vec::new(),
        files: 0,
        pages: 0,
        json_bytes: 0,
        item_bytes: 0,
        kinds: BTreeMap::new(),
    };
    let mut placer = Placer::default();
    for (at, record) in parsed()? {
        let (id, record) = record?;
        let planned = planner.plan(ContentRecord::parse(&id, &record), at);
        placer.place(&planner, planned, &mut files)?;
    }
    for row in placer.finish(&mut files)? {
        files.add(&row)?;
    }
    files.write()?;
    let found = json!({
        "pages": files.pages, "rows": files.kinds.values().sum::<usize>(), "kinds": files.kinds,
        "files": files.files, "json_bytes": files.json_bytes, "item_bytes": files.item_bytes,
    });
    println!("{found}");
    Ok(())
}

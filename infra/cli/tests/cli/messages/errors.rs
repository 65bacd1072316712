//! Messages of tables, the bucket and the command.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::{env, io};

use aws::environment::{EnvironmentError, SourceError};
use cli::build::{BuildError, Hosts};
use cli::content::{LoadError, NoRecords};
use cli::deployment::local::NoStack;
use cli::deployment::samconfig::SamconfigError;
use cli::deployment::stack::StackError;
use cli::diff::DiffError;
use cli::export::ExportError;
use cli::first_load::FirstLoadError;
use cli::import::ImportError;
use cli::listing::error::ListingError;
use cli::load::publish::PublishError;
use cli::mapping::ItemError;
use cli::redrive::Reason;
use crawl::bots::TableError;
use crawl::forms::{FieldsError, Undetected, UnknownForm, Unread};
use engine::error::EngineError;
use serde_json::Value;
use sitemap::loc::LocError;
use sitemap::mapping::Mapping;
use sitemap::redirects::{Refused, Target};

use super::{HOST, URL};

fn gone() -> io::Error {
    io::Error::from_raw_os_error(2)
}

fn full() -> io::Error {
    io::Error::from_raw_os_error(28)
}

pub(super) fn store_errors() -> Vec<EngineError> {
    let operation = "PutItem";
    every!(EngineError {
        EngineError::Service { .. } => EngineError::Service { operation, message: "no answer within 10 s".to_owned() },
        EngineError::Refused { .. } => EngineError::Refused { operation, message: "ValidationException: Item size has exceeded".to_owned() },
        EngineError::Damaged { .. } => EngineError::Damaged { what: "LEDGER#post/1 -".to_owned(), message: "has no body".to_owned() },
        EngineError::Contended { .. } => EngineError::Contended { what: "post/1".to_owned(), tries: 10 },
        EngineError::Late { .. } => EngineError::Late { what: "the parts of post/1".to_owned() },
    })
}

/// Returns the messages of the variants with messages of their own. Those that pass another error on are left out.
pub(super) fn command_errors() -> Vec<String> {
    let (name, region) = ("waymark".to_owned(), "eu-central-1".to_owned());
    let mut errors = Vec::new();
    let mut add = |error: &dyn Display| errors.push(error.to_string());
    let option = "--dynamodb-port";
    for error in every!(NoStack {
        NoStack::Silent { .. } => NoStack::Silent { port: 8000, option },
        NoStack::Other { .. } => NoStack::Other { port: 8000, service: "DynamoDB", option },
    }) {
        add(&error);
    }
    for error in every!(StackError {
        StackError::NoRegion { .. } => StackError::NoRegion { name: name.clone() },
        StackError::Credentials { .. } => StackError::Credentials {
            name: name.clone(), region: region.clone(), reason: "no providers in chain provided credentials".to_owned(),
        },
        StackError::Missing { .. } => StackError::Missing { name: name.clone(), region: region.clone() },
        StackError::Foreign { .. } => StackError::Foreign { name: name.clone(), region: region.clone(), output: "ContentTableName" },
        StackError::Unusable { .. } => StackError::Unusable {
            name: name.clone(), region: region.clone(), status: "ROLLBACK_COMPLETE".to_owned(), reason: None,
        },
        StackError::Denied { .. } => StackError::Denied {
            name: name.clone(), region: region.clone(), message: "User: … is not authorized".to_owned(),
        },
        StackError::Rejected { .. } => StackError::Rejected {
            name: name.clone(), region: region.clone(), code: "ExpiredToken".to_owned(), message: "The token has expired".to_owned(),
        },
        StackError::Failed { .. } => StackError::Failed {
            name: name.clone(), region: region.clone(), endpoint: "https://cloudformation.eu-central-1.amazonaws.com".to_owned(),
            reason: "no answer within 10 s".to_owned(),
        },
    }) {
        add(&error);
    }
    let toml = basic_toml::from_str::<Value>("version =").unwrap_err();
    let form = serde_json::from_str::<u8>("\"x\"").unwrap_err();
    for error in every!(SamconfigError {
        SamconfigError::File(_) => SamconfigError::File(gone()),
        SamconfigError::Toml(_) => SamconfigError::Toml(toml),
        SamconfigError::Unknown { .. } => SamconfigError::Unknown { name: "staging".to_owned(), known: vec!["default".to_owned()] },
        SamconfigError::Form { .. } => SamconfigError::Form { name: "default".to_owned(), error: form },
        SamconfigError::NoStack(_) => SamconfigError::NoStack("default".to_owned()),
    }) {
        add(&error);
    }
    for error in every!(EnvironmentError {
        EnvironmentError::Variable { .. } => EnvironmentError::Variable { name: "CONTENT_TABLE", cause: env::VarError::NotPresent },
        EnvironmentError::Monitoring(_) => EnvironmentError::Monitoring("some".parse::<engine::metrics::Monitoring>().unwrap_err()),
        EnvironmentError::Source(_) => EnvironmentError::Source(SourceError::NoTable),
    }) {
        add(&error);
    }
    for error in every!(SourceError {
        SourceError::NoMapping(_) => SourceError::NoMapping("magazine".to_owned()),
        SourceError::NoTable => SourceError::NoTable,
        SourceError::Own(_) => SourceError::Own("waymark-content".to_owned()),
        SourceError::Mapping(_) => SourceError::Mapping(Mapping::parse("[]").unwrap_err()),
    }) {
        add(&error);
    }
    let load = || LoadError::File {
        file: "content.jsonl".to_owned(),
        error: gone(),
    };
    for error in every!(LoadError {
        LoadError::File { .. } => load(),
        LoadError::Spool { .. } => LoadError::Spool { folder: PathBuf::from("/tmp"), error: full() },
        LoadError::Table(_) => LoadError::Table("BatchWriteItem failed: no answer within 10 s".to_owned()),
        LoadError::SideFile { .. } => LoadError::SideFile { file: PathBuf::from("content.jsonl.journal"), error: full() },
    }) {
        add(&error);
    }
    let store = || EngineError::Service {
        operation: "PutItem",
        message: "no answer within 10 s".to_owned(),
    };
    for error in every!(PublishError {
        PublishError::Store(_) => PublishError::Store(store()),
        PublishError::Table(_) => PublishError::Table("PutItem failed: no answer within 10 s".to_owned()),
        PublishError::Host { .. } => PublishError::Host { host: "exa mple".to_owned(), error: LocError::NotAbsolute },
        PublishError::Late { .. } => PublishError::Late { what: "www.example.com to be published".to_owned(), limit: std::time::Duration::from_secs(3_600) },
    }) {
        add(&error);
    }
    let item = serde_json::from_str::<Value>("{").unwrap_err();
    let attributes = serde_dynamo::from_item::<_, u8>(serde_dynamo::Item::default()).unwrap_err();
    for error in every!(ItemError {
        ItemError::Json(_) => ItemError::Json(item),
        ItemError::Item(_) => ItemError::Item(attributes),
        ItemError::Shape => ItemError::Shape,
    }) {
        add(&error);
    }
    for error in every!(FirstLoadError {
        FirstLoadError::Load(_) => FirstLoadError::Load(load()),
        FirstLoadError::Engine(_) => FirstLoadError::Engine(store()),
        FirstLoadError::Unknown(_) => FirstLoadError::Unknown(HOST.to_owned()),
        FirstLoadError::Ended => FirstLoadError::Ended,
    }) {
        add(&error);
    }
    for error in every!(BuildError {
        BuildError::FirstLoad(_) => BuildError::FirstLoad(FirstLoadError::Ended),
        BuildError::Engine(_) => BuildError::Engine(store()),
        BuildError::Objects(_) => BuildError::Objects(objects::ObjectError::Damaged {
            what: "post-sitemap.xml".to_owned(), message: "it is cut short".to_owned(),
        }),
        BuildError::Write { .. } => BuildError::Write { file: PathBuf::from("public/post-sitemap.xml"), error: full() },
        BuildError::Move { .. } => BuildError::Move { file: PathBuf::from("public/robots.txt"), error: full() },
        BuildError::Sites(_) => BuildError::Sites(Hosts(vec![
            (HOST.to_owned(), (112, Some("post/1".to_owned()))), ("other.example".to_owned(), (0, None)),
        ])),
        BuildError::Foreign { .. } => BuildError::Foreign {
            folder: PathBuf::from("public"), files: vec!["robots.txt".to_owned(), "sitemap.css".to_owned()],
        },
        BuildError::InTheWay { .. } => BuildError::InTheWay { file: PathBuf::from("public/robots.txt") },
        BuildError::Locked { .. } => BuildError::Locked { folder: PathBuf::from("public"), seconds: 60 },
        BuildError::Manifest { .. } => BuildError::Manifest {
            file: PathBuf::from("public/.waymark-build/files.json"), why: "EOF while parsing a value at line 1 column 0".to_owned(),
        },
        BuildError::Case { .. } => BuildError::Case {
            folder: PathBuf::from("public"), files: vec!["Post-sitemap.xml".to_owned(), "post-sitemap.xml".to_owned()],
        },
        BuildError::Unserved { .. } => BuildError::Unserved {
            site: HOST.to_owned(), path: "/post-sitemap.xml".to_owned(), status: 503,
        },
        BuildError::Redirects { .. } => BuildError::Redirects {
            site: HOST.to_owned(), refused: Refused::TooMany { target: Target::Cloudflare, count: 2_001, limit: 2_000 },
        },
        BuildError::NoRecords(_) => BuildError::NoRecords(NoRecords { files: "pages.csv".to_owned(), next: "build - --out DIR" }),
        BuildError::Empty => BuildError::Empty,
    }) {
        add(&error);
    }
    for error in every!(ListingError {
        ListingError::Unread { .. } => ListingError::Unread { file: URL.to_owned(), why: "status 404".to_owned() },
        ListingError::NoSitemaps { .. } => ListingError::NoSitemaps { target: HOST.to_owned(), names: "sitemap_index.xml, sitemap.xml".to_owned() },
        ListingError::Nothing { .. } => ListingError::Nothing { target: HOST.to_owned(), what: format!("{URL} is a sitemap without entries") },
        ListingError::TooMany { .. } => ListingError::TooMany { target: HOST.to_owned(), limit: 50_000 },
        ListingError::Table(_) => ListingError::Table(store()),
        ListingError::Sort(_) => ListingError::Sort(check::listing::sort::SortError::new(Path::new("/tmp"), full())),
    }) {
        add(&error);
    }
    for error in every!(DiffError {
        DiffError::Sort(_) => DiffError::Sort(check::listing::sort::SortError::new(Path::new("/tmp"), full())),
        DiffError::Output(_) => DiffError::Output(full()),
    }) {
        add(&error);
    }
    for error in every!(Undetected {
        Undetected::Empty => Undetected::Empty,
        Undetected::Packed(_) => Undetected::Packed("bzip2"),
        Undetected::Parquet => Undetected::Parquet,
        Undetected::HaProxy => Undetected::HaProxy,
        Undetected::Extended => Undetected::Extended,
        Undetected::Json => Undetected::Json,
        Undetected::JsonDocument => Undetected::JsonDocument,
        Undetected::Other => Undetected::Other,
    }) {
        add(&error);
    }
    for error in every!(Unread {
        Unread::Shape => Unread::Shape,
        Unread::Cut => Unread::Cut,
        Unread::TooLong => Unread::TooLong,
        Unread::Time => Unread::Time,
        Unread::Status => Unread::Status,
        Unread::NoRequest => Unread::NoRequest,
        Unread::NotHttp => Unread::NotHttp,
        Unread::Json => Unread::Json,
        Unread::NoTarget => Unread::NoTarget,
        Unread::BehindCloudFront => Unread::BehindCloudFront,
    }) {
        add(&error);
    }
    for error in every!(FieldsError {
        FieldsError::Pair(_) => FieldsError::Pair("url".to_owned()),
        FieldsError::Part(_) => FieldsError::Part("path".to_owned()),
        FieldsError::Missing(_) => FieldsError::Missing("status"),
    }) {
        add(&error);
    }
    add(&UnknownForm::Name("iis".to_owned()));
    let (text, entry) = ("googlebot.json".to_owned(), "prefixes[3]".to_owned());
    add(&TableError {
        text,
        entry,
        reason: "192.0.2.0/240 is no range of addresses".to_owned(),
    });
    for error in every!(ExportError {
        ExportError::Table(_) => ExportError::Table("Scan failed: no answer within 10 s".to_owned()),
        ExportError::Output(_) => ExportError::Output(full()),
    }) {
        add(&error);
    }
    for error in every!(ImportError {
        ImportError::Output(_) => ImportError::Output(full()),
        ImportError::Spool(_) => ImportError::Spool(full()),
    }) {
        add(&error);
    }
    for error in every!(Reason {
        Reason::Foreign(_) => Reason::Foreign("missing field `DDBStreamBatchInfo`".to_owned()),
        Reason::OtherTable(_) => Reason::OtherTable("shop".to_owned()),
        Reason::Failed { .. } => Reason::Failed { function: "ingest", from: 3, records: 10 },
        Reason::Bucket(_) => Reason::Bucket(objects::ObjectError::Unavailable {
            operation: "GetObject", message: "no answer within 10 s".to_owned(),
        }),
    }) {
        add(&error);
    }
    let mut seen = BTreeSet::new();
    errors.retain(|error| seen.insert(error.clone()));
    errors
}

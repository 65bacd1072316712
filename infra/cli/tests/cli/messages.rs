//! `docs/reference/messages.md` is what the code says: each message there is rendered here.
//!
//! A message of an enum's variant is listed by [`every`], which does not compile without all variants. A message without a type
//! of its own is provoked: by a bad record, bad settings, a bad mapping, or a command that cannot be followed.
//!
//! After a change of a message, `WAYMARK_WRITE=1 cargo test -p waymark-cli --test cli messages` writes the page again.

#![expect(
    clippy::unwrap_used,
    reason = "a test that unwraps nothing fails, as it should"
)]

use std::fmt::{Display, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs};

use crate::limited::Limited as _;

const HOST: &str = "www.example.com";
const URL: &str = "https://www.example.com/a";

/// Samples of an enum's variants. Without a pattern for each variant it does not compile.
macro_rules! every {
    ($type:ty { $($pattern:pat => $sample:expr,)* }) => {{
        let _ = |value: &$type| match value { $($pattern => (),)* };
        vec![$($sample,)*]
    }};
}

mod content;
mod errors;

use content::{loc_errors, mapping_rows, record_rows, refusals, settings_rows, time_errors};
use errors::{command_errors, store_errors};

/// Writes a table of the page. Code spans keep what messages quote from being read as markup.
fn table(out: &mut String, heads: [&str; 2], rows: impl IntoIterator<Item = [String; 2]>) {
    writeln!(out, "| {} | {} |\n|---|---|", heads[0], heads[1]).unwrap();
    for [left, right] in rows {
        writeln!(out, "| {left} | {right} |").unwrap();
    }
    out.push('\n');
}

fn code(text: impl Display) -> String {
    let text = text.to_string().replace('|', "\\|").replace('\n', " ");
    if text.contains('`') {
        format!("`` {text} ``")
    } else {
        format!("`{text}`")
    }
}

fn section(out: &mut String, head: &str, text: &str) {
    writeln!(out, "## {head}\n\n{text}\n").unwrap();
}

/// Returns what the command says of a wrong use, with the command.
fn usage() -> Vec<[String; 2]> {
    let commands: &[&[&str]] = &[
        &["status", "--region", "eu-central-1"],
        &["redrive"],
        &["export", "--json"],
        &["diff", "--stack", "waymark", "a.xml", "b.xml"],
        &["check", "s3://"],
        &["check", "s3://bucket/sitemaps"],
        &[
            "explain",
            URL,
            "--stack",
            "w",
            "--source-table",
            "t",
            "--source-mapping",
            "m.json",
        ],
        &["check", "ftp://www.example.com/"],
        &["mapping", "missing.json"],
        &["status", "--color", "red"],
    ];
    let folder = tempfile::tempdir().unwrap();
    let row = |arguments: &&[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_waymark"))
            .args(*arguments)
            .current_dir(folder.path())
            .env_remove("RUST_LOG")
            .stdin(Stdio::null())
            .output_in_time();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        // clap's own continue with the usage.
        let text = text.trim().split("\n\n").next().unwrap_or_default();
        [code(text), code(format!("waymark {}", arguments.join(" ")))]
    };
    commands.iter().map(row).collect()
}

fn page() -> String {
    let mut out = String::from(HEAD);
    section(&mut out, "Excluded pages", EXCLUDED);
    let rows = refusals().into_iter().map(|(refusal, remedy)| {
        [
            format!("{}: {}", code(refusal.name()), code(&refusal)),
            remedy.to_owned(),
        ]
    });
    table(&mut out, ["reason and message", "what to do"], rows);
    section(&mut out, "Addresses and times", ADDRESSES);
    let rows = loc_errors()
        .into_iter()
        .map(|error| [code(error), "address".to_owned()]);
    let times = time_errors()
        .into_iter()
        .map(|error| [code(error), "time".to_owned()]);
    table(&mut out, ["message", "of"], rows.chain(times));
    section(&mut out, "Fields of a record", RECORDS);
    table(&mut out, ["message", "the page is"], record_rows());
    section(&mut out, "A site's settings", SITES);
    table(&mut out, ["message", "effect"], settings_rows());
    section(&mut out, "A field mapping", MAPPINGS);
    table(&mut out, ["message", "what is wrong"], mapping_rows());
    section(&mut out, "Tables and the bucket", STORES);
    let rows = store_errors().into_iter().map(|error| {
        let kind = if error.is_permanent() {
            "permanent: the record or row is left until it is corrected"
        } else {
            "temporary: it is retried"
        };
        [code(&error), kind.to_owned()]
    });
    table(&mut out, ["message", "kind"], rows);
    section(&mut out, "The command", COMMAND);
    for error in command_errors() {
        // Outside of a table a bar needs no mark.
        writeln!(out, "- {}", code(error).replace("\\|", "|")).unwrap();
    }
    out.push('\n');
    section(&mut out, "Wrong use of the command", USAGE);
    table(&mut out, ["message", "of"], usage());
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

const HEAD: &str = "\
# Messages

Search this page for the words of a message. Names and values in it are samples. A message says what failed, on what, why and what
to do; a reason that names its field or address needs no more.

The page covers why pages are excluded, what is wrong with records, settings and mappings, and the errors of the command `waymark`. It
is written by a test (`infra/cli/tests/cli/messages/`), which fails if the code says something else. Not on this page:

- the rules of `waymark check`, which are in [its own page](../cli/check.md#rules), and the findings of
  [`waymark audit`](../cli/audit.md#findings);
- the lines that the functions log, which are in [a page of their own](log.md);
- what AWS and the operating system say, which messages quote;
- problems that `waymark import` and `waymark load` report of a line or a source.

";
const EXCLUDED: &str = "`waymark explain` and `waymark status --left-out` show these.";
const ADDRESSES: &str = "They follow the name of the field, or the address itself.";
const RECORDS: &str = "\
A field that decides whether a page is listed excludes it. Any other field is left out alone, and the page is listed without it.";
const SITES: &str = "\
`waymark status` shows these. An invalid setting falls back to its default. Where the default could publish what was meant to be \
private, the site, its type or its robots.txt is closed instead, as the message says.";
const MAPPINGS: &str = "\
`waymark mapping` reports all problems of a mapping at once. If a mapping cannot make a field from an item, that is a problem of the \
item's record.";
const STORES: &str = "The functions log these, and the command prints them.";
const COMMAND: &str = "They begin with `waymark:` and go to stderr, with status 2.";
const USAGE: &str = "Examples of errors for wrong options and targets. `waymark VERB --help` lists the valid options.";

#[test]
fn the_page_has_the_messages_of_the_code() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/messages.md");
    let page = page();
    if env::var_os("WAYMARK_WRITE").is_some() {
        fs::write(&file, &page).unwrap();
        return;
    }
    let documented = fs::read_to_string(&file).unwrap();
    let differs = |(now, then): &(&str, &str)| now != then;
    let mut lines = page.lines().zip(documented.lines());
    let first = lines.find(differs);
    assert!(
        page == documented,
        "docs/reference/messages.md is not what the code says, first at {first:?}: read the change, then write the page with \
         `WAYMARK_WRITE=1 cargo test -p waymark-cli --test cli messages`"
    );
}

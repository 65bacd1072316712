//! `waymark build`

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use aws::Clock;
use clap::Args;
use serde::Serialize;
use sitemap::redirects::Target;
use sitemap::time::When;

use crate::build::{BuildError, Out, Site, Written, some};
use crate::content::Source;
use crate::content::args::{show_problems, source};
use crate::first_load::{Content, Keeps, World};
use crate::redirects::{Made, target};
use crate::status::exclusions::LeftOut;
use crate::terminal::output::{Format, Output, note};
use crate::terminal::text::counted;

#[derive(Args)]
pub(crate) struct Build {
    /// Content files: JSON Lines, plain or gzipped; - reads standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Folder for the files of one site
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Write each site into a folder of DIR named after its host
    #[arg(long)]
    per_site: bool,
    /// Replace files in DIR that no build wrote
    #[arg(long)]
    force: bool,
    /// Delete files in DIR that only earlier builds wrote
    #[arg(long)]
    prune: bool,
    /// Also write the redirects of moved and gone pages, for a server: nginx, apache, caddy, netlify, cloudflare, vercel,
    /// cloudfront-kvs or csv (repeatable)
    #[arg(long, value_name = "TARGET", value_parser = target)]
    redirects: Vec<Target>,
    /// Publish as of this time, such as 2026-11-15T12:00:00Z, for reproducible files [default: now]
    #[arg(long, value_name = "TIME", value_parser = time)]
    at: Option<i64>,
    /// Show excluded pages by reason, with N examples each [default: 20]
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "20")]
    left_out: Option<usize>,
}

fn time(text: &str) -> Result<i64, String> {
    When::parse(text)
        .map(When::seconds)
        .map_err(|error| error.to_string())
}

/// What is printed as JSON.
#[derive(Serialize)]
struct Answer<'a> {
    /// Records that were read, each id once.
    records: u64,
    /// Lines that are no records.
    malformed: u64,
    #[serde(flatten)]
    written: &'a Written,
    /// What is left out, by reason; with `--left-out` with examples.
    left_out: &'a LeftOut,
}

impl Build {
    /// Runs the build. Status 0: everything that may be listed is listed. 1: a line was malformed. 2: something could not be read or
    /// written.
    pub(crate) async fn run(self, output: &mut Output) -> Result<ExitCode> {
        let targets: BTreeSet<Target> = self.redirects.into_iter().collect();
        let files: BTreeSet<&str> = targets.iter().map(|target| target.file_name()).collect();
        if files.len() < targets.len() {
            let text = "--redirects netlify and --redirects cloudflare write the same file, _redirects: give one of them";
            return Err(anyhow!(text));
        }
        let now = self.at.unwrap_or_else(|| Clock::system().now());
        let mut content = Content::begin()?;
        let sources: Vec<Source> = self.files.iter().map(|file| source(file)).collect();
        for source in &sources {
            content.read(source)?;
        }
        let world = World::begin(now).await?;
        let examples = self.left_out.unwrap_or(0);
        let publish = || content.publish(world, examples, Keeps::Counts);
        let (world, loaded) = tokio::task::block_in_place(publish)?;
        show_problems(&loaded.problems);
        if let Some(none) = loaded.no_records(&sources, "build - --out DIR") {
            return Err(BuildError::from(none).into());
        }
        let out = Out {
            folder: self.out,
            per_site: self.per_site,
            force: self.force,
            prune: self.prune,
            redirects: targets.into_iter().collect(),
        };
        let written = world.write(&out).await?;
        let left_out = world.left_out();
        if output.format() == Format::Text {
            for site in &written.sites {
                output.line(line(site))?;
            }
            let count: u64 = left_out.reasons.values().map(|pages| pages.count).sum();
            if self.left_out.is_some() {
                output.text(&left_out.text())?;
            } else if count > 0 {
                let count = indicatif::HumanCount(count);
                output.line(format_args!("left out: {count} (--left-out shows why)"))?;
            }
        } else {
            output.json(&Answer {
                records: loaded.distinct(),
                malformed: loaded.malformed,
                written: &written,
                left_out,
            })?;
        }
        say_left(&written, &out);
        for site in &written.sites {
            let made = site.redirects.iter().flat_map(Made::lines);
            for line in site.moves.lines().into_iter().chain(made) {
                note(format!("waymark: {}: {line}", site.host));
            }
        }
        // A memory of a million pages is given back faster by the end of the process.
        std::mem::forget(world);
        let malformed = loaded.problems.iter().any(|problem| problem.closes);
        Ok(ExitCode::from(u8::from(malformed)))
    }
}

/// Reports the other files in the folder, besides those of this build, and what its files may do to each other.
fn say_left(written: &Written, out: &Out) {
    let folder = out.folder.display();
    let names = |files: &BTreeSet<String>| some(&files.iter().cloned().collect::<Vec<_>>());
    if !written.pruned.is_empty() {
        note(format!(
            "waymark: deleted in {folder}: {}",
            names(&written.pruned)
        ));
    }
    if !written.stale.is_empty() {
        note(format!(
            "waymark: {folder} has files that only earlier builds wrote: {}. Delete them with --prune",
            names(&written.stale)
        ));
    }
    for site in &written.sites {
        let is_known = |name: &String| {
            let path = site.folder.join(name);
            written
                .stale
                .iter()
                .any(|stale| out.folder.join(stale) == path)
        };
        let unknown: Vec<String> = site
            .stale
            .iter()
            .filter(|name| !is_known(name))
            .cloned()
            .collect();
        if !unknown.is_empty() {
            note(format!(
                "waymark: {} has sitemaps that this build neither wrote nor lists in an index: {}. Delete them",
                site.folder.display(),
                some(&unknown)
            ));
        }
    }
    if !written.case_clashes.is_empty() {
        note(format!(
            "waymark: file names in {folder} differ only in case: {}. On a disk that ignores case one overwrites the \
             other: rename a type",
            some(&written.case_clashes.concat())
        ));
    }
}

fn line(site: &Site) -> String {
    format!(
        "{}: {}, {}; {} in {}",
        site.host,
        counted(site.sitemaps, "sitemap"),
        counted(site.entries, "entry"),
        counted(site.files, "file"),
        site.folder.display()
    )
}

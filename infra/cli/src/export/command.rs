//! `waymark export`

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use clap::Args;
use sitemap::record::Problem;
use sitemap::redirects::Target;

use super::redirects::Exported;
use crate::deployment::args::{Located, Place, Purpose};
use crate::export::{self, Scope, export, export_mapped};
use crate::files::record_file::Out;
use crate::redirects::target;
use crate::terminal::output::{Format, Output, note};
use crate::terminal::text::counted;
use crate::values::{host, since};

/// Items without a whole record that are named.
const MAX_SHOWN: u32 = 20;

#[derive(Args)]
pub(crate) struct Export {
    #[command(flatten)]
    place: Place,
    /// Export only the records of this site
    #[arg(long, value_name = "HOST", value_parser = host)]
    site: Option<String>,
    /// Export only the records of this type
    #[arg(long = "type", value_name = "TYPE")]
    type_name: Option<String>,
    /// Export only records changed since this time or day, or without a date
    #[arg(long, value_name = "TIME", value_parser = since)]
    since: Option<i64>,
    /// Write the records to this file, gzipped if it ends in .gz [default: standard output]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Compress the records with gzip
    #[arg(long)]
    gzip: bool,
    /// Write DynamoDB's typed JSON, which keeps sets, binaries and long numbers
    #[arg(long)]
    typed: bool,
    /// Also export the items of your own table, as the records that its mapping makes
    #[arg(long, conflicts_with = "table")]
    mapped: bool,
    /// Export the redirects of moved and gone pages instead, for a server: nginx, apache, caddy, netlify, cloudflare, vercel,
    /// cloudfront-kvs or csv
    #[arg(
        long,
        value_name = "TARGET",
        value_parser = target,
        conflicts_with_all = ["type_name", "since", "typed", "mapped", "table"]
    )]
    redirects: Option<Target>,
    /// Export this table instead; its primary key must be id
    #[arg(long, value_name = "NAME")]
    table: Option<String>,
}

impl Export {
    pub(crate) async fn run(self, output: &mut Output) -> Result<ExitCode> {
        let is_json = output.format() != Format::Text;
        if is_json && self.output.is_none() {
            let text = "--json needs --output FILE: its document and the records cannot both go to standard output";
            return Err(anyhow!(text));
        }
        let located = self.place.locate(Purpose::Read).await?;
        if let Some(target) = self.redirects {
            return self.export_redirects(&located, target, output).await;
        }
        let source = located.target.reconciler.content.source();
        if self.mapped && source.is_none() {
            let text = "--mapped needs a table of your own: here the deployment has none, or --source-table is not given";
            return Err(anyhow!(text));
        }
        let table = self.table.as_ref().unwrap_or(&located.target.content_table);
        let scope = Scope {
            site: self.site.clone(),
            type_name: self.type_name.clone(),
            since: self.since,
        };
        let mut out = self.out()?;
        let client = located.clients.dynamodb().await;
        let mut exported = export(client, table, &scope, self.typed, &mut out).await?;
        if let Some(source) = source.filter(|_| self.mapped) {
            let mut shown = 0;
            let problem = |id: &str, Problem { field, reason, .. }: &Problem| {
                shown += 1;
                if shown <= MAX_SHOWN {
                    note(format!("{id}: {field}: {reason}: it is not exported"));
                }
            };
            let mapped = export_mapped(client, source, &scope, self.typed, &mut out, problem);
            let mapped = mapped.await?;
            exported.records += mapped.records;
            exported.not_mapped = mapped.not_mapped;
        }
        self.finish(out)?;
        let export::Exported {
            records,
            not_whole,
            not_mapped,
        } = exported;
        if is_json {
            output.json(&exported)?;
        } else {
            note(format!("exported {}", counted(records, "record")));
        }
        if not_whole > 0 {
            note(format!(
                "{not_whole} of them have sets, binaries or long numbers, which plain JSON cannot hold: --typed \
                 keeps them"
            ));
        }
        if not_mapped > 0 {
            let are = if not_mapped == 1 { "is" } else { "are" };
            let items = counted(not_mapped, "item");
            note(format!(
                "{items} of your own table {are} not exported: the mapping makes no whole record"
            ));
        }
        Ok(ExitCode::from(u8::from(not_mapped > 0)))
    }

    /// Exports the redirects of a site. Status 1: some departures have no redirect in the file.
    async fn export_redirects(
        &self,
        located: &Located,
        target: Target,
        output: &mut Output,
    ) -> Result<ExitCode> {
        let mut out = self.out()?;
        let exported = Exported::write(located, self.site.as_deref(), target, &mut out).await?;
        self.finish(out)?;
        if output.format() == Format::Text {
            let redirects = counted(exported.redirects() as u64, "redirect");
            note(format!("exported {redirects}"));
        } else {
            output.json(&exported)?;
        }
        exported.say();
        Ok(ExitCode::from(u8::from(!exported.is_whole())))
    }

    fn out(&self) -> Result<Out> {
        Ok(match &self.output {
            Some(path) => Out::file(path, self.gzip)?,
            None => Out::stdout(self.gzip),
        })
    }

    fn finish(&self, out: Out) -> Result<()> {
        match &self.output {
            Some(path) => out.finish(path)?,
            None => out.end()?,
        }
        Ok(())
    }
}

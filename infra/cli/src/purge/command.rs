//! `waymark purge`

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use clap::Args;
use engine::error::EngineError;
use serde::Serialize;

use crate::deployment::args::{Deployed, Purpose, no_site};
use crate::error::COMMAND_FAILED;
use crate::error::no_signals;
use crate::purge::{CloudFront, DOLLARS_AN_ITEM, FREE_ITEMS, item_of};
use crate::terminal::output::{Format, Output, note};
use crate::terminal::text::Tone;
use crate::values::duration;
use crate::values::host;

const NO_CDN: &str = "purge needs a deployment's CDN: give --stack NAME or --config-env ENV. The local stack has no \
                      CDN: only browsers cache its answers";

#[derive(Args)]
pub(crate) struct Purge {
    /// Site to invalidate
    #[arg(long, value_name = "HOST", value_parser = host)]
    site: String,
    /// Invalidate on this CloudFront distribution of yours [default: the stack's own]
    #[arg(long, value_name = "ID", value_parser = distribution)]
    distribution: Option<String>,
    /// Wait until every edge location has dropped its copies [default: up to 10m]
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, default_missing_value = "10m",
        value_parser = duration)]
    wait: Option<Duration>,
    /// Show what would be invalidated, and invalidate nothing
    #[arg(long, conflicts_with = "wait")]
    dry_run: bool,
    #[command(flatten)]
    deployed: Deployed,
}

fn distribution(text: &str) -> Result<String, &'static str> {
    match !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        true => Ok(text.to_owned()),
        false => Err("is not the id of a distribution, such as E1A2B3C4D5E6F7"),
    }
}

/// What came of it, as JSON.
#[derive(Serialize)]
struct Done<'a> {
    site: &'a str,
    distribution: &'a str,
    paths: [&'a str; 1],
    /// As CloudFront counts them.
    counted_paths: u32,
    /// The invalidation's id; `null` with `--dry-run`.
    invalidation: Option<&'a str>,
    status: Option<&'a str>,
    waited_seconds: Option<f64>,
}

impl Purge {
    /// Runs the purge. Status 0: it was asked for, or with `--wait` is done. 1: it is not done in time. 2: it was not asked for.
    pub(crate) async fn run(self, output: &mut Output) -> Result<ExitCode> {
        tokio::select! {
            done = self.purge(output) => done,
            interrupt = tokio::signal::ctrl_c() => {
                interrupt.map_err(no_signals)?;
                note("interrupted: an invalidation whose id was printed goes on in CloudFront");
                Ok(ExitCode::from(COMMAND_FAILED))
            }
        }
    }

    async fn purge(&self, output: &mut Output) -> Result<ExitCode> {
        let located = self.deployed.locate(Purpose::Read).await?;
        let located = located.ok_or_else(|| anyhow!(NO_CDN))?;
        // The environment names no distribution.
        let stack = located.stack.as_ref().ok_or_else(|| anyhow!(NO_CDN))?;
        let own = stack.parts.distribution.as_ref();
        let distribution = self.distribution.as_ref().or(own).ok_or_else(|| {
            let (name, region, site) = (&stack.name, &stack.region, &self.site);
            anyhow!(
                "stack {name} in {region} has no distribution of its own (parameter Distribution): give yours with \
                 --distribution ID, or in another CDN purge the tag site:{site} or the site's paths (docs/CDN.md)"
            )
        })?;
        let site = &self.site;
        let published = located.target.objects.last_put(site).await;
        if published.map_err(EngineError::from)?.is_none() {
            return Err(no_site(site));
        }
        let item = item_of(site);
        let is_text = output.format() == Format::Text;
        let mut done = Done {
            site,
            distribution,
            paths: [&item],
            counted_paths: 1,
            invalidation: None,
            status: None,
            waited_seconds: None,
        };
        let say = |output: &mut Output, verb: &str| {
            output.line(format_args!(
                "{verb} {item} on distribution {distribution}: all cached files of {site}"
            ))?;
            output.line(format_args!(
                "this counts as one path: {FREE_ITEMS} a month are free per account, then each costs \
                 ${DOLLARS_AN_ITEM}"
            ))
        };
        if self.dry_run {
            if is_text {
                say(output, "would invalidate")?;
            } else {
                output.json(&done)?;
            }
            return Ok(ExitCode::SUCCESS);
        }
        let cdn = CloudFront::new(&located.clients, distribution, &stack.region).await?;
        let reference = format!("waymark-{}", located.target.reconciler.env.token());
        let begun = Instant::now();
        let mut invalidation = cdn.invalidate(site, &reference).await?;
        if is_text {
            say(output, "invalidates")?;
            let (id, status) = (&invalidation.id, &invalidation.status);
            output.line(format_args!("invalidation {id}: {status}"))?;
        }
        if let Some(limit) = self.wait {
            invalidation = cdn.wait(invalidation, limit).await?;
            done.waited_seconds = Some(begun.elapsed().as_secs_f64());
        }
        let is_late = self.wait.is_some() && !invalidation.is_done();
        if !is_text {
            done.invalidation = Some(&invalidation.id);
            done.status = Some(&invalidation.status);
            output.json(&done)?;
        } else if let Some(seconds) = done.waited_seconds {
            let (tone, how) = match is_late {
                true => (Tone::Bad, "not done"),
                false => (Tone::Good, "done"),
            };
            output.toned(tone, format!("{how} after {seconds:.0} s"))?;
        }
        Ok(ExitCode::from(u8::from(is_late)))
    }
}

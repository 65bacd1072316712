//! `waymark check`

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Error, Result, anyhow};
use aws::{Account, Clock};
use check::document::expected::Expected;
use check::findings::suppressions::Known;
use check::findings::{Findings, Policy};
use check::rules::{Profile, Rule, Severity};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use engine::error::EngineError;
use objects::all_sites;
use serde::Serialize;
use sitemap::site::{MAX_BYTES, MAX_ENTRIES};

use super::options::{aws_profile, fail_on, format, level, pages, rule_set};
use crate::check::baseline;
use crate::check::config::{self, Config};
use crate::check::crawl;
use crate::check::expected;
use crate::check::limits::Limits;
use crate::check::report::{Format, Report, Work};
use crate::check::target::Target;
use crate::deployment::args::{Deployed, Purpose};
use crate::fetch::args::Requests;
use crate::fetch::bucket::{Bucket, SCHEME};
use crate::fetch::client::{Asking, Client};
use crate::files::{is_folder, read, record_file};
use crate::terminal::output::{self, Output, note};
use crate::values::{duration, map, origin, url};

/// The hint if listed pages redirect.
const MOVED: &str = "listed pages redirect: the record of a page that has moved for good can say so with moved_to. Then it is \
                     no longer listed, and Waymark redirects its address";

#[derive(Args)]
pub(crate) struct Check {
    /// A site with its scheme (https://host/), a sitemap, a folder, a file, s3://bucket/prefix, or - for standard input
    #[arg(value_name = "TARGET", required_unless_present_any = ["list_rules", "explain", "stack", "config_env"])]
    targets: Vec<String>,
    /// Origin that will serve a folder, file or bucket, such as `https://www.example.com`
    #[arg(long, value_name = "URL")]
    origin: Option<String>,
    /// Check each site that this CloudFormation stack publishes, at its public address
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new(), conflicts_with = "config_env")]
    stack: Option<String>,
    /// Like --stack, with the stack name of environment ENV in ./samconfig.toml
    #[arg(long, value_name = "ENV")]
    config_env: Option<String>,
    /// AWS region of the stack or bucket [default: samconfig.toml's, AWS_REGION, the profile's]
    #[arg(long, value_name = "REGION", value_parser = NonEmptyStringValueParser::new())]
    region: Option<String>,
    /// AWS profile with the credentials for the stack or bucket [default: the environment's credentials, AWS_PROFILE]
    #[arg(long, value_name = "PROFILE", value_parser = aws_profile)]
    profile: Option<String>,
    /// Rule sets, comma-separated: protocol, google, bing, yoast, waymark
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "protocol,google,bing", value_parser = rule_set)]
    rules: Vec<Profile>,
    /// Report format: text, json, jsonl, sarif, junit, markdown or github; =FILE writes it to a file (repeatable)
    #[arg(long, value_name = "FORMAT[=FILE]", value_parser = format)]
    format: Vec<Form>,
    /// Lowest severity that makes the exit status 1: error, warning, note or never
    #[arg(long, value_name = "SEVERITY|never", default_value = "error", value_parser = fail_on)]
    fail_on: FailOn,
    /// Set the severity of a rule or a prefix such as ext.: off, note, warning or error (repeatable)
    #[arg(long, value_name = "RULE=SEVERITY", value_parser = level)]
    rule: Vec<(Vec<Rule>, Option<Severity>)>,
    /// Check only these rules; a prefix such as lastmod. selects a group
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = config::rules)]
    only: Vec<Vec<Rule>>,
    /// Skip these rules; a prefix such as lastmod. selects a group
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = config::rules)]
    skip: Vec<Vec<Rule>>,
    /// Configuration file [default: the nearest waymark-check.toml, from here up to the repository's root]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Ignore the findings recorded in this file
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Record the current findings in the --baseline file, and exit with 0
    #[arg(long, requires = "baseline")]
    write_baseline: bool,
    /// Compare with these URLs: one per line, or JSON or JSON Lines of {"loc", "lastmod", "images", "alternates"}
    #[arg(long, value_name = "FILE")]
    expected: Option<PathBuf>,
    /// Also fetch N listed pages (always the same sample), or all, and check status, redirects, noindex and canonical
    #[arg(long, value_name = "N|all", default_value = "0", value_parser = pages)]
    pages: usize,
    /// Number of sitemaps to check in parallel
    #[arg(long, value_name = "N", default_value_t = 4)]
    jobs: usize,
    #[command(flatten)]
    requests: Requests,
    /// Fetch what is at origin A from origin B, such as `https://www.example.com=http://127.0.0.1:8080`; sends A's Host
    /// (repeatable)
    #[arg(long, value_name = "A=B", value_parser = map)]
    map: Vec<(String, String)>,
    /// Maximum time for the whole check, such as 10m or 2h; reports what is unchecked
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = duration)]
    max_time: Duration,
    /// Maximum number of sitemaps and indexes per target
    #[arg(long, value_name = "N", default_value_t = u64::from(MAX_ENTRIES) + 1)]
    max_sitemaps: u64,
    /// Maximum number of URLs per target
    #[arg(long, value_name = "N", default_value_t = u64::from(MAX_ENTRIES) * u64::from(MAX_ENTRIES))]
    max_urls: u64,
    /// Maximum uncompressed bytes per document
    #[arg(long, value_name = "N", default_value_t = MAX_BYTES)]
    max_bytes: u64,
    /// Maximum findings shown per rule and document; report files hold more
    #[arg(long, value_name = "N", default_value_t = 50)]
    max_findings: u64,
    /// List the rules and exit
    #[arg(long)]
    list_rules: bool,
    /// Explain a rule and exit
    #[arg(long, value_name = "RULE", value_parser = config::rules)]
    explain: Vec<Vec<Rule>>,
}

/// The least severity that makes the status 1; nothing if none does.
type FailOn = Option<Severity>;

/// A form, and the file that it goes to, if not to stdout.
type Form = (Format, Option<PathBuf>);

impl Check {
    pub(crate) async fn run(self, output: &mut Output) -> Result<ExitCode> {
        if self.list_rules {
            list(output)?;
            return Ok(ExitCode::SUCCESS);
        }
        if !self.explain.is_empty() {
            explain(self.explain.iter().flatten(), output)?;
            return Ok(ExitCode::SUCCESS);
        }
        let formats = self.formats(output.format())?;
        let targets = self.all_targets().await?;
        let expected = self.expected()?.map(Arc::new);
        let now = Clock::system().now();
        let config = self.config()?;
        let policy = Arc::new(self.policy(config.as_ref(), now)?);
        let began = Instant::now();
        let client = Client::new(self.asking(&targets)?);
        let mut findings = Findings::new(policy.clone());
        if let Some(config) = &config {
            config.overdue(now, &mut findings);
        }
        let mut work = Work::default();
        let mut unread = Vec::new();
        let mut hints: Vec<String> = Vec::new();
        for target in &targets {
            let limits = Limits {
                jobs: self.jobs,
                max_sitemaps: self.max_sitemaps,
                max_urls: self.max_urls,
                max_bytes: self.max_bytes,
                now,
                policy: policy.clone(),
                expected: expected.clone(),
                pages: self.pages,
            };
            let outcome = crawl::check(target, &client, &limits).await?;
            findings.append(outcome.findings);
            if !outcome.is_read {
                unread.push(target.name());
            }
            hints.extend(outcome.hint.filter(|hint| !hints.contains(hint)));
            work.add(outcome.totals);
            work.pages += outcome.pages;
        }
        hints.extend((findings.count(Rule::PageRedirect) > 0).then(|| MOVED.to_owned()));
        (work.requests, work.bytes) = client.counts();
        work.seconds = (began.elapsed().as_secs_f64() * 10.0).round() / 10.0;
        let report = Report {
            findings,
            work,
            fails_from: self.fail_on,
            hints,
        };
        self.write(&report, &formats, output)?;
        if let (Some(file), true) = (&self.baseline, self.write_baseline) {
            let baseline = baseline::written(&report.findings).map_err(Error::msg)?;
            write_file(file, &baseline)?;
            note(format_args!(
                "waymark: wrote the findings to {}",
                file.display()
            ));
            return Ok(ExitCode::SUCCESS);
        }
        if report.fails() {
            return Ok(ExitCode::FAILURE);
        }
        // Nothing is right that was not read, whatever rules were asked for.
        if !unread.is_empty() && self.fail_on.is_some() {
            let message = format!("{}: no sitemap was read", unread.join(", "));
            return Err(Error::msg(message));
        }
        Ok(ExitCode::SUCCESS)
    }

    fn write(&self, report: &Report, formats: &[Form], output: &mut Output) -> Result<()> {
        for (format, file) in formats {
            match (format, file) {
                (Format::Text, None) => output.text(&report.text(self.max_findings))?,
                (format, None) => output.document(&report.written(*format, self.max_findings))?,
                // A file holds all that is kept.
                (format, Some(file)) => write_file(file, &report.written(*format, u64::MAX))?,
            }
        }
        Ok(())
    }

    /// Returns the forms of the report, each with its file or stdout. Unless `--format` names a form for stdout, the form that all verbs
    /// have goes there.
    fn formats(&self, usual: output::Format) -> Result<Vec<Form>> {
        let mut formats = self.format.clone();
        let to_stdout = formats.iter().filter(|(_, file)| file.is_none()).count();
        match (usual, to_stdout) {
            (output::Format::Text, 0) => formats.push((Format::Text, None)),
            (output::Format::Json, 0) => formats.push((Format::Json, None)),
            (output::Format::JsonLines, 0) => formats.push((Format::Jsonl, None)),
            (output::Format::Text, 1) => {}
            _ => {
                let message = "two report formats would go to standard output: write one to a file, such as --format \
                               sarif=check.sarif";
                return Err(Error::msg(message));
            }
        }
        Ok(formats)
    }

    fn config(&self) -> Result<Option<Config>> {
        let file = match &self.config {
            Some(file) => Some(file.clone()),
            None => std::env::current_dir()
                .ok()
                .and_then(|folder| config::find(&folder)),
        };
        let Some(file) = file else {
            return Ok(None);
        };
        if self.config.is_some() {
            return Ok(Some(Config::read(&file)?));
        }
        let config = Config::read_found(&file)?;
        note(format_args!("waymark: using {}", file.display()));
        Ok(Some(config))
    }

    /// Returns the named targets and the sites of a deployment.
    async fn all_targets(&self) -> Result<Vec<Target>> {
        let named = self.targets.iter().map(|text| self.target(text));
        let mut targets: Vec<Target> = named.collect::<Result<_, _>>()?;
        let mut has_bucket = false;
        for target in &targets {
            if let Target::Bucket { bucket, .. } = target {
                bucket.is_reachable().await.map_err(Error::msg)?;
                has_bucket = true;
            }
        }
        let deployed = Deployed::named(
            self.stack.clone(),
            self.config_env.clone(),
            self.region.clone(),
            self.profile.clone(),
        );
        if self.stack.is_none() && self.config_env.is_none() {
            if (self.region.is_some() || self.profile.is_some()) && !has_bucket {
                let message = "--region and --profile are only for --stack, --config-env and s3://";
                return Err(Error::msg(message));
            }
            return Ok(targets);
        }
        if let Some(located) = deployed.locate(Purpose::Read).await? {
            let sites = all_sites(&*located.target.objects)
                .await
                .map_err(EngineError::from)?;
            if sites.is_empty() {
                let message = "the deployment publishes no site yet: see `waymark status`";
                return Err(Error::msg(message));
            }
            let sites = sites
                .iter()
                .map(|site| Target::Site(format!("https://{site}")));
            targets.extend(sites);
        }
        Ok(targets)
    }

    fn target(&self, text: &str) -> Result<Target> {
        let usage = |message: String| anyhow!("{text}: {message}");
        let own = self.origin.as_deref().map(origin).transpose();
        let own = own.map_err(|message| anyhow!("--origin: {message}"))?;
        if text == "-" {
            return Ok(Target::Input(own));
        }
        if text.starts_with(SCHEME) {
            let account = Account {
                region: self.region.clone(),
                profile: self.profile.clone(),
            };
            let (bucket, file) =
                Bucket::parse(text, account, self.requests.timeout).map_err(Error::msg)?;
            let origin = own.ok_or_else(|| {
                usage(
                    "give the address that will serve it, such as --origin https://www.example.com"
                        .to_owned(),
                )
            })?;
            return Ok(Target::Bucket {
                bucket,
                file,
                origin,
            });
        }
        if let Some(url) = url(text) {
            let url = url?;
            return Ok(match origin(url.as_str()) {
                Ok(origin) => Target::Site(origin),
                Err(_) => Target::Sitemap(url.as_str().to_owned()),
            });
        }
        let path = PathBuf::from(text);
        match (is_folder(text)?, own) {
            (false, own) => Ok(Target::File(path, own)),
            (true, Some(origin)) => Ok(Target::Folder(path, origin)),
            (true, None) => Err(usage(
                "is a folder: give the address that will serve it with --origin".to_owned(),
            )),
        }
    }

    /// Builds the policy: the rules that apply, and the findings that are known already. The command line has the last word.
    fn policy(&self, config: Option<&Config>, now: i64) -> Result<Policy> {
        let mut policy = Policy::of(&self.rules);
        if let Some(config) = config {
            config.apply(&mut policy);
        }
        let only: Vec<Rule> = self.only.iter().flatten().copied().collect();
        if !only.is_empty() {
            for rule in Rule::ALL {
                let level = policy.level(*rule).unwrap_or(rule.info().severity);
                policy.set(*rule, only.contains(rule).then_some(level));
            }
        }
        for rule in self.skip.iter().flatten() {
            policy.set(*rule, None);
        }
        for (rules, level) in &self.rule {
            for rule in rules {
                policy.set(*rule, *level);
            }
        }
        let allowances = config.map(|config| config.allowances().collect::<Vec<_>>());
        let mut known = Known::new(allowances.unwrap_or_default(), now);
        if let Some(file) = self.baseline.as_ref().filter(|_| !self.write_baseline) {
            baseline::read(&read(file)?, &mut known).map_err(|error| in_file(file, &error))?;
        }
        policy.set_known(known);
        Ok(policy)
    }

    fn asking(&self, targets: &[Target]) -> Result<Asking> {
        let origins = targets.iter().filter_map(|target| match target {
            Target::Site(origin) => Some(origin.clone()),
            Target::Sitemap(url) => check::url::origin_of(url).map(str::to_owned),
            _ => None,
        });
        Ok(Asking {
            // Pages of a folder are asked for where it will be served.
            named: self.origin.iter().cloned().collect(),
            max_time: Some(self.max_time),
            ..self.requests.asking(origins, &self.map)?
        })
    }

    fn expected(&self) -> Result<Option<Expected>> {
        let Some(file) = &self.expected else {
            return Ok(None);
        };
        let expected = expected::read(&read(file)?);
        expected
            .map(Some)
            .map_err(|problem| in_file(file, &problem))
    }
}

/// A rule, in the command's JSON.
#[derive(Serialize)]
struct Explained {
    id: &'static str,
    severity: &'static str,
    profiles: Vec<&'static str>,
    what: &'static str,
    why: &'static str,
    remedy: &'static str,
    source: &'static str,
    link: &'static str,
}

impl Explained {
    fn of(rule: Rule) -> Self {
        let info = rule.info();
        Self {
            id: info.id,
            severity: info.severity.name(),
            profiles: info.profiles().map(Profile::name).collect(),
            what: info.what,
            why: info.why,
            remedy: info.remedy,
            source: info.source.name,
            link: info.source.link,
        }
    }
}

fn list(output: &mut Output) -> Result<()> {
    let rules = Rule::ALL.iter().copied().map(Explained::of);
    if output.format() == output::Format::Json {
        return Ok(output.json(&rules.collect::<Vec<_>>())?);
    }
    for Explained {
        id, severity, what, ..
    } in rules
    {
        output.line(format_args!("{id:<22} {severity:<8} {what}"))?;
    }
    Ok(())
}

fn explain<'a>(rules: impl Iterator<Item = &'a Rule>, output: &mut Output) -> Result<()> {
    let rules = rules.copied().map(Explained::of);
    if output.format() == output::Format::Json {
        return Ok(output.json(&rules.collect::<Vec<_>>())?);
    }
    for rule in rules {
        let (id, severity) = (rule.id, rule.severity);
        let profiles = rule.profiles.join(", ");
        output.line(format_args!(
            "{id}: {severity}, in the rule sets {profiles}"
        ))?;
        output.line(format_args!("  what: {}", rule.what))?;
        output.line(format_args!("  why: {}", rule.why))?;
        output.line(format_args!("  how to fix it: {}", rule.remedy))?;
        output.line(format_args!("  source: {}, {}", rule.source, rule.link))?;
    }
    Ok(())
}

fn in_file(file: &Path, error: &str) -> Error {
    anyhow!("{}: {error}", file.display())
}

fn write_file(file: &Path, text: &str) -> Result<()> {
    Ok(record_file::write(file, text.as_bytes())?)
}

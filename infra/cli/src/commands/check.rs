//! `waymark check`

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aws::Clock;
use check::expected::Expected;
use check::finding::Findings;
use check::rules::{Policy, Profile, Rule, Severity};
use clap::{Args, ValueEnum};
use cli::check::fetch::{Asking, Client};
use cli::check::report::{Format, Report, Work};
use cli::check::walk::{self, Limits, Target};
use cli::output::{self, Output};
use sitemap::site::{MAX_BYTES, MAX_ENTRIES};

use super::{Failure, read_file};

#[derive(Args)]
pub(super) struct Check {
    /// A site (https://host/), a sitemap or index (its URL), a folder or file of a build, or - for standard input
    #[arg(value_name = "TARGET", required_unless_present_any = ["list_rules", "explain"])]
    targets: Vec<String>,
    /// Where a folder or a file will be served from, such as https://www.example.com
    #[arg(long, value_name = "URL")]
    origin: Option<String>,
    /// Whose rules hold
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "protocol,google,bing", value_parser = profile)]
    profile: Vec<Profile>,
    /// The form of the report, text (as usual), json, jsonl, markdown or github, perhaps into a file; repeatable
    #[arg(long, value_name = "FORMAT[=FILE]", value_parser = format)]
    format: Vec<(Format, Option<PathBuf>)>,
    /// The least finding that makes the status 1
    #[arg(long, value_name = "SEVERITY", default_value = "error")]
    fail_on: FailOn,
    /// Set a rule's severity: off, note, warning or error; a prefix, such as ext., means all of a group; repeatable
    #[arg(long, value_name = "RULE=SEVERITY", value_parser = level)]
    rule: Vec<(Vec<Rule>, Option<Severity>)>,
    /// Check these rules alone; prefixes work
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = rules)]
    only: Vec<Vec<Rule>>,
    /// Leave these rules out; prefixes work
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = rules)]
    skip: Vec<Vec<Rule>>,
    /// The URLs that should be listed: one a line, or JSON, a list of URLs or of {"loc", "lastmod"}
    #[arg(long, value_name = "FILE")]
    expected: Option<PathBuf>,
    /// Look at so many sitemaps at once
    #[arg(long, value_name = "N", default_value_t = 4)]
    jobs: usize,
    /// Send at most so many requests a second, such as 10/s; 0 for no limit
    #[arg(long, value_name = "N/s", default_value = "10/s", value_parser = rate)]
    rate: Rate,
    /// Wait so long for a whole answer, such as 30s or 2m
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration)]
    timeout: Duration,
    /// Try again so often what may pass
    #[arg(long, value_name = "N", default_value_t = 2)]
    retries: u32,
    /// Send a header to the targets' hosts. For a secret name a variable: "Authorization: $TOKEN"; repeatable
    #[arg(long, value_name = "NAME: VALUE", value_parser = header)]
    header: Vec<(String, String)>,
    /// How to introduce itself
    #[arg(long, value_name = "TEXT", default_value = concat!("waymark-check/", env!("CARGO_PKG_VERSION")))]
    user_agent: String,
    /// Ask origin B for what is at origin A, with A's Host header, as for a staging host; repeatable
    #[arg(long, value_name = "A=B", value_parser = map)]
    map: Vec<(String, String)>,
    /// Look at no more sitemaps and indexes of a target
    #[arg(long, value_name = "N", default_value_t = u64::from(MAX_ENTRIES) + 1)]
    max_sitemaps: u64,
    /// Look at no more URLs of a target
    #[arg(long, value_name = "N", default_value_t = u64::from(MAX_ENTRIES) * u64::from(MAX_ENTRIES))]
    max_urls: u64,
    /// Read no more bytes of a document, uncompressed
    #[arg(long, value_name = "N", default_value_t = MAX_BYTES)]
    max_bytes: u64,
    /// Show at most so many findings of a rule; files hold more
    #[arg(long, value_name = "N", default_value_t = 50)]
    max_findings: u64,
    /// List the rules, and check nothing
    #[arg(long)]
    list_rules: bool,
    /// Explain a rule, and check nothing
    #[arg(long, value_name = "RULE", value_parser = rules)]
    explain: Vec<Vec<Rule>>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FailOn {
    Error,
    Warning,
    Note,
    Never,
}

pub(super) type Rate = Option<f64>;

fn profile(text: &str) -> Result<Profile, String> {
    let known = Profile::ALL.iter().find(|profile| profile.name() == text);
    known
        .copied()
        .ok_or_else(|| format!("is none of {}", Profile::ALL.map(Profile::name).join(", ")))
}

fn format(text: &str) -> Result<(Format, Option<PathBuf>), String> {
    let (name, file) = match text.split_once('=') {
        Some((name, file)) => (name, Some(PathBuf::from(file))),
        None => (text, None),
    };
    let format = Format::named(name).ok_or("is none of text, json, jsonl, markdown, github")?;
    Ok((format, file))
}

fn rules(text: &str) -> Result<Vec<Rule>, String> {
    let rules = Rule::matching(text);
    if rules.is_empty() {
        return Err("is no rule and no group of rules: see --list-rules".to_owned());
    }
    Ok(rules)
}

fn level(text: &str) -> Result<(Vec<Rule>, Option<Severity>), String> {
    let (name, level) = text.split_once('=').ok_or("is not RULE=SEVERITY")?;
    let level = match level {
        "off" => None,
        "note" => Some(Severity::Note),
        "warning" => Some(Severity::Warning),
        "error" => Some(Severity::Error),
        _ => return Err("the severity is none of off, note, warning, error".to_owned()),
    };
    Ok((rules(name)?, level))
}

pub(super) fn rate(text: &str) -> Result<Rate, String> {
    let number = text.strip_suffix("/s").unwrap_or(text);
    match number.parse::<f64>() {
        Ok(0.0) => Ok(None),
        Ok(rate) if rate.is_finite() && rate >= 0.001 => Ok(Some(rate)),
        _ => Err("is no number of requests a second, such as 10/s".to_owned()),
    }
}

pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = match text.strip_suffix('m') {
        Some(minutes) => (minutes, 60),
        None => (text.strip_suffix('s').unwrap_or(text), 1),
    };
    match number.parse::<u64>() {
        Ok(number) if number > 0 && number < 1_000_000 => Ok(Duration::from_secs(number * unit)),
        _ => Err("is no time, such as 30s or 2m".to_owned()),
    }
}

pub(super) fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("is not NAME: VALUE")?;
    let value = value.trim();
    let value = match value.strip_prefix('$') {
        Some(variable) => {
            std::env::var(variable).map_err(|_| format!("the environment has no {variable}"))?
        }
        None => value.to_owned(),
    };
    Ok((name.trim().to_owned(), value))
}

pub(super) fn map(text: &str) -> Result<(String, String), String> {
    let (from, to) = text.split_once('=').ok_or("is not A=B")?;
    Ok((origin(from)?, origin(to)?))
}

pub(super) fn origin(text: &str) -> Result<String, String> {
    let origin = sitemap::loc::Origin::parse(text).map_err(|error| format!("{text}: {error}"))?;
    Ok(origin.as_str().to_owned())
}

impl Check {
    pub(super) async fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        if self.list_rules {
            for rule in Rule::ALL {
                let info = rule.info();
                output.line(format_args!(
                    "{:<22} {:<8} {}",
                    info.id, info.severity, info.what
                ))?;
            }
            return Ok(ExitCode::SUCCESS);
        }
        if !self.explain.is_empty() {
            explain(self.explain.iter().flatten(), output)?;
            return Ok(ExitCode::SUCCESS);
        }
        let targets: Vec<Target> = self
            .targets
            .iter()
            .map(|text| self.target(text))
            .collect::<Result<_, _>>()?;
        let expected = self.expected()?.map(Arc::new);
        let policy = Arc::new(self.policy());
        let began = Instant::now();
        let client = Client::new(self.asking(&targets));
        let mut findings = Findings::new(policy.clone());
        let mut work = Work::default();
        for target in &targets {
            let limits = Limits {
                jobs: self.jobs,
                max_sitemaps: self.max_sitemaps,
                max_urls: self.max_urls,
                max_bytes: self.max_bytes,
                now: Clock::system().now(),
                policy: policy.clone(),
                expected: expected.clone(),
            };
            let (found, totals) = walk::check(target, &client, &limits).await;
            findings.append(found);
            work.add(totals);
        }
        (work.requests, work.bytes) = client.counts();
        work.seconds = (began.elapsed().as_secs_f64() * 10.0).round() / 10.0;
        let report = Report { findings, work };
        for (format, file) in &self.formats(output.format()) {
            match file {
                None => output.document(&report.written(*format, self.max_findings))?,
                Some(file) => {
                    let written = report.written(*format, u64::MAX);
                    std::fs::write(file, written).map_err(|error| Failure::File {
                        file: file.clone(),
                        error,
                    })?;
                }
            }
        }
        let failing: &[Severity] = match self.fail_on {
            FailOn::Error => &[Severity::Error],
            FailOn::Warning => &[Severity::Error, Severity::Warning],
            FailOn::Note => &[Severity::Error, Severity::Warning, Severity::Note],
            FailOn::Never => &[],
        };
        let fails = failing.iter().any(|severity| report.count(*severity) > 0);
        Ok(if fails {
            ExitCode::FAILURE
        } else {
            ExitCode::SUCCESS
        })
    }

    /// What was asked for, or else the form that all verbs have.
    fn formats(&self, usual: output::Format) -> Vec<(Format, Option<PathBuf>)> {
        if !self.format.is_empty() {
            return self.format.clone();
        }
        let usual = match usual {
            output::Format::Text => Format::Text,
            output::Format::Json => Format::Json,
            output::Format::JsonLines => Format::Jsonl,
        };
        vec![(usual, None)]
    }

    fn target(&self, text: &str) -> Result<Target, Failure> {
        let usage = |message: String| Failure::Usage(format!("{text}: {message}"));
        let own = self
            .origin
            .as_deref()
            .map(origin)
            .transpose()
            .map_err(usage)?;
        if text == "-" {
            return Ok(Target::Input(own));
        }
        if text.starts_with("http://") || text.starts_with("https://") {
            let url = sitemap::loc::Loc::parse_any(text);
            let url = url.map_err(|error| usage(error.to_string()))?;
            return Ok(match origin(url.as_str()) {
                Ok(origin) => Target::Site(origin),
                Err(_) => Target::Sitemap(url.as_str().to_owned()),
            });
        }
        let path = PathBuf::from(text);
        let is_folder = match std::fs::metadata(&path) {
            Ok(metadata) => metadata.is_dir(),
            Err(error) => return Err(Failure::File { file: path, error }),
        };
        match (is_folder, own) {
            (false, own) => Ok(Target::File(path, own)),
            (true, Some(origin)) => Ok(Target::Folder(path, origin)),
            (true, None) => Err(usage(
                "is a folder: say with --origin where it will be served from".to_owned(),
            )),
        }
    }

    fn policy(&self) -> Policy {
        let mut policy = Policy::of(&self.profile);
        let only: Vec<Rule> = self.only.iter().flatten().copied().collect();
        if !only.is_empty() {
            for rule in Rule::ALL {
                let level = only.contains(rule).then_some(rule.info().severity);
                policy.set(*rule, level);
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
        policy
    }

    fn asking(&self, targets: &[Target]) -> Asking {
        let origins = targets.iter().filter_map(|target| match target {
            Target::Site(origin) => Some(origin.clone()),
            Target::Sitemap(url) => check::address::origin_of(url).map(str::to_owned),
            _ => None,
        });
        Asking {
            rate: self.rate,
            timeout: self.timeout,
            retries: self.retries,
            headers: self.header.clone(),
            user_agent: self.user_agent.clone(),
            maps: self.map.clone(),
            origins: origins.collect(),
        }
    }

    fn expected(&self) -> Result<Option<Expected>, Failure> {
        let Some(file) = &self.expected else {
            return Ok(None);
        };
        let text = read_file(file)?;
        let mut expected = Expected::default();
        let Ok(json) = serde_json::from_str::<Vec<serde_json::Value>>(&text) else {
            for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
                if check::address::origin_of(line).is_none() {
                    let message = format!("{}: \"{line}\" is no URL", file.display());
                    return Err(Failure::Usage(message));
                }
                expected.add(line.to_owned(), None);
            }
            return Ok(Some(expected));
        };
        for item in json {
            let text = |name: &str| item.get(name).and_then(|value| value.as_str());
            let Some(loc) = item.as_str().or_else(|| text("loc")) else {
                let message = format!("{}: {item} is neither a URL nor has a loc", file.display());
                return Err(Failure::Usage(message));
            };
            expected.add(loc.to_owned(), text("lastmod").map(str::to_owned));
        }
        Ok(Some(expected))
    }
}

fn explain<'a>(rules: impl Iterator<Item = &'a Rule>, output: &mut Output) -> Result<(), Failure> {
    for rule in rules {
        let info = rule.info();
        let profiles: Vec<_> = info.profiles().map(Profile::name).collect();
        output.line(format_args!(
            "{}, {}, of {}",
            info.id,
            info.severity,
            profiles.join(", ")
        ))?;
        output.line(format_args!("  what: {}", info.what))?;
        output.line(format_args!("  why: {}", info.why))?;
        output.line(format_args!("  how to mend it: {}", info.remedy))?;
        output.line(format_args!(
            "  whose rule: {}, {}",
            info.source.name, info.source.link
        ))?;
    }
    Ok(())
}

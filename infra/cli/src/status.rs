//! `waymark status`: the state of each site, what is wrong with it, and how far scans are.

use std::collections::BTreeSet;

use engine::error::EngineError;
use engine::notices::Pause;
use engine::scans::{self, ContentScan, SiteStep, Step};
use engine::sites::Hold;
use engine::sweep::notices::refusal_reason;
use objects::all_sites;
use serde::Serialize;
use sitemap::site::SiteSettings;
use sitemap::time::When;

use crate::target::Target;
use crate::text::{Text, Tone};

/// Scans of sites that are shown.
const SCANS: u32 = 100;

/// What a deployment is at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Status {
    /// Its sites, by host: those that have something published or are scanned.
    pub sites: Vec<Site>,
    /// How far the scan of all content is; `null` without one.
    pub content_scan: Option<Scan>,
    /// How far the scans of sites are, by host.
    pub site_scans: Vec<SiteScan>,
    /// Whether there are more scans of sites than these.
    pub more_site_scans: bool,
}

/// A site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Site {
    /// Its host.
    pub host: String,
    /// What is published of it.
    pub state: State,
    /// What is wrong with its settings.
    pub problems: Vec<SettingProblem>,
    /// How telling search engines goes; `null` if all went well.
    pub indexnow: Option<IndexNow>,
}

/// What is published of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It is no longer known. What was published is still served.
    Unknown,
    /// Its first load has begun, and nothing is published yet.
    Loading,
    /// Its first load is being published.
    Publishing,
    /// It is published as it changes.
    Live,
    /// Its settings say that it is not public.
    Private,
}

impl State {
    /// In words, and how good it is.
    fn text(self) -> (Tone, &'static str) {
        match self {
            Self::Unknown => (
                Tone::Notable,
                "no longer known; what was published is still served",
            ),
            Self::Loading => (Tone::Notable, "first load: nothing is published yet"),
            Self::Publishing => (
                Tone::Notable,
                "first load: its sitemaps are being published",
            ),
            Self::Live => (Tone::Good, "live"),
            Self::Private => (Tone::Notable, "private"),
        }
    }
}

/// Something that is wrong with a site's settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SettingProblem {
    /// The setting.
    pub field: String,
    /// The reason, for people.
    pub reason: String,
}

/// How telling search engines goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IndexNow {
    /// The last URLs that were refused.
    pub refused: Option<Refusal>,
    /// A pause after failed tries.
    pub paused: Option<Paused>,
}

/// URLs that were refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// How many.
    pub urls: u64,
    /// When.
    pub at: When,
    /// The HTTP status.
    pub status: u16,
    /// What the status means.
    pub reason: String,
}

/// A pause after failed tries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Paused {
    /// How many failed in a row.
    pub tries: u32,
    /// When the next is made.
    pub until: When,
}

/// How far the scan of all content is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Scan {
    /// What it does: `waiting`, `reading` or `publishing`.
    pub step: &'static str,
    /// Records that it has processed.
    pub records: u64,
    /// The last of them.
    pub last: Option<String>,
    /// When it was last seen to go on; `null` before it has begun.
    pub at: Option<When>,
}

/// How far the scan of a site is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SiteScan {
    /// The site's host.
    pub host: String,
    /// What it does: `left_out`, `listed` or `publishing`. `null` if its row cannot be read.
    pub step: Option<&'static str>,
    /// The record, the sitemap or the object that it is at; `null` at the beginning.
    pub last: Option<String>,
    /// When it was last seen to go on.
    pub at: Option<When>,
    /// Why its row cannot be read.
    pub error: Option<String>,
    /// In words.
    #[serde(skip)]
    said: String,
}

/// Each published site's state, and how far scans are.
///
/// # Errors
///
/// If a table or the bucket fails.
pub async fn status(target: &Target) -> Result<Status, EngineError> {
    let table = &target.reconciler.table;
    let content = table.content_scan().await?;
    let mut scans = table.site_scans(None, SCANS + 1).await?;
    let more_site_scans = scans.len() > SCANS as usize;
    scans.truncate(SCANS as usize);
    let mut hosts: BTreeSet<String> = all_sites(&*target.objects).await?.into_iter().collect();
    hosts.extend(scans.iter().map(|(host, _)| host.clone()));
    let mut sites = Vec::new();
    for host in hosts {
        let Some(row) = table.site(&host).await? else {
            sites.push(Site {
                host,
                state: State::Unknown,
                problems: Vec::new(),
                indexnow: None,
            });
            continue;
        };
        let state = match row.hold {
            Hold::Loading => State::Loading,
            Hold::Publishing => State::Publishing,
            Hold::Released if row.settings.public => State::Live,
            Hold::Released => State::Private,
        };
        let robots = row.settings.robots_problems();
        let told = row.settings.problems.iter().chain(&robots);
        let told = told.map(|problem| SettingProblem {
            field: problem.field.clone(),
            reason: problem.reason.clone(),
        });
        let problems = told.chain(without_news_name(&row.settings)).collect();
        let pause = match row.settings.indexnow_key {
            Some(_) => table.pause(&host).await?,
            None => None,
        };
        let indexnow = pause.and_then(|pause| notices(pause, target.reconciler.env.now()));
        sites.push(Site {
            host,
            state,
            problems,
            indexnow,
        });
    }
    Ok(Status {
        sites,
        content_scan: content.as_ref().and_then(content_scan),
        site_scans: scans
            .into_iter()
            .map(|(host, scan)| match scan {
                Ok(scan) => site_scan(host, &scan),
                Err(error) => SiteScan {
                    host,
                    step: None,
                    last: None,
                    at: None,
                    error: Some(error.to_string()),
                    said: error.to_string(),
                },
            })
            .collect(),
        more_site_scans,
    })
}

impl Status {
    /// In lines for people.
    #[must_use]
    pub fn text(&self) -> Text {
        let mut text = Text::default();
        for site in &self.sites {
            site.write(&mut text);
        }
        match &self.content_scan {
            Some(scan) => text.line(format!("scan of all content: {}", scan.said())),
            None => text.line("no scan of all content"),
        }
        for scan in &self.site_scans {
            text.line(format!("scan of {}: {}", scan.host, scan.said));
        }
        if self.more_site_scans {
            text.line(format!(
                "more than {SCANS} scans of sites: these are the first"
            ));
        }
        text
    }
}

impl Site {
    fn write(&self, text: &mut Text) {
        let (tone, state) = self.state.text();
        text.toned(tone, format!("{}: {state}", self.host));
        for SettingProblem { field, reason } in &self.problems {
            text.toned(Tone::Bad, format!("  {field}: {reason}"));
        }
        if let Some(indexnow) = &self.indexnow {
            indexnow.write(text);
        }
    }
}

impl IndexNow {
    fn write(&self, text: &mut Text) {
        if let Some(Refusal {
            urls,
            at,
            status,
            reason,
        }) = &self.refused
        {
            let line =
                format!("  IndexNow: refused {urls} URLs at {at} with status {status}: {reason}");
            text.toned(Tone::Bad, line);
        }
        if let Some(Paused { tries, until }) = &self.paused {
            let line =
                format!("  IndexNow: failed {tries} times in a row; next attempt at {until}");
            text.toned(Tone::Notable, line);
        }
    }
}

/// Says that types are news and the publication has no name.
fn without_news_name(settings: &SiteSettings) -> Option<SettingProblem> {
    let types = settings.types.iter().filter(|(_, settings)| settings.news);
    let types: Vec<&str> = types.map(|(name, _)| name.as_str()).collect();
    (settings.news_name.is_none() && !types.is_empty()).then(|| SettingProblem {
        field: "news_name".to_owned(),
        reason: format!(
            "missing, so no page of type {} is listed as news",
            types.join(", ")
        ),
    })
}

/// How telling search engines goes, if it does not go well.
fn notices(pause: Pause, now: i64) -> Option<IndexNow> {
    let refused = pause.refused.map(|refused| Refusal {
        urls: refused.urls,
        at: When::at(refused.at),
        status: refused.status,
        reason: refusal_reason(refused.status).to_owned(),
    });
    let paused = (pause.until > now).then(|| Paused {
        tries: pause.tries,
        until: When::at(pause.until),
    });
    (refused.is_some() || paused.is_some()).then_some(IndexNow { refused, paused })
}

fn content_scan(scan: &ContentScan) -> Option<Scan> {
    let Some(pass) = &scan.pass else {
        return scan.is_active().then_some(Scan {
            step: "waiting",
            records: 0,
            last: None,
            at: None,
        });
    };
    let (step, last) = match &pass.step {
        Step::Content { after } => ("reading", after.clone()),
        Step::Sites { .. } => ("publishing", None),
    };
    Some(Scan {
        step,
        records: pass.records,
        last,
        at: Some(When::at(pass.at)),
    })
}

impl Scan {
    /// In words.
    fn said(&self) -> String {
        let Some(at) = self.at else {
            return "about to begin".to_owned();
        };
        let records = self.records;
        let step = match (self.step, &self.last) {
            ("publishing", _) => format!("{records} records processed, publishing"),
            (_, None) => "about to read records".to_owned(),
            (_, Some(id)) => format!("{records} records processed, the last is {id}"),
        };
        format!("{step}, at {at}")
    }
}

fn site_scan(host: String, scan: &scans::SiteScan) -> SiteScan {
    let (step, last, said) = match &scan.step {
        SiteStep::LeftOut { after: None } | SiteStep::LeftOutAgain { after: None } => (
            "left_out",
            None,
            "about to look at what is left out, or waiting for the scan of all content".to_owned(),
        ),
        SiteStep::LeftOut { after: Some(id) } | SiteStep::LeftOutAgain { after: Some(id) } => (
            "left_out",
            Some(id.clone()),
            format!("at what is left out, the last is {id}"),
        ),
        SiteStep::Entries { after: None } => {
            ("listed", None, "about to look at what is listed".to_owned())
        }
        SiteStep::Entries {
            after: Some((series, n, _)),
        } => (
            "listed",
            Some(format!("{series} {n}")),
            format!("at what sitemap {n} of {series} lists"),
        ),
        SiteStep::Publish { after: None } => ("publishing", None, "about to publish".to_owned()),
        SiteStep::Publish { after: Some(path) } => (
            "publishing",
            Some(path.clone()),
            format!("published up to {path}"),
        ),
    };
    let at = When::at(scan.at);
    SiteScan {
        host,
        step: Some(step),
        last,
        at: Some(at),
        error: None,
        said: format!("{said}, at {at}"),
    }
}

#[cfg(test)]
mod tests {
    use engine::notices::Refused;
    use engine::scans::Pass;
    use serde_json::json;

    use super::*;

    #[test]
    fn types_of_news_without_the_publications_name_are_told() {
        for (settings, expected) in [
            (json!({"types": {"notice": {"news": true}}}), Some("notice")),
            (
                json!({"types": {"notice": {"news": true}}, "news_name": "N"}),
                None,
            ),
            (json!({"types": {"notice": {"news": false}}}), None),
        ] {
            let settings = SiteSettings::parse("www.example.com", &settings).unwrap();
            let problem = without_news_name(&settings);
            assert_eq!(problem.is_some(), expected.is_some(), "{problem:?}");
            assert!(problem.is_none_or(|problem| problem.reason.contains("of type notice is")));
        }
    }

    #[test]
    fn what_indexnow_refuses_is_told_and_a_pause_while_it_lasts() {
        let refused = Some(Refused {
            status: 403,
            urls: 3,
            at: 0,
        });
        for (pause, expected) in [
            (None, ""),
            (
                Some(Pause {
                    tries: 2,
                    until: 50,
                    refused: None,
                }),
                "",
            ),
            (
                Some(Pause {
                    tries: 2,
                    until: 51,
                    refused: None,
                }),
                "  IndexNow: failed 2 times in a row; next attempt at 1970-01-01T00:00:51+00:00\n",
            ),
            (
                Some(Pause {
                    tries: 0,
                    until: 0,
                    refused,
                }),
                "  IndexNow: refused 3 URLs at 1970-01-01T00:00:00+00:00 with status 403: the key is not valid: its file is not found, or does not hold it\n",
            ),
        ] {
            let mut text = Text::default();
            if let Some(indexnow) = pause.and_then(|pause| notices(pause, 50)) {
                indexnow.write(&mut text);
            }
            assert_eq!(&*text, expected);
        }
    }

    #[test]
    fn the_json_has_the_shape_of_the_readme() {
        let content = ContentScan {
            pass: Some(Pass {
                revision: String::new(),
                step: Step::Content {
                    after: Some("post/7".to_owned()),
                },
                records: 7,
                at: 0,
            }),
            ..ContentScan::default()
        };
        let refused = Some(Refused {
            status: 403,
            urls: 3,
            at: 0,
        });
        let pause = Pause {
            tries: 0,
            until: 0,
            refused,
        };
        let status = Status {
            sites: vec![Site {
                host: "www.example.com".to_owned(),
                state: State::Live,
                problems: vec![SettingProblem {
                    field: "public".to_owned(),
                    reason: "not a boolean".to_owned(),
                }],
                indexnow: notices(pause, 50),
            }],
            content_scan: content_scan(&content),
            site_scans: Vec::new(),
            more_site_scans: false,
        };
        let expected = json!({
            "sites": [{
                "host": "www.example.com",
                "state": "live",
                "problems": [{"field": "public", "reason": "not a boolean"}],
                "indexnow": {
                    "refused": {"urls": 3, "at": "1970-01-01T00:00:00+00:00", "status": 403, "reason": refusal_reason(403)},
                    "paused": null,
                },
            }],
            "content_scan": {"step": "reading", "records": 7, "last": "post/7", "at": "1970-01-01T00:00:00+00:00"},
            "site_scans": [],
            "more_site_scans": false,
        });
        assert_eq!(serde_json::to_value(&status).unwrap(), expected);
    }
}

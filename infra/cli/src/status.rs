//! `waymark status`: the state of each site, what is wrong with it, and how far scans are.

use std::collections::BTreeSet;

use engine::error::EngineError;
use engine::notices::Pause;
use engine::scans::{ContentScan, SiteScan, SiteStep, Step};
use engine::sites::Hold;
use engine::sweep::notices::refusal_reason;
use objects::all_sites;
use sitemap::site::SiteSettings;
use sitemap::time::When;

use crate::target::Target;
use crate::text::Text;

/// Scans of sites that are shown.
const SCANS: u32 = 100;

/// Each published site's state, and how far scans are, in lines for people.
///
/// # Errors
///
/// If a table or the bucket fails.
pub async fn status(target: &Target) -> Result<Text, EngineError> {
    let table = &target.reconciler.table;
    let mut text = Text::default();
    let content = table.content_scan().await?;
    let mut scans = table.site_scans(None, SCANS + 1).await?;
    let are_more = scans.len() > SCANS as usize;
    scans.truncate(SCANS as usize);
    let mut hosts: BTreeSet<String> = all_sites(&*target.objects).await?.into_iter().collect();
    hosts.extend(scans.iter().map(|(host, _)| host.clone()));
    for host in hosts {
        let Some(row) = table.site(&host).await? else {
            text.line(format!(
                "{host}: no longer known; what was published is still served"
            ));
            continue;
        };
        let state = match row.hold {
            Hold::Loading => "first load: nothing is published yet",
            Hold::Publishing => "first load: its sitemaps are being published",
            Hold::Released if row.settings.public => "live",
            Hold::Released => "private",
        };
        text.line(format!("{host}: {state}"));
        for problem in &row.settings.problems {
            text.line(format!("  {problem}"));
        }
        if let Some(problem) = without_news_name(&row.settings) {
            text.line(format!("  {problem}"));
        }
        if row.settings.indexnow_key.is_some() {
            notices(
                table.pause(&host).await?,
                target.reconciler.env.now(),
                &mut text,
            );
        }
    }
    content_scan(content.as_ref(), &mut text);
    for (host, scan) in scans {
        match scan {
            Ok(scan) => site_scan(&host, &scan, &mut text),
            Err(error) => text.line(format!("scan of {host}: {error}")),
        }
    }
    if are_more {
        text.line(format!(
            "more than {SCANS} scans of sites: these are the first"
        ));
    }
    Ok(text)
}

/// Says that types are news and the publication has no name.
fn without_news_name(settings: &SiteSettings) -> Option<String> {
    let types = settings.types.iter().filter(|(_, settings)| settings.news);
    let types: Vec<&str> = types.map(|(name, _)| name.as_str()).collect();
    (settings.news_name.is_none() && !types.is_empty()).then(|| {
        format!(
            "news_name: missing, so no page of type {} is listed as news",
            types.join(", ")
        )
    })
}

/// How telling search engines goes, if it does not go well.
fn notices(pause: Option<Pause>, now: i64, text: &mut Text) {
    let Some(Pause {
        tries,
        until,
        refused,
    }) = pause
    else {
        return;
    };
    if let Some(refused) = refused {
        let (urls, at) = (refused.urls, When::at(refused.at));
        let reason = refusal_reason(refused.status);
        text.line(format!(
            "  IndexNow: refused {urls} URLs at {at} with status {}: {reason}",
            refused.status
        ));
    }
    if until > now {
        let until = When::at(until);
        text.line(format!(
            "  IndexNow: failed {tries} times in a row; next attempt at {until}"
        ));
    }
}

fn content_scan(scan: Option<&ContentScan>, text: &mut Text) {
    match scan.and_then(|scan| scan.pass.as_ref()) {
        Some(pass) => {
            let records = pass.records;
            let step = match &pass.step {
                Step::Content { after: None } => "about to read records".to_owned(),
                Step::Content { after: Some(id) } => {
                    format!("{records} records processed, the last is {id}")
                }
                Step::Sites { .. } => format!("{records} records processed, publishing"),
            };
            let at = When::at(pass.at);
            text.line(format!("scan of all content: {step}, at {at}"));
        }
        None if scan.is_some_and(ContentScan::is_active) => {
            text.line("scan of all content: about to begin");
        }
        None => text.line("no scan of all content"),
    }
}

fn site_scan(host: &str, scan: &SiteScan, text: &mut Text) {
    let step = match &scan.step {
        SiteStep::LeftOut { after: None } | SiteStep::LeftOutAgain { after: None } => {
            "about to look at what is left out, or waiting for the scan of all content".to_owned()
        }
        SiteStep::LeftOut { after: Some(id) } | SiteStep::LeftOutAgain { after: Some(id) } => {
            format!("at what is left out, the last is {id}")
        }
        SiteStep::Entries { after: None } => "about to look at what is listed".to_owned(),
        SiteStep::Entries {
            after: Some((series, n, _)),
        } => format!("at what sitemap {n} of {series} lists"),
        SiteStep::Publish { after: None } => "about to publish".to_owned(),
        SiteStep::Publish { after: Some(path) } => format!("published up to {path}"),
    };
    let at = When::at(scan.at);
    text.line(format!("scan of {host}: {step}, at {at}"));
}

#[cfg(test)]
mod tests {
    use engine::notices::Refused;
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
            assert!(problem.is_none_or(|problem| problem.contains("of type notice is")));
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
            notices(pause, 50, &mut text);
            assert_eq!(&*text, expected);
        }
    }
}

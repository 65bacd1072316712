//! `waymark status`: the state of each site, what is wrong with it, and how far the background scan is.

use std::collections::BTreeSet;

use engine::error::EngineError;
use engine::notices::Pause;
use engine::sites::{Hold, Job, Step};
use engine::sweep::notices::refusal_reason;
use sitemap::site::SiteSettings;
use sitemap::time::When;

use crate::target::Target;
use crate::text::Text;

/// Each published site's state, and how far the background scan is, in lines for people.
///
/// # Errors
///
/// If a table or the bucket fails.
pub async fn status(target: &Target) -> Result<Text, EngineError> {
    let table = &target.reconciler.table;
    let mut text = Text::default();
    let job = table.job().await?;
    let mut hosts: BTreeSet<String> = target.objects.sites().await?.into_iter().collect();
    for job in job.iter() {
        hosts.extend(job.waiting.iter().cloned());
        hosts.extend(job.pass.iter().flat_map(|pass| pass.sites.clone()));
    }
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
    scan(job.as_ref(), &mut text);
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

fn scan(job: Option<&Job>, text: &mut Text) {
    let Some(job) = job else {
        text.line("no background scan");
        return;
    };
    let names = |sites: &BTreeSet<String>| {
        let sites: Vec<&str> = sites.iter().map(String::as_str).collect();
        sites.join(", ")
    };
    if let Some(pass) = &job.pass {
        let records = pass.records;
        let step = match &pass.step {
            Step::Scan { after: None } => "about to read records".to_owned(),
            Step::Scan { after: Some(id) } => {
                format!("{records} records processed, the last is {id}")
            }
            Step::Publish { after: None } => {
                format!("{records} records processed, about to publish")
            }
            Step::Publish {
                after: Some((_, path)),
            } => format!("{records} records processed, published up to {path}"),
        };
        let at = When::at(pass.at);
        text.line(format!("scan of {}: {step}, at {at}", names(&pass.sites)));
    }
    if !job.waiting.is_empty() {
        text.line(format!(
            "waiting for the next scan: {}",
            names(&job.waiting)
        ));
    }
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

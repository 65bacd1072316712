//! Addresses around the sitemaps: redirects from other names, and addresses that are not sitemaps.

use check::rules::Rule;
use check::site::yoast_names::Name;

use super::asker::Asker;
use crate::fetch::client::Answer;

/// Looks at the routes of a site whose index is there.
pub(super) async fn check(
    asker: &mut Asker<'_>,
    origin: &str,
    index: &str,
    series: impl Iterator<Item = &(Name, u64)>,
) {
    let url = format!("{origin}/sitemap.xml");
    if url != index {
        let answer = asker.get(&url, &[]).await;
        let problem = redirect(&answer, &url, index);
        asker.found(Rule::RouteSitemapXml, &url, &Vec::from_iter(problem));
    }
    for (name, highest) in series {
        own_series(asker, name, *highest).await;
    }
    for path in [
        "/no-such-type-sitemap.xml",
        "/no-such-type-sitemap2.xml",
        "/-sitemap.xml",
    ] {
        let url = format!("{origin}{path}");
        let answer = asker.get(&url, &[]).await;
        missing(asker, &answer, &url);
    }
    let mut problems = Vec::new();
    for method in ["POST", "PUT", "DELETE"] {
        let answer = asker.ask(method, index, &[("content-length", "0")]).await;
        let allowed = answer.header("allow").to_ascii_uppercase();
        let allows = |method: &str| allowed.split(',').any(|one| one.trim() == method);
        // 403 is what CloudFront answers.
        let is_right =
            answer.status == 403 || (answer.status == 405 && allows("GET") && allows("HEAD"));
        if !is_right {
            problems.push(format!(
                "{method} is {} with Allow \"{allowed}\"",
                answer.status_text()
            ));
        }
    }
    asker.found(Rule::Route405, index, &problems);
}

async fn own_series(asker: &mut Asker<'_>, name: &Name, highest: u64) {
    let first = name.numbered("");
    for number in ["0", "1"] {
        let url = name.numbered(number);
        let mut problems = Vec::new();
        for method in ["GET", "HEAD"] {
            let answer = asker.ask(method, &url, &[]).await;
            problems.extend(redirect(&answer, &url, &first));
        }
        asker.found(Rule::RoutePage01, &url, &problems);
    }
    let next = (highest + 1).to_string();
    for number in [&next, "00", "02", "-1", "99999999999999999999", "x"] {
        let url = name.numbered(number);
        let answer = asker.get(&url, &[]).await;
        missing(asker, &answer, &url);
    }
}

fn missing(asker: &mut Asker<'_>, answer: &Answer, url: &str) {
    if answer.status != 404 {
        let problem = format!("is {}, not a 404", answer.status_text());
        asker.found(Rule::Route404, url, &[problem]);
    }
}

/// Returns what is wrong with a redirect from `url` to `to`. Returns `None` if it is right.
fn redirect(answer: &Answer, url: &str, to: &str) -> Option<String> {
    let location = answer.header("location");
    let leads = url::Url::parse(url).and_then(|url| url.join(&location));
    let leads = leads.map(String::from).unwrap_or_default();
    let is_right = answer.status == 301 && leads == to;
    (!is_right).then(|| {
        format!(
            "is {} to \"{location}\", not a 301 to {to}",
            answer.status_text()
        )
    })
}

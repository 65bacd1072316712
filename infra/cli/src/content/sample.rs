//! The sample site: what `waymark` loads if it is given no content.
//!
//! News are news for 48 hours, so some of the sample's dates are written as `{"hours_ago": 3}`: before the time at which
//! it is loaded. In any other content that is no date.

use sitemap::time::When;

/// With dates that are still to be filled in. In the binary: `cargo run` alone shows something.
const TEMPLATE: &str = include_str!("../../sample/site.jsonl");
const HOURS_AGO: &str = "{\"hours_ago\": ";
const SECONDS_PER_HOUR: i64 = 3_600;

/// Returns the sample's content, JSON Lines, as of a time in Unix seconds.
#[must_use]
pub fn sample(at: i64) -> String {
    let mut pieces = TEMPLATE.split(HOURS_AGO);
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let hours = piece
            .split_once('}')
            .and_then(|(hours, rest)| Some((hours.parse::<i64>().ok()?, rest)));
        match hours {
            Some((hours, rest)) => {
                let when = When::at(at - hours * SECONDS_PER_HOUR);
                text.push_str(&format!("\"{when}\"{rest}"));
            }
            // It stays, and is reported as the bad date that it is.
            None => text.extend([HOURS_AGO, piece]),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use sitemap::record::ContentRecord;
    use sitemap::site::{SiteSettings, host_of_site_id};

    use super::*;

    const NOW: i64 = 1_800_000_000; // 2027-01-15T08:00:00Z

    #[test]
    fn every_line_is_a_record_whose_dates_are_filled_in() {
        let text = sample(NOW);
        let mut dates = 0;
        for line in text.lines() {
            let item: Value = serde_json::from_str(line).unwrap();
            let id = item["id"].as_str().unwrap();
            assert_eq!(
                ContentRecord::parse(id, &item).closing_problem(),
                None,
                "{id}"
            );
            if let Some(host) = host_of_site_id(id) {
                assert_eq!(SiteSettings::parse(host, &item).unwrap().problems, []);
            }
            dates += usize::from(item["published_at"] == "2027-01-15T05:00:00+00:00");
        }
        assert_eq!(dates, 1, "one page is three hours old");
    }
}

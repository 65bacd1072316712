//! The dates of WordPress: in GMT, and in the zone of the site, whose name is not in an export.

use std::collections::{BTreeMap, BTreeSet};

use sitemap::time::{When, Zone};

use crate::import::feed::rfc2822;

/// How `pubDate` shows a date of zeros: PHP makes either of it, by its version.
const ZEROS: [&str; 2] = ["30 Nov 1999 00:00:00", "-0001"];
/// Differences between a local date and the one in GMT that a zone can have, in seconds: quarters of an hour, up to UTC+14.
const QUARTER: i64 = 15 * 60;
const MOST: i64 = 14 * 60 * 60;

/// Returns a date in GMT, `2026-01-02 03:04:05`, as a record has it. WordPress writes zeros for none.
pub(in crate::import) fn gmt(text: &str) -> Option<String> {
    let time = format!("{}Z", text.trim().replacen(' ', "T", 1));
    When::parse(&time).ok().map(|_| time)
}

/// Returns a local date in the zone of the site.
pub(in crate::import) fn zoned(text: &str, zone: &Zone) -> Option<String> {
    let at = When::parse_relaxed(text.trim(), Some(zone)).ok()?;
    Some(at.to_string())
}

/// Returns the date of a `pubDate`, which is the one in GMT again.
pub(super) fn pub_date(text: &str) -> Option<String> {
    let is_none = ZEROS.iter().any(|zeros| text.contains(zeros));
    if is_none { None } else { rfc2822(text) }
}

/// How far local dates are from GMT, as dates that are in both show it. A clock may be turned, so months are kept apart.
#[derive(Debug, Default)]
pub(super) struct Offsets(BTreeMap<String, BTreeSet<i64>>);

impl Offsets {
    /// Notes a date that is in both.
    pub(super) fn add(&mut self, local: &str, in_gmt: &str) {
        let (Some(seen), Some(at)) = (seconds(local), seconds(in_gmt)) else {
            return;
        };
        let offset = seen - at;
        if offset % QUARTER == 0 && offset.abs() <= MOST {
            let offsets = self.0.entry(month(local).to_owned()).or_default();
            offsets.insert(offset);
        }
    }

    /// Converts a local date to GMT, if all other dates of its month have one offset. If there are none, all dates at all must have one.
    pub(super) fn utc(&self, local: &str) -> Option<String> {
        let offsets: BTreeSet<i64> = match self.0.get(month(local)) {
            Some(offsets) => offsets.clone(),
            None => self.0.values().flatten().copied().collect(),
        };
        let mut offsets = offsets.into_iter();
        let (Some(offset), None) = (offsets.next(), offsets.next()) else {
            return None;
        };
        Some(When::at(seconds(local)? - offset).to_string())
    }
}

fn seconds(text: &str) -> Option<i64> {
    let time = gmt(text)?;
    When::parse(&time).ok().map(When::seconds)
}

/// Returns the month of a date, of whatever year.
fn month(text: &str) -> &str {
    text.trim().get(5..7).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_no_date() {
        assert_eq!(
            gmt("2026-01-02 03:04:05").as_deref(),
            Some("2026-01-02T03:04:05Z")
        );
        for text in [
            "0000-00-00 00:00:00",
            "2026-00-00 00:00:00",
            "0000-00-00",
            "",
        ] {
            assert_eq!(gmt(text), None, "{text}");
        }
        for text in [
            "Tue, 30 Nov 1999 00:00:00 +0000",
            "Mon, 30 Nov -0001 00:00:00 +0000",
            "",
        ] {
            assert_eq!(pub_date(text), None, "{text}");
        }
        let date = pub_date("Tue, 30 Nov 1999 09:00:00 +0000");
        assert_eq!(date.as_deref(), Some("1999-11-30T09:00:00+00:00"));
    }

    #[test]
    fn a_local_date_is_in_the_zone_of_the_dates_around_it() {
        let mut offsets = Offsets::default();
        assert_eq!(offsets.utc("2009-01-06 07:08:09"), None);
        offsets.add("2026-01-02 10:00:00", "2026-01-02 09:00:00");
        offsets.add("2026-01-03 10:00:00", "2026-01-02 09:00:00"); // a day apart: not a zone
        offsets.add("2026-01-03 10:00:00", "0000-00-00 00:00:00");
        let winter = Some("2009-01-06T06:08:09+00:00".to_owned());
        assert_eq!(offsets.utc("2009-01-06 07:08:09"), winter);
        assert_eq!(
            offsets.utc("2009-07-06 07:08:09").as_deref(),
            Some("2009-07-06T06:08:09+00:00")
        );
        offsets.add("2026-07-02 10:00:00", "2026-07-02 08:00:00");
        assert_eq!(
            offsets.utc("2009-07-06 07:08:09").as_deref(),
            Some("2009-07-06T05:08:09+00:00")
        );
        assert_eq!(offsets.utc("2009-01-06 07:08:09"), winter);
        // Nobody knows what the clock was in May.
        assert_eq!(offsets.utc("2009-05-06 07:08:09"), None);
        offsets.add("2026-07-02 10:00:00", "2026-07-02 10:00:00");
        assert_eq!(offsets.utc("2009-07-06 07:08:09"), None);
    }
}

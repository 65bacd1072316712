//! Numbers, shares, lengths of time and days as people read them.

use crate::report::{FEW, Lag};

const MINUTE: u64 = 60;
const HOUR: u64 = 3_600;
pub(super) const DAY: u64 = 86_400;
/// What is in place of a number that the log cannot say.
pub(super) const TOO_SHORT: &str = "<span class=\"none\">the log is too short</span>";

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// Returns a number with commas.
pub(super) fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns a number and what it counts.
pub(super) fn count(of: u64, one: &str, many: &str) -> String {
    format!("{} {}", number(of), if of == 1 { one } else { many })
}

/// Returns a part in percent. 0% is none and 100% is all.
pub(super) fn share(part: u64, of: u64) -> String {
    if of == 0 {
        return "–".to_owned();
    }
    let percent = (part as f64 * 100.0 / of as f64).round() as u64;
    match percent {
        0 if part > 0 => "&lt;1%".to_owned(),
        100 if part < of => "&gt;99%".to_owned(),
        _ => format!("{percent}%"),
    }
}

/// Returns a length of time in its largest unit of which there are two or so.
pub(super) fn length(seconds: u64) -> String {
    let rounded = |unit: u64| (seconds + unit / 2) / unit;
    match seconds {
        _ if seconds < 2 * MINUTE => count(seconds, "second", "seconds"),
        _ if seconds < 2 * HOUR => format!("{} minutes", rounded(MINUTE)),
        _ if seconds < 2 * DAY => format!("{} hours", rounded(HOUR)),
        _ => format!("{} days", rounded(DAY)),
    }
}

/// Returns the year, month and day of a time.
fn civil(time: i64) -> (i64, usize, i64) {
    // The calendar begins on 1 March of year 0, so that a leap day ends its year.
    let days = time.div_euclid(DAY as i64) + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (
        era * 400 + year_of_era + i64::from(month <= 2),
        month as usize - 1,
        day,
    )
}

/// Returns a day as `3 Nov 2026`.
pub(super) fn date(time: i64) -> String {
    let (year, month, day) = civil(time);
    format!("{day} {} {year}", MONTHS[month])
}

/// Returns a day as `3 Nov`.
pub(super) fn day(time: i64) -> String {
    let (_, month, day) = civil(time);
    format!("{day} {}", MONTHS[month])
}

/// Returns a time as `3 Nov 2026, 14:05`.
pub(super) fn time(time: i64) -> String {
    let seconds = time.rem_euclid(DAY as i64);
    format!(
        "{}, {:02}:{:02}",
        date(time),
        seconds / 3_600,
        seconds / 60 % 60
    )
}

/// Returns a mark for a number that few pages are behind.
pub(super) fn few(pages: u64) -> &'static str {
    if pages > 0 && pages < FEW {
        " <small class=\"few\">few</small>"
    } else {
        ""
    }
}

/// Returns a median or 90th percentile of a lag, or why there is none.
pub(super) fn lag(lag: &Lag, of: Option<u64>) -> String {
    match of {
        Some(seconds) => format!("{}{}", length(seconds), few(lag.pages)),
        None if lag.pages == 0 => TOO_SHORT.to_owned(),
        None => format!("<span class=\"none\">not yet</span>{}", few(lag.pages)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_written_as_people_read_them() {
        assert_eq!(
            [0, 999, 1_000, 1_234_567].map(number),
            ["0", "999", "1,000", "1,234,567"]
        );
        assert_eq!(
            [(0, 0), (0, 9), (1, 1_000), (1, 3), (999, 1_000), (9, 9)]
                .map(|(part, of)| share(part, of)),
            ["–", "0%", "&lt;1%", "33%", "&gt;99%", "100%"]
        );
        assert_eq!(
            [1, 119, 120, 7_199, 7_200, 172_799, 172_800].map(length),
            [
                "1 second",
                "119 seconds",
                "2 minutes",
                "120 minutes",
                "2 hours",
                "48 hours",
                "2 days"
            ]
        );
        assert_eq!(
            [0, 951_782_400, 1_795_822_917, -1].map(time),
            [
                "1 Jan 1970, 00:00",
                "29 Feb 2000, 00:00",
                "27 Nov 2026, 23:41",
                "31 Dec 1969, 23:59"
            ]
        );
        assert_eq!(day(1_795_822_917), "27 Nov");
    }
}

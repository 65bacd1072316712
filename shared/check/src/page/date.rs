//! Parses the date of `unavailable_after`: RFC 822, RFC 850 or ISO 8601, as Google reads it
//! (<https://developers.google.com/search/docs/crawling-indexing/robots-meta-tag>).

use sitemap::time::When;

/// Seconds of a day.
pub(super) const DAY: i64 = 86_400;
const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
/// Named zones (RFC 822, 5.1), with their hours east of Greenwich. Any other name counts as UTC.
const ZONES: [(&str, i64); 8] = [
    ("EST", -5),
    ("EDT", -4),
    ("CST", -6),
    ("CDT", -5),
    ("MST", -7),
    ("MDT", -6),
    ("PST", -8),
    ("PDT", -7),
];
/// The most parts into which commas divide a date: `Fri, Jun 25, 2027 15:00`.
const MAX_PARTS: usize = 3;

/// Parses the date at the beginning of a comma-separated list. Returns the Unix second at which it is over, its text, and the
/// rest.
pub(super) fn leading(list: &str) -> Option<(i64, &str, &str)> {
    let commas = list.match_indices(',').map(|(at, _)| at);
    let mut ends = commas.chain([list.len()]).take(MAX_PARTS);
    ends.find_map(|end| {
        let (date, rest) = list.split_at(end);
        Some((over(date)?, date.trim(), rest))
    })
}

/// Returns the Unix second at which a date is over: its time, or the end of its day.
fn over(text: &str) -> Option<i64> {
    let text = text.trim();
    let digits_before = |colon| text[..colon].trim_end_matches(|c: char| c.is_ascii_digit());
    let clock_at = text.find(':').map(|colon| digits_before(colon).len());
    let (date, clock) = text.split_at(clock_at.unwrap_or(text.len()));
    let date = date.trim_end_matches(['T', 't']);
    let (mut numbers, mut month) = (Vec::new(), None);
    for word in date.split(|c: char| !c.is_ascii_alphanumeric()) {
        match word.parse::<u32>() {
            Ok(number) => numbers.push((number, word.len())),
            Err(_) => month = month.or_else(|| month_of(word)),
        }
    }
    let mut clock = Clock::read(clock)?;
    let (year, month, day) = match (&numbers[..], month) {
        ([(year, 4), (month, _), (day, _), ..], None) => (*year, *month, *day),
        ([(year, 4), (day, _), ..], Some(month)) => (*year, month, *day),
        ([(day, _), (year, 2), ..], Some(month)) => (*year + century(*year), month, *day),
        ([(day, _), (year, 4), ..], Some(month)) => (*year, month, *day),
        // asctime has the year after the time.
        ([(day, _)], Some(month)) => (clock.year.take()?, month, *day),
        _ => return None,
    };
    let date = format!("{year:04}-{month:02}-{day:02}");
    if clock_at.is_none() {
        return Some(When::parse(&date).ok()?.seconds() + DAY);
    }
    let Clock { time, offset, .. } = clock;
    let [hour, minute, second] = time;
    let at = When::parse(&format!("{date}T{hour:02}:{minute:02}:{second:02}Z"));
    Some(at.ok()?.seconds() - offset)
}

fn century(year: u32) -> u32 {
    if year < 70 { 2_000 } else { 1_900 }
}

/// Returns the month from its name, or from the beginning of the name.
fn month_of(word: &str) -> Option<u32> {
    let word = word.to_ascii_lowercase();
    let is_it = |month: &&str| word.len() >= 3 && month.starts_with(&word);
    (1_u32..)
        .zip(MONTHS)
        .find_map(|(number, month)| is_it(&month).then_some(number))
}

/// The part after the date.
#[derive(Debug, Default)]
struct Clock {
    time: [u32; 3],
    /// Seconds east of Greenwich.
    offset: i64,
    year: Option<u32>,
}

impl Clock {
    /// Parses `15:00`, `15:00:00.5+01:00`, `15:00:00 PST`, `03:00 PM`, or an empty text.
    fn read(text: &str) -> Option<Self> {
        let mut clock = Self::default();
        let mut rest = text;
        for (at, place) in clock.time.iter_mut().enumerate() {
            if at > 0 {
                match rest.strip_prefix(':') {
                    Some(after) => rest = after,
                    None => break,
                }
            }
            let end = rest.find(|c: char| !c.is_ascii_digit());
            let (digits, after) = rest.split_at(end.unwrap_or(rest.len()));
            if !text.is_empty() {
                *place = digits.parse().ok()?;
            }
            rest = after;
        }
        let fraction = rest.strip_prefix('.').unwrap_or(rest);
        if fraction.len() < rest.len() {
            rest = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
        }
        for word in rest.split_whitespace() {
            match (word.split_at_checked(1), word.parse::<u32>()) {
                (Some((sign @ ("+" | "-"), zone)), _) => {
                    let zone: String = zone.chars().filter(char::is_ascii_digit).collect();
                    let (hours, minutes) = zone.split_at_checked(2)?;
                    let minutes = minutes.parse().unwrap_or(0);
                    let seconds = (hours.parse::<i64>().ok()? * 60 + minutes) * 60;
                    clock.offset = if sign == "-" { -seconds } else { seconds };
                }
                (_, Ok(year)) if word.len() == 4 => clock.year = Some(year),
                _ => clock.word(word),
            }
        }
        Some(clock)
    }

    fn word(&mut self, word: &str) {
        let is = |name: &str| word.eq_ignore_ascii_case(name);
        let hour = &mut self.time[0];
        if is("pm") && *hour < 12 {
            *hour += 12;
        } else if is("am") && *hour == 12 {
            *hour = 0;
        } else if let Some((_, hours)) = ZONES.iter().find(|(name, _)| is(name)) {
            self.offset = hours * 3_600;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_as_people_write_them() {
        for (text, utc) in [
            // RFC 822 and 2822.
            ("Fri, 25 Jun 2027 15:00:00 GMT", "2027-06-25T15:00:00Z"),
            ("25 Jun 2010 15:00:00 PST", "2010-06-25T23:00:00Z"),
            ("25 Jun 10 15:00 EDT", "2010-06-25T19:00:00Z"),
            ("Fri, 25 Jun 2027 15:00:00 +0200", "2027-06-25T13:00:00Z"),
            ("Fri, 25 Jun 2027 15:00:00 -0130", "2027-06-25T16:30:00Z"),
            // RFC 850 and similar forms.
            ("Friday, 25-Jun-27 15:00:00 UTC", "2027-06-25T15:00:00Z"),
            ("23-Jul-2007 18:00:00 EST", "2007-07-23T23:00:00Z"),
            ("Saturday, 01-Jan-00 00:00:00 GMT", "2000-01-01T00:00:00Z"),
            ("Friday, 31-Dec-99 23:59:59 GMT", "1999-12-31T23:59:59Z"),
            // ISO 8601.
            ("2027-06-25T15:00:00Z", "2027-06-25T15:00:00Z"),
            ("2027-06-25T15:00:00.25+01:00", "2027-06-25T14:00:00Z"),
            ("2027-06-25T15:00-08", "2027-06-25T23:00:00Z"),
            ("2027-06-25 15:00:00", "2027-06-25T15:00:00Z"),
            ("2027-06-25", "2027-06-26T00:00:00Z"),
            // Others.
            ("Fri Jun 25 15:00:00 2027", "2027-06-25T15:00:00Z"),
            ("June 25, 2027 3:00 PM", "2027-06-25T15:00:00Z"),
            ("Fri, Sept 3, 2027", "2027-09-04T00:00:00Z"),
            ("25 jun 2027", "2027-06-26T00:00:00Z"),
        ] {
            let expected = When::parse(utc).unwrap().seconds();
            let list = format!("{text}, noindex");
            let read = leading(&list);
            assert_eq!(read, Some((expected, text, ", noindex")), "{text}");
            assert_eq!(leading(text), Some((expected, text, "")), "{text}");
        }
        for text in [
            "",
            ":",
            "never",
            "Friday",
            "2027",
            "2027-06",
            "06/25/2027",
            "25 Foo 2027 15:00:00 PST",
            "31 Feb 2027",
            "25 Jun 2027 25:00:00 GMT",
            "25 Jun 2027 15:x",
            "1795550400",
            "99999999999-01-01",
            "2027-06-25T15:00:00+é",
        ] {
            assert_eq!(leading(text), None, "{text}");
        }
    }
}

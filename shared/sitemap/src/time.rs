//! Points in time as sitemaps write them: a date, or a date and time in UTC.
//!
//! Input: RFC 3339 with any offset, or a full date. Output: `2020-01-02T03:04:05+00:00` or `2020-01-02`. Search engines require a
//! zone, so a date and time without one is refused instead of guessed. [`When::parse_relaxed`] reads other spellings of content
//! systems.

use std::fmt;
use std::str::FromStr;

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

const SECONDS_PER_DAY: i64 = 86_400;
/// `0001-01-01T00:00:00Z` in Unix seconds. It is the first year that both four digits and XML Schema's `xsd:date` can express.
const FIRST_SECOND: i64 = -62_135_596_800;
/// `9999-12-31T23:59:59Z` in Unix seconds. Content systems write it for "never", so it must be valid.
const LAST_SECOND: i64 = 253_402_300_799;
const _: () =
    assert!(FIRST_SECOND % SECONDS_PER_DAY == 0 && (LAST_SECOND + 1) % SECONDS_PER_DAY == 0);

/// The length of a date and a time, without fraction and zone.
const CLOCK: usize = "2020-01-02T03:04:05".len();

const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// A date, or a date and time in UTC, in the years 1 to 9999.
///
/// Ordered by time. A date counts as its midnight, and sorts before the date and time of that midnight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct When {
    /// Unix seconds. For a date, those of its midnight.
    seconds: i64,
    precision: Precision,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Precision {
    Date,
    Second,
}

/// The zone of times without an offset.
#[derive(Clone, Debug, PartialEq)]
pub struct Zone(TimeZone);

impl Zone {
    /// Parses a name of the IANA time zone database, such as `Europe/Berlin` or `UTC`, or an offset such as `+01:00`.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let offset = relaxed_offset(name).and_then(|seconds| i32::try_from(seconds).ok());
        let offset = offset.and_then(|seconds| jiff::tz::Offset::from_seconds(seconds).ok());
        match offset {
            Some(offset) => Some(Self(TimeZone::fixed(offset))),
            None => TimeZone::get(name).ok().map(Self),
        }
    }

    /// Returns the Unix seconds of a local time. A time that the clock skips is read as if the clock had not been turned. Of an
    /// ambiguous time, the first one is used.
    fn seconds(&self, local: DateTime) -> Result<i64, TimeError> {
        let zoned = local.to_zoned(self.0.clone());
        let zoned = zoned.map_err(|_| TimeError::Range)?;
        Ok(zoned.timestamp().as_second())
    }
}

/// Why a text is not a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    /// It is neither an RFC 3339 date and time nor a date.
    #[error("neither YYYY-MM-DD nor an RFC 3339 date and time")]
    Form,
    /// It is a date and time without an offset, which could mean any of 26 hours.
    #[error("a date and time without a zone: add Z or an offset such as +01:00")]
    NoZone,
    /// The calendar or the clock has no such value, as in `2020-02-30`.
    #[error("no such date or time")]
    NoSuchTime,
    /// In UTC it is before the year 1 or after the year 9999.
    #[error("outside the years 0001 to 9999")]
    Range,
}

impl When {
    /// Parses an RFC 3339 date and time (any offset; a fraction of a second is dropped) or a date.
    ///
    /// # Errors
    ///
    /// [`TimeError`] names the problem.
    pub fn parse(text: &str) -> Result<Self, TimeError> {
        if has_form(text, b"0000-00-00") {
            let date: Date = text.parse().map_err(|_| TimeError::NoSuchTime)?;
            return Self::within(seconds_since_epoch(date.into()), Precision::Date);
        }
        let (clock, zone) = text.split_at_checked(CLOCK).ok_or(TimeError::Form)?;
        if !has_form(clock, b"0000-00-00T00:00:00") {
            return Err(TimeError::Form);
        }
        let offset = offset_seconds(without_fraction(zone)?)?;
        // A leap second, `:60`, is read as `:59`.
        let local: DateTime = clock.parse().map_err(|_| TimeError::NoSuchTime)?;
        Self::within(seconds_since_epoch(local) - offset, Precision::Second)
    }

    /// Parses a time as content systems and object mappers write it. In addition to [`When::parse`], it accepts a blank for the
    /// `T`, and the offsets `+0100`, `+01`, `+01:00:00`, ` UTC` and one after a blank. It also accepts a zone in brackets (RFC
    /// 9557), which is used only if there is no offset. If `zone` is given, the offset may be missing.
    ///
    /// # Errors
    ///
    /// [`TimeError`] names the problem.
    pub fn parse_relaxed(text: &str, zone: Option<&Zone>) -> Result<Self, TimeError> {
        match Self::parse(text) {
            Err(TimeError::Form | TimeError::NoZone) => {}
            parsed => return parsed,
        }
        let (clock, rest) = text.split_at_checked(CLOCK).ok_or(TimeError::Form)?;
        let forms = [b"0000-00-00T00:00:00", b"0000-00-00 00:00:00"];
        if !forms.into_iter().any(|form| has_form(clock, form)) {
            return Err(TimeError::Form);
        }
        let local: DateTime = clock.parse().map_err(|_| TimeError::NoSuchTime)?;
        let rest = without_fraction(rest)?;
        let (offset, named) = match rest.split_once('[') {
            Some((offset, name)) => {
                let name = name.strip_suffix(']').ok_or(TimeError::Form)?;
                (offset, Some(name))
            }
            None => (rest, None),
        };
        let offset = offset.strip_prefix(' ').unwrap_or(offset);
        let seconds = match (offset, named, zone) {
            ("", Some(name), _) => Zone::parse(name).ok_or(TimeError::Form)?.seconds(local)?,
            ("", None, Some(zone)) => zone.seconds(local)?,
            ("", None, None) => return Err(TimeError::NoZone),
            (offset, ..) => {
                let offset = relaxed_offset(offset).ok_or(TimeError::Form)?;
                seconds_since_epoch(local) - offset
            }
        };
        Self::within(seconds, Precision::Second)
    }

    /// Returns the date and time of a Unix second. A time outside the years 1 to 9999 becomes the nearest valid one.
    #[must_use]
    pub fn at(seconds: i64) -> Self {
        Self {
            seconds: seconds.clamp(FIRST_SECOND, LAST_SECOND),
            precision: Precision::Second,
        }
    }

    /// Returns the time in Unix seconds. For a date these are the seconds of its midnight in UTC.
    #[must_use]
    pub fn seconds(self) -> i64 {
        self.seconds
    }

    /// Returns whether it is a date without a time.
    #[must_use]
    pub fn is_date(self) -> bool {
        self.precision == Precision::Date
    }

    /// Returns the date whose midnight is this Unix second. Returns `None` if it is not a midnight.
    #[must_use]
    pub fn midnight(seconds: i64) -> Option<Self> {
        if seconds % SECONDS_PER_DAY != 0 {
            return None;
        }
        Self::within(seconds, Precision::Date).ok()
    }

    /// Returns the time as [`When::at`] does. Returns `None` if the time is out of range.
    pub(crate) fn checked_at(seconds: i64) -> Option<Self> {
        Self::within(seconds, Precision::Second).ok()
    }

    fn within(seconds: i64, precision: Precision) -> Result<Self, TimeError> {
        if (FIRST_SECOND..=LAST_SECOND).contains(&seconds) {
            Ok(Self { seconds, precision })
        } else {
            Err(TimeError::Range)
        }
    }

    /// Appends the text of `Display`. Every entry has a time, and the formatting machinery would cost more than the rest of the
    /// entry.
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        let since_first = (self.seconds - FIRST_SECOND) as u64; // never negative, and unsigned division is faster
        let (year, month, day) = civil((since_first / SECONDS_PER_DAY as u64) as u32);
        let text = appended(out, b"0000-00-00");
        two_digits(text, 0, year / 100);
        two_digits(text, 2, year % 100);
        two_digits(text, 5, month);
        two_digits(text, 8, day);
        if self.precision == Precision::Second {
            let clock = (since_first % SECONDS_PER_DAY as u64) as u32;
            let text = appended(out, b"T00:00:00+00:00");
            two_digits(text, 1, clock / 3600);
            two_digits(text, 4, clock / 60 % 60);
            two_digits(text, 7, clock % 60);
        }
    }
}

/// Returns whether a text matches a pattern: `0` matches a digit, a letter matches either case, any other byte itself.
fn has_form(text: &str, pattern: &[u8]) -> bool {
    text.len() == pattern.len()
        && text.bytes().zip(pattern).all(|(byte, form)| match form {
            b'0' => byte.is_ascii_digit(),
            form => byte.eq_ignore_ascii_case(form),
        })
}

fn without_fraction(zone: &str) -> Result<&str, TimeError> {
    let Some(fraction) = zone.strip_prefix('.') else {
        return Ok(zone);
    };
    let rest = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
    if rest.len() == fraction.len() {
        return Err(TimeError::Form);
    }
    Ok(rest)
}

/// Returns the seconds of `Z` or `±hh:mm`, positive east of Greenwich.
fn offset_seconds(zone: &str) -> Result<i64, TimeError> {
    if zone.is_empty() {
        return Err(TimeError::NoZone);
    }
    if zone.eq_ignore_ascii_case("z") {
        return Ok(0);
    }
    let bytes = zone.as_bytes();
    if !has_form(zone, b"+00:00") && !has_form(zone, b"-00:00") {
        return Err(TimeError::Form);
    }
    let number = |at: usize| i64::from(bytes[at] - b'0') * 10 + i64::from(bytes[at + 1] - b'0');
    let (hours, minutes) = (number(1), number(4));
    if hours > 23 || minutes > 59 {
        return Err(TimeError::NoSuchTime);
    }
    let seconds = hours * 3600 + minutes * 60;
    Ok(if bytes[0] == b'-' { -seconds } else { seconds })
}

/// Returns the seconds of `Z`, `UTC`, `GMT`, or hours, minutes and seconds with a sign, positive east of Greenwich.
fn relaxed_offset(text: &str) -> Option<i64> {
    let utc = ["z", "utc", "gmt"];
    if utc.iter().any(|name| text.eq_ignore_ascii_case(name)) {
        return Some(0);
    }
    let (sign, digits) = match text.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let forms: [&[u8]; 5] = [b"00", b"0000", b"00:00", b"000000", b"00:00:00"];
    if !forms.into_iter().any(|form| has_form(digits, form)) {
        return None;
    }
    let digits: Vec<i64> = digits
        .bytes()
        .filter(u8::is_ascii_digit)
        .map(|digit| i64::from(digit - b'0'))
        .collect();
    let number = |at: usize| {
        digits
            .get(at..at + 2)
            .map_or(0, |pair| pair[0] * 10 + pair[1])
    };
    let (hours, minutes, seconds) = (number(0), number(2), number(4));
    (hours < 24 && minutes < 60 && seconds < 60)
        .then_some(sign * (hours * 3_600 + minutes * 60 + seconds))
}

fn seconds_since_epoch(utc: DateTime) -> i64 {
    utc.duration_since(EPOCH).as_secs()
}

/// Returns year, month and day of a day counted from 0001-01-01, up to the year 9999.
///
/// The years begin in March, so that the leap day is the last of its year, and divisions are multiplications. The method is from Neri and
/// Schneider, "Euclidean affine functions and their application to calendar algorithms", <https://doi.org/10.1002/spe.3172>. jiff's own
/// conversion ends a day before the year 9999 does.
fn civil(day: u32) -> (u32, u32, u32) {
    const DAYS_BEFORE: u32 = 306; // from 0000-03-01 to 0001-01-01
    const DAYS_PER_ERA: u32 = 146_097; // 400 years
    const LAST_OF_DECEMBER: u32 = 305; // counted from the first of March
    let quarters = 4 * (day + DAYS_BEFORE) + 3;
    let century = quarters / DAYS_PER_ERA;
    let quarters = (quarters % DAYS_PER_ERA) | 3;
    let years = 2_939_745 * u64::from(quarters); // 2^32 / 1461, the days of four years
    let year = 100 * century + (years >> 32) as u32;
    let day = years as u32 / 2_939_745 / 4;
    let months = 2_141 * day + 197_913; // 2^16 / 30.6, the days of a month
    let (month, day_of_month) = (months >> 16, months % (1 << 16) / 2_141 + 1);
    if day > LAST_OF_DECEMBER {
        (year + 1, month - 12, day_of_month)
    } else {
        (year, month, day_of_month)
    }
}

/// Appends the template and returns it to be filled in. Digits are set in their final place, because a copy right afterwards
/// would wait for each of them.
fn appended<'a, const N: usize>(out: &'a mut Vec<u8>, template: &[u8; N]) -> &'a mut [u8; N] {
    out.extend_from_slice(template);
    out.last_chunk_mut().expect("it was just appended")
}

fn two_digits<const N: usize>(text: &mut [u8; N], at: usize, number: u32) {
    let [tens, ones] = TWO_DIGITS[number as usize];
    text[at] = tens;
    text[at + 1] = ones;
}

/// `00` to `99`.
const TWO_DIGITS: [[u8; 2]; 100] = {
    let mut digits = [[0; 2]; 100];
    let mut number = 0;
    while number < 100 {
        digits[number as usize] = [b'0' + number / 10, b'0' + number % 10];
        number += 1;
    }
    digits
};

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Vec::with_capacity(25);
        self.write(&mut text);
        f.pad(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

impl FromStr for When {
    type Err = TimeError;

    fn from_str(text: &str) -> Result<Self, TimeError> {
        Self::parse(text)
    }
}

impl Serialize for When {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for When {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<&str, TimeError>) {
        let written = When::parse(text).map(|when| when.to_string());
        assert_eq!(
            written.as_deref().map_err(|error| *error),
            expected,
            "{text}"
        );
    }

    #[test]
    fn times_are_written_in_utc() {
        check("2020-01-02T03:04:05Z", Ok("2020-01-02T03:04:05+00:00"));
        check("2020-01-02t03:04:05z", Ok("2020-01-02T03:04:05+00:00"));
        check(
            "2020-01-02T03:04:05.999999999999Z",
            Ok("2020-01-02T03:04:05+00:00"),
        );
        check("2020-01-02T03:04:05+02:00", Ok("2020-01-02T01:04:05+00:00"));
        check("2020-02-28T23:30:00-01:00", Ok("2020-02-29T00:30:00+00:00"));
        check("2020-01-02T03:04:05-00:00", Ok("2020-01-02T03:04:05+00:00"));
        check("1969-12-31T23:59:59Z", Ok("1969-12-31T23:59:59+00:00"));
        check("2016-12-31T23:59:60Z", Ok("2016-12-31T23:59:59+00:00"));
    }

    #[test]
    fn a_date_stays_a_date() {
        check("2020-02-29", Ok("2020-02-29"));
        check("0001-01-01", Ok("0001-01-01"));
        check("9999-12-31", Ok("9999-12-31"));
    }

    #[test]
    fn what_the_calendar_lacks_is_refused() {
        check("2020-02-30", Err(TimeError::NoSuchTime));
        check("2019-02-29", Err(TimeError::NoSuchTime));
        check("2020-13-01T00:00:00Z", Err(TimeError::NoSuchTime));
        check("2020-01-01T24:00:00Z", Err(TimeError::NoSuchTime));
        check("2020-01-01T00:00:61Z", Err(TimeError::NoSuchTime));
        check("2020-01-01T00:00:00+24:00", Err(TimeError::NoSuchTime));
    }

    #[test]
    fn other_forms_are_refused() {
        for text in [
            "",
            "2020",
            "2020-01",
            " 2020-01-01",
            "2020-01-01 ",
            "20200101",
            "2020-1-1",
            "+2020-01-01",
            "2020-01-01T10:20Z",
            "2020-01-01 10:20:30Z",
            "2020-01-01T10:20:30.Z",
            "2020-01-01T10:20:30+0100",
            "2020-01-01T10:20:30Z[UTC]",
            "2020-01-01T10:20:3éZ",
            "yesterday",
            "１２３４-01-01",
        ] {
            check(text, Err(TimeError::Form));
        }
        check("2020-01-01T10:20:30", Err(TimeError::NoZone));
        check("2020-01-01T10:20:30.5", Err(TimeError::NoZone));
    }

    #[test]
    fn what_mappers_write_is_read() {
        let berlin = Zone::parse("Europe/Berlin").expect("a zone");
        let check = |text: &str, zone: Option<&Zone>, expected: Result<&str, TimeError>| {
            let read = When::parse_relaxed(text, zone).map(|when| when.to_string());
            assert_eq!(read.as_deref().map_err(|error| *error), expected, "{text}");
        };
        let expected = Ok("2026-03-01T10:20:30+00:00");
        for text in [
            "2026-03-01T10:20:30.500000+0000",
            "2026-03-01 10:20:30.500000+00:00",
            "2026-03-01 10:20:30.5 +00:00:00",
            "2026-03-01T11:20:30.5+01:00[Europe/Berlin]",
            "2026-03-01T10:20:30Z[UTC]",
            "2026-03-01T11:20:30[Europe/Berlin]",
            "2026-03-01 10:20:30 UTC",
            "2026-03-01 05:20:30 -0500",
            "2026-03-01T11:20:30+01",
            "2026-03-01T10:20:30.123456789Z",
            "2026-03-01T10:20:30z",
        ] {
            check(text, None, expected);
            check(text, Some(&berlin), expected);
        }
        for text in ["2026-03-01T11:20:30", "2026-03-01 11:20:30.500000"] {
            check(text, None, Err(TimeError::NoZone));
            check(text, Some(&berlin), expected);
            check(text, Zone::parse("+01:00").as_ref(), expected);
        }
        check(
            "2026-07-01 12:00:00",
            Some(&berlin),
            Ok("2026-07-01T10:00:00+00:00"),
        );
        // Skipped, and ambiguous.
        check(
            "2026-03-29 02:30:00",
            Some(&berlin),
            Ok("2026-03-29T01:30:00+00:00"),
        );
        check(
            "2026-10-25 02:30:00",
            Some(&berlin),
            Ok("2026-10-25T00:30:00+00:00"),
        );
        check("2026-03-01", Some(&berlin), Ok("2026-03-01"));
        check(
            "1923-01-01 00:00:00+0000",
            None,
            Ok("1923-01-01T00:00:00+00:00"),
        );
        for text in [
            "2026-03-01_10:20:30Z",
            "2026-03-01T10:20:30 +",
            "2026-03-01T10:20:30+1",
            "2026-03-01T10:20:30  +0000",
            "2026-03-01T10:20:30[Mars/Olympus]",
            "2026-03-01T10:20:30+00:00[UTC",
            "2026-03-01T10:20:30 CET",
        ] {
            check(text, Some(&berlin), Err(TimeError::Form));
        }
        check("2026-02-30 10:20:30Z", None, Err(TimeError::NoSuchTime));
        check(
            "2026-03-01T10:20:30+24:00",
            None,
            Err(TimeError::NoSuchTime),
        );
        assert_eq!(Zone::parse("Mars/Olympus"), None);
    }

    #[test]
    fn years_count_after_normalisation() {
        check("9999-12-31T23:59:59Z", Ok("9999-12-31T23:59:59+00:00"));
        check("9999-12-31T23:59:59-00:01", Err(TimeError::Range));
        check("0001-01-01T00:00:00+00:01", Err(TimeError::Range));
        check("0000-06-01", Err(TimeError::Range));
        check("0000-12-31T23:59:59-00:01", Ok("0001-01-01T00:00:59+00:00"));
    }

    #[test]
    fn a_second_outside_the_range_becomes_the_nearest() {
        assert_eq!(When::at(i64::MAX).to_string(), "9999-12-31T23:59:59+00:00");
        assert_eq!(When::at(i64::MIN).to_string(), "0001-01-01T00:00:00+00:00");
    }

    #[test]
    fn a_date_stands_before_its_midnight() {
        let date = When::parse("2020-01-02").unwrap();
        let midnight = When::parse("2020-01-02T00:00:00Z").unwrap();
        assert_eq!(date.seconds(), midnight.seconds());
        assert!(date < midnight);
        assert!(midnight < When::at(midnight.seconds() + 1));
    }

    #[test]
    fn serde_uses_the_text() {
        let when = When::parse("2020-01-02T05:04:05+02:00").unwrap();
        let json = serde_json::to_string(&when).unwrap();
        assert_eq!(json, "\"2020-01-02T03:04:05+00:00\"");
        assert_eq!(serde_json::from_str::<When>(&json).unwrap(), when);
        assert!(serde_json::from_str::<When>("\"2020-02-30\"").is_err());
    }

    proptest! {
        #[test]
        fn every_second_is_read_as_written(seconds in FIRST_SECOND..=LAST_SECOND) {
            let when = When::at(seconds);
            prop_assert_eq!(When::parse(&when.to_string()), Ok(when));
        }

        #[test]
        fn every_day_is_read_as_written(day in FIRST_SECOND / SECONDS_PER_DAY..=LAST_SECOND / SECONDS_PER_DAY) {
            let when = When::midnight(day * SECONDS_PER_DAY).unwrap();
            prop_assert_eq!(When::parse(&when.to_string()), Ok(when));
        }

        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = When::parse(&text);
            let _ = When::parse_relaxed(&text, Zone::parse("UTC").as_ref());
        }
    }
}

//! Times, as servers write them: in seconds since 1970, UTC.

/// Reads `27/Nov/2026:23:42:03 +0000`; a fraction of a second may follow the seconds.
pub(super) fn clf(text: &[u8]) -> Option<i64> {
    let (time, zone) = text.split_at_checked(20)?;
    let &[
        d1,
        d2,
        b'/',
        m1,
        m2,
        m3,
        b'/',
        y1,
        y2,
        y3,
        y4,
        b':',
        ref clock @ ..,
    ] = time
    else {
        return None;
    };
    let month = month([m1, m2, m3])?;
    let day = days(number(&[y1, y2, y3, y4])?, month, number(&[d1, d2])?)?;
    Some(day * DAY + clock_seconds(clock)? - offset(without_fraction(zone).strip_prefix(b" ")?)?)
}

/// Reads `2026-11-27T23:42:03Z`, with a blank in place of the `T`, any offset, and fractions. Without an offset it is UTC.
pub(super) fn iso(text: &[u8]) -> Option<i64> {
    let (day, rest) = text.split_at_checked(10)?;
    let (&(b'T' | b't' | b' '), rest) = rest.split_first()? else {
        return None;
    };
    let (clock, zone) = rest.split_at_checked(8)?;
    let zone = without_fraction(zone);
    let offset = match zone.strip_prefix(b" ").unwrap_or(zone) {
        b"" | b"Z" | b"z" | b"UTC" => 0,
        zone => offset(zone)?,
    };
    Some(iso_day(day)? * DAY + clock_seconds(clock)? - offset)
}

/// Reads the day `2026-11-27`, in days since 1970.
pub(super) fn iso_day(text: &[u8]) -> Option<i64> {
    let &[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = text else {
        return None;
    };
    days(
        number(&[y1, y2, y3, y4])?,
        number(&[m1, m2])?,
        number(&[d1, d2])?,
    )
}

/// Reads `23:42:03`.
pub(super) fn clock_seconds(text: &[u8]) -> Option<i64> {
    let &[h1, h2, b':', m1, m2, b':', s1, s2] = text else {
        return None;
    };
    let (hour, minute, second) = (number(&[h1, h2])?, number(&[m1, m2])?, number(&[s1, s2])?);
    // A leap second is 60.
    (hour < 24 && minute < 60 && second < 61).then_some(hour * 3_600 + minute * 60 + second)
}

/// Reads a number of seconds since 1970, or of thousandths, millionths or billionths of them: of the first that is before 5138.
pub(super) fn whole_since_1970(number: u64) -> Option<i64> {
    let mut scales = [1, 1_000, 1_000_000, 1_000_000_000].into_iter();
    let scale = scales.find(|scale| number / scale < MOST_SECONDS)?;
    i64::try_from(number / scale).ok()
}

/// Reads a number like [`whole_since_1970`], with a fraction.
pub(super) fn since_1970(number: f64) -> Option<i64> {
    (0.0..u64::MAX as f64)
        .contains(&number)
        .then(|| whole_since_1970(number as u64))?
}

/// The seconds of a day.
pub(super) const DAY: i64 = 86_400;

/// Numbers from here on are not seconds: these would be in the year 5138, and in thousandths they are of 1973.
const MOST_SECONDS: u64 = 100_000_000_000;

fn without_fraction(text: &[u8]) -> &[u8] {
    let Some(rest) = text.strip_prefix(b".") else {
        return text;
    };
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    &rest[digits..]
}

/// Reads `+0200` or `+02:00`.
fn offset(text: &[u8]) -> Option<i64> {
    let (sign, h1, h2, m1, m2) = match *text {
        [sign, h1, h2, m1, m2] | [sign, h1, h2, b':', m1, m2] => (sign, h1, h2, m1, m2),
        _ => return None,
    };
    let (hours, minutes) = (number(&[h1, h2])?, number(&[m1, m2])?);
    let seconds = hours * 3_600 + minutes * 60;
    match sign {
        _ if hours > 23 || minutes > 59 => None,
        b'+' => Some(seconds),
        b'-' => Some(-seconds),
        _ => None,
    }
}

fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |number, &digit| {
        let digit = digit.wrapping_sub(b'0');
        (digit < 10).then_some(number * 10 + i64::from(digit))
    })
}

fn month(name: [u8; 3]) -> Option<i64> {
    Some(match &name {
        b"Jan" => 1,
        b"Feb" => 2,
        b"Mar" => 3,
        b"Apr" => 4,
        b"May" => 5,
        b"Jun" => 6,
        b"Jul" => 7,
        b"Aug" => 8,
        b"Sep" => 9,
        b"Oct" => 10,
        b"Nov" => 11,
        b"Dec" => 12,
        _ => return None,
    })
}

/// Returns the days from 1970 to a day, which is not before.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + i64::from(is_leap),
        _ => return None,
    };
    if year < 1970 || !(1..=length).contains(&day) {
        return None;
    }
    // Counted in years from March, so that the leap day is a year's last.
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let before_month = (153 * month + 2) / 5;
    let before_year = 365 * year + year / 4 - year / 100 + year / 400;
    Some(before_year + before_month + day - 1 - 719_468) // the days from the first of March of year 0 to 1970
}

//! The simple types of XML Schema that the schemas of sitemaps use: <https://www.w3.org/TR/xmlschema-2/>.

/// Returns whether a character is white space of XML.
pub(crate) fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

/// Returns a text without white space around it. White space inside does not matter for any type that is collapsed here.
pub(crate) fn trimmed(text: &str) -> &str {
    text.trim_matches(is_space)
}

fn digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns whether a text is an `xsd:anyURI`, as libxml2 accepts it: a URI reference of RFC 3986, in which characters that should
/// be percent-encoded may be unencoded.
pub(crate) fn is_any_uri(text: &str) -> bool {
    let text = trimmed(text);
    let (text, fragment) = text.split_once('#').unwrap_or((text, ""));
    let is_escape = |at: usize| {
        let escape = text.as_bytes().get(at + 1..at + 3);
        escape.is_some_and(|escape| escape.iter().all(u8::is_ascii_hexdigit))
    };
    let has_brackets = |text: &str| text.contains(['[', ']']);
    if !text.match_indices('%').all(|(at, _)| is_escape(at)) {
        return false;
    }
    if !fragment.is_empty() && (fragment.contains('#') || !is_any_uri(&format!("/{fragment}"))) {
        return false;
    }
    let end = text.find(['/', '?']).unwrap_or(text.len());
    let rest = match text[..end].split_once(':') {
        Some((scheme, _)) => {
            let of_scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
            if !scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                || !scheme.chars().all(of_scheme)
            {
                return false;
            }
            &text[scheme.len() + 1..]
        }
        None => text,
    };
    let Some(authority) = rest.strip_prefix("//") else {
        return !has_brackets(rest);
    };
    let end = authority.find(['/', '?']).unwrap_or(authority.len());
    let (authority, path) = authority.split_at(end);
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    let (name, port) = match host.strip_prefix('[').map(|host| host.split_once(']')) {
        Some(Some((name, port))) => (name, port),
        Some(None) => return false,
        None => host.find(':').map_or((host, ""), |at| host.split_at(at)),
    };
    let port_is_right = match port.strip_prefix(':') {
        Some(port) => digits(port) && port.len() <= 8,
        None => port.is_empty(),
    };
    port_is_right && !has_brackets(name) && !has_brackets(path)
}

/// Returns whether a text is an `xsd:date` or an `xsd:dateTime`.
pub(crate) fn is_date_or_time(text: &str) -> bool {
    let text = trimmed(text);
    let text = text.strip_prefix('-').unwrap_or(text);
    let Some((year, rest)) = text.split_once('-') else {
        return false;
    };
    // A year of more than four digits has no leading zero, and there is no year 0.
    let year_is_right = digits(year)
        && (year.len() == 4 || (year.len() > 4 && !year.starts_with('0')))
        && year.bytes().any(|byte| byte != b'0');
    if !year_is_right || !rest.is_ascii() || rest.len() < "01-02".len() {
        return false;
    }
    let (date, rest) = rest.split_at("01-02".len());
    let (Some(month), Some(day)) = (two(date, 0), two(date, 3)) else {
        return false;
    };
    // The calendar repeats every 400 years.
    let year: u32 = year[year.len().saturating_sub(9)..].parse().unwrap_or(0);
    if date.as_bytes()[2] != b'-' || day == 0 || day > days(year, month) {
        return false;
    }
    match rest.strip_prefix('T') {
        None => is_zone(rest),
        Some(clock) => is_clock(clock),
    }
}

fn two(text: &str, at: usize) -> Option<u32> {
    let two = text.get(at..at + 2)?;
    digits(two).then(|| two.parse().ok())?
}

fn days(year: u32, month: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => {
            29
        }
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    }
}

fn is_clock(text: &str) -> bool {
    let Some((clock, rest)) = text.split_at_checked("03:04:05".len()) else {
        return false;
    };
    let (Some(hour), Some(minute), Some(second)) = (two(clock, 0), two(clock, 3), two(clock, 6))
    else {
        return false;
    };
    if clock.as_bytes()[2] != b':' || clock.as_bytes()[5] != b':' {
        return false;
    }
    let (rest, fraction) = match rest.strip_prefix('.') {
        None => (rest, ""),
        Some(rest) => {
            let end = rest
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(rest.len());
            if end == 0 {
                return false;
            }
            (&rest[end..], &rest[..end])
        }
    };
    let midnight = hour == 24 && minute == 0 && second == 0 && fraction.bytes().all(|b| b == b'0');
    (midnight || (hour < 24 && minute < 60 && second < 60)) && is_zone(rest)
}

fn is_zone(text: &str) -> bool {
    match text {
        "" | "Z" => true,
        _ => {
            let Some(offset) = text.strip_prefix(['+', '-']) else {
                return false;
            };
            let (Some(hours), Some(minutes)) = (two(offset, 0), two(offset, 3)) else {
                return false;
            };
            offset.len() == 5
                && offset.as_bytes()[2] == b':'
                && ((hours < 14 && minutes < 60) || (hours == 14 && minutes == 0))
        }
    }
}

/// Returns whether a text is an `xsd:decimal` from `least` to `most`.
pub(crate) fn is_decimal(text: &str, least: f64, most: f64) -> bool {
    let text = trimmed(text);
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let numeric = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    numeric(whole)
        && numeric(fraction)
        && !(whole.is_empty() && fraction.is_empty())
        && text
            .parse::<f64>()
            .is_ok_and(|number| (least..=most).contains(&number))
}

/// Returns whether a text is an `xsd:integer` from `least` to `most`.
pub(crate) fn is_integer(text: &str, least: f64, most: f64) -> bool {
    !trimmed(text).contains('.') && is_decimal(text, least, most)
}

/// Returns whether a text is an `xsd:language`.
pub(crate) fn is_language(text: &str) -> bool {
    let mut parts = trimmed(text).split('-');
    let part = |part: &str, accepts: fn(&u8) -> bool| {
        (1..=8).contains(&part.len()) && part.as_bytes().iter().all(accepts)
    };
    parts
        .next()
        .is_some_and(|first| part(first, u8::is_ascii_alphabetic))
        && parts.all(|rest| part(rest, u8::is_ascii_alphanumeric))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times_are_those_of_the_schema() {
        for good in [
            "2020-01-02",
            " 2020-01-02\n",
            "2020-02-29",
            "2020-01-02Z",
            "2020-01-02+14:00",
            "-0044-03-15",
            "12020-01-02",
            "2020-01-02T03:04:05",
            "2020-01-02T03:04:05Z",
            "2020-01-02T24:00:00Z",
            "2020-01-02T03:04:05.123-01:30",
        ] {
            assert!(is_date_or_time(good), "{good}");
        }
        for bad in [
            "",
            "2020",
            "2020-01",
            "2020-1-2",
            "2020-02-30",
            "2019-02-29",
            "0000-01-01",
            "02020-01-01",
            "2020-13-01",
            "2020-01-02T03:04Z",
            "2020-01-02t03:04:05Z",
            "2020-01-02T03:04:05z",
            "2020-01-02T24:00:01",
            "2020-01-02T03:04:60Z",
            "2020-01-02T03:04:05.Z",
            "2020-01-02+15:00",
            "2020-01-02 03:04:05",
            "yesterday",
            "2020-é1-02",
        ] {
            assert!(!is_date_or_time(bad), "{bad}");
        }
    }

    #[test]
    fn numbers_are_those_of_the_schema() {
        for good in ["0", "1", "0.5", ".5", "1.", "+0.5", " 0.8 ", "-0"] {
            assert!(is_decimal(good, 0.0, 1.0), "{good}");
        }
        for bad in ["", ".", "1e0", "1.1", "-0.1", "0,5", "high", "NaN", "inf"] {
            assert!(!is_decimal(bad, 0.0, 1.0), "{bad}");
        }
        assert!(is_integer("28800", 0.0, 28_800.0));
        assert!(!is_integer("28801", 0.0, 28_800.0));
        assert!(!is_integer("1.0", 0.0, 28_800.0));
    }

    #[test]
    fn addresses_are_those_that_libxml2_takes() {
        for good in [
            "",
            "/a",
            "a",
            "/a:b",
            "https:a",
            "https://a.example/a b#c",
            "https://a:b:c@x.example:80/",
            "https://[::1]/a?b%20c",
        ] {
            assert!(is_any_uri(good), "{good}");
        }
        for bad in [
            "a#b#c",
            "https://x.example:y/",
            "https://x.example:/",
            "https://x.example:999999999/",
            "https://[x/",
            ":a",
            "1a:b",
            "a_b:c",
            "/[a]",
            "?a[b]=c",
            "/%",
            "/%zz",
            "/a#%zz",
            "https://%zz/",
        ] {
            assert!(!is_any_uri(bad), "{bad}");
        }
    }

    #[test]
    fn languages_are_those_of_the_schema() {
        for good in ["en", "en-GB", "x-default", "xx-YYYY", "uk-english"] {
            assert!(is_language(good), "{good}");
        }
        for bad in ["", "en_US", "e1", "en-", "englishlanguage"] {
            assert!(!is_language(bad), "{bad}");
        }
    }
}

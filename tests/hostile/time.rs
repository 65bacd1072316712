//! Times.

use sitemap::time::When;

/// Checks that a valid time is written in the only form that sitemaps have, and means the same for another library.
pub fn check(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    let Ok(when) = When::parse(text) else {
        return;
    };
    let written = when.to_string();
    assert_eq!(
        written.len(),
        if when.is_date() { 10 } else { 25 },
        "{text:?} is written {written:?}"
    );
    assert_eq!(
        When::parse(&written),
        Ok(when),
        "{text:?} is written {written:?}"
    );
    assert_eq!(
        serde_json::from_value::<When>(written.as_str().into()).ok(),
        Some(when)
    );
    if when.is_date() {
        assert_eq!(text, written);
        assert_eq!(when.seconds() % 86_400, 0);
    } else if let Ok(timestamp) = text.parse::<jiff::Timestamp>() {
        // Before the epoch a fraction would be rounded the other way.
        if timestamp.subsec_nanosecond() == 0 {
            assert_eq!(when.seconds(), timestamp.as_second(), "{text:?}");
        }
    }
}

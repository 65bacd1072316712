//! URLs.

use sitemap::loc::{Loc, LocError, MAX_LOC_BYTES, Origin};
use sitemap::xml;

/// Checks an input. The first line is a URL, the second a site's origin.
pub fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (raw, origin) = text
        .split_once('\n')
        .unwrap_or((&text, "https://www.example.com"));
    let parsed = Loc::parse_any(raw);
    if let Ok(loc) = &parsed {
        is_written_in_one_way(loc);
    }
    let Ok(origin) = Origin::parse(origin) else {
        return;
    };
    assert_eq!(Origin::parse(origin.as_str()).as_ref(), Ok(&origin));
    assert!(origin.as_str().ends_with(&format!("://{}", origin.host())));
    match (Loc::parse(raw, &origin), parsed) {
        (Ok(page), parsed) => {
            assert!(is_on(&page, &origin), "{page} is taken to be on {origin}");
            assert_eq!(Ok(page), parsed);
        }
        (Err(LocError::ForeignOrigin { .. }), Ok(loc)) => {
            assert!(
                !is_on(&loc, &origin),
                "{loc} is taken to be elsewhere than {origin}"
            );
        }
        (Err(error), parsed) => assert!(parsed.is_err(), "{error}, but on any site {parsed:?}"),
    }
}

/// Returns whether the URL is on the origin, compared as texts.
pub(crate) fn is_on(loc: &Loc, origin: &Origin) -> bool {
    loc.as_str()
        .strip_prefix(origin.as_str())
        .is_some_and(|rest| rest.starts_with('/'))
}

/// Checks the properties that a loc's type promises.
pub(crate) fn is_written_in_one_way(loc: &Loc) {
    let text = loc.as_str();
    assert!(
        text.starts_with("http://") || text.starts_with("https://"),
        "{text}"
    );
    assert!(text.len() <= MAX_LOC_BYTES);
    assert!(
        text.bytes()
            .all(|byte| byte.is_ascii_graphic() && !b"\"<>\\^`{|}#".contains(&byte)),
        "{text:?}"
    );
    for (at, _) in text.match_indices('%') {
        let escape = text.as_bytes().get(at + 1..at + 3);
        assert!(
            escape.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)),
            "{text:?}"
        );
    }
    let (_, rest) = text.split_once("://").expect("an absolute URL");
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    assert!(!path.contains(['[', ']']), "{text:?} (RFC 3986)");
    assert!(
        !host.is_empty()
            && !host.contains('@')
            && !host.bytes().any(|byte| byte.is_ascii_uppercase()),
        "{text:?}"
    );
    assert_eq!(
        Loc::parse_any(text).as_ref(),
        Ok(loc),
        "read again, it is another"
    );
    let parsed = url::Url::parse(text).expect("a browser reads it");
    assert_eq!(parsed.as_str(), text, "a browser reads it as it is written");
    let (mut as_loc, mut as_text) = (Vec::new(), Vec::new());
    xml::escape_loc(loc, &mut as_loc);
    xml::escape(text, &mut as_text);
    assert_eq!(as_loc, as_text);
}

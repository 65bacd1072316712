//! A site's settings.

use std::collections::BTreeSet;

use serde_json::Value;
use sitemap::loc::Origin;
use sitemap::record::is_type_name;
use sitemap::site::{
    FOREIGN_INDEX_SERIES, MAX_ALSO, MAX_BYTES, MAX_ENTRIES, MAX_LLMS_TYPES, MIN_BYTES, SiteSettings,
};

/// The most bytes of a site's settings. They are in one item with a few short attributes (DynamoDB: 400 KB).
const MAX_STORED_BYTES: usize = 380_000;

/// Checks an input: a settings record in JSON. Its host is that of its `id`, without `site/`.
pub fn check(data: &[u8]) {
    let Ok(item) = serde_json::from_slice::<Value>(data) else {
        return;
    };
    let id = item
        .get("id")
        .and_then(Value::as_str)
        .unwrap_or("site/www.example.com");
    let host = id.strip_prefix("site/").unwrap_or(id);
    let Ok(settings) = SiteSettings::parse(host, &item) else {
        assert!(
            SiteSettings::default_for(host).is_err(),
            "{host:?} is no host only with a record"
        );
        return;
    };
    are_sound(&settings, host);
    fail_closed(&settings, &item);
    robots_open_nothing(&settings, &item);
}

/// Checks the properties of settings on which their users rely.
pub(crate) fn are_sound(settings: &SiteSettings, host: &str) {
    assert_eq!(settings.host, host);
    assert_eq!(
        Origin::parse(settings.origin.as_str()).as_ref(),
        Ok(&settings.origin)
    );
    assert!((1..=MAX_ENTRIES).contains(&settings.entries_per_sitemap));
    assert!((MIN_BYTES..=MAX_BYTES).contains(&settings.byte_limit));
    assert!(settings.types.keys().all(|name| is_type_name(name)));
    assert!(
        settings
            .robots
            .iter()
            .all(|line| !line.contains(['\n', '\r', '\0'])),
        "one line of robots.txt becomes several"
    );
    if let Some(llms) = &settings.llms {
        assert!((1..=MAX_LLMS_TYPES).contains(&llms.types.len()));
        assert!(llms.types.iter().all(|name| is_type_name(name)));
    }
    assert!(settings.also.len() <= MAX_ALSO);
    let also = settings.also.iter();
    let locs: BTreeSet<_> = also.map(|also| also.url.normalized()).collect();
    assert_eq!(locs.len(), settings.also.len(), "a sitemap is listed twice");
    let own = format!("{}/sitemap_index.xml", settings.origin.as_str());
    assert!(!locs.contains(&*own), "the index lists itself");
    types_share_no_series(settings);
    let stored = serde_json::to_string(settings).expect("settings have text keys alone");
    assert!(stored.len() <= MAX_STORED_BYTES, "{} bytes", stored.len());
    assert_eq!(
        serde_json::from_str::<SiteSettings>(&stored).ok().as_ref(),
        Some(settings)
    );
}

/// Checks that pages of two types never share a series, nor do pages and videos or news. This includes types that are named like
/// other series.
fn types_share_no_series(settings: &SiteSettings) {
    let series = [&settings.video_series, &settings.news_series];
    let own = |name: &String| settings.series_of(name).name;
    let mut types: BTreeSet<String> = settings.types.keys().chain(series).cloned().collect();
    let met: Vec<String> = types.iter().map(own).collect();
    types.extend(met.into_iter().filter(|name| is_type_name(name)));
    let mut names: BTreeSet<String> = series.into_iter().cloned().collect();
    names.insert(FOREIGN_INDEX_SERIES.to_owned());
    assert_eq!(names.len(), 3, "{series:?}");
    for name in &types {
        assert!(names.insert(own(name)), "{name} shares {}", own(name));
    }
}

/// Checks that every rule that was intended to keep crawlers out exists, or that no crawler is let in.
fn robots_open_nothing(settings: &SiteSettings, item: &Value) {
    let Some(given) = item.get("robots").filter(|robots| !robots.is_null()) else {
        return;
    };
    if settings.robots == ["User-agent: *", "Disallow: /"] {
        return;
    }
    let lines = given.as_array().expect("a list, or all is disallowed");
    let mut kept = settings.robots.iter();
    for line in lines {
        let line = line.as_str().expect("a text, or all is disallowed");
        let rule = line.trim_start().to_ascii_lowercase();
        if rule.starts_with("disallow") || rule.starts_with("user-agent") {
            assert!(kept.any(|kept| kept == line), "{line:?} is lost");
        }
    }
}

/// Checks that everything that may have been intended to be private is.
fn fail_closed(settings: &SiteSettings, item: &Value) {
    let said = item.get("public").filter(|public| !public.is_null());
    if said.is_some_and(|public| *public != Value::Bool(true)) {
        assert!(!settings.public);
    }
    let types = item.get("types").filter(|types| !types.is_null());
    match types.map(Value::as_object) {
        Some(None) => assert!(!settings.public),
        Some(Some(types)) if settings.public => {
            for (name, value) in types.iter().filter(|(name, _)| is_type_name(name)) {
                let public = match value.get("public") {
                    None | Some(Value::Null) => value.is_object(),
                    Some(public) => *public == Value::Bool(true),
                };
                assert_eq!(settings.type_settings(name).public, public, "{name}");
            }
        }
        _ => {}
    }
}

//! Names of sitemaps.

/// Returns the name of a sitemap without folder, number and extension: what all sitemaps of a type have in common.
pub(super) fn type_of(name: &str) -> &str {
    let name = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let name = name.split('?').next().unwrap_or(name);
    let name = name.strip_suffix(".gz").unwrap_or(name);
    let name = [".xml", ".txt", ".rss", ".atom"]
        .iter()
        .find_map(|end| name.strip_suffix(end))
        .unwrap_or(name);
    let short = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
    match short.trim_end_matches(['-', '_', '.']) {
        "" => name,
        short => short,
    }
}

/// Returns a name so that 2 comes before 10.
pub(super) fn natural(name: &str) -> Vec<(u64, &str)> {
    let mut parts = Vec::new();
    for part in name.split_inclusive(|letter: char| !letter.is_ascii_digit()) {
        let end = part
            .trim_start_matches(|letter: char| letter.is_ascii_digit())
            .len();
        let (number, text) = part.split_at(part.len() - end);
        parts.push((number.parse().unwrap_or_default(), text));
    }
    parts
}

//! The places of a site's sitemaps if its robots.txt names none: usual names, and the files of a folder.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use check::document::elements::root_of;
use check::document::input::{Input, Limits, Stop};

use crate::files;

/// Names that sitemaps have on sites whose robots.txt names none, the most common first.
pub(crate) const USUAL: [&str; 9] = [
    "/sitemap.xml",
    "/sitemap_index.xml",
    // WordPress.
    "/wp-sitemap.xml",
    // Astro.
    "/sitemap-index.xml",
    // Nikola.
    "/sitemapindex.xml",
    // WordPress without permalinks.
    "/?sitemap=index",
    "/sitemap.xml.gz",
    "/sitemap_index.xml.gz",
    "/sitemap.txt",
];

/// Files and folders that are looked at.
const MAX_LOOKED_AT: usize = 100_000;
/// Sitemaps that are found.
const MAX_FOUND: usize = 1_000;
const FILES: &str = "files";
const SITEMAPS: &str = "sitemaps";
/// Bytes of a file's beginning by which its format is recognized.
const HEAD_BYTES: usize = 4 * 1024;

/// Returns the usual names of a site, or those that a folder or a bucket can have: a query names no file.
pub(crate) fn usual(is_site: bool) -> impl Iterator<Item = &'static str> {
    USUAL
        .into_iter()
        .filter(move |name| is_site || !name.contains('?'))
}

/// Returns [`usual`] for a message.
pub(crate) fn listed(is_site: bool) -> String {
    usual(is_site).collect::<Vec<_>>().join(", ")
}

/// Returns the paths of the XML sitemaps in a folder, each with its slash, as they are in a URL. Indexes come first, and all are in
/// order. `Err` is the limit that ended the search early.
pub(crate) fn in_folder(folder: &Path) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    let mut looked_at = 0;
    while let Some(path) = waiting.pop() {
        let entries =
            fs::read_dir(&path).and_then(|entries| entries.collect::<Result<Vec<_>, _>>());
        let entries = entries.map_err(|error| format!("{}: {error}", path.display()))?;
        for entry in entries {
            looked_at += 1;
            if looked_at > MAX_LOOKED_AT {
                return Err(too_many(MAX_LOOKED_AT, FILES));
            }
            let path = entry.path();
            // A link may lead to the folder that it is in.
            let kind = entry.file_type().map_err(|error| error.to_string())?;
            if kind.is_dir() && is_sitemap_name(&path) {
                return Err(format!("{}: is not a file", path.display()));
            }
            if kind.is_dir() {
                waiting.push(path);
            } else if let Some(is_index) =
                sitemap_in(&path).map_err(|error| format!("{}: {error}", path.display()))?
                && let Some(url) = url_of(&path, folder)
            {
                found.push((!is_index, url));
            }
        }
    }
    if found.len() > MAX_FOUND {
        return Err(too_many(MAX_FOUND, SITEMAPS));
    }
    found.sort();
    Ok(found.into_iter().map(|(_, url)| url).collect())
}

fn too_many(limit: usize, unit: &str) -> String {
    format!("it has more than {limit} {unit}")
}

/// Returns the limit that ended the search in a folder for this reason. Returns `None` for another reason.
pub(crate) fn limit(why: &str) -> Option<(u64, &'static str)> {
    let limits = [
        (MAX_LOOKED_AT, FILES, "files and folders of a folder"),
        (MAX_FOUND, SITEMAPS, "sitemaps of a folder"),
    ];
    let limit = limits
        .into_iter()
        .find(|(limit, unit, _)| why == too_many(*limit, unit));
    limit.map(|(limit, _, unit)| (limit as u64, unit))
}

/// Returns whether something is called as sitemaps are.
pub(crate) fn is_sitemap_name(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    name.contains("sitemap") && (name.ends_with(".xml") || name.ends_with(".txt"))
}

/// Returns whether a file with the name of an XML document is an index. Returns `None` if it is not a sitemap.
fn sitemap_in(path: &Path) -> io::Result<Option<bool>> {
    let name = path.file_name().and_then(OsStr::to_str);
    let name = name.unwrap_or_default().to_ascii_lowercase();
    let is_packed = name.ends_with(".xml.gz");
    if !is_packed && !name.ends_with(".xml") {
        return Ok(None);
    }
    let limits = Limits {
        bytes: u64::MAX,
        piece: u64::MAX,
    };
    let mut input = Input::open(files::regular(path)?, limits);
    let root = root_of(input.head(HEAD_BYTES));
    if input.stop() == Some(Stop::Body) {
        return Err(io::Error::other("failed to read it"));
    }
    Ok(match root.as_deref() {
        Some("sitemapindex") => Some(true),
        Some("urlset") => Some(false),
        // Whoever reads it as a sitemap says what is damaged.
        None if is_packed => Some(false),
        _ => None,
    })
}

fn url_of(path: &Path, folder: &Path) -> Option<String> {
    let below: PathBuf = path.strip_prefix(folder).ok()?.to_owned();
    let mut url = String::new();
    for part in below.iter() {
        let part = part.to_str()?;
        url.push('/');
        // What would end a path in a URL, or be taken for an escape.
        for c in part.chars() {
            match c {
                '%' => url.push_str("%25"),
                '?' => url.push_str("%3F"),
                '#' => url.push_str("%23"),
                c => url.push(c),
            }
        }
    }
    Some(url)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn sitemaps_in_a_folder_are_found_by_their_content() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, body: &[u8]| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, body).unwrap();
        };
        write("feed.xml", b"<rss><channel/></rss>");
        write("index.html", b"<urlset>");
        write("broken.xml.gz", b"<urlset>");
        write(
            "blog/a.xml",
            b"<?xml version=\"1.0\"?>\n<!-- <x> --><urlset xmlns=\"x\"/>",
        );
        write("blog/a?.xml", b"<sm:urlset xmlns:sm=\"x\">");
        write("z/all.xml", b"\xef\xbb\xbf<!DOCTYPE x><sitemapindex/>");
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(b"<urlset>").unwrap();
        write("b.xml.gz", &packed.finish().unwrap());
        let wide = "\u{feff}<?xml version=\"1.0\" encoding=\"UTF-16\"?><urlset/>".encode_utf16();
        let wide: Vec<u8> = wide.flat_map(u16::to_le_bytes).collect();
        write("wide.xml", &wide);
        #[cfg(unix)]
        std::os::unix::fs::symlink(folder.path(), folder.path().join("loop")).unwrap();
        assert_eq!(
            in_folder(folder.path()).unwrap(),
            [
                "/z/all.xml",
                "/b.xml.gz",
                "/blog/a%3F.xml",
                "/blog/a.xml",
                "/broken.xml.gz",
                "/wide.xml"
            ]
        );
        let deep = "deep/".repeat(20);
        write(&format!("{deep}c.xml"), b"<urlset>");
        let found = in_folder(folder.path()).unwrap();
        assert!(found.contains(&format!("/{deep}c.xml")), "{found:?}");
        fs::remove_dir_all(folder.path().join("deep")).unwrap();
        assert!(in_folder(&folder.path().join("none")).is_err());
        let taken = folder.path().join("post-sitemap.xml");
        fs::create_dir(&taken).unwrap();
        let error = in_folder(folder.path()).unwrap_err();
        assert!(
            error.ends_with("post-sitemap.xml: is not a file"),
            "{error}"
        );
        fs::remove_dir(taken).unwrap();
        // What has a document's name and cannot be read as a file is not passed over.
        #[cfg(unix)]
        for target in ["nowhere", "/dev/zero", "."] {
            let link = folder.path().join("c.xml");
            std::os::unix::fs::symlink(target, &link).unwrap();
            let error = in_folder(folder.path()).unwrap_err();
            assert!(error.contains("c.xml: "), "{target}: {error}");
            fs::remove_file(link).unwrap();
        }
    }

    #[test]
    fn a_folder_with_too_many_sitemaps_says_which_limit_it_reached() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..=MAX_FOUND {
            let path = folder.path().join(format!("{number}.xml"));
            fs::write(path, "<urlset/>").unwrap();
        }
        let why = in_folder(folder.path()).unwrap_err();
        assert_eq!(why, "it has more than 1000 sitemaps");
        assert_eq!(limit(&why), Some((1_000, "sitemaps of a folder")));
        assert_eq!(limit("it cannot be read"), None);
    }
}

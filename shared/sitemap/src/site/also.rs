//! The sitemaps of others that a site's indexes list: those of a forum, a shop or a static part, say.
//!
//! Waymark does not publish these sitemaps and never requests them. An invalid one is reported and not listed. An invalid lastmod
//! is left out alone.

use std::collections::BTreeSet;

use serde_json::Value;

use super::settings::{Also, INDEX_STEM, SiteSettings, is_sitemap_name};
use crate::loc::Loc;
use crate::problem::Problem;
use crate::time::When;

/// The most sitemaps of others that a site's indexes list. It is far above the number of parts that a site has, and they are
/// listed by every build of the index.
pub const MAX_ALSO: usize = 500;
/// The most bytes of these sitemaps as they are stored in the settings, which are one item (DynamoDB: 400 KB).
pub const MAX_ALSO_BYTES: usize = 100_000;

/// The fields of a sitemap of others.
const FIELDS: [&str; 2] = ["url", "lastmod"];
/// Files of a site of which there is only one. The first three redirect to the index.
const FILES: [&str; 6] = [
    "sitemap.xml",
    "sitemap-index.xml",
    "sitemapindex.xml",
    "robots.txt",
    "feed.atom",
    "llms.txt",
];

impl SiteSettings {
    /// Returns the sitemaps of others that the indexes list. Those of a private site list none.
    #[must_use]
    pub fn listed_also(&self) -> &[Also] {
        if self.public { &self.also } else { &[] }
    }

    /// Reads the sitemaps of others.
    pub(super) fn set_also(&mut self, value: &Value) -> Result<(), String> {
        let values = value
            .as_array()
            .ok_or("not a list: no sitemap of others is listed")?;
        let (mut seen, mut bytes) = (BTreeSet::new(), 0);
        for (at, value) in values.iter().enumerate() {
            let also = self.read_also(at, value).and_then(|also| {
                if self.is_own(&also.url) {
                    return Err("a file of this site's own: it is not listed".to_owned());
                }
                match seen.insert(also.url.normalized().into_owned()) {
                    true => Ok(also),
                    false => Err("listed already".to_owned()),
                }
            });
            let reason = match also {
                Ok(also) => {
                    bytes += serde_json::to_string(&also).map_or(0, |json| json.len() + 1);
                    if self.also.len() == MAX_ALSO {
                        format!("more than {MAX_ALSO}: the first are listed")
                    } else if bytes > MAX_ALSO_BYTES {
                        format!("more than {MAX_ALSO_BYTES} bytes as stored: the first are listed")
                    } else {
                        self.also.push(also);
                        continue;
                    }
                }
                Err(reason) => {
                    self.tell(at, "", &reason);
                    continue;
                }
            };
            self.tell(at, "", &reason);
            break;
        }
        Ok(())
    }

    fn read_also(&mut self, at: usize, value: &Value) -> Result<Also, String> {
        let url = match value {
            Value::Object(fields) => fields.get("url").unwrap_or(&Value::Null),
            value => value,
        };
        let url = url
            .as_str()
            .ok_or("neither a URL nor an object with a url: it is not listed")?;
        let url = Loc::parse_any(url.trim()).map_err(|why| format!("{why}: it is not listed"))?;
        let mut lastmod = None;
        let fields = value.as_object().into_iter().flatten();
        for (field, value) in fields.filter(|(_, value)| !value.is_null()) {
            match field.as_str() {
                "url" => {}
                "lastmod" => match When::parse(value.as_str().unwrap_or_default()) {
                    Ok(when) => lastmod = Some(when),
                    Err(why) => self.tell(at, ".lastmod", &format!("{why}: it is left out")),
                },
                _ => {
                    let known = FIELDS.join(" and ");
                    let reason = format!("no such field, it is ignored: there are {known}");
                    self.tell(at, &format!(".{field}"), &reason);
                }
            }
        }
        Ok(Also { url, lastmod })
    }

    fn tell(&mut self, at: usize, field: &str, reason: &str) {
        let field = format!("also[{at}]{field}");
        self.problems.push(Problem::new(&field, reason, false));
    }

    /// Returns whether Waymark itself answers at this address of the site. The CDN drops queries.
    fn is_own(&self, url: &Loc) -> bool {
        let normalized = url.normalized();
        let rest = normalized.split_once("://").map(|(_, rest)| rest);
        let below = rest.and_then(|rest| rest.strip_prefix(self.origin.host()));
        let Some(path) = below.and_then(|below| below.strip_prefix('/')) else {
            return false;
        };
        let file = path.split('?').next().unwrap_or_default();
        let xml = file.strip_suffix(".gz").unwrap_or(file);
        let stem = xml.strip_suffix(".xml").or(xml.strip_suffix(".txt"));
        let is_numbered = |stem: &str| {
            let number = stem.strip_prefix(INDEX_STEM);
            let is_index = number.is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
            is_index || is_sitemap_name(stem)
        };
        FILES.contains(&file) || (!file.contains('/') && stem.is_some_and(is_numbered))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const HOST: &str = "www.example.com";

    /// Returns the listed sitemaps and the problems of these settings.
    fn read(also: Value) -> (Vec<String>, Vec<String>) {
        let settings = SiteSettings::parse(HOST, &json!({"also": also})).unwrap();
        let listed = settings.also.iter().map(|also| {
            let lastmod = also.lastmod.map(|at| format!(" {at}"));
            format!("{}{}", also.url.as_str(), lastmod.unwrap_or_default())
        });
        let told = settings.problems.iter().map(ToString::to_string);
        (listed.collect(), told.collect())
    }

    #[test]
    fn urls_are_listed_in_their_order_with_a_lastmod_if_given() {
        let (listed, told) = read(json!([
            "https://forum.example.com/sitemap.xml",
            {"url": "http://shop.example/ü.xml", "lastmod": "2026-11-01"},
            {"url": " https://www.example.com/static/post-sitemap.xml ", "lastmod": null},
            "https://www.example.com/help.xml?part=1",
        ]));
        assert_eq!(told, [""; 0]);
        assert_eq!(
            listed,
            [
                "https://forum.example.com/sitemap.xml",
                "http://shop.example/%C3%BC.xml 2026-11-01",
                "https://www.example.com/static/post-sitemap.xml",
                "https://www.example.com/help.xml?part=1",
            ]
        );
    }

    #[test]
    fn what_cannot_be_listed_is_told() {
        for (value, expected) in [
            (json!(7), "also[0]: neither a URL nor an object"),
            (json!({"href": "x"}), "also[0]: neither a URL nor an object"),
            (json!("/sitemap.xml"), "also[0]: not an absolute URL"),
            (json!("ftp://a.example/"), "also[0]: the scheme ftp is"),
            (json!("javascript:alert(1)"), "also[0]: "),
            (
                json!(format!("https://a.example/{}", "x".repeat(2_048))),
                "also[0]: ",
            ),
        ] {
            let (listed, told) = read(json!([value]));
            assert_eq!(listed, [""; 0], "{value}");
            assert_eq!(told.len(), 1, "{value}: {told:?}");
            assert!(told[0].starts_with(expected), "{value}: {told:?}");
        }
        let (listed, told) = read(json!({"url": "https://a.example/"}));
        assert_eq!(listed, [""; 0]);
        assert!(told[0].starts_with("also: not a list"), "{told:?}");
    }

    #[test]
    fn an_invalid_lastmod_and_an_unknown_field_are_left_out_alone() {
        let url = "https://a.example/s.xml";
        let (listed, told) = read(json!([{"url": url, "lastmod": "yesterday", "changed": 1}]));
        assert_eq!(listed, [url]);
        assert!(
            told[0].starts_with("also[0].changed: no such field"),
            "{told:?}"
        );
        assert!(told[1].starts_with("also[0].lastmod: "), "{told:?}");
    }

    #[test]
    fn files_of_the_sites_own_are_not_listed() {
        for file in [
            "sitemap_index.xml",
            "sitemap_index2.xml.gz",
            "post-sitemap.xml",
            "post-sitemap12.txt?x=1",
            "%70ost-sitemap.xml.gz",
            "wp-sitemap.xml",
            "sitemap.xml",
            "feed.atom",
        ] {
            for scheme in ["http", "https"] {
                let (listed, told) = read(json!([format!("{scheme}://WWW.example.com/{file}")]));
                assert_eq!(listed, [""; 0], "{file}");
                assert!(
                    told[0].starts_with("also[0]: a file of this site's own"),
                    "{told:?}"
                );
            }
            let other = format!("https://forum.example.com/{file}");
            assert_eq!(read(json!([other])).1, [""; 0]);
        }
    }

    #[test]
    fn a_sitemap_is_listed_once_and_there_are_limits() {
        let (listed, told) = read(json!([
            "https://a.example/é.xml",
            "https://A.example/%c3%a9.xml",
        ]));
        assert_eq!(
            (listed.len(), told),
            (1, vec!["also[1]: listed already".to_owned()])
        );
        let many = |count: usize, length: usize| {
            let pad = "x".repeat(length);
            let url = |n| format!("https://a.example/{n}{pad}");
            json!((0..count).map(url).collect::<Vec<_>>())
        };
        assert_eq!(read(many(MAX_ALSO, 1)).1, [""; 0]);
        let (listed, told) = read(many(MAX_ALSO + 2, 1));
        assert_eq!(listed.len(), MAX_ALSO);
        assert_eq!(told, ["also[500]: more than 500: the first are listed"]);
        let (listed, told) = read(many(MAX_ALSO, 1_000));
        assert!((90..100).contains(&listed.len()), "{}", listed.len());
        assert!(told[0].contains("more than 100000 bytes"), "{told:?}");
    }

    #[test]
    fn a_private_site_lists_none() {
        let item = json!({"also": ["https://a.example/s.xml"], "public": false});
        let settings = SiteSettings::parse(HOST, &item).unwrap();
        assert_eq!((settings.also.len(), settings.listed_also().len()), (1, 0));
    }
}

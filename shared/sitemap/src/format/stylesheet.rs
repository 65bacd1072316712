//! The style sheets that a site's documents name, and the frames of the documents.

use crate::format::member::Frame;
use crate::site::{SeriesKind, SiteSettings, Stylesheet};

/// The path of the CSS style sheet.
pub const CSS_PATH: &str = "/sitemap.css";
/// The path of the XSLT style sheet for indexes and pages.
pub const XSL_PATH: &str = "/sitemap.xsl";
/// The path of the XSLT style sheet for video sitemaps.
pub const VIDEO_XSL_PATH: &str = "/video-sitemap.xsl";
/// The path of the XSLT style sheet for news sitemaps.
pub const NEWS_XSL_PATH: &str = "/news-sitemap.xsl";

/// Returns the frame of a series' shards.
#[must_use]
pub fn shard_frame(settings: &SiteSettings, series: &str) -> Frame {
    Frame::urlset(path(settings, settings.kind_of(series)))
}

/// Returns the frame of a site's indexes.
#[must_use]
pub fn index_frame(settings: &SiteSettings) -> Frame {
    Frame::index(path(settings, SeriesKind::Pages))
}

/// Returns whether every document of a site has the same frame under both settings.
#[must_use]
pub fn same_frames(one: &SiteSettings, other: &SiteSettings) -> bool {
    let names = |settings: &SiteSettings| match settings.stylesheet {
        Stylesheet::Css | Stylesheet::None => None,
        // Each kind of series has its own style sheet.
        Stylesheet::Xsl => Some([&settings.video_series, &settings.news_series].map(String::clone)),
    };
    one.stylesheet == other.stylesheet && names(one) == names(other)
}

fn path(settings: &SiteSettings, kind: SeriesKind) -> Option<&'static str> {
    match (settings.stylesheet, kind) {
        (Stylesheet::None, _) => None,
        (Stylesheet::Css, _) => Some(CSS_PATH),
        (Stylesheet::Xsl, SeriesKind::Pages) => Some(XSL_PATH),
        (Stylesheet::Xsl, SeriesKind::Video) => Some(VIDEO_XSL_PATH),
        (Stylesheet::Xsl, SeriesKind::News) => Some(NEWS_XSL_PATH),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn settings(item: &Value) -> SiteSettings {
        SiteSettings::parse("www.example.com", item).unwrap()
    }

    #[track_caller]
    fn check(item: &Value, series: &str, instruction: &str) {
        let settings = settings(item);
        for frame in [shard_frame(&settings, series), index_frame(&settings)] {
            let prolog = String::from_utf8(frame.prolog).unwrap();
            let named = prolog.lines().nth(1).unwrap();
            let index = prolog.contains("<sitemapindex ");
            let expected = if index {
                instruction.replace("video-", "").replace("news-", "")
            } else {
                instruction.to_owned()
            };
            let is_start_tag = named.starts_with("<urlset ") || named.starts_with("<sitemapindex ");
            assert_eq!(if is_start_tag { "" } else { named }, expected, "{item}");
        }
    }

    #[test]
    fn a_document_names_the_style_sheet_of_its_sites_choice_and_of_its_kind() {
        let css = "<?xml-stylesheet type=\"text/css\" href=\"/sitemap.css\"?>";
        let xsl = |name: &str| format!("<?xml-stylesheet type=\"text/xsl\" href=\"/{name}.xsl\"?>");
        check(&json!({}), "post", css);
        check(&json!({"stylesheet": "css"}), "video", css);
        check(&json!({"stylesheet": "none"}), "news", "");
        let item = json!({"stylesheet": "xsl", "news_series": "google"});
        check(&item, "post", &xsl("sitemap"));
        check(&item, "video", &xsl("video-sitemap"));
        check(&item, "google", &xsl("news-sitemap"));
        check(&item, "news", &xsl("sitemap"));
    }

    #[test]
    fn frames_differ_by_the_style_sheet_and_by_the_names_that_choose_one() {
        let items = [
            json!({}),
            json!({"stylesheet": "css", "video_series": "clips"}),
            json!({"stylesheet": "none"}),
            json!({"stylesheet": "xsl"}),
            json!({"stylesheet": "xsl", "video_series": "clips"}),
            json!({"stylesheet": "xsl", "news_series": "clips"}),
        ]
        .map(|item| settings(&item));
        let frames = |settings: &SiteSettings| {
            ["post", "video", "clips", "news"].map(|series| shard_frame(settings, series))
        };
        for one in &items {
            for other in &items {
                assert_eq!(same_frames(one, other), frames(one) == frames(other));
            }
        }
    }
}

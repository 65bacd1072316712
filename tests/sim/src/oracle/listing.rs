//! The expected entries, to the letter.

use std::collections::BTreeMap;

use sitemap::plan::Translation;
use sitemap::time::When;

use super::records::{FILM, TITLE, alternates, publication};
use super::{Entry, Oracle};
use crate::history::{Alternates, Film, Page, SERIES, Settings, TERMS, TYPES};

/// The language of news of pages without one, on sites that have a language.
const SITE_NEWS_LANGUAGE: &str = "en";
/// The taxonomy whose terms are the tags of a page's videos.
const TAGS: &str = "tag";

impl Oracle {
    /// Returns the entries of a page: itself, its videos, and itself as news. `members` are those of its translation group.
    pub fn entries(
        &self,
        id: &str,
        page: &Page,
        part: u32,
        loc: &str,
        lastmod: Option<When>,
        members: Option<&BTreeMap<&str, Translation>>,
    ) -> Vec<Entry> {
        let Some(settings) = self.settings(page.site) else {
            return Vec::new();
        };
        let (video_series, news_series) = SERIES[settings.series];
        let lastmod = lastmod.map(|at| at.to_string());
        let entry = |series: &str, images: Vec<String>, before: &str, after: &str| {
            let lastmod_xml = lastmod.as_ref().map(|at| element("lastmod", at));
            let lastmod_xml = lastmod_xml.unwrap_or_default();
            let images_xml = images.iter();
            let images_xml: String = images_xml
                .map(|url| element("image:image", &element("image:loc", url)))
                .collect();
            let loc = element("loc", loc);
            Entry {
                series: series.to_owned(),
                lastmod: lastmod.clone(),
                images,
                xml: format!("<url>{loc}{lastmod_xml}{before}{images_xml}{after}</url>\n"),
            }
        };
        let series = series_of(TYPES[page.kind], [video_series, news_series, "wp"]);
        if part > 1 {
            return vec![entry(&series, Vec::new(), "", "")];
        }
        let links = match members {
            Some(members) => links(id, members),
            None if page.is_grouped() => String::new(),
            None => own_links(page),
        };
        let images = self.images(id, page);
        let mut entries = vec![entry(&series, images.clone(), "", &links)];
        let films = self.films(page);
        if !films.is_empty() {
            entries.push(entry(video_series, Vec::new(), &films, ""));
        }
        if self.news_until(page).is_some() {
            let news = self.news(page, &settings);
            entries.extend(news.map(|news| entry(news_series, images, &news, "")));
        }
        entries
    }

    /// Returns the videos of a page that have not expired.
    fn films(&self, page: &Page) -> String {
        let tags = TERMS.into_iter().enumerate();
        let tags: String = tags
            .filter(|(of, (taxonomy, _))| *taxonomy == TAGS && page.terms & (1 << of) != 0)
            .map(|(_, (_, term))| element("video:tag", term))
            .collect();
        let film = |until: Option<i64>| {
            let until = until.map(|hours| self.at(hours));
            if until.is_some_and(|until| until <= self.now) {
                return String::new();
            }
            let [thumbnail, content] = FILM;
            let until = until.map(|at| element("video:expiration_date", &When::at(at).to_string()));
            let parts = [
                element("video:thumbnail_loc", thumbnail),
                element("video:title", &escaped(TITLE)),
                element("video:description", content),
                element("video:content_loc", content),
                until.unwrap_or_default(),
                tags.clone(),
            ];
            element("video:video", &parts.concat())
        };
        match page.film {
            Film::None | Film::Broken => String::new(),
            Film::Plain => film(None),
            Film::Until(hours) => film(Some(hours)),
            Film::Both(hours) => film(Some(hours)) + &film(None),
        }
    }

    /// Returns a page as news. Returns `None` if the page or its site lacks a requirement of news.
    fn news(&self, page: &Page, settings: &Settings) -> Option<String> {
        let name = publication(settings.publication?);
        let own = page.language_codes().map(|(_, news)| news);
        let language = own.or(settings.language.then(|| SITE_NEWS_LANGUAGE.to_owned()))?;
        let from = page.from.map(|from| When::at(self.at(from)));
        let published = from.or(self.last_change(page))?;
        let title = page.titled.then(|| escaped(TITLE))?;
        let publication = element("news:name", &name) + &element("news:language", &language);
        let parts = [
            element("news:publication", &publication),
            element("news:publication_date", &published.to_string()),
            element("news:title", &title),
        ];
        Some(element("news:news", &parts.concat()))
    }
}

/// Returns the name of the series of a type. Some names differ only in the number of `-pages` at their end. The reserved ones of
/// those are not used, and the types get the others in order.
fn series_of(kind: &str, reserved: [&str; 3]) -> String {
    let root = kind.trim_end_matches("-pages");
    let place = (kind.len() - root.len()) / "-pages".len();
    let names = (0..).map(|times| root.to_owned() + &"-pages".repeat(times));
    let mut free = names.filter(|name| !reserved.contains(&name.as_str()));
    free.nth(place).expect("there is no end of them")
}

/// Returns the links of a page to its translations and itself. They are empty if it is not its language's page, or if it has no
/// translations.
fn links(id: &str, members: &BTreeMap<&str, Translation>) -> String {
    let mut languages: BTreeMap<String, (&str, &Translation)> = BTreeMap::new();
    let mut default = None;
    for (of, member) in members {
        let language = member.language.to_lowercase();
        if languages.contains_key(&language) {
            continue;
        }
        languages.insert(language, (of, member));
        default = default.or(member.x_default.then_some(member));
    }
    let listed = languages.values().any(|(of, _)| *of == id);
    if !listed || languages.len() == 1 {
        return String::new();
    }
    let link = |language: &str, member: &Translation| link(language, member.href.as_str());
    let listed = languages.values();
    let listed = listed.map(|(_, member)| link(&member.language, member));
    let default = default.map(|member| link("x-default", member));
    listed.chain(default).collect()
}

/// Returns the links of a page without a group to the alternates that it names. They are empty if the page names only itself.
fn own_links(page: &Page) -> String {
    if page.alternates == Alternates::Itself {
        return String::new();
    }
    let alternates = alternates(page);
    alternates
        .iter()
        .map(|(code, href)| link(code, href))
        .collect()
}

fn link(language: &str, href: &str) -> String {
    format!("<xhtml:link rel=\"alternate\" hreflang=\"{language}\" href=\"{href}\"/>")
}

fn element(name: &str, text: &str) -> String {
    format!("<{name}>{text}</{name}>")
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;");
    text.replace('<', "&lt;").replace('>', "&gt;")
}

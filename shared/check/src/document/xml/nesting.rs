//! Checks the places and numbers of elements.

use quick_xml::events::BytesStart;

use super::state::Xml;
use crate::document::data::Kind;
use crate::document::feed::Feed;
use crate::document::schema::{Content, EXTENSIONS, Element, INDEX, Ns, URLSET};
use crate::findings::Position;
use crate::rules::Rule;

impl Xml<'_, '_> {
    pub(super) fn root(
        &mut self,
        ns: Option<Ns>,
        local: &str,
        start: &BytesStart<'_>,
        at: Position,
    ) -> Option<&'static Element> {
        if self.has_root {
            self.ill_formed(at, "has two roots");
            self.stopped = true;
            return None;
        }
        self.has_root = true;
        let (kind, element) = match (ns, local) {
            (Some(Ns::Sitemap), "urlset") => (Kind::Sitemap, Some(&URLSET)),
            (Some(Ns::Sitemap), "sitemapindex") => (Kind::Index, Some(&INDEX)),
            (_, "rss" | "RDF") => (Kind::Rss, None),
            (_, "feed") => (Kind::Atom, None),
            (Some(Ns::Xhtml), _) | (_, "html" | "HTML") => {
                self.reader.html();
                self.stopped = true;
                return None;
            }
            _ => {
                let name = start.name().0;
                let is_foreign = self.reader.about.transfer.is_foreign;
                let message = || match is_foreign {
                    true => "its root is neither a sitemap's nor an index's".to_owned(),
                    false => format!("its root is <{name}>, neither a sitemap nor an index"),
                };
                self.reader.found(Rule::FileSchema, at, true, message);
                // The whole document is as wrong as its root.
                self.stopped = true;
                return None;
            }
        };
        self.reader.document.kind = kind;
        if element.is_some() && start.name().prefix().is_some() {
            self.reader.prefixed.add(at);
        }
        if element.is_none() {
            self.feed = Some(Feed::default());
        }
        element
    }

    /// Checks whether an element is allowed in the open one. Returns its schema, if it has one.
    pub(super) fn child(
        &mut self,
        ns: Option<Ns>,
        local: &str,
        start: &BytesStart<'_>,
        at: Position,
    ) -> Option<&'static Element> {
        let parent = self.open.last_mut()?;
        let outer = parent.element?;
        let Some(places) = outer.children() else {
            let message = format!(
                "<{}> has the element <{}> in its text",
                outer.shown(),
                start.name().0
            );
            self.reader.found(outer.wrong, at, true, || message);
            return None;
        };
        let is_here = |place: &Element| Some(place.ns) == ns && place.name == local;
        // Most elements are at the place of the last one, or at the next place.
        let reached = parent.reached.min(places.len());
        if let Some(behind) = places[reached..].iter().position(is_here) {
            let element = &places[reached + behind];
            let count = parent.take(reached + behind);
            if count == element.most.saturating_add(1) && element.most != u32::MAX {
                let message = match element.most {
                    1 => format!("<{}> is there twice", element.shown()),
                    most => format!("<{}> is there more than {most} times", element.shown()),
                };
                self.reader.found(Rule::FileSchema, at, true, || message);
            }
            return Some(element);
        }
        if let Some(place) = places.iter().position(is_here) {
            let element = &places[place];
            let (rule, how) = if parent.has(place) && element.most == 1 {
                (Rule::FileSchema, "there twice".to_owned())
            } else {
                let is_extension = outer.ns != Ns::Sitemap || parent.reached >= places.len();
                let rule = match is_extension {
                    true => Rule::ExtOrder,
                    false => Rule::FileSchema,
                };
                (rule, format!("too late in <{}>", outer.shown()))
            };
            parent.taken |= 1 << place;
            let message = format!("<{}> is {how}", element.shown());
            self.reader.found(rule, at, true, || message);
            return Some(element);
        }
        match ns {
            Some(Ns::Sitemap) => {}
            _ if !matches!(outer.content, Content::Extended(_)) => {}
            Some(ns) => return self.extension(ns, local, start, at),
            None => {
                if is_entry(outer) {
                    parent.reached = places.len();
                }
                self.spaces.is_foreign(at);
                return None;
            }
        }
        let message = format!("<{}> may not be in <{}>", start.name().0, outer.shown());
        self.reader.found(Rule::FileSchema, at, true, || message);
        None
    }

    /// Checks an element of a known extension in a place for extensions. Returns its schema, if it has one and is in an entry.
    fn extension(
        &mut self,
        ns: Ns,
        local: &str,
        start: &BytesStart<'_>,
        at: Position,
    ) -> Option<&'static Element> {
        let parent = self.open.last_mut()?;
        let outer = parent.element?;
        let is_here = |one: &&Element| one.ns == ns && one.name == local;
        let extension = EXTENSIONS.iter().find(is_here);
        if is_entry(outer) && (extension.is_some() || ns == Ns::Unread) {
            // After an extension the schema allows no more elements of the sitemap's own.
            parent.reached = outer.children().map_or(0, <[_]>::len);
            return extension;
        }
        // The schema allows extensions before the entries, but readers do not.
        let invalid = extension.is_none() || parent.taken != 0;
        let name = start.name().0;
        let message = match extension {
            Some(_) => format!("<{name}> is outside of any entry"),
            None => format!("<{name}> is not in its schema"),
        };
        self.reader.found(Rule::ExtForeign, at, invalid, || message);
        None
    }
}

fn is_entry(element: &Element) -> bool {
    matches!(element.name, "url" | "sitemap")
}

//! Which element may be where, and how often.

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
                // All of it is as wrong as its root.
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

    /// An element inside another one: whether it may be there, and what it is.
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
        // Most elements are where the last one was, or one place on.
        let is_here = |place: &&Element| Some(place.ns) == ns && place.name == local;
        let found = places[parent.reached.min(places.len())..]
            .iter()
            .position(|place| is_here(&place))
            .map(|at| at + parent.reached);
        if let Some(place) = found {
            let element = &places[place];
            if place > parent.reached || parent.taken & (1 << place) == 0 {
                parent.reached = place;
                parent.count = 0;
            }
            parent.count += 1;
            parent.taken |= 1 << place;
            if parent.count == element.most.saturating_add(1) && element.most != u32::MAX {
                let message = match element.most {
                    1 => format!("<{}> is there twice", element.shown()),
                    most => format!("<{}> is there more than {most} times", element.shown()),
                };
                self.reader.found(Rule::FileSchema, at, true, || message);
            }
            return Some(element);
        }
        if let Some(place) = places.iter().position(|place| is_here(&place)) {
            let element = &places[place];
            let is_again = parent.taken & (1 << place) != 0 && element.most == 1;
            parent.taken |= 1 << place;
            let is_extension = outer.ns != Ns::Sitemap || parent.reached >= places.len();
            let (rule, message) = if is_again {
                (
                    Rule::FileSchema,
                    format!("<{}> is there twice", element.shown()),
                )
            } else if is_extension {
                (
                    Rule::ExtOrder,
                    format!("<{}> is too late in <{}>", element.shown(), outer.shown()),
                )
            } else {
                (
                    Rule::FileSchema,
                    format!("<{}> is too late in <{}>", element.shown(), outer.shown()),
                )
            };
            self.reader.found(rule, at, true, || message);
            return Some(element);
        }
        let is_extended = matches!(outer.content, Content::Extended(_));
        let in_entry = is_extended && matches!(outer.name, "url" | "sitemap");
        if in_entry && ns == Some(Ns::Unread) {
            parent.reached = places.len();
            return None;
        }
        if is_extended && ns.is_some_and(|ns| ns != Ns::Sitemap) {
            let extension = EXTENSIONS.iter().find(is_here);
            if in_entry && let Some(extension) = extension {
                // Behind an extension the schema allows no more elements of the sitemap's own.
                parent.reached = places.len();
                return Some(extension);
            }
            // The schema lets extensions stand before the entries; readers do not.
            let invalid = extension.is_none() || parent.taken != 0;
            let message = if extension.is_some() {
                format!("<{}> is outside of any entry", start.name().0)
            } else {
                format!("<{}> is not in its schema", start.name().0)
            };
            self.reader.found(Rule::ExtForeign, at, invalid, || message);
            return None;
        }
        if is_extended && ns.is_none() {
            parent.reached = if in_entry {
                places.len()
            } else {
                parent.reached
            };
            self.spaces.is_foreign(at);
            return None;
        }
        let message = format!("<{}> may not be in <{}>", start.name().0, outer.shown());
        self.reader.found(Rule::FileSchema, at, true, || message);
        None
    }
}

//! Checks an element from its beginning to its end: its attributes, its content and its value.

use quick_xml::events::BytesStart;
use quick_xml::name::ResolveResult;

use super::name::is_name;
use super::rest;
use super::state::{Open, Xml};
use crate::document::reader::Mark;
use crate::document::schema::{Content, Element, INDEX, Ns, Type, URLSET, Use};
use crate::findings::{Limited, Position, Unchecked};
use crate::rules::Rule;
use crate::text::quoted;
use crate::xsd;

/// The most nested elements. Sitemaps have five levels.
const MAX_DEPTH: usize = 64;

impl Xml<'_, '_> {
    pub(super) fn start(&mut self, start: &BytesStart<'_>, at: Position) {
        let (resolved, local) = self.source.resolver().resolve_element(start.name());
        let local: &str = local.as_ref();
        let is_undeclared = matches!(resolved, ResolveResult::Unknown(_));
        let known = match &resolved {
            ResolveResult::Bound(namespace) => Ns::named(namespace.0),
            _ => None,
        };
        let ns = match (&resolved, self.open.last()) {
            _ if known.is_some() => known,
            (ResolveResult::Unknown(prefix), Some(Open { element: None, .. })) => {
                self.spaces.undeclared(prefix, start.name().0, at);
                None
            }
            // The contents of an unknown element are not checked.
            (_, Some(Open { element: None, .. })) => None,
            (resolved, open) => {
                let parent = open.and_then(|open| open.element);
                self.spaces.meant(resolved, start.name().0, parent, at)
            }
        };
        if is_undeclared {
            self.breaks(at, rest::PREFIX.into());
        }
        if self.open.len() >= MAX_DEPTH {
            let unchecked = Limited {
                place: self.reader.about.file.clone(),
                rest: "the rest of the document was not read",
                value: MAX_DEPTH as u64,
                unit: "nested elements",
                option: None,
            };
            let findings = &mut self.reader.document.findings;
            findings.leave(Unchecked::Limited(unchecked));
            self.reader.found(Rule::FileLimits, at, false, || {
                format!("has more than {MAX_DEPTH} nested elements; the rest was not read")
            });
            self.stopped = true;
            return;
        }
        let element = if self.open.is_empty() {
            self.root(ns, local, start, at)
        } else {
            self.child(ns, local, start, at)
        };
        if self.stopped {
            return;
        }
        // Names in the schema are valid.
        if element.is_none() && !is_name(start.name().as_ref()) {
            let message = format!(
                "has the element {}, which is not a valid name",
                quoted(local)
            );
            self.ill_formed_by(at, &message, rest::LESS_THAN.into());
        }
        if let Some(feed) = &mut self.feed {
            feed.start(local, start, at, &mut self.reader);
        }
        self.attributes(element, start, at);
        if let Some(outer) = self.open.last().and_then(|open| open.element)
            && outer.children().is_some()
        {
            self.not_only_elements(outer, at);
        }
        self.text.clear();
        self.marks = 0;
        self.text_at = at;
        self.open.push(Open {
            element,
            at,
            reached: 0,
            count: 0,
            taken: 0,
        });
        if let Some(element) = element
            && matches!(element.content, Content::Extended(_))
            && matches!(element.name, "url" | "sitemap")
        {
            self.reader.begin_entry(at);
            if start.name().prefix().is_some() {
                self.reader.prefixed.add(at);
            }
        }
        if let Some(element) = element {
            match element.used {
                Use::Dead(Rule::ExtVideoDead) => self.reader.dead_videos.add(at),
                Use::Dead(_) => self.reader.dead_images.add(at),
                Use::Ignored => self.reader.ignored.add(at),
                _ => {}
            }
            if element.ns == Ns::Image && element.name == "image" {
                self.reader.image(at);
            }
        }
    }

    pub(super) fn end(&mut self, at: Position) {
        let Some(open) = self.open.pop() else {
            return;
        };
        if let Some(feed) = &mut self.feed {
            let is_item = feed.end(&self.text, self.text_at, &mut self.reader);
            if is_item {
                self.reader.end_entry();
            }
            self.text.clear();
            return;
        }
        let Some(element) = open.element else {
            self.text.clear();
            return;
        };
        match element.content {
            Content::Value(kind) => self.value(element, kind, open.at),
            Content::Sequence(places) | Content::Extended(places) => {
                self.not_only_elements(element, at);
                for (place, one) in places.iter().enumerate() {
                    if one.least > 0 && !open.has(place) && !is_root(element) {
                        let message = format!("<{}> has no <{}>", element.shown(), one.shown());
                        // Elements that the schema requires are required by Google too, so one finding is enough.
                        self.reader.found(one.missing, open.at, true, || message);
                    }
                }
                let has = |name: &str| {
                    let place = places.iter().position(|one| one.name == name);
                    place.is_some_and(|place| open.has(place))
                };
                match (element.ns, element.name) {
                    (Ns::Video, "video") => self.reader.entry.has_video = true,
                    (Ns::News, "news") => self.reader.entry.has_news = true,
                    _ => {}
                }
                match (element.ns, element.name) {
                    (Ns::Video, "video") if !has("content_loc") && !has("player_loc") => {
                        self.reader
                            .found(Rule::ExtVideoRequired, open.at, false, || {
                                "<video:video> has neither <video:content_loc> nor <video:player_loc>"
                                    .to_owned()
                            });
                    }
                    (Ns::News, "news") if !has("title") => {
                        self.reader.found(Rule::FileSchema, open.at, false, || {
                            "<news:news> has no <news:title>".to_owned()
                        });
                    }
                    (Ns::Sitemap, "url" | "sitemap") => self.reader.end_entry(),
                    _ => {}
                }
            }
        }
        self.text.clear();
    }

    /// Reports text between elements. Only the last piece of it is kept.
    fn not_only_elements(&mut self, element: &Element, at: Position) {
        if self.text.chars().all(xsd::is_space) {
            return;
        }
        let message = format!(
            "<{}> has text between its elements: {}",
            element.shown(),
            quoted(xsd::trimmed(&self.text))
        );
        self.reader.found(Rule::FileSchema, at, true, || message);
    }

    fn value(&mut self, element: &'static Element, kind: Type, at: Position) {
        let text = std::mem::take(&mut self.text);
        // An address in use is checked in more detail below.
        let is_used = matches!(element.used, Use::Loc | Use::ImageLoc | Use::Address);
        let problem = match kind {
            Type::Address if is_used => None,
            kind => kind.problem(&text),
        };
        let invalid = problem.is_some();
        if let Some(problem) = problem {
            let message = match element.used {
                Use::Lastmod => problem,
                _ => format!("<{}>: {problem}", element.shown()),
            };
            self.reader.found(element.wrong, at, true, || message);
        }
        let trimmed = xsd::trimmed(&text);
        match element.used {
            Use::Loc => {
                if trimmed.len() != text.len() {
                    self.marks |= Mark::Space.bit();
                }
                if self.marks != 0 {
                    self.reader.marked(self.marks, at);
                }
                self.reader.loc(trimmed, at);
            }
            Use::Lastmod => self.reader.lastmod(trimmed, invalid, at),
            Use::ImageLoc | Use::Address => {
                if element.used == Use::ImageLoc {
                    self.reader.image_loc(trimmed);
                }
                let rule = match element.used {
                    Use::ImageLoc => Rule::ExtImage,
                    _ => Rule::LocForm,
                };
                let place = || format!("<{}>: ", element.shown());
                self.reader.has_form(trimmed, rule, at, place);
            }
            Use::NewsDate => self.reader.news_date(trimmed, at),
            Use::Nothing | Use::Ignored | Use::Dead(_) => {}
        }
        self.text = text;
    }
}

/// Returns whether an element is a root. A root without entries breaks a separate rule.
fn is_root(element: &Element) -> bool {
    std::ptr::eq(element, &raw const URLSET) || std::ptr::eq(element, &raw const INDEX)
}

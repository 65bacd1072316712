//! Checks attributes and links between languages: whether they are well-formed and in the schema.

use quick_xml::escape::{resolve_xml_entity, unescape_with};
use quick_xml::events::BytesStart;
use quick_xml::events::attributes::Attribute as Given;
use quick_xml::name::{PrefixDeclaration, QName, ResolveResult};
use sitemap::language::{LanguageError, X_DEFAULT, check_language};
use sitemap::xml::is_xml_char;

use super::name::is_name;
use super::rest;
use super::state::Xml;
use crate::document::schema::{Attribute, Element, INSTANCE, Ns};
use crate::findings::Position;
use crate::rules::Rule;
use crate::text::quoted;
use crate::xsd;

impl Xml<'_, '_> {
    pub(super) fn attributes(
        &mut self,
        element: Option<&'static Element>,
        start: &BytesStart<'_>,
        at: Position,
    ) {
        let known = element.map_or(&[][..], |element| element.attributes);
        if start.attributes_raw().trim_ascii().is_empty() && known.is_empty() {
            return;
        }
        let is_link = element.is_some_and(|element| element.ns == Ns::Xhtml);
        let mut link = Link::default();
        let mut given = 0_u32;
        for attribute in start.attributes() {
            let attribute = match attribute {
                Ok(attribute) => attribute,
                Err(error) => {
                    let message = format!("<{}> has a bad attribute: {error}", start.name().0);
                    self.ill_formed_by(at, &message, message.clone().into());
                    return;
                }
            };
            let Some(value) = self.attribute_value(&attribute, at) else {
                link.is_unread = true;
                continue;
            };
            if let Some(declared) = attribute.key.as_namespace_binding() {
                if matches!(declared, PrefixDeclaration::Named(_)) && value.is_empty() {
                    self.ill_formed(at, "declares a prefix for no namespace");
                }
                continue;
            }
            let place = self.attribute_place(element, attribute.key, at);
            let Some((element, place)) = element.zip(place) else {
                continue;
            };
            given |= 1 << place;
            let Attribute { name, kind, .. } = &known[place];
            if is_link {
                link.set(name, value);
            } else if let Some(problem) = kind.problem(&value) {
                let message = format!("<{}>: {name} {problem}", element.shown());
                self.reader.found(Rule::FileSchema, at, true, || message);
            }
        }
        let Some(element) = element else {
            return;
        };
        for (place, one) in known.iter().enumerate() {
            if one.required && given & (1 << place) == 0 {
                let message = format!("<{}> has no {}", element.shown(), one.name);
                self.reader.found(Rule::FileSchema, at, true, || message);
            }
        }
        if is_link && !link.is_unread {
            self.link(link, at);
        }
    }

    /// Returns the value of an attribute. Returns `None` if it is not well-formed.
    fn attribute_value(&mut self, attribute: &Given<'_>, at: Position) -> Option<String> {
        let raw: &str = &attribute.value;
        self.valid(raw, at);
        match unescaped(raw) {
            None if self.dtd.is_some() && !raw.contains('<') => {
                self.entities.add(at);
                Some(raw.to_owned())
            }
            None => {
                let message = format!(
                    "the attribute {} has a < or an unknown reference",
                    quoted(attribute.key.0)
                );
                self.ill_formed_by(at, &message, rest::of_value(raw));
                None
            }
            value => value,
        }
    }

    /// Returns the index of an element's attribute with this name. Returns `None` if it has none.
    fn attribute_place(
        &mut self,
        element: Option<&'static Element>,
        key: QName<'_>,
        at: Position,
    ) -> Option<usize> {
        if !is_name(key.0) {
            let message = format!(
                "has the attribute {}, which is not a valid name",
                quoted(key.0)
            );
            self.ill_formed(at, &message);
        }
        let (resolved, local) = self.source.resolver().resolve_attribute(key);
        let (is_plain, is_instance) = match resolved {
            ResolveResult::Unbound => (true, false),
            ResolveResult::Bound(namespace) => (false, namespace.0 == INSTANCE),
            ResolveResult::Unknown(prefix) => {
                self.spaces.undeclared(&prefix, key.0, at);
                self.breaks(at, rest::PREFIX.into());
                return None;
            }
        };
        let element = element?;
        let local: &str = local.as_ref();
        let is_here = |one: &Attribute| is_plain && one.name == local;
        let place = element.attributes.iter().position(is_here);
        let is_xml = element.ns == Ns::Xhtml && key.0.starts_with("xml:");
        if place.is_none() && !is_instance && !is_xml {
            let message = format!(
                "<{}> has the unknown attribute {}",
                element.shown(),
                quoted(key.0)
            );
            self.reader.found(Rule::FileSchema, at, true, || message);
        }
        place
    }

    /// Checks a link to a page in another language, to a page for another device, or to the same page in an app.
    fn link(&mut self, link: Link, at: Position) {
        let href = match link.href.as_deref().map(xsd::trimmed) {
            Some(href) if !href.is_empty() => href,
            _ => {
                let message = || "the link has no href".to_owned();
                return self.reader.found(Rule::ExtLink, at, false, message);
            }
        };
        let is_of_app = APPS.iter().any(|app| href.starts_with(app));
        let language = match link.language {
            Some(language) if !xsd::is_language(&language) => {
                let message =
                    || format!("{} is neither a language nor x-default", quoted(&language));
                self.reader.found(Rule::ExtHreflangCode, at, true, message);
                None
            }
            Some(language) if link.rel.as_deref() == Some("alternate") => Some(language),
            Some(_) => None,
            None => {
                let is_page = link.media_type.is_none_or(|kind| kind == "text/html");
                let is_alternate = link.rel.as_deref() == Some("alternate");
                if is_alternate && is_page && link.media.is_none() && !is_of_app {
                    let message = || "the link has no hreflang".to_owned();
                    self.reader.found(Rule::ExtHreflangCode, at, false, message);
                }
                None
            }
        };
        if is_of_app {
            if !xsd::is_any_uri(href) {
                let message = || format!("{} is not an address", quoted(href));
                self.reader.found(Rule::LocForm, at, true, message);
            }
            return;
        }
        let is_address = self.reader.has_form(href, Rule::LocForm, at, String::new);
        // A link for another device is not compared with other languages.
        let Some(language) = language.filter(|_| link.media.is_none()) else {
            return;
        };
        if language != X_DEFAULT
            && let Err(error) = check_language(&language)
        {
            let message = || match &error {
                LanguageError::Code => {
                    format!("{} is neither a language nor x-default", quoted(&language))
                }
                error => format!("{} {error}", quoted(&language)),
            };
            return self.reader.found(Rule::ExtHreflangCode, at, false, message);
        }
        if is_address {
            self.reader.alternate(language, href, at);
        }
    }
}

/// The prefixes of addresses in apps: <https://developers.google.com/search/docs/appearance/app-indexing>.
const APPS: [&str; 2] = ["android-app://", "ios-app://"];

/// The attributes of a link.
#[derive(Debug, Default)]
struct Link {
    rel: Option<String>,
    language: Option<String>,
    href: Option<String>,
    media: Option<String>,
    media_type: Option<String>,
    /// Whether an attribute of it is not well-formed, so that nothing else of it is checked.
    is_unread: bool,
}

impl Link {
    fn set(&mut self, name: &str, value: String) {
        let field = match name {
            "rel" => &mut self.rel,
            "hreflang" => &mut self.language,
            "href" => &mut self.href,
            "media" => &mut self.media,
            "type" => &mut self.media_type,
            _ => return,
        };
        *field = Some(value);
    }
}

/// Returns an attribute's value. Returns `None` if it is not well-formed.
fn unescaped(raw: &str) -> Option<String> {
    if raw.contains('<') {
        return None;
    }
    if !raw.contains('&') {
        return Some(raw.to_owned());
    }
    match unescape_with(raw, resolve_xml_entity) {
        Ok(value) if value.chars().all(is_xml_char) => Some(value.into_owned()),
        Ok(_) => None,
        Err(_) => None,
    }
}

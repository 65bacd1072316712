//! Attributes: whether they are well-formed, what the schema says of them, and links between languages.

use quick_xml::events::BytesStart;
use quick_xml::name::{PrefixDeclaration, ResolveResult};
use sitemap::xml::is_xml_char;

use super::Xml;
use crate::finding::Position;
use crate::rules::Rule;
use crate::schema::{Element, INSTANCE, Ns, quoted};
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
        let (mut rel, mut language, mut href, mut media) = (None, None, None, None);
        let mut given = 0_u32;
        for attribute in start.attributes() {
            let attribute = match attribute {
                Ok(attribute) => attribute,
                Err(error) => {
                    let message = format!("<{}> has a bad attribute: {error}", start.name().0);
                    self.ill_formed(at, &message);
                    return;
                }
            };
            let raw: &str = &attribute.value;
            self.valid(raw, at);
            let Some(value) = unescaped(raw, self.has_dtd) else {
                let message = format!(
                    "the attribute {} has a < or an unknown reference",
                    quoted(attribute.key.0)
                );
                self.ill_formed(at, &message);
                continue;
            };
            if let Some(declared) = attribute.key.as_namespace_binding() {
                if matches!(declared, PrefixDeclaration::Named(_)) && value.is_empty() {
                    self.ill_formed(at, "declares a prefix for no namespace");
                }
                continue;
            }
            if !is_name(attribute.key.0) {
                let message = format!(
                    "has the attribute {}, which is no name",
                    quoted(attribute.key.0)
                );
                self.ill_formed(at, &message);
            }
            let (resolved, local) = self.source.resolver().resolve_attribute(attribute.key);
            let (is_plain, is_instance) = match resolved {
                ResolveResult::Unbound => (true, false),
                ResolveResult::Bound(namespace) => (false, namespace.0 == INSTANCE),
                ResolveResult::Unknown(prefix) => {
                    let message =
                        format!("has the prefix {}, which is not declared", quoted(&prefix));
                    self.ill_formed(at, &message);
                    continue;
                }
            };
            let Some(element) = element else {
                continue;
            };
            let local: &str = local.as_ref();
            let place = known.iter().position(|one| is_plain && one.name == local);
            let Some(place) = place else {
                let is_xml = is_link && attribute.key.0.starts_with("xml:");
                if !is_instance && !is_xml {
                    let message = format!(
                        "<{}> has the unknown attribute {}",
                        element.shown(),
                        quoted(attribute.key.0)
                    );
                    self.reader.found(Rule::FileSchema, at, true, || message);
                }
                continue;
            };
            given |= 1 << place;
            if is_link {
                match local {
                    "rel" => rel = Some(value),
                    "hreflang" => language = Some(value),
                    "href" => href = Some(value),
                    "media" => media = Some(value),
                    _ => {}
                }
                continue;
            }
            if let Some(problem) = known[place].kind.problem(&value) {
                let message = format!("<{}>: {local} {problem}", element.shown());
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
        // Links to other devices' pages have a media and no language.
        if is_link && rel.as_deref() == Some("alternate") && media.is_none() {
            let Some(language) = language else {
                return self.reader.found(Rule::ExtHreflangCode, at, false, || {
                    "the link has no hreflang".to_owned()
                });
            };
            if !sitemap::language::is_hreflang(&language) {
                let invalid = !xsd::is_language(&language);
                let message =
                    || format!("{} is neither a language nor x-default", quoted(&language));
                return self
                    .reader
                    .found(Rule::ExtHreflangCode, at, invalid, message);
            }
            self.reader
                .alternate(language, href.as_deref().unwrap_or_default(), at);
        } else if is_link
            && let Some(language) = language
            && !xsd::is_language(&language)
        {
            let message = || format!("{} is not a language", quoted(&language));
            self.reader.found(Rule::ExtHreflangCode, at, true, message);
        }
    }
}

/// A name of XML, roughly: what is not ASCII may be in it.
pub(super) fn is_name(name: &str) -> bool {
    let starts = |c: char| c.is_ascii_alphabetic() || c == '_' || c == ':' || !c.is_ascii();
    let continues = |c: char| starts(c) || c.is_ascii_digit() || c == '-' || c == '.';
    name.starts_with(starts) && name.chars().all(continues)
}

/// An attribute's value. Nothing if it is not well-formed.
fn unescaped(raw: &str, has_dtd: bool) -> Option<String> {
    if raw.contains('<') {
        return None;
    }
    if !raw.contains('&') {
        return Some(raw.to_owned());
    }
    match quick_xml::escape::unescape(raw) {
        Ok(value) if value.chars().all(is_xml_char) => Some(value.into_owned()),
        Ok(_) => None,
        Err(_) => has_dtd.then(|| raw.to_owned()),
    }
}

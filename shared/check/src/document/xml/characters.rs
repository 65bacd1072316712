//! Checks texts: the characters that XML allows, and references.

use quick_xml::events::BytesRef;
use sitemap::xml::is_xml_char;

use super::rest;
use super::state::Xml;
use crate::document::reader::Mark;
use crate::findings::Position;
use crate::text::quoted;

impl Xml<'_, '_> {
    pub(super) fn characters(&mut self, text: &str, at: Position) {
        // Most text has nothing to check, which this loop detects quickly.
        let is_plain = |byte: u8| byte >= b' ' && byte != 0xef && byte != b']';
        if !self.open.is_empty() && text.bytes().fold(true, |all, byte| all & is_plain(byte)) {
            if self.text.is_empty() {
                self.text_at = at;
            }
            self.text.push_str(text);
            return;
        }
        let is_blank = text
            .bytes()
            .all(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
        if is_blank {
            // White space is ignored between elements, and kept in a value.
            self.text.push_str(text);
            return;
        }
        self.valid(text, at);
        if text.contains("]]>") {
            self.ill_formed(at, "has ]]> in its text");
        }
        if self.open.is_empty() {
            self.ill_formed(at, "has text outside of its root");
            return;
        }
        if self.text.is_empty() {
            self.text_at = at;
        }
        if text.contains('\r') {
            // Line ends are one character (XML 1.0, 2.11).
            self.text
                .push_str(&text.replace("\r\n", "\n").replace('\r', "\n"));
        } else {
            self.text.push_str(text);
        }
    }

    pub(super) fn reference(&mut self, reference: &BytesRef<'_>, at: Position) {
        if self.open.is_empty() {
            return self.ill_formed(at, "has a reference outside of its root");
        }
        let character = match &**reference {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "apos" => '\'',
            name => match reference.resolve_char_ref() {
                Ok(Some(character)) if is_xml_char(character) => {
                    self.marks |= Mark::Reference.bit();
                    character
                }
                // Entities of a DTD are never expanded.
                Ok(None) if self.dtd.is_some() => return self.entities.add(at),
                _ => {
                    let message = format!("has the reference {}, which is unknown", quoted(name));
                    return self.ill_formed_by(at, &message, rest::of_reference(name));
                }
            },
        };
        self.text.push(character);
    }
}

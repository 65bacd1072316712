//! RSS and Atom: only the addresses and times of their items. Whether a feed is a good feed is not looked at.

use quick_xml::events::BytesStart;

use super::Reader;
use crate::finding::Position;

/// Where in a feed the reader is.
#[derive(Debug, Default)]
pub(super) struct Feed {
    path: Vec<Part>,
    /// The item has an address already.
    has_address: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Item,
    /// RSS's, whose text is the address.
    Link,
    /// Atom's time.
    Updated,
    Other,
}

impl Feed {
    pub(super) fn start(
        &mut self,
        local: &str,
        start: &BytesStart<'_>,
        at: Position,
        reader: &mut Reader<'_>,
    ) {
        let in_item = self.path.last() == Some(&Part::Item);
        let is_plain = start.name().prefix().is_none();
        let part = match local {
            "item" | "entry" => Part::Item,
            "link" if in_item && is_plain => Part::Link,
            "updated" if in_item && is_plain => Part::Updated,
            _ => Part::Other,
        };
        self.path.push(part);
        match part {
            Part::Item => {
                self.has_address = false;
                reader.begin_entry(at);
            }
            Part::Link => {
                let value = |name| {
                    let attribute = start.try_get_attribute(name).ok().flatten()?;
                    Some(
                        quick_xml::escape::unescape(&attribute.value)
                            .ok()?
                            .into_owned(),
                    )
                };
                let is_alternate = value("rel").is_none_or(|rel| rel == "alternate");
                if let Some(href) = value("href").filter(|_| is_alternate && !self.has_address) {
                    self.has_address = true;
                    reader.loc(href.trim(), at);
                }
            }
            Part::Updated | Part::Other => {}
        }
    }

    /// Whether it was an item.
    pub(super) fn end(&mut self, text: &str, at: Position, reader: &mut Reader<'_>) -> bool {
        match self.path.pop() {
            Some(Part::Item) => return true,
            Some(Part::Link) if !self.has_address && !text.trim().is_empty() => {
                self.has_address = true;
                reader.loc(text.trim(), at);
            }
            Some(Part::Updated) => reader.lastmod(text.trim(), false, at),
            _ => {}
        }
        false
    }
}

//! The state of an XML document that is being read.

use std::borrow::Cow;

use quick_xml::reader::NsReader;
use sitemap::xml::is_xml_char;

use super::rest::{self, FirstError};
use super::spaces::Spaces;
use crate::document::feed::Feed;
use crate::document::input::Input;
use crate::document::reader::{Reader, Tally};
use crate::document::schema::Element;
use crate::findings::Position;
use crate::rules::Rule;

/// An open element.
pub(super) struct Open {
    /// The element's schema. `None` if it is unknown, so that its contents do not matter.
    pub(super) element: Option<&'static Element>,
    pub(super) at: Position,
    /// The place of the sequence that was reached.
    pub(super) reached: usize,
    pub(super) count: u32,
    pub(super) taken: u32,
}

impl Open {
    /// Returns whether an element was at this place of the sequence.
    pub(super) fn has(&self, place: usize) -> bool {
        self.taken & (1 << place) != 0
    }

    /// Counts an element at this place, which must not be before the last one. Returns how many are at this place.
    pub(super) fn take(&mut self, place: usize) -> u32 {
        if place > self.reached || !self.has(place) {
            self.reached = place;
            self.count = 0;
        }
        self.count += 1;
        self.taken |= 1 << place;
        self.count
    }
}

pub(super) struct Xml<'r, 'a> {
    pub(super) reader: Reader<'a>,
    pub(super) source: NsReader<&'r mut Input<'a>>,
    pub(super) open: Vec<Open>,
    pub(super) text: String,
    /// The position at which the text began.
    pub(super) text_at: Position,
    pub(super) has_root: bool,
    /// The position of the DOCTYPE. `None` if there is none.
    pub(super) dtd: Option<Position>,
    /// References to entities that only a DOCTYPE can declare.
    pub(super) entities: Tally,
    pub(super) is_first: bool,
    /// The markup in the text: bits of [`Mark`](crate::document::reader::Mark).
    pub(super) marks: u8,
    pub(super) spaces: Spaces,
    pub(super) feed: Option<Feed>,
    pub(super) stopped: bool,
    /// The first error at which other parsers stop.
    pub(super) first_error: Option<FirstError>,
}

impl<'r, 'a> Xml<'r, 'a> {
    /// Begins to read a document at this position.
    pub(super) fn new(
        reader: Reader<'a>,
        source: NsReader<&'r mut Input<'a>>,
        at: Position,
    ) -> Self {
        Self {
            reader,
            source,
            open: Vec::new(),
            text: String::new(),
            text_at: at,
            has_root: false,
            dtd: None,
            entities: Tally::default(),
            is_first: true,
            marks: 0,
            spaces: Spaces::default(),
            feed: None,
            stopped: false,
            first_error: None,
        }
    }
}

impl Xml<'_, '_> {
    pub(super) fn ill_formed(&mut self, at: Position, message: &str) {
        self.ill_formed_by(at, message, format!("it {message}").into());
    }

    /// Adds a finding for an error whose cause is known, so that it can be said how to write it correctly.
    pub(super) fn ill_formed_by(&mut self, at: Position, message: &str, cause: Cow<'static, str>) {
        self.reader
            .found(Rule::FileWellformed, at, true, || message.to_owned());
        self.breaks(at, cause);
    }

    /// Remembers the first error at which other parsers stop.
    pub(super) fn breaks(&mut self, at: Position, cause: Cow<'static, str>) {
        let error = FirstError::new(at, self.whole_entries(), cause);
        self.first_error.get_or_insert(error);
    }

    /// Remembers that the document ends early.
    pub(super) fn ends(&mut self, at: Position, cause: Cow<'static, str>) {
        let error = FirstError::end(at, self.whole_entries(), cause);
        self.first_error.get_or_insert(error);
    }

    /// Returns the number of entries that were read to their end.
    fn whole_entries(&self) -> u64 {
        let is_entry = |open: &Open| {
            open.element
                .is_some_and(|element| matches!(element.name, "url" | "sitemap"))
        };
        let is_in_one = match &self.feed {
            Some(feed) => feed.is_in_item(),
            None => self.open.iter().any(is_entry),
        };
        self.reader
            .document
            .entries
            .saturating_sub(u64::from(is_in_one))
    }

    /// Checks the characters of a text. XML forbids most control characters.
    pub(super) fn valid(&mut self, text: &str, at: Position) {
        let suspect = |byte: u8| byte < b' ' || byte == 0xef;
        if text.bytes().any(suspect)
            && let Some(character) = text.chars().find(|c| !is_xml_char(*c))
        {
            let message = format!(
                "has the character U+{:04X}, which XML forbids",
                u32::from(character)
            );
            self.ill_formed_by(at, &message, rest::CHARACTER.into());
        }
    }
}

//! A URL a line.

use check::document::input::Input;
use check::url::path_of;

use super::fields::Fields;
use super::options::ImportError;
use super::writer::{Id, Sink};

/// Characters of a line that is no URL that are shown.
const SHOWN_CHARS: usize = 80;

/// Reads a list. Returns why it could not be read to its end.
pub(super) fn read(
    mut input: Input<'_>,
    type_name: &str,
    sink: &mut Sink<'_>,
) -> Result<Option<String>, ImportError> {
    let mut line = Vec::new();
    loop {
        let number = input.line();
        match input.read_line(&mut line) {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            Err(error) => return Ok(Some(format!("line {number}: {error}"))),
        }
        let Ok(text) = std::str::from_utf8(&line) else {
            sink.skip("it is not UTF-8", || format!("line {number}"));
            continue;
        };
        let url = text.trim();
        if url.is_empty() || url.starts_with('#') {
            continue;
        }
        if path_of(&sink.address(url)).is_none() {
            let shown: String = url.chars().take(SHOWN_CHARS).collect();
            sink.skip("it is no URL", || format!("line {number}: {shown:?}"));
            continue;
        }
        let mut fields = Fields::new();
        fields.insert("url".to_owned(), url.into());
        fields.insert("type".to_owned(), type_name.into());
        sink.record(fields, Id::Address)?;
    }
}

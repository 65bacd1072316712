//! Quotes foreign text in messages.

/// Quotes foreign text for a message, and cuts it if it is long.
pub(crate) fn quoted(text: &str) -> String {
    const MOST: usize = 200;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("\"{}…\"", &text[..end]),
        None => format!("\"{text}\""),
    }
}

/// Quotes foreign text for the beginning of a message, followed by a blank. Returns an empty text for an empty one.
pub(crate) fn shown(text: &str) -> String {
    match text {
        "" => String::new(),
        text => format!("{} ", quoted(text)),
    }
}

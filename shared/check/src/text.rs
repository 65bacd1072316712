//! Foreign text in messages.

/// Foreign text in a message, at most so much of it.
pub(crate) fn quoted(text: &str) -> String {
    const MOST: usize = 200;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("\"{}…\"", &text[..end]),
        None => format!("\"{text}\""),
    }
}

/// Foreign text at the begin of a message, which does without it if there is none.
pub(crate) fn shown(text: &str) -> String {
    match text {
        "" => String::new(),
        text => format!("{} ", quoted(text)),
    }
}

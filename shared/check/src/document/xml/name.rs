//! The names of elements and attributes.

/// Returns whether a text is roughly a name of XML. All characters beyond ASCII are accepted.
pub(super) fn is_name(name: &str) -> bool {
    let starts = |c: char| c.is_ascii_alphabetic() || c == '_' || c == ':' || !c.is_ascii();
    let continues = |c: char| starts(c) || c.is_ascii_digit() || c == '-' || c == '.';
    name.starts_with(starts) && name.chars().all(continues)
}

//! The compared form of rules and addresses, and the matching of rules ([RFC 9309](https://www.rfc-editor.org/rfc/rfc9309), 2.2.2
//! and 2.2.3).

use std::borrow::Cow;
use std::fmt::Write as _;

/// The path of a rule.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    /// The path as it is written, for messages.
    pub(super) written: String,
    /// The compared form, with `*` for anything, and without a `$` at its end.
    compared: String,
    /// Whether it ends in `$`, so that it must match to the address's end.
    is_anchored: bool,
}

impl Pattern {
    /// Returns the pattern of a rule's value, which must not be empty.
    pub(super) fn of(value: &str) -> Self {
        let (path, is_anchored) = match value.strip_suffix('$') {
            Some(path) => (path, true),
            None => (value, false),
        };
        Self {
            written: value.to_owned(),
            compared: compared(path, true).into_owned(),
            is_anchored,
        }
    }

    /// Returns the length by which rules take precedence: the longest decides (2.2.2).
    pub(super) fn length(&self) -> usize {
        self.compared.len() + usize::from(self.is_anchored)
    }

    /// Returns the byte after the first slash, if every path that the pattern matches has it there.
    pub(super) fn second_byte(&self) -> Option<u8> {
        match self.compared.as_bytes() {
            [b'/', byte, ..] if *byte != b'*' => Some(*byte),
            _ => None,
        }
    }

    /// Returns whether it matches the beginning of a path in its compared form.
    pub(super) fn matches(&self, path: &str) -> bool {
        let mut parts = self.compared.split('*');
        let first = parts.next().unwrap_or_default();
        let Some(mut rest) = path.strip_prefix(first) else {
            return false;
        };
        let mut last = None;
        for part in parts {
            if let Some(previous) = last.replace(part) {
                let previous: &str = previous;
                match rest.find(previous) {
                    Some(at) => rest = &rest[at + previous.len()..],
                    None => return false,
                }
            }
        }
        match last {
            None => !self.is_anchored || rest.is_empty(),
            Some(last) if self.is_anchored => rest.ends_with(last),
            Some(last) => rest.contains(last),
        }
    }
}

/// Returns the path and query of an address in the form that is compared with rules. An address without a path has `/`, and a
/// fragment is never sent.
pub(super) fn compared_path(path: &str) -> Cow<'_, str> {
    let path = path.split('#').next().unwrap_or_default();
    if path.starts_with('/') {
        compared(path, false)
    } else {
        Cow::Owned(format!("/{}", compared(path, false)))
    }
}

/// Returns the compared form. Escapes are in upper case, those of unreserved characters are decoded, and characters that are
/// invalid in an address are encoded. A `*` or `$` that is not a rule's wildcard is encoded, as in a rule that means the
/// character itself. All other reserved characters differ from their escapes: `%2F` is not a slash.
fn compared(path: &str, is_rule: bool) -> Cow<'_, str> {
    let stays = |byte: u8| is_unreserved(byte) || b":/?#[]@!&'()+,;=".contains(&byte);
    if path
        .bytes()
        .all(|byte| stays(byte) || (is_rule && byte == b'*'))
    {
        return Cow::Borrowed(path);
    }
    let bytes = path.as_bytes();
    let mut text = String::with_capacity(path.len() + path.len() / 2);
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        let escaped = (byte == b'%')
            .then(|| escape(bytes.get(at..at + 2)))
            .flatten();
        match escaped {
            Some(escaped) => {
                at += 2;
                if is_unreserved(escaped) {
                    text.push(char::from(escaped));
                } else {
                    encode(escaped, &mut text);
                }
            }
            None if stays(byte) || (is_rule && byte == b'*') => text.push(char::from(byte)),
            None => encode(byte, &mut text),
        }
    }
    Cow::Owned(text)
}

/// Returns the byte that two hex digits encode.
fn escape(digits: Option<&[u8]>) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    match digits {
        Some([high, low]) => u8::try_from(digit(*high)? * 16 + digit(*low)?).ok(),
        _ => None,
    }
}

fn encode(byte: u8, out: &mut String) {
    // Writing to a string cannot fail.
    let _ = write!(out, "%{byte:02X}");
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_and_paths_are_compared_in_one_form() {
        for (pattern, path, expected) in [
            ("/", "", true),
            ("/", "/a", true),
            ("/a", "/a/b", true),
            ("/a", "/A", false),
            ("a", "/a", false),
            ("*", "/a", true),
            // The case of escapes, unnecessary escapes, and letters that need one.
            ("/b%c3%bccher/", "/b%C3%BCcher/1", true),
            ("/b%C3%BCcher/", "/b%c3%bccher/1", true),
            ("/bücher/", "/b%C3%BCcher/1", true),
            ("/b%C3%BCcher/", "/bücher/1", true),
            ("/ツ", "/%E3%83%84", true),
            ("/%62%61%7A", "/baz", true),
            ("/baz", "/%62%61%7a", true),
            ("/%7Ejoe", "/~joe", true),
            ("/~joe", "/%7ejoe", true),
            ("/a b", "/a%20b", true),
            ("/a|b", "/a%7cb", true),
            ("/100%", "/100%25", true),
            ("/100%25", "/100%", true),
            ("/%zz", "/%25zz", true),
            ("/a%", "/a%C3", false),
            // Reserved characters differ from their escapes.
            ("/a%2Fb", "/a%2fb", true),
            ("/a%2Fb", "/a/b", false),
            ("/a/b", "/a%2Fb", false),
            ("/*%2F*", "/plain/path", false),
            ("/*%2F*", "/plain%2fpath", true),
            ("/a%3Fb", "/a?b", false),
            ("/?a=%3D", "/?a==", false),
            ("/a+b", "/a%20b", false),
            // Stars and dollars as literal characters.
            ("/a%2A", "/a*", true),
            ("/a%2a", "/a%2A", true),
            ("/a%2A", "/abc", false),
            ("/a%2A", "/a", false),
            ("/a*", "/a%2A", true),
            ("/a%24", "/a$", true),
            ("/a%24", "/a%24b", true),
            ("/a%24", "/a", false),
            ("/a%24b", "/a$b", true),
            ("/a$b", "/a$b", true),
            ("/a$b", "/ab", false),
            ("/a$$", "/a$", true),
            ("/a$$", "/a$b", false),
            ("/a%2A$", "/a*", true),
            ("/a%2A$", "/a*b", false),
            // Wildcards.
            ("/*.php$", "/q.php", true),
            ("/*.php$", "/q.php?a", false),
            ("/*.php$", "/q.php/b.php", true),
            ("/*.php", "/q.php?a", true),
            ("/x*y*z", "/x1y2z3", true),
            ("/x*y*z", "/x1z2y", false),
            ("/a**b", "/acb", true),
            ("/a*$", "/ab", true),
            ("/$", "/", true),
            ("/$", "/a", false),
            ("$", "/", false),
            // An address without a path, and one with a fragment.
            ("/?q", "?q", true),
            ("/", "?q", true),
            ("/$", "?q", false),
            ("/a$", "/a#b", true),
        ] {
            let pattern = Pattern::of(pattern);
            let path = compared_path(path);
            assert_eq!(pattern.matches(&path), expected, "{pattern:?} {path}");
            // The compared form is stable.
            assert_eq!(compared_path(&path), path);
            let second = pattern.second_byte();
            assert!(!expected || second.is_none_or(|byte| path.as_bytes().get(1) == Some(&byte)));
        }
    }

    #[test]
    fn the_length_is_that_of_the_compared_form() {
        for (one, other) in [("/ü", "/%c3%bc"), ("/~a", "/%7Ea"), ("/a$", "/a*")] {
            assert_eq!(
                Pattern::of(one).length(),
                Pattern::of(other).length(),
                "{one}"
            );
        }
    }
}

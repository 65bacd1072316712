//! Titles that are HTML, as WordPress and most other content systems export them, as plain text.

use quick_xml::escape::resolve_html5_entity;

/// The longest name of a character reference: `CounterClockwiseContourIntegral`.
const MAX_NAME_BYTES: usize = 31;
/// Elements that a browser begins a line for.
const BREAKS: [&str; 4] = ["br", "p", "div", "li"];
/// What the numbers 128 to 159 mean in HTML, which are control characters elsewhere.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// Returns the text of HTML: without tags and comments, with character references resolved, and with single blanks. A `<` or `&` that
/// begins neither stays.
pub(super) fn text(html: &str) -> String {
    let (mut text, mut rest) = (String::with_capacity(html.len()), html);
    while let Some(at) = rest.find(['<', '&']) {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let known = tag(rest).or_else(|| reference(rest));
        let (said, behind) = known.unwrap_or_else(|| {
            let (one, behind) = rest.split_at(1);
            (one.to_owned(), behind)
        });
        text.push_str(&said);
        rest = behind;
    }
    text.push_str(rest);
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    words.join(" ")
}

/// Returns the text that a tag or a comment at the beginning leaves, and the rest behind it.
fn tag(html: &str) -> Option<(String, &str)> {
    if let Some(comment) = html.strip_prefix("<!--") {
        return Some((String::new(), comment.split_once("-->")?.1));
    }
    let inner = html.strip_prefix('<')?;
    let name = inner.strip_prefix('/').unwrap_or(inner);
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let mut quote = None;
    let end = inner.find(|c| match (quote, c) {
        (Some(open), _) => {
            quote = Some(open).filter(|open| *open != c);
            false
        }
        (None, '"' | '\'') => {
            quote = Some(c);
            false
        }
        (None, _) => c == '>',
    })?;
    let name = name.split(|c: char| !c.is_ascii_alphanumeric()).next()?;
    let is_break = BREAKS.iter().any(|known| name.eq_ignore_ascii_case(known));
    let left = if is_break { " " } else { "" };
    Some((left.to_owned(), &inner[end + 1..]))
}

/// Returns the text that a character reference at the beginning means, and the rest behind it.
fn reference(html: &str) -> Option<(String, &str)> {
    let inner = html.strip_prefix('&')?;
    let end = inner
        .bytes()
        .take(MAX_NAME_BYTES + 1)
        .position(|byte| byte == b';')?;
    let (name, behind) = (&inner[..end], &inner[end + 1..]);
    let Some(number) = name.strip_prefix('#') else {
        return Some((resolve_html5_entity(name)?.to_owned(), behind));
    };
    let number = match number.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => number.parse(),
    };
    let number = number.ok().filter(|number| *number > 0)?;
    let known = number
        .checked_sub(128)
        .and_then(|at| WINDOWS_1252.get(at as usize));
    let character = known.copied().or_else(|| char::from_u32(number))?;
    Some((character.to_string(), behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_in_html_becomes_its_text() {
        for (html, expected) in [
            ("Plain soup", "Plain soup"),
            (
                "Fish &#038; Chips &#8211; a &lt;guide&gt;",
                "Fish & Chips – a <guide>",
            ),
            ("It&#8217;s &#x2014; it&#X2019;s", "It’s — it’s"),
            ("A &amp; B", "A & B"),
            ("A &amp;amp; B", "A &amp; B"), // once
            ("Caf&eacute;&nbsp;&hellip;", "Café\u{a0}…"),
            ("&#150; &#146;", "– ’"),
            (
                "Bread & butter &c; &; &#; &#0; &#xD800; &unknown;",
                "Bread & butter &c; &; &#; &#0; &#xD800; &unknown;",
            ),
            ("AT&T, Q&A", "AT&T, Q&A"),
            ("An <em class=\"a>b\">old</em> <B>book</B>", "An old book"),
            ("One<br />two<br>three", "One two three"),
            ("<p>One</p><p>two</p>", "One two"),
            ("x<sup>2</sup>", "x2"),
            ("a < b, x <3 y, 1<2>0", "a < b, x <3 y, 1<2>0"),
            ("never <b closed", "never <b closed"),
            ("<!-- a > b -->Soup", "Soup"),
            ("  a\n\tb  ", "a b"),
            ("日本　語 &#26085;", "日本　語 日"),
            ("&é;", "&é;"),
            ("", ""),
        ] {
            assert_eq!(text(html), expected, "{html}");
        }
    }
}

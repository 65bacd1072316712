//! Finds pages that do not exist although the server answers 200, because the answer is the same for any address.

use std::borrow::Cow;

use sitemap::loc::normalized;
use url::Url;

use super::response::Response;
use crate::url::digest;

/// The shortest run of letters and digits that counts as a token, if it has a digit. Each answer has new tokens.
const MIN_TOKEN_CHARS: usize = 16;
/// Names of a site's home page, without the extension.
const HOME: [&str; 4] = ["", "index", "default", "home"];

/// A host's answer for an address without a page.
#[derive(Clone, Debug)]
pub struct Nonsense {
    /// The address: see [`nonsense`].
    pub url: String,
    /// The answer.
    pub response: Response,
    /// Its body.
    pub body: Vec<u8>,
}

/// Returns an address without a page on an origin. It is the same in every run.
#[must_use]
pub fn nonsense(origin: &str) -> String {
    format!(
        "{origin}/waymark-check-no-such-page-{:016x}",
        digest(origin.as_bytes())
    )
}

/// Returns whether a page redirects to a home page, as deleted pages often do. A home page may redirect to its own address.
pub(super) fn leads_home(page: &str, last: &str) -> bool {
    let is_home = |url: &Url| url.path() == "/" && url.query().is_none();
    let (Ok(page), Ok(last)) = (Url::parse(page), Url::parse(last)) else {
        return false;
    };
    let name = page.path().trim_matches('/');
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    let was_home = page.query().is_none() && HOME.contains(&&*stem.to_ascii_lowercase());
    is_home(&last) && !was_home
}

impl Nonsense {
    /// Returns whether the answer redirects to the same address.
    pub(super) fn leads_to(&self, last: &str) -> bool {
        let own = self.response.redirects.last();
        self.response.status == 200 && own.is_some_and(|own| normalized(own) == normalized(last))
    }

    /// Returns whether a page's body equals that of this answer, except for the page's names, numbers, and tokens.
    pub(super) fn equals(&self, page: &Url, body: &[u8]) -> bool {
        if self.response.status != 200 || !self.response.redirects.is_empty() {
            return false;
        }
        let is_home = page.path() == "/" && page.query().is_none();
        if is_home {
            // A page that a server sends for all addresses may be the home page.
            return false;
        }
        if body == self.body {
            return true;
        }
        let mut names = names(&self.url);
        names.extend(self::names(page.as_str()));
        let own = reduced(&self.body, &names);
        !own.trim().is_empty() && own == reduced(body, &names)
    }
}

/// Returns the ways in which a page spells its address: its path and query, with and without the slashes around them.
fn names(url: &str) -> Vec<String> {
    let Ok(url) = Url::parse(url) else {
        return Vec::new();
    };
    let target = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let decoded = decoded(&target);
    let mut names = Vec::new();
    for name in [&target, &decoded, url.path()] {
        let bare = name.trim_matches('/');
        for name in [name, bare].into_iter().filter(|_| !bare.is_empty()) {
            // The one with a backslash first, because it ends like the plain one.
            let forms = [
                name.replace('/', "\\/"),
                name.replace('&', "&amp;"),
                name.to_owned(),
            ];
            names.extend(forms);
        }
    }
    names
}

fn decoded(text: &str) -> String {
    let mut pieces = text.split('%');
    let mut bytes = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        let escape = piece.split_at_checked(2);
        match escape.map(|(hex, rest)| (u8::from_str_radix(hex, 16), rest)) {
            Some((Ok(byte), rest)) => {
                bytes.push(byte);
                bytes.extend_from_slice(rest.as_bytes());
            }
            _ => {
                bytes.push(b'%');
                bytes.extend_from_slice(piece.as_bytes());
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns a body without these names, numbers, and tokens such as nonces and identifiers of requests.
fn reduced(body: &[u8], names: &[String]) -> String {
    let mut text = String::from_utf8_lossy(body);
    for name in names {
        if text.contains(name) {
            text = Cow::Owned(text.replace(name, ""));
        }
    }
    let in_runs = |c: char| c.is_ascii_alphanumeric() || "_+/=-".contains(c);
    let mut reduced = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some(first) = rest.chars().next() {
        let end = match in_runs(first) {
            true => rest.find(|c| !in_runs(c)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        let (run, behind) = rest.split_at(end);
        let is_token = end >= MIN_TOKEN_CHARS && run.bytes().any(|byte| byte.is_ascii_digit());
        if !is_token {
            reduced.extend(run.chars().filter(|c| !c.is_ascii_digit()));
        }
        rest = behind;
    }
    reduced
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORIGIN: &str = "https://www.example.com";

    fn nonsense_of(body: &str) -> Nonsense {
        Nonsense {
            url: nonsense(ORIGIN),
            response: Response::new(200),
            body: body.as_bytes().to_vec(),
        }
    }

    #[test]
    fn an_answer_equals_that_of_nonsense() {
        let shell = "<html><head><title>Shop</title></head><body><div id=app></div></body></html>";
        // The server's answer for each address.
        let echo = |url: &str| {
            let path = url.strip_prefix(ORIGIN).unwrap();
            let (name, json) = (path.replace('&', "&amp;"), path.replace('/', "\\/"));
            format!(
                "<p>No page {name} here.</p><a href='/de/a/'>a</a><script>{{\"at\":\"{json}\"}}</script>"
            )
        };
        let token = |number: u64| {
            format!(
                "<meta name=csrf content=\"{:032x}\"><p>Not found</p><!-- {number} ms -->",
                u128::from(number) << 70 | 7
            )
        };
        let page = |path: &str| Url::parse(&format!("{ORIGIN}{path}")).unwrap();
        for path in [
            "/a",
            "/de/a/",
            "/a?b=1&c=2",
            "/%C3%A4",
            "/?p=12",
            "/index.html",
        ] {
            let page = page(path);
            assert!(nonsense_of(shell).equals(&page, shell.as_bytes()), "{path}");
            let own = nonsense_of(&echo(&nonsense(ORIGIN)));
            assert!(own.equals(&page, echo(page.as_str()).as_bytes()), "{path}");
            assert!(nonsense_of(&token(1)).equals(&page, token(77).as_bytes()));
            assert!(nonsense_of("").equals(&page, b""));
            let other = shell.replace("Shop", "Shop: soup");
            assert!(
                !nonsense_of(shell).equals(&page, other.as_bytes()),
                "{path}"
            );
            assert!(!nonsense_of(shell).equals(&page, b""));
        }
        // Such a server answers with its home page for all addresses.
        assert!(!nonsense_of(shell).equals(&page("/"), shell.as_bytes()));
        // A server that answers 404 is right, and one that redirects has no body for it.
        for (status, redirects) in [(404, Vec::new()), (200, vec![format!("{ORIGIN}/")])] {
            let response = Response {
                redirects,
                ..Response::new(status)
            };
            let other = Nonsense {
                response,
                ..nonsense_of(shell)
            };
            assert!(!other.equals(&page("/a"), shell.as_bytes()), "{status}");
        }
    }

    #[test]
    fn a_page_that_is_gone_leads_home() {
        for (page, last, expected) in [
            ("/a/", "https://www.example.com/", true),
            ("/a/", "https://www.example.com", true),
            ("/?p=12", "https://www.example.com/", true),
            ("/a/index.html", "https://www.example.com/", true),
            ("/a/", "https://other.example/", true),
            ("/a/", "https://www.example.com/b/", false),
            ("/a/", "https://www.example.com/?from=a", false),
            ("/", "https://example.com/", false),
            ("/index.html", "https://www.example.com/", false),
            ("/index.php", "https://www.example.com/", false),
            ("/Home", "https://www.example.com/", false),
        ] {
            let page = format!("{ORIGIN}{page}");
            assert_eq!(leads_home(&page, last), expected, "{page} {last}");
        }
    }

    #[test]
    fn the_nonsense_of_an_origin_is_the_same_in_every_run() {
        assert_eq!(nonsense(ORIGIN), nonsense(ORIGIN));
        assert_ne!(nonsense(ORIGIN), nonsense("https://example.com"));
        assert!(Url::parse(&nonsense(ORIGIN)).is_ok());
    }
}

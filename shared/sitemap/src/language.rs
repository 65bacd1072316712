//! Language codes as search engines read them.
//!
//! hreflang: ISO 639-1, then perhaps an ISO 15924 script and an ISO 3166-1 region
//! ([Google](https://developers.google.com/search/docs/specialty/international/localized-versions#language-codes)).
//! News: two or three letters, and of regions only `zh-cn` and `zh-tw`
//! ([the schema](https://www.google.com/schemas/sitemap-news/0.9/sitemap-news.xsd)).

/// The hreflang of the page for everybody else.
pub const X_DEFAULT: &str = "x-default";

/// ISO 639-1, whole: each two letters is a language.
const TWO_LETTERS: &str = "aaabaeafakamanarasavayazbabebgbhbibmbnbobrbscacechcocrcscucvcydadedvdzeeeleneoeseteufafffifj\
    fofrfygagdglgngugvhahehihohrhthuhyhziaidieigiiikioisitiujajvkakgkikjkkklkmknkokrkskukvkwkylalblglilnlolt\
    lulvmgmhmimkmlmnmrmsmtmynanbndnengnlnnnonrnvnyocojomorospapiplpsptqurmrnrorurwsascsdsesgsiskslsmsnsosqsr\
    ssstsusvswtatetgthtitktltntotrtstttwtyugukuruzvevivowawoxhyiyozazhzu";

/// Whether a language, with or without script and region, is one in form and its language is known.
#[must_use]
pub fn is_language(code: &str) -> bool {
    let alphabetic =
        |part: &str, bytes| part.len() == bytes && part.bytes().all(|b| b.is_ascii_alphabetic());
    let mut parts = code.split('-').peekable();
    let known = parts.next().is_some_and(is_primary);
    parts.next_if(|part| alphabetic(part, 4));
    parts.next_if(|part| {
        alphabetic(part, 2) || (part.len() == 3 && part.bytes().all(|b| b.is_ascii_digit()))
    });
    known && parts.next().is_none()
}

/// Whether a code is valid in `hreflang`.
#[must_use]
pub fn is_hreflang(code: &str) -> bool {
    code == X_DEFAULT || is_language(code)
}

/// A language as the news schema has it: `en-GB` becomes `en`, `zh-TW` stays `zh-tw`. `None` if the code is invalid.
///
/// ```
/// use sitemap::language::news_language;
/// assert_eq!(news_language("en-GB").as_deref(), Some("en"));
/// assert_eq!(news_language("zh-Hant-TW").as_deref(), Some("zh-tw"));
/// assert_eq!(news_language("xx-YYYY"), None);
/// ```
#[must_use]
pub fn news_language(code: &str) -> Option<String> {
    if !is_language(code) {
        return None;
    }
    let code = code.to_ascii_lowercase();
    let (primary, rest) = code.split_once('-').unwrap_or((&code, ""));
    let region = rest.rsplit('-').next().unwrap_or_default();
    Some(match (primary, region) {
        ("zh", "cn" | "tw") => format!("zh-{region}"),
        _ => primary.to_owned(),
    })
}

/// Two letters of ISO 639-1 in either case, or any three: of ISO 639-2 and -3 there are thousands.
fn is_primary(code: &str) -> bool {
    let lower = code.to_ascii_lowercase();
    match code.len() {
        2 => TWO_LETTERS
            .as_bytes()
            .chunks(2)
            .any(|known| known == lower.as_bytes()),
        3 => lower.bytes().all(|b| b.is_ascii_lowercase()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hreflangs_are_known_languages_in_the_form_of_bcp_47() {
        for good in [
            "en",
            "EN",
            "en-GB",
            "zh-Hant",
            "zh-Hant-TW",
            "es-419",
            "fil",
            "x-default",
        ] {
            assert!(is_hreflang(good), "{good}");
        }
        for bad in [
            "",
            "e",
            "en_US",
            "xx",
            "xx-YYYY",
            "en-",
            "-en",
            "english",
            "en-GB-x",
            "x-Default",
            "e1",
        ] {
            assert!(!is_hreflang(bad), "{bad}");
        }
        assert_eq!(TWO_LETTERS.len() / 2, 184);
    }

    #[test]
    fn news_languages_have_a_region_for_chinese_alone() {
        let cases = [
            ("en", Some("en")),
            ("de-AT", Some("de")),
            ("zh-cn", Some("zh-cn")),
            ("zh-TW", Some("zh-tw")),
            ("zh-HK", Some("zh")),
            ("fil", Some("fil")),
            ("x-default", None),
            ("en_GB", None),
        ];
        for (code, expected) in cases {
            assert_eq!(news_language(code).as_deref(), expected, "{code}");
        }
    }
}

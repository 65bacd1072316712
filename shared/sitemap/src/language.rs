//! Language codes as search engines read them.
//!
//! hreflang: ISO 639-1, then optionally an ISO 15924 script and an ISO 3166-1 region
//! ([Google](https://developers.google.com/search/docs/specialty/international/localized-versions#language-codes)). News: two or
//! three letters; Chinese may also be `zh-cn`, which is simplified, or `zh-tw`, which is traditional ([the
//! schema](https://www.google.com/schemas/sitemap-news/0.9/sitemap-news.xsd)).

/// The hreflang of the page for all other languages.
pub const X_DEFAULT: &str = "x-default";

/// All codes of ISO 639-1, two letters each.
const LANGUAGES: Codes = Codes::of(
    "aaabaeafakamanarasavayazbabebgbhbibmbnbobrbscacechcocrcscucvcydadedvdzeeeleneoeseteufafffifj\
     fofrfygagdglgngugvhahehihohrhthuhyhziaidieigiiikioisitiujajvkakgkikjkkklkmknkokrkskukvkwkyla\
     lblglilnloltlulvmgmhmimkmlmnmrmsmtmynanbndnengnlnnnonrnvnyocojomorospapiplpsptqurmrnrorurwsa\
     scsdsesgsiskslsmsnsosqsrssstsusvswtatetgthtitktltntotrtstttwtyugukuruzvevivowawoxhyiyozazhzu",
);

/// ISO 3166-1 alpha-2, the 249 codes that are officially assigned (<https://www.iso.org/obp/ui/#search/code/>), as Google asks
/// for them. Reserved codes, such as UK, EU and SU, and user-assigned codes, such as XK, are not included. Google's page names
/// neither, so a page for Kosovo is `sq` there.
const REGIONS: Codes = Codes::of(
    "adaeafagaialamaoaqarasatauawaxazbabbbdbebfbgbhbibjblbmbnbobqbrbsbtbvbwbybzcacccdcfcgchcickcl\
     cmcncocrcucvcwcxcyczdedjdkdmdodzeceeegeheresetfifjfkfmfofrgagbgdgegfggghgiglgmgngpgqgrgsgtgu\
     gwgyhkhmhnhrhthuidieiliminioiqirisitjejmjojpkekgkhkikmknkpkrkwkykzlalblclilklrlsltlulvlymamc\
     mdmemfmgmhmkmlmmmnmompmqmrmsmtmumvmwmxmymznancnenfngninlnonpnrnunzompapepfpgphpkplpmpnprpspt\
     pwpyqarerorsrurwsasbscsdsesgshsisjskslsmsnsosrssstsvsxsysztctdtftgthtjtktltmtntotrtttvtwtzua\
     ugumusuyuzvavcvevgvivnvuwfwsyeytzazmzw",
);

/// A set of codes of two letters.
struct Codes([u32; 26]);

impl Codes {
    /// Reads concatenated codes in lower case. The first letter selects the number, and the second letter the bit.
    const fn of(codes: &str) -> Self {
        let (bytes, mut seconds, mut at) = (codes.as_bytes(), [0; 26], 0);
        while at < bytes.len() {
            seconds[(bytes[at] - b'a') as usize] |= 1 << (bytes[at + 1] - b'a');
            at += 2;
        }
        Self(seconds)
    }

    /// Returns whether a text is one of the codes, in either case.
    fn has(&self, text: &str) -> bool {
        let letter = |byte: u8| match byte.to_ascii_lowercase() {
            byte @ b'a'..=b'z' => Some(byte - b'a'),
            _ => None,
        };
        match text.as_bytes() {
            &[first, second] => letter(first)
                .zip(letter(second))
                .is_some_and(|(first, second)| self.0[usize::from(first)] & (1 << second) != 0),
            _ => false,
        }
    }
}

/// Why a code is not a valid language.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LanguageError {
    /// Its form is invalid, or its language is unknown.
    #[error("is not a language code such as en, en-GB, zh-Hant")]
    Code,
    /// Its language is known, but its region is not in ISO 3166-1.
    #[error("has the region {region}, which is not in ISO 3166-1{}", instead(.region))]
    Region {
        /// The region, as the code spells it.
        region: String,
    },
}

/// Returns the intended region for some frequent mistakes.
fn instead(region: &str) -> &'static str {
    match region.to_ascii_uppercase().as_str() {
        "UK" => ": the United Kingdom is GB",
        "EU" => ": Europe is no region, but each of its countries is",
        "SP" => ": Spain is ES, and Serbia is RS",
        _ => "",
    }
}

/// Checks a language code, with or without script and region: its form, and that its language and its region exist. A region is a
/// code of ISO 3166-1 or a number of UN M.49.
///
/// # Errors
///
/// If the code is invalid.
pub fn check_language(code: &str) -> Result<(), LanguageError> {
    let (primary, _, region) = parts(code).ok_or(LanguageError::Code)?;
    if !is_primary(primary) {
        return Err(LanguageError::Code);
    }
    match region {
        Some(region) if region.len() == 2 && !REGIONS.has(region) => Err(LanguageError::Region {
            region: region.to_owned(),
        }),
        _ => Ok(()),
    }
}

/// Returns whether a code is a language, with or without script and region. See [`check_language`].
#[must_use]
pub fn is_language(code: &str) -> bool {
    check_language(code).is_ok()
}

/// Returns whether a code is valid in `hreflang`.
#[must_use]
pub fn is_hreflang(code: &str) -> bool {
    code == X_DEFAULT || is_language(code)
}

/// Returns a language as the news schema has it: `en-GB` becomes `en`, and Chinese `zh-cn` or `zh-tw` by its script or else region.
///
/// Returns `None` if the form is invalid or the language is unknown. Only the form of a region matters, because the region is not
/// written.
///
/// ```
/// use sitemap::language::news_language;
/// assert_eq!(news_language("en-GB").as_deref(), Some("en"));
/// assert_eq!(news_language("zh-Hant").as_deref(), Some("zh-tw"));
/// assert_eq!(news_language("xx-YYYY"), None);
/// ```
#[must_use]
pub fn news_language(code: &str) -> Option<String> {
    let (primary, script, region) = parts(code)?;
    if !is_primary(primary) {
        return None;
    }
    let is = |part: Option<&str>, known: &[&str]| {
        part.is_some_and(|part| known.iter().any(|one| part.eq_ignore_ascii_case(one)))
    };
    let written = if !primary.eq_ignore_ascii_case("zh") {
        return Some(primary.to_ascii_lowercase());
    } else if is(script, &["hant"]) {
        "zh-tw"
    } else if is(script, &["hans"]) {
        "zh-cn"
    } else if is(region, &["tw", "hk", "mo"]) {
        "zh-tw"
    } else if is(region, &["cn", "sg"]) {
        "zh-cn"
    } else {
        "zh"
    };
    Some(written.to_owned())
}

/// Returns language, script and region of a code of valid form.
fn parts(code: &str) -> Option<(&str, Option<&str>, Option<&str>)> {
    let alphabetic =
        |part: &str, bytes| part.len() == bytes && part.bytes().all(|b| b.is_ascii_alphabetic());
    let mut parts = code.split('-').peekable();
    let primary = parts.next()?;
    let script = parts.next_if(|part| alphabetic(part, 4));
    let region = parts.next_if(|part| {
        alphabetic(part, 2) || (part.len() == 3 && part.bytes().all(|b| b.is_ascii_digit()))
    });
    parts.next().is_none().then_some((primary, script, region))
}

/// Returns whether a text is a language of ISO 639-1 in either case, or any three letters. ISO 639-2 and -3 have thousands of
/// codes.
fn is_primary(code: &str) -> bool {
    match code.len() {
        2 => LANGUAGES.has(code),
        3 => code.bytes().all(|byte| byte.is_ascii_alphabetic()),
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
            "en-gb",
            "pt-br",
            "sr-RS",
            "sr-Latn-RS",
            "sq-AL",
            "zh-Hant",
            "zh-Hant-TW",
            "zh-Hant-HK",
            "es-419",
            "en-150",
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
            "é",
            "en-é",
        ] {
            assert_eq!(check_language(bad), Err(LanguageError::Code), "{bad}");
            assert!(!is_hreflang(bad), "{bad}");
        }
    }

    #[test]
    fn regions_are_those_of_iso_3166_1() {
        // Reserved, withdrawn, user-assigned, and never assigned codes.
        for region in [
            "UK", "EU", "SU", "UN", "YU", "AN", "CS", "XK", "AA", "ZZ", "SP", "JA", "uk",
        ] {
            let code = format!("en-{region}");
            let region = region.to_owned();
            assert_eq!(check_language(&code), Err(LanguageError::Region { region }));
            assert!(!is_hreflang(&code), "{code}");
        }
        assert_eq!(
            check_language("en-UK").unwrap_err().to_string(),
            "has the region UK, which is not in ISO 3166-1: the United Kingdom is GB"
        );
        let count = |codes: Codes| codes.0.iter().map(|bits| bits.count_ones()).sum::<u32>();
        assert_eq!((count(LANGUAGES), count(REGIONS)), (184, 249));
    }

    #[test]
    fn news_languages_have_a_region_for_chinese_alone() {
        let cases = [
            ("en", Some("en")),
            ("EN", Some("en")),
            ("de-AT", Some("de")),
            ("en-UK", Some("en")),
            ("es-419", Some("es")),
            ("zh-cn", Some("zh-cn")),
            ("zh-CN", Some("zh-cn")),
            ("zh-SG", Some("zh-cn")),
            ("zh-Hans", Some("zh-cn")),
            ("zh-Hans-CN", Some("zh-cn")),
            ("zh-TW", Some("zh-tw")),
            ("zh-HK", Some("zh-tw")),
            ("zh-MO", Some("zh-tw")),
            ("zh-hant", Some("zh-tw")),
            ("zh-Hant-TW", Some("zh-tw")),
            // If script and region disagree, the script decides.
            ("zh-Hans-HK", Some("zh-cn")),
            ("zh-Hant-CN", Some("zh-tw")),
            ("zh", Some("zh")),
            ("zh-MY", Some("zh")),
            ("zh-Latn", Some("zh")),
            ("fil", Some("fil")),
            ("x-default", None),
            ("en_GB", None),
            ("", None),
        ];
        for (code, expected) in cases {
            assert_eq!(news_language(code).as_deref(), expected, "{code}");
        }
    }
}

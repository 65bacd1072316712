//! Numbers as DynamoDB stores them: decimal, with at most 38 digits. A number has many spellings, and one canonical text.

use std::cmp::Ordering;

/// The most significant digits of a number (DynamoDB).
const MAX_DIGITS: usize = 38;
/// The powers of ten of a number's first digit (DynamoDB), from the smallest number to the largest.
const POWERS: std::ops::RangeInclusive<i64> = -130..=125;
/// The most characters of a number without its sign, as the limits of digits and powers imply.
const MAX_TEXT: usize = MAX_DIGITS + 256;

/// A number: `0.d₁d₂d₃… × 10^point`, or zero without digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number {
    negative: bool,
    /// The significant digits. Neither the first nor the last is 0.
    digits: Vec<u8>,
    point: i64,
}

impl Number {
    /// Parses any spelling of a number. Returns `None` if the text is not a number, or if DynamoDB cannot store it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        if rest.len() > MAX_TEXT {
            return None;
        }
        let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (rest, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
        let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if !is_digits(whole) || !is_digits(fraction) || !POWERS.contains(&i64::from(exponent)) {
            return None;
        }
        let all = [whole, fraction].concat();
        let kept = all.trim_start_matches('0');
        let leading = i64::try_from(all.len() - kept.len()).ok()?;
        let digits = kept.trim_end_matches('0').as_bytes().to_vec();
        let point = i64::try_from(whole.len()).ok()? - leading + i64::from(exponent);
        if digits.is_empty() {
            let (negative, point) = (false, 0);
            return Some(Self {
                negative,
                digits,
                point,
            });
        }
        let fits = digits.len() <= MAX_DIGITS && POWERS.contains(&(point - 1));
        fits.then_some(Self {
            negative,
            digits,
            point,
        })
    }

    /// Returns the canonical text, which has no exponent.
    #[must_use]
    pub fn text(&self) -> String {
        let digits: String = self.digits.iter().map(|digit| *digit as char).collect();
        let length = i64::try_from(digits.len()).unwrap_or(i64::MAX);
        let zeros = |count: i64| "0".repeat(usize::try_from(count).unwrap_or(0));
        let text = if digits.is_empty() {
            "0".to_owned()
        } else if self.point <= 0 {
            format!("0.{}{digits}", zeros(-self.point))
        } else if self.point >= length {
            format!("{digits}{}", zeros(self.point - length))
        } else {
            let (whole, fraction) = digits.split_at(usize::try_from(self.point).unwrap_or(0));
            format!("{whole}.{fraction}")
        };
        let sign = if self.negative { "-" } else { "" };
        format!("{sign}{text}")
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        let size = |number: &Self| (!number.digits.is_empty()).then_some(number.point);
        let magnitude = size(self)
            .cmp(&size(other))
            .then_with(|| self.digits.cmp(&other.digits));
        match (self.negative, other.negative) {
            (false, false) => magnitude,
            (true, true) => magnitude.reverse(),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_number_has_one_text() {
        for (text, expected) in [
            ("0", "0"),
            ("-0.00", "0"),
            ("007", "7"),
            ("1.50", "1.5"),
            ("-0.50", "-0.5"),
            ("1e3", "1000"),
            ("12.5E-4", "0.00125"),
            ("100", "100"),
            ("18446744073709551615", "18446744073709551615"),
        ] {
            assert_eq!(Number::parse(text).unwrap().text(), expected, "{text}");
        }
        for text in [
            "",
            "+7",
            "-.5",
            "-",
            ".",
            "1.2.3",
            "x",
            "1e",
            "1e126",
            "1e-131",
            &"1".repeat(39),
        ] {
            assert_eq!(Number::parse(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_are_in_their_own_order() {
        let texts = [
            "-20", "-3", "-0.5", "0", "0.05", "0.5", "3", "20", "20.5", "100",
        ];
        let mut numbers: Vec<Number> = texts
            .iter()
            .rev()
            .filter_map(|text| Number::parse(text))
            .collect();
        numbers.sort();
        assert_eq!(numbers.iter().map(Number::text).collect::<Vec<_>>(), texts);
    }
}

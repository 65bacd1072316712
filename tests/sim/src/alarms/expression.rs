//! Metric math, as far as the template uses it
//! (<https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html>).
//!
//! A metric without data is `None`, and so is what is computed from one, except in `FILL`.

use std::collections::BTreeMap;

/// The values of a period by the names of their metrics.
type Values<'v> = BTreeMap<&'v str, Option<f64>>;

/// A comparison of two values: 1 if it is true, and otherwise 0.
type Compare = fn(f64, f64) -> f64;

/// Returns an expression's value.
///
/// # Errors
///
/// What is not understood.
pub(super) fn value(text: &str, values: &Values<'_>) -> Result<Option<f64>, String> {
    let mut reader = Reader { rest: text, values };
    let value = reader.any_of()?;
    match reader.rest.trim_start() {
        "" => Ok(value),
        rest => Err(format!("not understood: {rest}")),
    }
}

struct Reader<'v> {
    rest: &'v str,
    values: &'v Values<'v>,
}

fn both(one: Option<f64>, other: Option<f64>, join: fn(f64, f64) -> f64) -> Option<f64> {
    one.zip(other).map(|(one, other)| join(one, other))
}

fn truth(is_so: bool) -> f64 {
    f64::from(u8::from(is_so))
}

impl<'v> Reader<'v> {
    /// Takes a text, if it is next.
    fn takes(&mut self, text: &str) -> bool {
        let rest = self.rest.trim_start().strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expects(&mut self, text: &str) -> Result<(), String> {
        let error = || format!("{text} is missing before: {}", self.rest);
        let error = error();
        self.takes(text).then_some(()).ok_or(error)
    }

    fn any_of(&mut self) -> Result<Option<f64>, String> {
        let mut value = self.all_of()?;
        while self.takes("OR ") {
            let other = self.all_of()?;
            value = both(value, other, |one, other| truth(one != 0.0 || other != 0.0));
        }
        Ok(value)
    }

    fn all_of(&mut self) -> Result<Option<f64>, String> {
        let mut value = self.comparison()?;
        while self.takes("AND ") {
            let other = self.comparison()?;
            value = both(value, other, |one, other| truth(one != 0.0 && other != 0.0));
        }
        Ok(value)
    }

    fn comparison(&mut self) -> Result<Option<f64>, String> {
        let comparisons: [(&str, Compare); 3] = [
            (">=", |one, other| truth(one >= other)),
            ("==", |one, other| truth(one == other)),
            (">", |one, other| truth(one > other)),
        ];
        let value = self.sum()?;
        for (sign, compare) in comparisons {
            if self.takes(sign) {
                return Ok(both(value, self.sum()?, compare));
            }
        }
        Ok(value)
    }

    fn sum(&mut self) -> Result<Option<f64>, String> {
        let mut value = self.product()?;
        while self.takes("+") {
            value = both(value, self.product()?, |one, other| one + other);
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<Option<f64>, String> {
        let mut value = self.atom()?;
        while self.takes("*") {
            value = both(value, self.atom()?, |one, other| one * other);
        }
        Ok(value)
    }

    fn atom(&mut self) -> Result<Option<f64>, String> {
        if self.takes("(") {
            let value = self.any_of()?;
            self.expects(")")?;
            return Ok(value);
        }
        if self.takes("FILL(") {
            let value = self.any_of()?;
            self.expects(",")?;
            let otherwise = self.any_of()?;
            self.expects(")")?;
            return Ok(value.or(otherwise));
        }
        if self.takes("IF(") {
            let condition = self.any_of()?;
            self.expects(",")?;
            let then = self.any_of()?;
            self.expects(",")?;
            let otherwise = self.any_of()?;
            self.expects(")")?;
            let chosen = |is_so| if is_so { then } else { otherwise };
            return Ok(condition.and_then(|condition| chosen(condition != 0.0)));
        }
        let rest = self.rest.trim_start();
        let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric());
        let (word, rest) = rest.split_at(end.unwrap_or(rest.len()));
        self.rest = rest;
        match (self.values.get(word), word.parse()) {
            (Some(value), _) => Ok(*value),
            (None, Ok(number)) => Ok(Some(number)),
            (None, Err(_)) => Err(format!("neither a metric nor a number: {word}{rest}")),
        }
    }
}

#[test]
fn an_expression_has_the_value_that_cloudwatch_gives_it() {
    let values = Values::from([("a", Some(2.0)), ("b", Some(0.0)), ("none", None)]);
    for (text, expected) in [
        ("a", Some(2.0)),
        ("a + 3 * 2", Some(8.0)),
        ("(a + 3) * 2", Some(10.0)),
        ("none + a", None),
        ("FILL(none, 7) + a", Some(9.0)),
        ("FILL(a, 7)", Some(2.0)),
        ("a > 2", Some(0.0)),
        ("a >= 2", Some(1.0)),
        ("a == 2 AND b == 1", Some(0.0)),
        ("a == 2 OR b == 1 AND b == 2", Some(1.0)),
        ("IF(b, a, 4)", Some(4.0)),
        ("IF(none > 0, a, 4)", None),
    ] {
        assert_eq!(value(text, &values), Ok(expected), "{text}");
    }
    for wrong in ["", "a +", "other", "IF(a, b)", "a b", "(a"] {
        assert!(value(wrong, &values).is_err(), "{wrong}");
    }
}

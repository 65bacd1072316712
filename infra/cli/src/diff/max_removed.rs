//! How many removals a release may have.

use check::listing::comparison::Counts;

/// So many removals that a release is let through.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MaxRemoved {
    /// A number.
    Pages(u64),
    /// Percent of A's pages.
    Percent(f64),
}

impl MaxRemoved {
    /// Reads `100` or `1%`.
    ///
    /// # Errors
    ///
    /// If it is neither.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || "is neither a number of pages nor a share of them, such as 1%".to_owned();
        match text.strip_suffix('%') {
            None => text.parse().map(Self::Pages).map_err(|_| wrong()),
            Some(number) => match number.parse::<f64>() {
                Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(Self::Percent(percent)),
                _ => Err(wrong()),
            },
        }
    }

    /// Returns whether more pages are gone than this allows.
    #[must_use]
    pub fn is_exceeded(self, counts: &Counts) -> bool {
        match self {
            Self::Pages(most) => counts.gone > most,
            Self::Percent(most) => counts.gone as f64 * 100.0 > most * counts.of_a() as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_counts_removals_alone() {
        let counts = Counts {
            same: 97,
            gone: 2,
            changed: 1,
            new: 1_000,
            ..Counts::default()
        };
        for (gate, expected) in [
            ("2", false),
            ("1", true),
            ("2%", false),
            ("1.9%", true),
            ("0%", true),
        ] {
            let gate = MaxRemoved::parse(gate).unwrap();
            assert_eq!(gate.is_exceeded(&counts), expected, "{gate:?}");
        }
        for wrong in ["", "%", "-1", "101%", "a"] {
            assert!(MaxRemoved::parse(wrong).is_err(), "{wrong}");
        }
        // Of nothing, nothing can be gone.
        assert!(!MaxRemoved::Percent(1.0).is_exceeded(&Counts::default()));
    }
}

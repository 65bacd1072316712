//! The problems of a mapping.

/// All problems of a mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappingError(Vec<MappingProblem>);

/// One problem of a mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappingProblem {
    /// The place in the JSON: `fields.images.each`.
    pub place: String,
    /// The reason, for people.
    pub reason: String,
}

impl MappingError {
    pub(super) fn new(problems: Vec<MappingProblem>) -> Self {
        Self(problems)
    }

    /// Returns the problems, at least one.
    #[must_use]
    pub fn problems(&self) -> &[MappingProblem] {
        &self.0
    }
}

impl std::error::Error for MappingError {}

impl std::fmt::Display for MappingError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, MappingProblem { place, reason }) in self.0.iter().enumerate() {
            let separator = if at == 0 { "" } else { "; " };
            write!(f, "{separator}{place}: {reason}")?;
        }
        Ok(())
    }
}

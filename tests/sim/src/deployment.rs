//! What a history's deployment is, beside what the seed of its world draws.

use engine::regenerate::index::IndexLimits;
use proptest::prelude::*;

/// A deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deployment {
    /// Sitemaps of one index at most.
    pub index_lines: u32,
    /// Whether search engines are told of changes at an endpoint.
    pub endpoint: bool,
}

/// The plainest one: AWS's limits, and nothing that can be left out.
pub const PLAIN: Deployment = Deployment {
    index_lines: 50_000,
    endpoint: false,
};

impl Deployment {
    /// What one index may hold.
    #[must_use]
    pub fn index_limits(&self) -> IndexLimits {
        IndexLimits {
            lines: self.index_lines,
            ..IndexLimits::default()
        }
    }
}

/// Each thing that a deployment can do without, and how it is left out.
pub const PARTS: [fn(&mut Deployment); 2] = [
    |deployment| deployment.index_lines = PLAIN.index_lines,
    |deployment| deployment.endpoint = false,
];

/// Any deployment.
pub fn deployment() -> impl Strategy<Value = Deployment> {
    let index_lines = prop_oneof![1 => Just(PLAIN.index_lines), 1 => 2..5_u32];
    (index_lines, any::<bool>()).prop_map(|(index_lines, endpoint)| Deployment {
        index_lines,
        endpoint,
    })
}

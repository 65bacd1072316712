//! The properties of a history's deployment, besides those that the seed of its world determines.

use std::time::Duration;

use engine::regenerate::index::IndexLimits;
use engine::sweep::AuditTimes;
use proptest::prelude::*;

/// The pause before a function checks a suspected problem again.
const SECOND_LOOK: Duration = Duration::from_secs(5);
/// The time between the beginnings of two frequent audits. Each marks all feeds, which take a minute or two.
const OFTEN: Duration = Duration::from_secs(300);

/// A deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deployment {
    /// The most sitemaps of one index.
    pub index_lines: u32,
    /// The number of an index's lines that are read and written together.
    pub block_lines: u32,
    /// Whether there is an endpoint for notifying search engines of changes.
    pub endpoint: bool,
    /// Whether every other record is an item of a user's table.
    pub source: bool,
    /// The divisor of the tables' throughput: only this part of DynamoDB's is left.
    pub throughput: u64,
    /// The most concurrent runs of the functions.
    pub concurrency: usize,
    /// Whether stream shards are split.
    pub splits: bool,
    /// Whether many of the functions' runs pause for a time that their limits allow, so that their reads become old.
    pub stalls: bool,
    /// Whether audits are frequent instead of daily, so that one overlaps with all other events.
    pub audits: bool,
}

/// The plainest deployment: AWS's limits, and nothing optional.
pub const PLAIN: Deployment = Deployment {
    index_lines: 50_000,
    block_lines: IndexLimits::BLOCK,
    endpoint: false,
    source: false,
    throughput: 1,
    concurrency: 1_000,
    splits: false,
    stalls: false,
    audits: false,
};

impl Deployment {
    /// Returns the times of the clock's audits.
    #[must_use]
    pub fn audit_times(&self) -> AuditTimes {
        AuditTimes {
            period: if self.audits {
                OFTEN
            } else {
                AuditTimes::DAILY
            },
            second_look: SECOND_LOOK,
        }
    }

    /// Returns the limits of one index.
    #[must_use]
    pub fn index_limits(&self) -> IndexLimits {
        IndexLimits {
            lines: self.index_lines,
            block: self.block_lines,
            ..IndexLimits::default()
        }
    }
}

/// The optional parts of a deployment, each as a function that removes it.
pub const PARTS: [fn(&mut Deployment); 9] = [
    |deployment| deployment.index_lines = PLAIN.index_lines,
    |deployment| deployment.block_lines = PLAIN.block_lines,
    |deployment| deployment.endpoint = false,
    |deployment| deployment.source = false,
    |deployment| deployment.throughput = PLAIN.throughput,
    |deployment| deployment.concurrency = PLAIN.concurrency,
    |deployment| deployment.splits = false,
    |deployment| deployment.stalls = false,
    |deployment| deployment.audits = false,
];

/// Returns a strategy for any deployment.
pub fn deployment() -> impl Strategy<Value = Deployment> {
    let index_lines = prop_oneof![1 => Just(PLAIN.index_lines), 1 => 2..5_u32];
    let block_lines = prop_oneof![1 => Just(PLAIN.block_lines), 2 => 1..4_u32];
    let source = prop::bool::weighted(0.3);
    let throughput = prop_oneof![3 => Just(PLAIN.throughput), 1 => Just(20)];
    // The limit of an account, and that of a new one, which may be shared.
    let concurrency = prop_oneof![2 => Just(PLAIN.concurrency), 1 => Just(10), 1 => 2..6_usize];
    let (endpoint, splits, stalls) = (any::<bool>(), any::<bool>(), any::<bool>());
    let of_index = (index_lines, block_lines);
    (
        of_index,
        endpoint,
        source,
        throughput,
        concurrency,
        splits,
        stalls,
    )
        .prop_map(
            |(of_index, endpoint, source, throughput, concurrency, splits, stalls)| Deployment {
                index_lines: of_index.0,
                block_lines: of_index.1,
                endpoint,
                source,
                throughput,
                concurrency,
                splits,
                stalls,
                ..PLAIN
            },
        )
}

/// Returns a strategy for any [`Deployment::audits`].
pub fn audits() -> impl Strategy<Value = bool> {
    prop::bool::weighted(0.125)
}

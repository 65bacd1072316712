//! What a history's deployment is, beside what the seed of its world draws.

use std::time::Duration;

use engine::regenerate::index::IndexLimits;
use engine::sweep::AuditTimes;
use proptest::prelude::*;

/// What a function waits before it looks again at what seems wrong.
const SECOND_LOOK: Duration = Duration::from_secs(5);
/// From the beginning of an audit to that of the next, where they are frequent. Each marks all feeds, and these take a minute or two.
const OFTEN: Duration = Duration::from_secs(300);

/// A deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deployment {
    /// Sitemaps of one index at most.
    pub index_lines: u32,
    /// Lines of an index that are read and written together.
    pub block_lines: u32,
    /// Whether search engines are told of changes at an endpoint.
    pub endpoint: bool,
    /// Whether every other record is an item of a table of the user's own.
    pub source: bool,
    /// The part of DynamoDB's throughput that is left of the tables': one of so many.
    pub throughput: u64,
    /// Runs of the functions at a time.
    pub concurrency: usize,
    /// Whether stream shards are split.
    pub splits: bool,
    /// Whether many of the functions' runs stand still for a time that their limits allow: what they have read is old then.
    pub stalls: bool,
    /// Whether audits are frequent, so that one is beside whatever else happens, and not daily.
    pub audits: bool,
}

/// The plainest one: AWS's limits, and nothing that can be left out.
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
    /// Returns when the clock audits.
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

    /// Returns how much one index may hold.
    #[must_use]
    pub fn index_limits(&self) -> IndexLimits {
        IndexLimits {
            lines: self.index_lines,
            block: self.block_lines,
            ..IndexLimits::default()
        }
    }
}

/// Each thing that a deployment can do without, and how it is left out.
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
    // That of an account, and that of a new one, which others may use too.
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

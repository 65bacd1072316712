//! List prices of AWS for us-east-1 in US dollars, without discounts and free tiers.

use std::ops::Sub;

/// When the prices were looked up.
pub const AS_OF: &str = "November 2026";
/// <https://aws.amazon.com/dynamodb/pricing/on-demand/>: a write unit.
pub const WRITE_UNIT: f64 = 0.625e-6;
/// A read unit.
pub const READ_UNIT: f64 = 0.125e-6;
/// <https://aws.amazon.com/s3/pricing/>: a PUT or a LIST.
pub const PUT: f64 = 0.005e-3;
/// A GET or a HEAD.
pub const GET: f64 = 0.0004e-3;

/// The usage of tables and bucket.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// Write units. A write whose condition failed is included, because DynamoDB bills it.
    pub written: u64,
    /// Read units.
    pub read: u64,
    /// PUT and LIST requests.
    pub puts: u64,
    /// GET and HEAD requests.
    pub gets: u64,
}

impl Usage {
    /// Returns the price of the usage.
    #[must_use]
    pub fn dollars(&self) -> f64 {
        self.written as f64 * WRITE_UNIT
            + self.read as f64 * READ_UNIT
            + self.puts as f64 * PUT
            + self.gets as f64 * GET
    }
}

impl Sub for Usage {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            written: self.written.saturating_sub(before.written),
            read: self.read.saturating_sub(before.read),
            puts: self.puts.saturating_sub(before.puts),
            gets: self.gets.saturating_sub(before.gets),
        }
    }
}

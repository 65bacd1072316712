//! The ceilings of a deployment (docs/OPERATIONS.md, "Ceilings"), and the alarms for them.

use std::sync::{Arc, PoisonError};

use engine::regenerate::Regenerator;
use serde_json::Value as Json;
use table::{Table, TableError};

use super::{World, item};
use crate::alarms::{Alarms, Rung};
use crate::event_source::Stream;
use crate::invoker::Callee;
use crate::tables::SimTable;

/// The tables with a maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ceiled {
    /// `ContentMaxUnits`.
    Content,
    /// `SitemapMaxUnits`.
    Sitemap,
}

impl World {
    /// Notes all metrics from now on. The functions may not run yet.
    pub fn measure(&self) {
        self.cloudwatch.begin(&self.sim);
        let metrics = self.cloudwatch.metrics();
        for function in &self.functions {
            let mut function = function.lock().unwrap_or_else(PoisonError::into_inner);
            let mut code = Regenerator::clone(&function);
            code.reconciler.metrics = metrics.clone();
            *function = Arc::new(code);
        }
    }

    /// Sets a table's maximum of write units, and of read units, per second.
    pub fn set_most(&self, table: Ceiled, units: Option<u64>) {
        self.throughput[table as usize].set_most(units);
    }

    /// Reserves this number of executions for a function, which are also the most that it gets.
    pub fn reserve(&self, callee: Callee, executions: Option<usize>) {
        self.invoker.reserve(callee, executions);
    }

    /// Switches the event sources of a function on or off. The clock has none.
    pub fn switch(&self, callee: Callee, on: bool) {
        let [content, rows, items] = &self.streams;
        match callee {
            Callee::Ingest => [content, items].map(|stream| stream.switch(on)),
            Callee::Regenerate => [rows, rows].map(|stream| stream.switch(on)),
            Callee::Sweep => panic!("sweep has no event source"),
        };
    }

    /// Writes a record as a user's code does, whose calls the content table throttles.
    ///
    /// # Errors
    ///
    /// If the table has throttled the call and its retries.
    pub async fn put_as_user(&self, record: &Json) -> Result<(), TableError> {
        let (faults, throughput) = (self.faults.clone(), self.throughput[0].clone());
        let table = SimTable::new(self.content.clone(), faults, throughput);
        table.put(item(record), None).await
    }

    /// Returns the number of events that the streams dropped before they were read.
    #[must_use]
    pub fn lost_events(&self) -> u64 {
        self.streams.iter().map(Stream::lost).sum()
    }

    /// Deletes the records that were given up, as if nobody replayed them. Returns their number.
    pub fn lose_failures(&self) -> usize {
        let taken = self.streams.iter().map(Stream::take_failures);
        taken.map(|records| records.len()).sum()
    }

    /// Returns the alarms that have rung since the metrics were begun to be noted, with the time of the first ring.
    #[must_use]
    pub fn rung(&self, alarms: &Alarms) -> Rung {
        alarms.rung(&self.cloudwatch, self.sim.elapsed())
    }
}

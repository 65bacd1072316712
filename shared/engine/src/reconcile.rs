//! Reconcile: makes the rows of a record's pages agree with the record.
//!
//! fence → read → plan → commit, and again from the fence if the commit was lost. Records are reconciled in batches: they share
//! their reads and the series' counter, and each has its own transaction.

use std::collections::BTreeMap;
use std::time::Duration;

use sitemap::eligibility::Newest;
use sitemap::plan::{self, Claim, Inputs, Ledger, Plan, Series, Slot, Translations};
use sitemap::record::ContentRecord;
use sitemap::site::SiteSettings;

use self::truth::Outcomes;
use crate::env::Deadline;
use crate::error::EngineError;
use crate::metrics;
use crate::rows::keys::{self, Key};

pub mod ledgers;
mod reconciler;
mod round;
mod sites;
#[cfg(test)]
mod tests;
mod truth;

pub use self::reconciler::{KnownSites, Reconciled, Reconciler};

use self::reconciler::{ReconcileOptions, TRIES, Tried};

/// Parts of one page that are reconciled together.
const PARTS: usize = 100;
/// Rounds after which a page's ledger is compared with its rows. If a row was lost and another page has it now, the ledger is
/// wrong. Then every commit would fail, and delay the stream or the scan until an audit.
const TRUSTING_TRIES: u32 = 4;
const _: () = assert!(TRUSTING_TRIES < TRIES);
/// The time in which new tries are begun. If many pages write under one partition key, a try takes seconds, and a run's time is
/// limited. The event is delivered again for the rest.
const TRYING: Duration = Duration::from_secs(10);
/// Rounds in which a page is retried after failed reads or writes. Without these retries one failure would repeat the whole
/// event, which may be about a hundred parts or a large group. With so many calls one always fails.
const PASSING_TRIES: u32 = 3;

impl Reconciler {
    /// Reconciles pages, each named by [`keys::page`]. With a record's own page its other parts are reconciled too. Returns the
    /// outcomes in the order of the pages, which must differ.
    ///
    /// After `until`, no parts of further records are begun, and these records fail with [`EngineError::Late`]. The first
    /// record's parts are always begun.
    pub async fn reconcile(
        &self,
        pages: &[String],
        until: Option<&Deadline>,
    ) -> Vec<Result<Reconciled, EngineError>> {
        let options = ReconcileOptions {
            until,
            ..ReconcileOptions::default()
        };
        self.with_parts(pages, options).await
    }

    /// Reconciles pages as [`Reconciler::reconcile`] does, and moves each page out of its slot in this series.
    pub async fn evict(
        &self,
        pages: &BTreeMap<String, Slot>,
        series: &Series,
    ) -> Vec<Result<Reconciled, EngineError>> {
        let options = ReconcileOptions {
            evict: Some((series, pages)),
            ..ReconcileOptions::default()
        };
        let pages: Vec<String> = pages.keys().cloned().collect();
        self.with_parts(&pages, options).await
    }

    /// Reconciles pages as [`Reconciler::reconcile`] does, but writes no feed row and no notice, because the pages themselves did
    /// not change.
    pub async fn reconcile_quietly(
        &self,
        pages: &[String],
    ) -> Vec<Result<Reconciled, EngineError>> {
        let options = ReconcileOptions {
            quiet: true,
            ..ReconcileOptions::default()
        };
        self.with_parts(pages, options).await
    }

    /// Reconciles pages with lost rows, or with rows that their ledgers do not name. Each page comes with rows that seem to be
    /// its own. Returns the outcomes in the order of the pages. Changes are not reported to readers or search engines.
    pub async fn repair(
        &self,
        found: &BTreeMap<String, Vec<Key>>,
    ) -> Vec<Result<Reconciled, EngineError>> {
        let pages: Vec<String> = found.keys().cloned().collect();
        let options = ReconcileOptions {
            found: Some(found),
            quiet: true,
            ..ReconcileOptions::default()
        };
        self.with_parts(&pages, options).await
    }

    /// Returns the plan that a reconcile of a page would make now. Returns `None` if its inputs cannot be read.
    ///
    /// # Errors
    ///
    /// If the table fails.
    pub async fn dry_run(
        &self,
        page: &str,
        record: Option<&ContentRecord>,
        site: Option<&SiteSettings>,
        ledger: &Ledger,
    ) -> Result<Option<Plan>, EngineError> {
        let (id, part) = keys::page_parts(page);
        let assessed = plan::Page { record, part, site }.assess(self.env.now());
        let mut read = self.read(&[(page, &assessed, ledger)]).await;
        let read = match read.pop() {
            None | Some(Err(EngineError::Damaged { .. })) => return Ok(None),
            Some(read) => read?,
        };
        let group = match assessed.wanted_group(read.newest) {
            Some(group) => self.table.translations(group).await?,
            None => Translations::default(),
        };
        let inputs = read.inputs(&assessed, ledger, &group);
        Ok(Some(plan::plan(id, &inputs)))
    }

    /// Returns the plan that a reconcile of a page would make now if nothing were placed for it and its address were free.
    ///
    /// # Errors
    ///
    /// If the table fails, or a row that is read is damaged.
    pub(crate) async fn plan_from_nothing(
        &self,
        page: &str,
        record: &ContentRecord,
        site: Option<&SiteSettings>,
    ) -> Result<Plan, EngineError> {
        let (id, part) = keys::page_parts(page);
        let record = Some(record);
        let assessed = plan::Page { record, part, site }.assess(self.env.now());
        let newest = match assessed.wanted_term() {
            Some(term) => self.table.newest(&term).await?,
            None => Newest::Unread,
        };
        let group = match assessed.wanted_group(newest) {
            Some(group) => self.table.translations(group).await?,
            None => Translations::default(),
        };
        let ledger = Ledger::default();
        let inputs = Inputs {
            newest,
            group: &group,
            ..Inputs::of(&assessed, &ledger, &Claim::Free)
        };
        Ok(plan::plan(id, &inputs))
    }

    /// Reconciles pages, then their parts. A page that now has fewer parts is reconciled once more, because its ledger can forget
    /// the removed parts only after those are cleared. The reconcile of a new part begins with the page's own ledger.
    async fn with_parts(
        &self,
        pages: &[String],
        options: ReconcileOptions<'_>,
    ) -> Vec<Result<Reconciled, EngineError>> {
        let tried = self.rounds(pages, options).await;
        let mut outcomes = Vec::with_capacity(pages.len());
        let mut parts_begun = false;
        for (page, mut tried) in pages.iter().zip(tried) {
            let (id, part) = keys::page_parts(page);
            if part > 1 && tried.as_ref().is_ok_and(|tried| tried.again) {
                tried = self.try_one(id, options).await;
            }
            outcomes.push(match tried {
                Ok(tried) if tried.parts > 1 => {
                    let is_late = options.until.is_some_and(Deadline::has_passed);
                    if is_late && parts_begun {
                        let what = format!("the parts of {id}");
                        Err(EngineError::Late { what })
                    } else {
                        parts_begun = true;
                        self.follow_parts(id, tried, options).await
                    }
                }
                tried => tried.map(|tried| tried.outcome),
            });
        }
        for outcome in &outcomes {
            let metric = match outcome {
                Ok(Reconciled::Changed) => &metrics::RECORDS_CHANGED,
                Ok(Reconciled::Unchanged) => &metrics::RECORDS_UNCHANGED,
                Err(EngineError::Late { .. }) => continue,
                Err(error) if error.is_permanent() => &metrics::RECORDS_IMPOSSIBLE,
                Err(_) => &metrics::RECORDS_FAILED,
            };
            self.metrics.note(metric, 1);
        }
        outcomes
    }

    /// Reconciles the parts of a record's page, and removes parts from its ledger that the record no longer has. Whether any of
    /// those still has a row is read again after each fence, because another run with an older record may have placed one.
    async fn follow_parts(
        &self,
        id: &str,
        mut tried: Tried,
        options: ReconcileOptions<'_>,
    ) -> Result<Reconciled, EngineError> {
        let mut outcome = tried.outcome;
        for round in 0..TRIES {
            self.env.backoff(round).await;
            let parts = self.reconcile_parts(id, &tried, options).await?;
            outcome = outcome.max(parts.outcome);
            if !(tried.again || parts.again) {
                return Ok(outcome);
            }
            let options = ReconcileOptions {
                evict: None,
                ..options
            };
            tried = self.try_one(id, options).await?;
            outcome = outcome.max(tried.outcome);
            if !(tried.again || parts.again) {
                return Ok(outcome);
            }
        }
        Err(EngineError::Contended {
            what: format!("the parts of {id}"),
            tries: TRIES,
        })
    }

    /// Reconciles the parts from 2 on, as the outcome of the page's own ledger requires.
    async fn reconcile_parts(
        &self,
        id: &str,
        page: &Tried,
        options: ReconcileOptions<'_>,
    ) -> Result<Tried, EngineError> {
        let options = ReconcileOptions {
            under: Some(&page.token),
            ..options
        };
        let parts: Vec<String> = (2..=page.parts).map(|part| keys::page(id, part)).collect();
        let mut tried = Ok(Tried {
            outcome: Reconciled::Unchanged,
            again: false,
            ..page.clone()
        });
        for parts in parts.chunks(PARTS) {
            for part in self.rounds(parts, options).await {
                tried = match (tried, part) {
                    (Ok(tried), Ok(part)) => Ok(Tried {
                        outcome: tried.outcome.max(part.outcome),
                        again: tried.again || part.again,
                        ..tried
                    }),
                    // All parts are tried, even if one fails. An error that may pass wins, so that all of them are retried.
                    (Err(error), Err(other)) if error.is_permanent() => Err(other),
                    (Err(error), _) | (_, Err(error)) => Err(error),
                };
            }
        }
        tried
    }

    /// Runs the rounds of a single page.
    async fn try_one(
        &self,
        page: &str,
        options: ReconcileOptions<'_>,
    ) -> Result<Tried, EngineError> {
        let mut tried = self.rounds(&[page.to_owned()], options).await;
        tried.pop().expect("an outcome for each page")
    }

    async fn rounds(
        &self,
        pages: &[String],
        options: ReconcileOptions<'_>,
    ) -> Vec<Result<Tried, EngineError>> {
        let mut outcomes = Outcomes::new();
        let mut pending: Vec<&str> = pages.iter().map(String::as_str).collect();
        let until = self.env.deadline(TRYING);
        let mut tries = 0;
        for round in 0..TRIES {
            if pending.is_empty() || (round > 0 && until.has_passed()) {
                break;
            }
            self.env.backoff(round).await;
            let options = ReconcileOptions {
                verify_ledger: round >= TRUSTING_TRIES,
                ..options
            };
            pending = self.round(&pending, options, &mut outcomes).await;
            tries = round + 1;
            if round + 1 < PASSING_TRIES {
                let passing = |tried: &Result<Tried, EngineError>| {
                    let error = tried.as_ref().err();
                    error.is_some_and(|error| !error.is_permanent())
                };
                let failed = outcomes.extract_if(.., |_, tried| passing(tried));
                pending.extend(failed.map(|(page, _)| page));
            }
        }
        let mut outcome = |page: &String| {
            let lost = || {
                Err(EngineError::Contended {
                    what: format!("record {page}"),
                    tries,
                })
            };
            outcomes.remove(page.as_str()).unwrap_or_else(lost)
        };
        pages.iter().map(&mut outcome).collect()
    }
}

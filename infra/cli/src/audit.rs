//! `waymark audit`: is everything as it should be, in the local stack or in a deployment?

use std::collections::BTreeSet;
use std::time::Duration;

use engine::error::EngineError;
use engine::sweep::audit::{Audit, Finding, beginning};
use objects::all_sites;

use crate::audit::progress::Comparing;
use crate::deployment::target::{Misread, Target};
use crate::terminal::progress::{Progress, Unit};

pub(crate) mod command;
pub(crate) mod progress;

/// Audits of one repair: each may bring more to light, and the first is hardly ever the last but one.
const ROUNDS: u32 = 6;

/// How an audit ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// At its end, with what the last one found.
    Whole(Vec<Finding>),
    /// A scan is under way: what it has not come to yet would look wrong.
    Busy,
    /// This target does not read the content that a site is made from.
    Misread(Misread),
}

/// Audits everything. With `repair` it repairs what it finds, until nothing is left. `pause` is how long a change takes from its event to
/// the bucket, at most. `report` gets each finding.
///
/// # Errors
///
/// If a table or the bucket fails.
pub async fn audit(
    target: &Target,
    repair: bool,
    pause: Duration,
    mut report: impl FnMut(&Finding),
) -> Result<Ended, EngineError> {
    let Target {
        reconciler,
        objects,
        ..
    } = target;
    for round in 0.. {
        // The first round meets every site. Only then is it known that this target reads the content of them all.
        let only_looks = repair && round == 0;
        let audit = Audit {
            reconciler,
            objects: &**objects,
            repair: repair && !only_looks,
            second_look: pause,
        };
        if reconciler.table.is_scanning().await? {
            return Ok(Ended::Busy);
        }
        let mut findings = Vec::new();
        let mut bar = Progress::begin("comparing", Unit::Things("rows"), None);
        let mut comparing = Comparing::new(target, "");
        let mut progress = beginning(reconciler.env.now());
        let mut new = BTreeSet::from_iter(all_sites(&**objects).await?);
        let mut met = BTreeSet::new();
        while progress.step.is_some() {
            if let Some(misread) = target.misread(&new).await? {
                return Ok(Ended::Misread(misread));
            }
            met.append(&mut new);
            let page = comparing.page(&audit, &mut progress, &mut bar).await?;
            // The next round finds them again.
            if !only_looks {
                page.iter().for_each(&mut report);
            }
            findings.extend(page);
            new = progress.sites.difference(&met).cloned().collect();
        }
        let harmless = findings.iter().all(|finding| finding.problem.is_harmless());
        if only_looks && !findings.is_empty() {
            continue;
        }
        if !repair || harmless || round == ROUNDS {
            return Ok(Ended::Whole(findings));
        }
        tokio::time::sleep(pause).await;
    }
    unreachable!("the last round returns")
}

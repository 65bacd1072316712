//! `waymark audit`: is everything as it should be, in the local stack or in a deployment?

use std::time::Duration;

use store::SitemapTable;
use store::aws::Aws;
use store::clock::Clock;
use store::content::ContentTable;
use store::deployment::{self, EnvironmentError};
use store::error::StoreError;
use store::reconcile::{KnownSites, Reconciler};
use store::s3::S3Objects;
use store::sites::Sites;
use sweep::audit::{Audit, Finding, beginning};

use crate::stack::Stack;
use crate::tables::{BUCKET, CONTENT_TABLE, SITEMAP_TABLE};

/// Audits of one repair: each may bring more to light, and the first is hardly ever the last but one.
const ROUNDS: u32 = 6;

/// The tables and the bucket that are audited.
#[derive(Debug)]
pub struct Target {
    reconciler: Reconciler<ContentTable, SitemapTable>,
    objects: S3Objects,
}

impl Target {
    /// A local stack that runs on these ports.
    #[must_use]
    pub fn local(dynamodb_port: u16, s3_port: u16) -> Self {
        let endpoint = |port| format!("http://127.0.0.1:{port}");
        let aws = Aws::on_loopback(&endpoint(dynamodb_port), &endpoint(s3_port), Vec::new());
        let reconciler = Reconciler {
            content: ContentTable::new(aws.clone(), CONTENT_TABLE.to_owned()),
            table: SitemapTable::new(aws.clone(), SITEMAP_TABLE.to_owned()),
            known: KnownSites::Any,
            clock: Clock::system(),
        };
        let objects = S3Objects::new(aws, BUCKET.to_owned());
        Self {
            reconciler,
            objects,
        }
    }

    /// A stack of this process.
    #[must_use]
    pub fn of(stack: &Stack) -> Self {
        Self {
            reconciler: stack.reconciler.clone(),
            objects: stack.objects.clone(),
        }
    }

    /// The deployment that the environment names, as it does for the functions.
    ///
    /// # Errors
    ///
    /// If a variable is missing.
    pub fn from_environment() -> Result<Self, EnvironmentError> {
        let aws = Aws::from_environment();
        Ok(Self {
            reconciler: deployment::reconciler(&aws)?,
            objects: deployment::objects(&aws)?,
        })
    }
}

/// How an audit ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// At its end, with what the last one found.
    Whole(Vec<Finding>),
    /// A background scan is under way: what it has not come to yet would look wrong.
    Busy,
}

/// Audits everything, and with `repair` makes good what it finds, until nothing is left. `pause` is how long a change
/// takes from its event to the bucket, at most. `report` is told each finding.
///
/// # Errors
///
/// If a table or the bucket fails.
pub async fn audit(
    target: &Target,
    repair: bool,
    pause: Duration,
    mut report: impl FnMut(&Finding),
) -> Result<Ended, StoreError> {
    let Target {
        reconciler,
        objects,
    } = target;
    let audit = Audit {
        reconciler,
        objects,
        repair,
        second_look: pause,
    };
    for round in 1.. {
        match reconciler.table.job().await {
            Ok(Some(_)) => return Ok(Ended::Busy),
            Ok(None) | Err(StoreError::Damaged { .. }) => {}
            Err(error) => return Err(error),
        }
        let published = objects.sites().await?;
        let mut findings = Vec::new();
        let mut progress = beginning(reconciler.clock.now());
        while progress.step.is_some() {
            let page = audit.page(&mut progress, &published).await?;
            page.iter().for_each(&mut report);
            findings.extend(page);
        }
        let harmless = findings.iter().all(|finding| finding.problem.is_harmless());
        if !repair || harmless || round == ROUNDS {
            return Ok(Ended::Whole(findings));
        }
        tokio::time::sleep(pause).await;
    }
    unreachable!("the last round returns")
}

//! The options that name the deployment that a command works on: the local stack, or one in AWS.

use anyhow::{Result, anyhow};
use aws::environment;
use aws::failures::FailureBucket;
use aws::{Account, Aws};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use engine::content::SourceTable;
use engine::error::EngineError;
use objects::all_sites;
use serde::Serialize;

use super::local::probe;
use super::samconfig;
use super::source_table::SourceArgs;
use super::stack::Stack;
use super::target::{Misread, TIMEOUTS, Target};
use crate::terminal::output::note;

/// The local stack's usual ports.
pub(crate) const DYNAMODB_PORT: u16 = 8000;
pub(crate) const S3_PORT: u16 = 9000;

/// Where to look.
#[derive(Args)]
#[command(mut_arg("stack", |stack| stack.help("Use the deployment of this CloudFormation stack instead of the local stack")))]
pub(crate) struct Place {
    #[command(flatten)]
    deployed: Deployed,
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    ports: Ports,
}

/// The ports of the local stack.
#[derive(Args)]
pub(crate) struct Ports {
    /// Port of the local stack's DynamoDB
    #[arg(long, default_value_t = DYNAMODB_PORT, conflicts_with_all = DEPLOYED)]
    dynamodb_port: u16,
    /// Port of the local stack's S3
    #[arg(long, default_value_t = S3_PORT, conflicts_with_all = DEPLOYED)]
    s3_port: u16,
}

/// Which deployment, if any: at most one of the first three.
#[derive(Args)]
pub(crate) struct Deployed {
    /// Use the deployment of this CloudFormation stack
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new(),
        conflicts_with_all = ["config_env", "deployment"])]
    stack: Option<String>,
    /// Like --stack, with the stack name of environment ENV in ./samconfig.toml
    #[arg(long, value_name = "ENV", conflicts_with = "deployment")]
    config_env: Option<String>,
    /// Take table and bucket names from environment variables: CONTENT_TABLE, SITEMAP_TABLE, BUCKET_NAME, … (listed in
    /// docs/OPERATIONS.md)
    #[arg(long)]
    deployment: bool,
    /// AWS region [default: samconfig.toml's, AWS_REGION, the profile's]
    #[arg(long, value_name = "REGION", value_parser = NonEmptyStringValueParser::new())]
    region: Option<String>,
    /// AWS profile with the credentials [default: the environment's credentials, AWS_PROFILE]
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    profile: Option<String>,
}

const NO_PLACE: &str = "--region and --profile are for a deployment: give --stack NAME, --config-env ENV or --deployment too";

/// Returns the error for a command that names no deployment.
pub(crate) fn no_deployment() -> anyhow::Error {
    anyhow!("redrive needs a deployment: give --stack NAME, --config-env ENV or --deployment")
}

/// Returns the error for a site that does not exist.
pub(crate) fn no_site(host: &str) -> anyhow::Error {
    anyhow!("there is no site {host} here: list the sites with `waymark status`")
}

/// Options of a deployment. Those of the local stack do not go with them.
const DEPLOYED: [&str; 5] = ["stack", "config_env", "deployment", "region", "profile"];

/// What a command does with what it finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// It reads: another version is worth a word.
    Read,
    /// It changes what is published: another version is an error, unless the operator says otherwise.
    Change {
        /// Whether the operator does.
        ignore_version: bool,
    },
}

/// What was found.
pub(crate) struct Located {
    /// Its tables and its bucket.
    pub(crate) target: Target,
    /// Its stack, if it was looked for by one.
    pub(crate) stack: Option<Stack>,
    /// Its clients, if it is a deployment.
    aws: Option<Aws>,
    /// Its clients, wherever it is.
    pub(crate) clients: Aws,
}

/// A stack in the command's JSON.
#[derive(Serialize)]
pub(crate) struct Named<'a> {
    name: &'a str,
    region: &'a str,
    status: &'a str,
    version: Option<&'a str>,
}

impl Place {
    pub(crate) async fn locate(&self, purpose: Purpose) -> Result<Located> {
        // `serve` has these options, too, and none of a deployment's: so they do not say what they conflict with.
        if self.deployed.is_given() && self.source.source_table.is_some() {
            let text = "--source-table cannot be used with --stack, --config-env or --deployment: a deployment uses \
                        its own";
            return Err(anyhow!(text));
        }
        if let Some(located) = self.deployed.locate(purpose).await? {
            return Ok(located);
        }
        self.ports.locate(self.source.read()?).await
    }

    /// Returns whether any option names a deployment, or a table of the user's next to the local stack.
    pub(crate) fn is_given(&self) -> bool {
        self.deployed.is_given() || self.source.source_table.is_some()
    }
}

impl Ports {
    /// Locates the local stack on these ports, with the table of the user's that it was started with.
    pub(crate) async fn locate(&self, source: Option<SourceTable>) -> Result<Located> {
        probe(self.dynamodb_port, self.s3_port).await?;
        let endpoint = |port| format!("http://127.0.0.1:{port}");
        let (dynamodb, s3) = (endpoint(self.dynamodb_port), endpoint(self.s3_port));
        Ok(Located {
            target: Target::local(self.dynamodb_port, self.s3_port, source),
            stack: None,
            aws: None,
            clients: Aws::on_loopback(&dynamodb, &s3, Vec::new()),
        })
    }
}

impl Deployed {
    /// Returns whether any option names a deployment.
    pub(crate) fn is_given(&self) -> bool {
        self.stack.is_some() || self.config_env.is_some() || self.deployment
    }

    /// Returns the region and the profile that options name.
    pub(crate) fn account(&self) -> Account {
        Account {
            region: self.region.clone(),
            profile: self.profile.clone(),
        }
    }

    /// Creates the options for a stack, or for an environment of samconfig.toml.
    pub(crate) fn named(
        stack: Option<String>,
        config_env: Option<String>,
        region: Option<String>,
        profile: Option<String>,
    ) -> Self {
        Self {
            stack,
            config_env,
            deployment: false,
            region,
            profile,
        }
    }

    /// Locates the deployment. Returns `None` if no option names one.
    pub(crate) async fn locate(&self, purpose: Purpose) -> Result<Option<Located>> {
        let mut account = self.account();
        let name = match (&self.stack, &self.config_env) {
            (Some(name), _) => name.clone(),
            (None, Some(environment)) => {
                let found = samconfig::read(environment)?;
                account.region = account.region.or(found.region);
                account.profile = account.profile.or(found.profile);
                found.stack_name
            }
            (None, None) if self.deployment => {
                let aws = Aws::of_operator(account, TIMEOUTS);
                return Ok(Some(Located {
                    target: Target::from_environment(&aws)?,
                    stack: None,
                    clients: aws.clone(),
                    aws: Some(aws),
                }));
            }
            (None, None) if account != Account::default() => return Err(anyhow!(NO_PLACE)),
            (None, None) => return Ok(None),
        };
        let aws = Aws::of_operator(account, TIMEOUTS);
        let stack = Stack::find(&aws, &name).await?;
        if let Some(difference) = stack.difference() {
            match purpose {
                Purpose::Change {
                    ignore_version: false,
                } => {
                    return Err(anyhow!(
                        "{difference}, or give --ignore-version. Nothing was changed"
                    ));
                }
                _ => note(format!("waymark: {difference}")),
            }
        }
        let target = Target::of_parts(&aws, &stack.parts).map_err(|error| {
            let (name, region) = (&stack.name, &stack.region);
            anyhow!("stack {name} in {region} has invalid parameters: {error}")
        })?;
        Ok(Some(Located {
            target,
            stack: Some(stack),
            clients: aws.clone(),
            aws: Some(aws),
        }))
    }
}

impl Located {
    /// Returns this deployment if it reads the content that its sites are made from.
    pub(crate) async fn readable(self) -> Result<Self> {
        let sites = all_sites(&*self.target.objects)
            .await
            .map_err(EngineError::from)?;
        match self.target.misread(&sites).await? {
            None => Ok(self),
            Some(misread) => Err(self.misread(misread)),
        }
    }

    /// Converts a misread to the error that the user gets.
    pub(crate) fn misread(&self, misread: Misread) -> anyhow::Error {
        match self.stack {
            // There is nothing to give it: the stack's own parameters are used.
            Some(_) => anyhow!(
                "{}. If the stack's parameters were changed just now, try again in a minute",
                misread.what()
            ),
            None => misread.into(),
        }
    }

    /// Returns the failure bucket. The local stack has none.
    pub(crate) fn failures(&self) -> Result<FailureBucket> {
        match (&self.aws, &self.stack) {
            (Some(aws), Some(stack)) => {
                let bucket = stack.parts.failure_bucket.clone();
                Ok(FailureBucket::new(aws.clone(), bucket))
            }
            (Some(aws), None) => Ok(environment::failures(aws)?),
            (None, _) => Err(no_deployment()),
        }
    }

    /// Returns the failure bucket. Returns `None` if nothing names one.
    pub(crate) fn failures_if_any(&self) -> Option<FailureBucket> {
        self.failures().ok()
    }

    /// Returns its stack, for JSON.
    pub(crate) fn named(&self) -> Option<Named<'_>> {
        let stack = self.stack.as_ref()?;
        Some(Named {
            name: &stack.name,
            region: &stack.region,
            status: &stack.status,
            version: stack.version.as_deref(),
        })
    }
}

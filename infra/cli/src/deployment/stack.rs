//! A deployment by its stack's name: one `DescribeStacks` call, whose outputs and parameters say what it consists of.
//!
//! The SDK's client for CloudFormation is not used for this one call: unoptimised, it took some 40 s of a processor to build, and
//! its library is 91 MB, DynamoDB's 65 MB (measured with 1.136). The request is a form, signed by the SDK's own signer
//! (`signed`), and the answer a few elements (`answer`).

use aws::{Aws, chain};

use crate::deployment::signed::{credentials, is_rejected};

mod answer;
mod request;

pub use answer::Unreadable;
pub(crate) use answer::elements;

use answer::{Answer, Description};

/// The permission that finding a stack needs.
const ACTION: &str = "cloudformation:DescribeStacks";
/// The outputs that every stack of Waymark's has, whatever its parameters.
const OUTPUTS: [&str; 4] = [
    "ContentTableName",
    "SitemapTableName",
    "SitemapBucketName",
    "FailureBucketName",
];
/// The output with the version of the template and of the functions that were deployed with it.
const VERSION: &str = "Version";

/// The output with the id of the distribution, if the stack has one.
const DISTRIBUTION: &str = "DistributionId";

/// A stack of Waymark's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    /// Its name, as it was given.
    pub name: String,
    /// The region that it is in.
    pub region: String,
    /// Its state: `UPDATE_COMPLETE`.
    pub status: String,
    /// The version that is deployed; none if the stack does not say.
    pub version: Option<String>,
    /// What it consists of.
    pub parts: Parts,
}

/// What a deployment consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// The content table's name.
    pub content_table: String,
    /// The sitemap table's name.
    pub sitemap_table: String,
    /// The bucket's name.
    pub bucket: String,
    /// The failure bucket's name.
    pub failure_bucket: String,
    /// Hosts of sites that need no settings record, separated by commas.
    pub sites: String,
    /// The name of a table of the user's own. Empty if there is none.
    pub source_table: String,
    /// That table's field mapping; empty without one.
    pub source_mapping: String,
    /// The id of its CloudFront distribution, if it has one.
    pub distribution: Option<String>,
}

/// Why a stack cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub enum StackError {
    /// No region is set.
    #[error(
        "cannot look for stack {name}: no region is set: give --region, or set AWS_REGION, or the region of the profile"
    )]
    NoRegion {
        /// The stack.
        name: String,
    },
    /// There are no credentials.
    #[error(
        "cannot look for stack {name} in {region}: no AWS credentials: {reason}: give --profile, or set AWS_ACCESS_KEY_ID and \
         AWS_SECRET_ACCESS_KEY (a profile of AWS SSO needs `aws configure export-credentials`, see docs/OPERATIONS.md)"
    )]
    Credentials {
        /// The stack.
        name: String,
        /// The region.
        region: String,
        /// What the SDK says.
        reason: String,
    },
    /// No stack has this name.
    #[error("no stack {name} in {region}: check the name, the account and --region")]
    Missing {
        /// The stack.
        name: String,
        /// The region.
        region: String,
    },
    /// It is not a stack of Waymark.
    #[error(
        "stack {name} in {region} is not a Waymark stack: it has no output {output}: give the name that `sam deploy` was given"
    )]
    Foreign {
        /// The stack.
        name: String,
        /// The region.
        region: String,
        /// The first output that is missing.
        output: &'static str,
    },
    /// It has no tables to look at: its creation never ended, or it is deleted.
    #[error("stack {name} in {region} is in {status}{}: {}", because(.reason), remedy(.status))]
    Unusable {
        /// The stack.
        name: String,
        /// The region.
        region: String,
        /// Its state.
        status: String,
        /// Why it is in that state.
        reason: Option<String>,
    },
    /// The credentials do not allow it.
    #[error(
        "no permission for {ACTION} on stack {name} in {region}: {message}: grant it to these credentials, or give \
         others with --profile"
    )]
    Denied {
        /// The stack.
        name: String,
        /// The region.
        region: String,
        /// What CloudFormation says.
        message: String,
    },
    /// AWS does not accept the credentials.
    #[error(
        "cannot look for stack {name} in {region}: AWS does not accept the credentials: {code}: {message}: renew them, or give \
         others with --profile"
    )]
    Rejected {
        /// The stack.
        name: String,
        /// The region.
        region: String,
        /// CloudFormation's code: `ExpiredToken`.
        code: String,
        /// What it says.
        message: String,
    },
    /// There was no answer, or an unknown one.
    #[error(
        "cannot look for stack {name} in {region}: {endpoint}: {reason}: check --region and the network, and try again"
    )]
    Failed {
        /// The stack.
        name: String,
        /// The region.
        region: String,
        /// Where it was asked for.
        endpoint: String,
        /// What happened.
        reason: String,
    },
}

fn because(reason: &Option<String>) -> String {
    let reason = reason.as_ref().filter(|reason| !reason.is_empty());
    reason.map_or_else(String::new, |reason| format!(" ({reason})"))
}

/// Returns what to do about a stack in an unusable state.
fn remedy(status: &str) -> &'static str {
    match status {
        "ROLLBACK_COMPLETE" | "ROLLBACK_FAILED" | "CREATE_FAILED" => {
            "its first deployment failed: see why with `aws cloudformation describe-stack-events`, delete it \
             with `sam delete`, and deploy again"
        }
        "REVIEW_IN_PROGRESS" => {
            "its first change set was never executed: deploy it with `sam deploy`"
        }
        "CREATE_IN_PROGRESS" | "ROLLBACK_IN_PROGRESS" => "wait until that has ended",
        "DELETE_FAILED" => "some of its resources are deleted: delete the rest, and deploy again",
        _ => "it is being deleted or was deleted: deploy it again",
    }
}

/// Returns whether a stack in this state has never been complete, or is being deleted.
fn is_unusable(status: &str) -> bool {
    // An update that fails is rolled back to what was there before, and says UPDATE_ROLLBACK_…; what was imported is whole.
    ["CREATE_", "ROLLBACK_", "DELETE_", "REVIEW_"]
        .iter()
        .any(|begin| status.starts_with(begin))
        && status != "CREATE_COMPLETE"
}

impl Stack {
    /// Finds the stack of this name with one `DescribeStacks` call.
    ///
    /// # Errors
    ///
    /// [`StackError`].
    pub async fn find(aws: &Aws, name: &str) -> Result<Self, StackError> {
        let config = aws.config().await;
        let Some(region) = config.region().map(ToString::to_string) else {
            let name = name.to_owned();
            return Err(StackError::NoRegion { name });
        };
        let endpoint = request::endpoint(config, &region);
        let failed = |reason: String| StackError::Failed {
            name: name.to_owned(),
            region: region.clone(),
            endpoint: endpoint.clone(),
            reason,
        };
        let found = credentials(config).await;
        let credentials = found.map_err(|error| StackError::Credentials {
            name: name.to_owned(),
            region: region.clone(),
            reason: chain(&*error),
        })?;
        let answer = request::describe(&endpoint, &region, credentials, name).await;
        match answer.map_err(failed)? {
            Answer::Stack(description) => Self::of(name, &region, *description),
            Answer::Refused { code, message } => {
                Err(refused(name, &region, &endpoint, code, message))
            }
        }
    }

    /// Converts CloudFormation's description to the stack of this name.
    fn of(name: &str, region: &str, description: Description) -> Result<Self, StackError> {
        let Description {
            status,
            reason,
            mut outputs,
            mut parameters,
        } = description;
        let (name, region) = (name.to_owned(), region.to_owned());
        if is_unusable(&status) {
            return Err(StackError::Unusable {
                name,
                region,
                status,
                reason,
            });
        }
        if let Some(output) = OUTPUTS.into_iter().find(|key| !outputs.contains_key(*key)) {
            return Err(StackError::Foreign {
                name,
                region,
                output,
            });
        }
        let [content_table, sitemap_table, bucket, failure_bucket] =
            OUTPUTS.map(|key| outputs.remove(key).unwrap_or_default());
        // A stack of a version that did not have one of them yet has none of what it would say.
        let mut parameter = |key| parameters.remove(key).unwrap_or_default();
        Ok(Self {
            name,
            region,
            status,
            version: outputs.remove(VERSION),
            parts: Parts {
                content_table,
                sitemap_table,
                bucket,
                failure_bucket,
                sites: parameter("Sites"),
                source_table: parameter("SourceTable"),
                source_mapping: parameter("SourceMapping"),
                distribution: outputs.remove(DISTRIBUTION),
            },
        })
    }

    /// Returns how the stack's version differs from this command's. Returns `None` if they are the same.
    #[must_use]
    pub fn difference(&self) -> Option<Difference> {
        let command = env!("CARGO_PKG_VERSION");
        (self.version.as_deref() != Some(command)).then(|| Difference {
            command,
            name: self.name.clone(),
            version: self.version.clone(),
        })
    }
}

/// This command and a stack are of different versions. The command runs the functions' own code, so it judges, and repairs, by
/// its own version's rules.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this command has version {command}, and stack {name} has {}: build the command from the stack's release, or \
     deploy this one",
    .version.as_deref().unwrap_or("an unknown version")
)]
pub struct Difference {
    command: &'static str,
    name: String,
    version: Option<String>,
}

/// Converts an error of CloudFormation to what it means.
fn refused(name: &str, region: &str, endpoint: &str, code: String, message: String) -> StackError {
    let (name, region) = (name.to_owned(), region.to_owned());
    match code.as_str() {
        // Its code for whatever it does not like of a request. Of this request only the name can be wrong.
        "ValidationError" if message.contains("does not exist") => {
            StackError::Missing { name, region }
        }
        "AccessDenied" | "AccessDeniedException" | "UnauthorizedOperation" => StackError::Denied {
            name,
            region,
            message,
        },
        code_here if is_rejected(code_here) => StackError::Rejected {
            name,
            region,
            code,
            message,
        },
        _ => StackError::Failed {
            name,
            region,
            endpoint: endpoint.to_owned(),
            reason: format!("{code}: {message}"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn description(status: &str) -> Description {
        let pairs = |keys: &[&str]| {
            let pairs = keys
                .iter()
                .map(|key| ((*key).to_owned(), format!("the {key}")));
            pairs.collect()
        };
        Description {
            status: status.to_owned(),
            reason: None,
            outputs: pairs(&[&OUTPUTS[..], &[VERSION, DISTRIBUTION, "HttpFunctionUrl"]].concat()),
            parameters: pairs(&["Sites", "SourceTable", "SourceMapping", "Monitoring"]),
        }
    }

    fn stack(description: Description) -> Result<Stack, String> {
        let stack = Stack::of("prod", "eu-central-1", description);
        stack.map_err(|error| error.to_string())
    }

    #[test]
    fn a_stack_says_what_it_consists_of() {
        let stack = stack(description("UPDATE_COMPLETE")).unwrap();
        assert_eq!(stack.version.as_deref(), Some("the Version"));
        let parts = Parts {
            content_table: "the ContentTableName".to_owned(),
            sitemap_table: "the SitemapTableName".to_owned(),
            bucket: "the SitemapBucketName".to_owned(),
            failure_bucket: "the FailureBucketName".to_owned(),
            sites: "the Sites".to_owned(),
            source_table: "the SourceTable".to_owned(),
            source_mapping: "the SourceMapping".to_owned(),
            distribution: Some("the DistributionId".to_owned()),
        };
        assert_eq!(stack.parts, parts);
    }

    #[test]
    fn a_stack_is_looked_at_in_every_state_in_which_it_is_whole() {
        // All states of CloudFormation's `StackStatus`.
        for status in [
            "CREATE_COMPLETE",
            "UPDATE_IN_PROGRESS",
            "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS",
            "UPDATE_COMPLETE",
            "UPDATE_FAILED",
            "UPDATE_ROLLBACK_IN_PROGRESS",
            "UPDATE_ROLLBACK_FAILED",
            "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS",
            "UPDATE_ROLLBACK_COMPLETE",
            "IMPORT_IN_PROGRESS",
            "IMPORT_COMPLETE",
            "IMPORT_ROLLBACK_IN_PROGRESS",
            "IMPORT_ROLLBACK_FAILED",
            "IMPORT_ROLLBACK_COMPLETE",
        ] {
            assert_eq!(stack(description(status)).unwrap().status, status);
        }
        for (status, remedy) in [
            ("CREATE_IN_PROGRESS", "wait until"),
            ("CREATE_FAILED", "`sam delete`, and deploy again"),
            ("ROLLBACK_IN_PROGRESS", "wait until"),
            ("ROLLBACK_FAILED", "`sam delete`, and deploy again"),
            ("ROLLBACK_COMPLETE", "`sam delete`, and deploy again"),
            ("DELETE_IN_PROGRESS", "was deleted: deploy it again"),
            ("DELETE_FAILED", "delete the rest"),
            ("DELETE_COMPLETE", "was deleted: deploy it again"),
            ("REVIEW_IN_PROGRESS", "`sam deploy`"),
        ] {
            let message = stack(description(status)).unwrap_err();
            let begin = format!("stack prod in eu-central-1 is in {status}: ");
            assert!(
                message.starts_with(&begin) && message.ends_with(remedy)
                    || message.contains(remedy),
                "{message}"
            );
        }
    }

    #[test]
    fn a_stack_of_something_else_names_the_output_that_it_lacks() {
        for output in OUTPUTS {
            let mut description = description("CREATE_COMPLETE");
            description.outputs.remove(output);
            let message = stack(description).unwrap_err();
            assert!(
                message.contains("is not a Waymark stack") && message.contains(output),
                "{message}"
            );
        }
    }

    #[test]
    fn versions_are_compared() {
        let mut stack = stack(description("CREATE_COMPLETE")).unwrap();
        let command = env!("CARGO_PKG_VERSION");
        let message = |stack: &Stack| stack.difference().map(|difference| difference.to_string());
        stack.version = Some(command.to_owned());
        assert_eq!(message(&stack), None);
        stack.version = Some("99.0.0".to_owned());
        let begin = format!("this command has version {command}, and stack prod has 99.0.0: ");
        assert!(message(&stack).is_some_and(|message| message.starts_with(&begin)));
        stack.version = None;
        let begin =
            format!("this command has version {command}, and stack prod has an unknown version: ");
        assert!(message(&stack).is_some_and(|message| message.starts_with(&begin)));
    }

    #[test]
    fn what_cloudformation_refuses_is_told_apart() {
        for (code, message, expected) in [
            (
                "ValidationError",
                "Stack with id prod does not exist",
                "no stack prod in eu-central-1: check the name, the account and --region",
            ),
            (
                "ValidationError",
                "1 validation error detected: Value '…' at 'stackName' failed to satisfy constraint",
                "cannot look for stack prod in eu-central-1: http://x: ValidationError: 1 validation error",
            ),
            (
                "AccessDenied",
                "User: u is not authorized",
                "no permission for cloudformation:DescribeStacks on stack prod in eu-central-1: User: u is not authorized: ",
            ),
            (
                "ExpiredToken",
                "The security token included in the request is expired",
                "cannot look for stack prod in eu-central-1: AWS does not accept the credentials: ExpiredToken: ",
            ),
        ] {
            let error = refused(
                "prod",
                "eu-central-1",
                "http://x",
                code.to_owned(),
                message.to_owned(),
            );
            assert!(error.to_string().starts_with(expected), "{error}");
        }
    }
}

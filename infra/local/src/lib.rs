//! The local stack, embedded DynamoDB and S3 with the same functions, and the operator's command.

pub mod dynamodb;
pub mod loopback;
pub mod s3;
pub mod content;
pub mod report;
pub mod stack;
pub mod tables;
mod tokens;
pub mod event_source;

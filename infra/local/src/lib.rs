//! The local stack: embedded DynamoDB and S3, with the real functions behind real events.

pub mod dynamodb;
pub mod event_source;
mod guard;
pub mod invocation;
pub mod loopback;
pub mod s3;
pub mod stack;
pub mod tables;

//! The local stack: embedded DynamoDB and S3, with the same functions behind the same events.

pub mod dynamodb;
pub mod event_source;
mod guard;
pub mod invocation;
pub mod loopback;
pub mod s3;
pub mod stack;
pub mod tables;

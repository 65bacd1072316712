//! The local stack, embedded DynamoDB and S3 with the same functions, and the operator's command.

pub mod audit;
pub mod content;
pub mod dynamodb;
pub mod event_source;
pub mod explain;
pub mod invocation;
pub mod left_out;
pub mod loopback;
pub mod mapping;
pub mod output;
pub mod probe;
pub mod progress;
pub mod publishing;
pub mod redrive;
pub mod report;
pub mod s3;
pub mod sample;
pub mod stack;
pub mod status;
pub mod tables;
pub mod target;
pub mod text;
mod tokens;

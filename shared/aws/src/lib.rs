//! The engine's ports on AWS, and the environment of functions.
//!
//! - [`DynamoDbTable`] and [`S3Objects`] are the ports. Every call has a time limit ([`Timeouts`]).
//! - [`stream`] reads the events of streams, and [`environment`] the resources of a deployment.
//! - Clients are built when the first request needs one ([`Aws`]).

mod clients;
mod clock;
mod dynamodb;
pub mod environment;
mod error;
pub mod failures;
mod https;
pub mod local_stack;
mod s3;
pub mod stream;

pub use clients::{Account, Aws, Timeouts};
pub use clock::Clock;
pub use dynamodb::{DynamoDbTable, describe, item};
pub use error::{chain, message};
pub use https::connector;
pub use s3::S3Objects;

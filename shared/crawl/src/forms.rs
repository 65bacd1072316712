//! The forms of access logs, a file each: what a line says, and what a form cannot say.

mod alb;
mod caddy;
mod client;
mod cloudfront;
mod combined;
mod detect;
mod escapes;
mod form;
mod json_lines;
mod pick;
mod request_line;
mod s3;
mod time;
mod unread;

#[cfg(feature = "parquet")]
pub use cloudfront::table;
pub use detect::Undetected;
pub use form::{Form, Reader, UnknownForm};
pub use json_lines::{Fields, FieldsError};
pub use unread::Unread;

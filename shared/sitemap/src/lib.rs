//! What a sitemap lists, and its exact bytes: pure functions over values.

pub mod eligibility;
pub mod entry;
pub mod index;
pub mod loc;
pub mod member;
pub mod plan;
pub mod record;
pub mod site;
pub mod time;
pub mod xml;

//! The departures of a site as files for its own server: chains joined, and one form for each kind of server.
//!
//! ```text
//! departures ─▶ joined: one redirect an address, loops apart ─▶ rendered in the target's syntax, with what it cannot hold
//!              (chain)                                          (nginx, apache, caddy, rules, vercel, kvs, csv)
//! ```
//!
//! - The same departures give the same bytes.
//! - A file is whole or refused. What a target has no form for is left out one by one, with the reason.
//! - Servers that decode paths get decoded ones. An address that such a server cannot tell from another one is left out.

use std::collections::BTreeMap;
use std::fmt;

mod address;
mod apache;
mod caddy;
mod chain;
mod csv;
mod kvs;
mod nginx;
mod reason;
mod rules;
#[cfg(test)]
mod tests;
mod vercel;

pub use self::apache::MAX_LINE as APACHE_LINE;
pub use self::chain::{Departed, Joined, Loop, Redirect, join};
pub use self::kvs::{MAX_KEY_BYTES, MAX_STORE_BYTES, MAX_VALUE_BYTES};
pub use self::nginx::MAX_PARAMETER as NGINX_PARAMETER;
pub use self::reason::{Lines, Reason};
pub use self::rules::{CLOUDFLARE_LINE, CLOUDFLARE_RULES, NETLIFY_ADVISED};
pub use self::vercel::MAX_RULES as VERCEL_RULES;

/// The value of a gone page in the maps of nginx, Apache, Caddy and CloudFront. No address is written so.
pub const GONE: &str = "gone";

/// The server or service that a file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// The lines of a `map` of nginx.
    Nginx,
    /// A text file for `RewriteMap` of Apache.
    Apache,
    /// The lines of a `map` of Caddy.
    Caddy,
    /// `_redirects` of Netlify.
    Netlify,
    /// `_redirects` of Cloudflare.
    Cloudflare,
    /// `redirects` of `vercel.json`.
    Vercel,
    /// The import of a key value store of CloudFront.
    CloudfrontKvs,
    /// A table with everything.
    Csv,
}

impl Target {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Nginx,
        Self::Apache,
        Self::Caddy,
        Self::Netlify,
        Self::Cloudflare,
        Self::Vercel,
        Self::CloudfrontKvs,
        Self::Csv,
    ];

    /// Returns its name as an option.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Nginx => "nginx",
            Self::Apache => "apache",
            Self::Caddy => "caddy",
            Self::Netlify => "netlify",
            Self::Cloudflare => "cloudflare",
            Self::Vercel => "vercel",
            Self::CloudfrontKvs => "cloudfront-kvs",
            Self::Csv => "csv",
        }
    }

    /// Returns the name of its file in a folder. Netlify and Cloudflare want the same.
    #[must_use]
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Nginx => "redirects.nginx.map",
            Self::Apache => "redirects.apache.txt",
            Self::Caddy => "redirects.caddy",
            Self::Netlify | Self::Cloudflare => "_redirects",
            Self::Vercel => "redirects.vercel.json",
            Self::CloudfrontKvs => "redirects.cloudfront-kvs.json",
            Self::Csv => "redirects.csv",
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A file for a target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rendered {
    /// The file.
    pub text: String,
    /// How many redirects it has.
    pub written: usize,
    /// The redirects that the target has no form for, by the reason: the record and the address of each.
    pub left_out: BTreeMap<Reason, Vec<(String, String)>>,
    /// What the operator should know of a file that is whole.
    pub advice: Option<String>,
}

/// Why there is no file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The target takes fewer redirects.
    #[error("{target} takes at most {limit} redirects, and there are {count}")]
    TooMany {
        /// The target.
        target: Target,
        /// Redirects that it has a form for.
        count: usize,
        /// Its limit.
        limit: usize,
    },
    /// The target takes fewer bytes.
    #[error("{target} takes at most {limit} bytes, and the {count} redirects have {bytes}")]
    TooLarge {
        /// The target.
        target: Target,
        /// Redirects that it has a form for.
        count: usize,
        /// Their bytes.
        bytes: usize,
        /// Its limit.
        limit: usize,
    },
}

/// Returns the file of a target. The redirects are those of one site.
///
/// # Errors
///
/// [`Refused`] if the target cannot hold the file. A part of it would leave the rest of the pages without an answer.
pub fn render(target: Target, redirects: &[Redirect]) -> Result<Rendered, Refused> {
    match target {
        Target::Nginx => Ok(nginx::render(redirects)),
        Target::Apache => Ok(apache::render(redirects)),
        Target::Caddy => Ok(caddy::render(redirects)),
        Target::Netlify => Ok(rules::netlify(redirects)),
        Target::Cloudflare => rules::cloudflare(redirects),
        Target::Vercel => vercel::render(redirects),
        Target::CloudfrontKvs => kvs::render(redirects),
        Target::Csv => Ok(csv::render(redirects)),
    }
}

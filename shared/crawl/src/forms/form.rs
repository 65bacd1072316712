//! A form of log, and the reader of its lines.

use std::str::FromStr;

use super::cloudfront::Columns;
use super::json_lines::{Fields, FieldsError};
use super::pick::{Picks, Slot};
use super::unread::Unread;
use super::{alb, caddy, cloudfront, combined, json_lines, s3};
use crate::request::{Meaning, Moment, Request};

/// A form of access log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// The combined log of nginx, Apache, Varnish, lighttpd and Traefik, with a host in front or without; also the common log.
    Combined,
    /// Caddy's JSON.
    Caddy,
    /// CloudFront's standard log, with tabs.
    CloudFront,
    /// CloudFront's standard log v2, as JSON.
    CloudFrontJson,
    /// CloudFront's standard log v2, as Parquet. Its rows are read as lines with tabs.
    CloudFrontParquet,
    /// The log of a load balancer of AWS.
    Alb,
    /// S3's server access log.
    S3,
    /// A JSON object a line, with these fields.
    JsonLines(Fields),
}

/// The name of no form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownForm {
    /// No form has this name.
    #[error("no form of log is called `{0}`: there are {names}, and json with a list of fields, as {EXAMPLE}", names = names())]
    Name(String),
    /// A list of fields is wrong.
    #[error(transparent)]
    Fields(#[from] FieldsError),
}

const EXAMPLE: &str =
    "`time=timestamp,host=host,url=url,status=status,agent=user_agent,client=client_ip`";

impl Form {
    /// All forms of lines; JSON lines with the fields that are known. Parquet has none, and is known by its first bytes.
    pub fn all() -> [Self; 7] {
        [
            Self::Combined,
            Self::Caddy,
            Self::CloudFront,
            Self::CloudFrontJson,
            Self::Alb,
            Self::S3,
            Self::JsonLines(Fields::default()),
        ]
    }

    /// Returns the form's name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Combined => "combined",
            Self::Caddy => "caddy",
            Self::CloudFront => "cloudfront",
            Self::CloudFrontJson => "cloudfront-json",
            Self::CloudFrontParquet => "cloudfront-parquet",
            Self::Alb => "alb",
            Self::S3 => "s3",
            Self::JsonLines(_) => "json",
        }
    }

    /// Finds a form by its name. A list of fields, as `time=ts,url=path,status=status`, is of JSON lines.
    ///
    /// # Errors
    ///
    /// If there is none, or the list is wrong.
    pub fn parse(name: &str) -> Result<Self, UnknownForm> {
        if name.contains('=') {
            return Ok(Self::JsonLines(Fields::from_str(name)?));
        }
        let form = Self::all().into_iter().find(|form| form.name() == name);
        form.ok_or_else(|| UnknownForm::Name(name.to_owned()))
    }

    /// Returns what lines of the form can say. A line may say less, and a host where the form has none.
    pub fn meaning(&self) -> Meaning {
        let (moment, shows_aborts) = match self {
            // nginx and lighttpd write the end, Apache and Varnish the arrival; nginx alone has a status for aborts.
            Self::Combined | Self::JsonLines(_) => (Moment::Unknown, false),
            Self::Caddy
            | Self::CloudFront
            | Self::CloudFrontJson
            | Self::CloudFrontParquet
            | Self::Alb => (Moment::End, true),
            Self::S3 => (Moment::Arrival, false),
        };
        let has = |slot| match self {
            Self::JsonLines(fields) => fields.has(slot),
            _ => true,
        };
        Meaning {
            moment,
            shows_aborts,
            has_host: *self != Self::Combined && has(Slot::Host),
            has_agent: has(Slot::Agent),
            has_client: has(Slot::Client),
        }
    }

    /// Returns a reader for the lines of one file.
    pub fn reader(&self) -> Reader {
        let kind = match self {
            Self::Combined => Kind::Combined,
            Self::Caddy => Kind::Json(caddy::picks()),
            Self::CloudFront | Self::CloudFrontParquet => Kind::CloudFront(Columns::default()),
            Self::CloudFrontJson => Kind::CloudFrontJson(cloudfront::picks()),
            Self::Alb => Kind::Alb,
            Self::S3 => Kind::S3,
            Self::JsonLines(fields) => Kind::Json(fields.picks().clone()),
        };
        Reader {
            kind,
            scratch: Vec::new(),
        }
    }
}

fn names() -> String {
    Form::all().map(|form| form.name()).join(", ")
}

/// Reads the lines of one file.
#[derive(Clone, Debug)]
pub struct Reader {
    kind: Kind,
    scratch: Vec<u8>,
}

#[derive(Clone, Debug)]
enum Kind {
    Combined,
    Json(Picks),
    CloudFront(Columns),
    CloudFrontJson(Picks),
    Alb,
    S3,
}

impl Reader {
    /// Reads a line. Returns `None` for a comment and for a line without content.
    ///
    /// # Errors
    ///
    /// The reason why it is no request of this form.
    pub fn read<'l>(&'l mut self, line: &'l [u8]) -> Result<Option<Request<'l>>, Unread> {
        match &mut self.kind {
            Kind::Combined => combined::read(line),
            Kind::CloudFront(columns) => columns.read(line, &mut self.scratch),
            Kind::Alb => alb::read(line),
            Kind::S3 => s3::read(line),
            Kind::Json(_) | Kind::CloudFrontJson(_) if line.trim_ascii().is_empty() => Ok(None),
            Kind::Json(picks) => {
                json_lines::request(picks.pick(line)?, &mut self.scratch).map(Some)
            }
            Kind::CloudFrontJson(picks) => {
                cloudfront::request(picks.pick(line)?, &mut self.scratch).map(Some)
            }
        }
    }
}

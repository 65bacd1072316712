//! A request as a line of a log describes it, whatever the form of the log.

use std::borrow::Cow;
use std::net::IpAddr;

/// A request. Escapes of the log's form are undone; percent-encoding in the target is not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request<'l> {
    /// Seconds since 1970, UTC. What moment of the request it is, the form's [`Meaning`] says.
    pub time: i64,
    /// The client's address, if it is one. It is compared with ranges, and never kept.
    pub client: Option<IpAddr>,
    /// The method, as `GET`. Empty if the line has none.
    pub method: Cow<'l, [u8]>,
    /// The host, and the port if there is one, if the line says it.
    pub host: Option<Cow<'l, [u8]>>,
    /// What was asked for, as the request line has it: a path and a query, or an absolute URL.
    pub target: Cow<'l, [u8]>,
    /// Whether the log cut the target, so that it is only how the address begins.
    pub is_cut: bool,
    /// The status of the answer. 0 if the client had gone before there was one.
    pub status: u16,
    /// The `User-Agent`, or `None` if the request had none, or if the form cannot tell.
    pub agent: Option<Cow<'l, [u8]>>,
}

/// The moment of a request that a form of log writes down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// When it came.
    Arrival,
    /// When it was answered.
    End,
    /// Either: the form is of several servers.
    Unknown,
}

/// What the lines of a form can say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meaning {
    /// The moment of its times.
    pub moment: Moment,
    /// Whether an answer that the client did not wait for has a status of its own. Elsewhere it looks like a 200.
    pub shows_aborts: bool,
    /// Whether lines say the host.
    pub has_host: bool,
    /// Whether lines say the `User-Agent` of who asked.
    pub has_agent: bool,
    /// Whether lines say the address of who asked.
    pub has_client: bool,
}

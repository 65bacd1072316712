//! Caddy's log: JSON. `level` says nothing of a request, so errors are read as well. A status of 0 is an aborted request's.

use super::pick::{Picks, Slot};

/// Which fields are picked. `client_ip` is the client behind a trusted proxy; older versions have `remote_ip` alone.
pub(super) fn picks() -> Picks {
    Picks::new([
        (Slot::Time, "ts"),
        (Slot::Host, "request.host"),
        (Slot::Url, "request.uri"),
        (Slot::Status, "status"),
        (Slot::Agent, "request.headers.User-Agent"),
        (Slot::Client, "request.client_ip"),
        (Slot::Client, "request.remote_ip"),
        (Slot::Client, "request.remote_addr"),
        (Slot::Method, "request.method"),
    ])
}

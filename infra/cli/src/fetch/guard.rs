//! Decides which servers may receive requests for addresses that a site names. Servers inside the network in which this runs may not,
//! unless the user named them.
//!
//! A site chooses what is asked for: its robots.txt, its indexes and each redirect name addresses. On a CI's runner they could name
//! the cloud's metadata or a database's port, and the report would show that it is there.
//!
//! - The origins that the user gave, as targets or by `--map`, are asked whatever their address is.
//! - Of any other the address is looked at once the name is resolved, for the very connection that is made: a name that resolves
//!   otherwise the next time changes nothing.

use std::error::Error;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use aws_smithy_runtime_api::client::dns::{DnsFuture, ResolveDns, ResolveDnsError};
use url::{Host, Url};

/// Azure's metadata and DNS for virtual machines, an address of the public range
/// (<https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16>).
const WIRE_SERVER: Ipv4Addr = Ipv4Addr::new(168, 63, 129, 16);

/// A server that is not asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PrivateAddress {
    host: String,
    /// Its address, unless that is the host itself.
    address: Option<IpAddr>,
    kind: &'static str,
}

impl fmt::Display for PrivateAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            host,
            address,
            kind,
        } = self;
        write!(f, "not fetched: {host} is ")?;
        if let Some(address) = address {
            write!(f, "at {address}, ")?;
        }
        write!(f, "{kind} address; --allow-private allows it")
    }
}

impl Error for PrivateAddress {}

/// The origins that the user named.
#[derive(Clone, Debug)]
pub(crate) struct Named(Vec<Url>);

impl Named {
    pub(crate) fn new(origins: &[String]) -> Self {
        let urls = origins.iter().filter_map(|origin| Url::parse(origin).ok());
        Self(urls.collect())
    }

    /// Returns whether the user named the server of a URL. The usual ports of http and https count as one: sites redirect from one to the
    /// other.
    pub(crate) fn has(&self, url: &Url) -> bool {
        self.0.iter().any(|named| {
            let is_port = named.port_or_known_default() == url.port_or_known_default();
            let is_usual = named.port().is_none() && url.port().is_none();
            named.host() == url.host() && (is_port || is_usual)
        })
    }
}

/// Says whether the address that a URL names itself may be asked. Of a name, [`PublicNames`] says it.
pub(crate) fn check_literal(url: &Url) -> Result<(), PrivateAddress> {
    let address = match url.host() {
        Some(Host::Ipv4(address)) => IpAddr::V4(address),
        Some(Host::Ipv6(address)) => IpAddr::V6(address),
        Some(Host::Domain(_)) | None => return Ok(()),
    };
    match kind(address) {
        None => Ok(()),
        Some(kind) => Err(PrivateAddress {
            host: url.host_str().unwrap_or_default().to_owned(),
            address: None,
            kind,
        }),
    }
}

/// Resolves names whose addresses are all public.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PublicNames;

impl ResolveDns for PublicNames {
    fn resolve_dns<'a>(&'a self, name: &'a str) -> DnsFuture<'a> {
        DnsFuture::new(async move {
            let found = tokio::net::lookup_host((name, 0)).await;
            let found = found.map_err(ResolveDnsError::new)?;
            let addresses: Vec<IpAddr> = found.map(|address| address.ip()).collect();
            let private = addresses.iter().find_map(|address| {
                Some(PrivateAddress {
                    host: name.to_owned(),
                    address: Some(*address),
                    kind: kind(*address)?,
                })
            });
            private.map_or(Ok(addresses), |private| Err(ResolveDnsError::new(private)))
        })
    }
}

/// Returns the refusal that caused an error, if one did.
pub(crate) fn refusal<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e PrivateAddress> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(private) = error.downcast_ref() {
            return Some(private);
        }
        cause = error.source();
    }
    None
}

/// Returns what an address is that is not public (IANA's registries of special-purpose addresses, RFC 6890).
fn kind(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => kind_of_v4(address),
        IpAddr::V6(address) => kind_of_v6(address),
    }
}

fn kind_of_v4(address: Ipv4Addr) -> Option<&'static str> {
    let [a, b, c, _] = address.octets();
    match (a, b, c) {
        _ if address.is_loopback() => Some("a loopback"),
        _ if address.is_link_local() => Some("a link-local"),
        _ if address.is_private() || address == WIRE_SERVER => Some("a private"),
        // Carriers' networks, and some clouds' metadata (RFC 6598).
        (100, 64..=127, _) => Some("a shared"),
        (0 | 240..=255, ..) | (192, 0, 0) | (192, 88, 99) | (198, 18 | 19, _) => Some("a reserved"),
        // For documentation alone (RFC 5737).
        (192, 0, 2) | (198, 51, 100) | (203, 0, 113) => Some("a reserved"),
        _ if address.is_multicast() => Some("a multicast"),
        _ => None,
    }
}

fn kind_of_v6(address: Ipv6Addr) -> Option<&'static str> {
    if let Some(inner) = inner_v4(address) {
        return kind_of_v4(inner);
    }
    let first = address.segments()[0];
    match first {
        _ if address.is_loopback() => Some("a loopback"),
        _ if address.is_unspecified() => Some("a reserved"),
        _ if address.is_unicast_link_local() => Some("a link-local"),
        _ if address.is_unique_local() => Some("a private"),
        // Site-local addresses (RFC 3879), and the local prefix of NAT64 (RFC 8215).
        0xfec0..=0xfeff => Some("a private"),
        0x64 if address.segments()[1..3] == [0xff9b, 1] => Some("a private"),
        _ if address.is_multicast() => Some("a multicast"),
        // Protocol assignments, with Teredo (RFC 2928), documentation (RFC 3849, RFC 9637), segment routing (RFC 9602), and the
        // prefix that is discarded (RFC 6666).
        0x2001 if matches!(address.segments()[1], 0..=0x1ff | 0xdb8) => Some("a reserved"),
        0x3fff if address.segments()[1] < 0x1000 => Some("a reserved"),
        0x5f00 => Some("a reserved"),
        0x100 if address.segments()[1..4] == [0, 0, 0] => Some("a reserved"),
        _ => None,
    }
}

/// Returns the IPv4 address that an IPv6 address leads to. The IPv6 address may be mapped or compatible (RFC 4291), translated (RFC
/// 2765), by NAT64 (RFC 6052) or by 6to4 (RFC 3056).
fn inner_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let v4 = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        Ipv4Addr::new(a, b, c, d)
    };
    match address.segments() {
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] if high != 0 => Some(v4(high, low)),
        [0, 0, 0, 0, 0, 0xffff, high, low] => Some(v4(high, low)),
        [0, 0, 0, 0, 0xffff, 0, high, low] => Some(v4(high, low)),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some(v4(high, low)),
        [0x2002, high, low, ..] => Some(v4(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_addresses_are_asked() {
        for (address, expected) in [
            ("127.0.0.1", Some("a loopback")),
            ("127.255.0.9", Some("a loopback")),
            ("169.254.169.254", Some("a link-local")),
            ("10.0.0.1", Some("a private")),
            ("172.31.255.255", Some("a private")),
            ("172.32.0.1", None),
            ("192.168.1.1", Some("a private")),
            ("168.63.129.16", Some("a private")),
            ("100.100.100.200", Some("a shared")),
            ("100.128.0.1", None),
            ("0.0.0.0", Some("a reserved")),
            ("198.19.0.1", Some("a reserved")),
            ("255.255.255.255", Some("a reserved")),
            ("224.0.0.1", Some("a multicast")),
            ("93.184.216.34", None),
            ("::1", Some("a loopback")),
            ("::", Some("a reserved")),
            ("fe80::1", Some("a link-local")),
            ("fd00:ec2::254", Some("a private")),
            ("fec0::1", Some("a private")),
            ("ff02::1", Some("a multicast")),
            ("::ffff:169.254.169.254", Some("a link-local")),
            ("::ffff:0.0.0.1", Some("a reserved")),
            ("::127.0.0.1", Some("a loopback")),
            ("64:ff9b::10.0.0.1", Some("a private")),
            ("64:ff9b:1::1", Some("a private")),
            ("2002:7f00:1::", Some("a loopback")),
            ("64:ff9b::5db8:d822", None),
            ("::ffff:0:127.0.0.1", Some("a loopback")),
            ("192.0.2.1", Some("a reserved")),
            ("203.0.113.9", Some("a reserved")),
            ("192.88.99.1", Some("a reserved")),
            ("2001::1", Some("a reserved")),
            ("2001:2::1", Some("a reserved")),
            ("2001:db8::1", Some("a reserved")),
            ("2001:4860:4860::8888", None),
            ("3fff::1", Some("a reserved")),
            ("5f00::1", Some("a reserved")),
            ("100::1", Some("a reserved")),
            ("2606:2800:220:1:248:1893:25c8:1946", None),
        ] {
            assert_eq!(kind(address.parse().unwrap()), expected, "{address}");
        }
    }

    #[test]
    fn an_address_is_known_however_it_is_written() {
        for host in [
            "127.0.0.1",
            "127.1",
            "0x7f.1",
            "2130706433",
            "017700000001",
            "[::1]",
            "[::ffff:7f00:1]",
            "0",
            "127.0.0.1.",
            "１２７.0.0.1",
        ] {
            let url = Url::parse(&format!("http://{host}/x")).unwrap();
            let refused = check_literal(&url);
            assert!(refused.is_err(), "{host} is {:?}", url.host());
        }
        for host in ["www.example.com", "localhost", "93.184.216.34"] {
            let url = Url::parse(&format!("http://{host}/x")).unwrap();
            assert_eq!(check_literal(&url), Ok(()), "{host}");
        }
    }

    #[test]
    fn what_the_user_named_is_known_by_host_and_port() {
        let named = Named::new(&[
            "https://a.example".to_owned(),
            "http://127.0.0.1:3000".to_owned(),
        ]);
        for (url, expected) in [
            ("https://a.example/x", true),
            ("http://a.example/x", true),
            ("https://a.example:8443/x", false),
            ("https://b.example/x", false),
            ("http://127.0.0.1:3000/x", true),
            ("http://127.0.0.1:2375/x", false),
            ("http://127.0.0.1/x", false),
            ("http://localhost:3000/x", false),
        ] {
            assert_eq!(named.has(&Url::parse(url).unwrap()), expected, "{url}");
        }
    }

    #[tokio::test]
    async fn a_name_of_this_machine_is_refused_and_said() {
        let error = PublicNames.resolve_dns("localhost").await.unwrap_err();
        let refused = refusal(&error).expect("a refusal");
        assert!(
            refused
                .to_string()
                .starts_with("not fetched: localhost is at "),
            "{refused}"
        );
    }
}

//! Addresses of clients.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Reads an address: of version 6 also with brackets, with a zone, or one of version 4 mapped into it.
pub(super) fn address(text: &[u8]) -> Option<IpAddr> {
    if let Some(address) = version_4(text) {
        return Some(IpAddr::V4(address));
    }
    let inner = match text.strip_prefix(b"[") {
        Some(rest) => rest.strip_suffix(b"]")?,
        None => text,
    };
    let zone = inner.iter().position(|&byte| byte == b'%');
    let inner = &inner[..zone.unwrap_or(inner.len())];
    if inner.len() > MAX_VERSION_6_BYTES || !inner.contains(&b':') {
        return None;
    }
    let address: Ipv6Addr = std::str::from_utf8(inner).ok()?.parse().ok()?;
    Some(IpAddr::V6(address).to_canonical())
}

/// Reads an address before a port: `192.0.2.1:80`, `[::1]:42590`, or `::1:42590` as some servers glue them.
pub(super) fn before_port(text: &[u8]) -> Option<IpAddr> {
    let at = text.iter().rposition(|&byte| byte == b':');
    let port = |at: &usize| text.len() > at + 1 && text[at + 1..].iter().all(u8::is_ascii_digit);
    match at.filter(port) {
        Some(at) => address(&text[..at]),
        None => address(text),
    }
}

/// The longest text of an address: eight groups, the last two as one of version 4.
const MAX_VERSION_6_BYTES: usize = 45;

fn version_4(text: &[u8]) -> Option<Ipv4Addr> {
    if text.len() > 15 {
        return None;
    }
    let mut parts = [0_u8; 4];
    let (mut part, mut digits) = (0, 0);
    for &byte in text {
        match byte {
            b'0'..=b'9' if digits < 3 => {
                parts[part] = parts[part].checked_mul(10)?.checked_add(byte - b'0')?;
                digits += 1;
            }
            b'.' if digits > 0 && part < 3 => (part, digits) = (part + 1, 0),
            _ => return None,
        }
    }
    (part == 3 && digits > 0).then_some(Ipv4Addr::from(parts))
}

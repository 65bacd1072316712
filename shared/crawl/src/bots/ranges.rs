//! Ranges of addresses, as operators publish them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// Addresses that begin with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Prefix {
    /// The first and the last address.
    V4(u32, u32),
    /// The first and the last address.
    V6(u128, u128),
}

/// Why a text is not a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum PrefixError {
    /// What is before the `/` is no address.
    #[error("is not an IP address with a length of its prefix, as 192.0.2.0/24")]
    Address,
    /// What is after the `/` is not the length of a prefix of such an address.
    #[error("has a length that is not one from 0 to {0}")]
    Length(u32),
    /// There are bits after the prefix: a slip, and it is not known which of the two is meant.
    #[error("has bits after its prefix")]
    Bits,
}

impl FromStr for Prefix {
    type Err = PrefixError;

    fn from_str(text: &str) -> Result<Self, PrefixError> {
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let length = |most: u32| match length {
            None => Ok(most),
            Some(length) => match length.parse() {
                Ok(length) if length <= most => Ok(length),
                _ => Err(PrefixError::Length(most)),
            },
        };
        match address.parse().map_err(|_| PrefixError::Address)? {
            IpAddr::V4(address) => {
                let (first, rest) = (
                    u32::from(address),
                    u32::MAX.checked_shr(length(32)?).unwrap_or(0),
                );
                if first & rest == 0 {
                    Ok(Self::V4(first, first | rest))
                } else {
                    Err(PrefixError::Bits)
                }
            }
            IpAddr::V6(address) => {
                let (first, rest) = (
                    u128::from(address),
                    u128::MAX.checked_shr(length(128)?).unwrap_or(0),
                );
                if first & rest == 0 {
                    Ok(Self::V6(first, first | rest))
                } else {
                    Err(PrefixError::Bits)
                }
            }
        }
    }
}

/// Ranges that neither overlap nor touch, in order.
#[derive(Debug, Default)]
pub(super) struct Ranges {
    v4: Vec<(u32, u32)>,
    v6: Vec<(u128, u128)>,
}

impl Ranges {
    pub(super) fn new(prefixes: &[Prefix]) -> Self {
        let (mut v4, mut v6) = (Vec::new(), Vec::new());
        for prefix in prefixes {
            match *prefix {
                Prefix::V4(first, last) => v4.push((first, last)),
                Prefix::V6(first, last) => v6.push((first, last)),
            }
        }
        Self {
            v4: joined(v4, |last| last.checked_add(1)),
            v6: joined(v6, |last| last.checked_add(1)),
        }
    }

    pub(super) fn contains(&self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(address) => holds(&self.v4, address.into()),
            IpAddr::V6(address) => holds(&self.v6, address.into()),
        }
    }
}

/// Sorts ranges, and joins those that overlap or touch.
fn joined<N: Copy + Ord>(mut ranges: Vec<(N, N)>, next: impl Fn(N) -> Option<N>) -> Vec<(N, N)> {
    ranges.sort_unstable();
    let mut joined: Vec<(N, N)> = Vec::with_capacity(ranges.len());
    for (first, last) in ranges {
        match joined.last_mut() {
            Some(before) if next(before.1).is_none_or(|next| first <= next) => {
                before.1 = before.1.max(last)
            }
            _ => joined.push((first, last)),
        }
    }
    joined
}

fn holds<N: Copy + Ord>(ranges: &[(N, N)], address: N) -> bool {
    let after = ranges.partition_point(|range| range.0 <= address);
    after > 0 && address <= ranges[after - 1].1
}

/// Returns whether an address can be that of a client on the internet. Others are of the site's own network, such as a load balancer's.
pub(super) fn is_of_the_internet(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let is_shared =
                u32::from(address) >> 22 == u32::from(Ipv4Addr::new(100, 64, 0, 0)) >> 22; // RFC 6598
            !(address.is_private()
                || address.is_loopback()
                || address.is_link_local()
                || address.is_unspecified()
                || is_shared)
        }
        IpAddr::V6(address) => {
            !(address.is_unique_local()
                || address.is_unicast_link_local()
                || address == Ipv6Addr::LOCALHOST
                || address == Ipv6Addr::UNSPECIFIED)
        }
    }
}

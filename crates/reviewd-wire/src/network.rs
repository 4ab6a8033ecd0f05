//! Parses IP networks (CIDR, RFC 4632 §3.1 and RFC 4291 §2.3), and maps client addresses to keys and networks.

#![warn(clippy::indexing_slicing)]

use std::net::IpAddr;

pub use ipnet::IpNet;
use thiserror::Error;

/// Why a text is not a network.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NetworkError {
    /// Neither an address nor a network.
    #[error("is not an address such as 192.0.2.1 or a network such as 10.0.0.0/8")]
    Syntax,
    /// A prefix of no bits.
    #[error("contains every address; list the proxies")]
    EveryAddress,
    /// Bits set after the prefix; the network without them.
    #[error("has bits set after its prefix; {0} does not")]
    HostBits(IpNet),
}

/// Parses `192.0.2.1`, `10.0.0.0/8`, `2001:db8::/32`; an IPv4-mapped IPv6 network becomes the IPv4 network.
///
/// # Errors
/// If the text is not a network, has bits set after its prefix, or contains every address.
pub fn parse_network(text: &str) -> Result<IpNet, NetworkError> {
    let parsed = match text.parse::<IpAddr>() {
        Ok(address) => IpNet::from(address),
        Err(_) => text.parse().map_err(|_| NetworkError::Syntax)?,
    };
    // ::ffff:10.0.0.0/104 is 10.0.0.0/8, as client addresses are compared in that form.
    let network = match parsed.addr().to_canonical() {
        IpAddr::V4(v4) if parsed.max_prefix_len() == 128 => {
            let prefix = parsed.prefix_len().checked_sub(96);
            let wrapped = prefix.and_then(|prefix| IpNet::new(v4.into(), prefix).ok());
            wrapped.ok_or(NetworkError::Syntax)?
        }
        _ => parsed,
    };
    if network.prefix_len() == 0 {
        return Err(NetworkError::EveryAddress);
    }
    let meant = network.trunc();
    if meant != network {
        return Err(NetworkError::HostBits(meant));
    }
    Ok(network)
}

/// Returns the networks in which a client at `address` is counted: an IPv4 address alone, or the /64 and the /48 of an
/// IPv6 address.
#[must_use]
pub fn networks_of_client(address: IpAddr) -> [Option<IpNet>; 2] {
    let address = address.to_canonical();
    match address {
        IpAddr::V4(_) => [Some(IpNet::from(address)), None],
        IpAddr::V6(_) => [network_of(address, 64), network_of(address, 48)],
    }
}

/// Returns the network of `prefix` bits that contains `address`; `None` if an address has fewer bits.
fn network_of(address: IpAddr, prefix: u8) -> Option<IpNet> {
    let network = IpNet::new(address, prefix).ok()?;
    Some(network.trunc())
}

/// Returns the key of a client: its IPv4 address, or the /64 of its IPv6 address, as a client usually controls all
/// addresses of its /64.
///
/// Keys of IPv4 and IPv6 clients never collide: only addresses in `::/32` would, and this prefix is never assigned
/// (RFC 4291 §2.5.2 and following).
#[must_use]
pub fn client_key(address: IpAddr) -> u64 {
    match address.to_canonical() {
        IpAddr::V4(v4) => u64::from(v4.to_bits()),
        IpAddr::V6(v6) => u64::try_from(v6.to_bits() >> 64).unwrap_or(u64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_parse_and_ipv4_mapped_ones_become_ipv4() {
        for (text, network) in [
            ("10.0.0.0/8", "10.0.0.0/8"),
            ("192.0.2.1", "192.0.2.1/32"),
            ("2001:db8::/32", "2001:db8::/32"),
            ("::1", "::1/128"),
            ("::ffff:10.0.0.0/104", "10.0.0.0/8"),
        ] {
            assert_eq!(parse_network(text), Ok(network.parse().expect(network)));
        }
    }

    #[test]
    fn invalid_networks_are_rejected_with_a_correction() {
        for (text, what) in [
            ("", "is not an address"),
            ("proxy.example", "is not an address"),
            ("10.0.0.0/+8", "is not an address"),
            ("10.0.0.0/33", "is not an address"),
            ("10.0.0.1/8", "; 10.0.0.0/8 does not"),
            ("2001:db8::1/32", "; 2001:db8::/32 does not"),
            ("0.0.0.0/0", "contains every address"),
            ("::/0", "contains every address"),
            ("::ffff:0.0.0.0/95", "is not an address"),
        ] {
            let error = parse_network(text).expect_err(text).to_string();
            assert!(error.contains(what), "{text}: {error}");
        }
    }
}

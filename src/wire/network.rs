//! Internet addresses as we tell clients apart by them, and networks of them (CIDR, RFC 4632 §3.1 and RFC 4291 §2.3).

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// Addresses that share their first bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Network {
    /// In canonical form: an IPv4 address is never wrapped in IPv6.
    address: IpAddr,
    prefix: u8,
}

/// Why a text names no network: the operator's mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkError {
    /// Neither an address nor an address, a slash and a number.
    Shape,
    /// The prefix is longer than this many bits.
    TooLong(u8),
    /// Bits after the prefix are set; the network that was probably meant.
    Beyond(Network),
    /// The prefix is 0: every address.
    Everybody,
}

impl fmt::Display for NetworkError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NetworkError::Shape => formatter
                .write_str("is not an address such as 192.0.2.1 or a network such as 10.0.0.0/8"),
            NetworkError::TooLong(most) => {
                write!(formatter, "has a prefix longer than {most} bits")
            }
            NetworkError::Beyond(meant) => {
                write!(formatter, "has bits set behind its prefix; {meant} has not")
            }
            NetworkError::Everybody => formatter.write_str("is everybody; name the proxies"),
        }
    }
}

impl std::error::Error for NetworkError {}

impl fmt::Display for Network {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.address, self.prefix)
    }
}

impl Network {
    /// Parses `192.0.2.1`, `10.0.0.0/8`, `2001:db8::/32`.
    ///
    /// # Errors
    /// See [`NetworkError`]; the one with everybody in it is refused too.
    pub fn parse(text: &str) -> Result<Network, NetworkError> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| NetworkError::Shape)?;
        let most = width(address);
        let prefix = match prefix {
            None => most,
            Some(digits) => parse_prefix(digits, most)?,
        };
        // ::ffff:10.0.0.0/104 is 10.0.0.0/8, as clients' addresses are compared in that form.
        let canonical = address.to_canonical();
        let prefix = match prefix.checked_sub(most - width(canonical)) {
            Some(prefix) => prefix,
            None => return Err(NetworkError::Shape),
        };
        let network = Network {
            address: masked(canonical, prefix),
            prefix,
        };
        if prefix == 0 {
            Err(NetworkError::Everybody)
        } else if network.address != canonical {
            Err(NetworkError::Beyond(network))
        } else {
            Ok(network)
        }
    }

    /// Returns the networks that a client at `address` is counted in: its own, an IPv4 address or the /64 of an IPv6 one,
    /// and the /48 of an IPv6 one.
    #[must_use]
    pub fn of_client(address: IpAddr) -> [Option<Network>; 2] {
        let address = address.to_canonical();
        let network = |prefix| Network {
            address: masked(address, prefix),
            prefix,
        };
        match address {
            IpAddr::V4(_) => [Some(network(32)), None],
            IpAddr::V6(_) => [Some(network(64)), Some(network(48))],
        }
    }

    /// Tells whether `address` lies in it; an IPv4 address wrapped in IPv6 is the IPv4 one.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_ipv4() == self.address.is_ipv4() && masked(address, self.prefix) == self.address
    }
}

fn parse_prefix(digits: &str, most: u8) -> Result<u8, NetworkError> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number {
        return Err(NetworkError::Shape);
    }
    let prefix = digits.parse().ok().filter(|prefix| *prefix <= most);
    prefix.ok_or(NetworkError::TooLong(most))
}

fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// `address` with every bit behind the first `prefix` cleared.
fn masked(address: IpAddr, prefix: u8) -> IpAddr {
    let prefix = u32::from(prefix);
    match address {
        IpAddr::V4(v4) => {
            let mask = u32::MAX.checked_shl(32 - prefix.min(32)).unwrap_or(0);
            IpAddr::V4((v4.to_bits() & mask).into())
        }
        IpAddr::V6(v6) => {
            let mask = u128::MAX.checked_shl(128 - prefix.min(128)).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & mask))
        }
    }
}

/// Returns the key of a client: its IPv4 address, or the /64 of its IPv6 address, as a client that has one address of a
/// /64 has all of them.
///
/// No IPv6 client has the number of an IPv4 one: `::/32`, where they would meet, is never assigned
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

    fn ip(text: &str) -> IpAddr {
        text.parse().expect(text)
    }

    #[test]
    fn a_network_holds_its_first_and_last_address_and_neither_neighbour() {
        for (network, first, last, before, after) in [
            (
                "10.0.0.0/8",
                "10.0.0.0",
                "10.255.255.255",
                "9.255.255.255",
                "11.0.0.0",
            ),
            (
                "192.0.2.1",
                "192.0.2.1",
                "192.0.2.1",
                "192.0.2.0",
                "192.0.2.2",
            ),
            (
                "192.0.2.8/31",
                "192.0.2.8",
                "192.0.2.9",
                "192.0.2.7",
                "192.0.2.10",
            ),
            (
                "128.0.0.0/1",
                "128.0.0.0",
                "255.255.255.255",
                "127.255.255.255",
                "::1",
            ),
            (
                "2001:db8::/32",
                "2001:db8::",
                "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
                "2001:db7:ffff::",
                "2001:db9::",
            ),
            ("::1", "::1", "::1", "::", "::2"),
            (
                "::ffff:10.0.0.0/104",
                "10.0.0.0",
                "10.255.255.255",
                "9.255.255.255",
                "11.0.0.0",
            ),
        ] {
            let network = Network::parse(network).expect(network);
            assert!(
                network.contains(ip(first)) && network.contains(ip(last)),
                "{network}"
            );
            assert!(
                !network.contains(ip(before)) && !network.contains(ip(after)),
                "{network}"
            );
        }
        assert!(
            Network::parse("10.0.0.0/8")
                .unwrap()
                .contains(ip("::ffff:10.1.2.3"))
        );
    }

    #[test]
    fn what_is_no_network_is_refused_with_the_remedy() {
        for (text, what) in [
            ("", "is not an address"),
            ("proxy.example", "is not an address"),
            ("10.0.0.0/", "is not an address"),
            ("10.0.0.0/+8", "is not an address"),
            ("10.0.0.0/8/8", "is not an address"),
            ("10.0.0.0/33", "longer than 32 bits"),
            ("10.0.0.0/256", "longer than 32 bits"),
            ("::/129", "longer than 128 bits"),
            ("10.0.0.1/8", "; 10.0.0.0/8 has not"),
            ("2001:db8::1/32", "; 2001:db8::/32 has not"),
            ("0.0.0.0/0", "is everybody"),
            ("::/0", "is everybody"),
            ("::ffff:0.0.0.0/95", "is not an address"),
        ] {
            let error = Network::parse(text).expect_err(text).to_string();
            assert!(error.contains(what), "{text}: {error}");
        }
    }

    #[test]
    fn a_client_is_its_ipv4_address_or_its_ipv6_64() {
        let key = |text| client_key(ip(text));
        assert_eq!(key("2001:db8::1"), key("2001:db8::ffff:2"));
        assert_ne!(key("2001:db8::1"), key("2001:db8:0:1::1"));
        assert_eq!(key("192.0.2.1"), key("::ffff:192.0.2.1"));
        assert_ne!(key("192.0.2.1"), key("192.0.2.2"));
    }
}

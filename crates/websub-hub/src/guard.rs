//! Checks which callbacks the hub may contact: their port, their host, and every address that the host resolves to.
//!
//! The hub sends requests to URLs that any client can choose, from inside the operator's network. So an address must be
//! global unicast; for IPv6 forms that embed an IPv4 address, that address is checked. One refused address refuses the
//! whole name, because attackers bypass guards with DNS responses that mix public and private addresses.

use std::net::{IpAddr, Ipv4Addr};
use std::ops::RangeInclusive;

use ipnet::IpNet;
use url::Host;

use crate::Callback;

/// Networks that contain all assigned unicast addresses.
const UNICAST: &str = "0.0.0.0/0 2000::/3";

/// Networks of [`UNICAST`] that are not global. IPv4: the special-purpose registry of IANA (RFC 6890 and its updates),
/// multicast and class E. IPv6: protocol assignments (with Teredo and ORCHID), documentation and 6to4. All of
/// 192.0.0.0/24 is refused, although two of its addresses are global: no callback uses them.
const SPECIAL: &str = "
    0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
    192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24
    203.0.113.0/24 224.0.0.0/3 2001::/23 2001:db8::/32 2002::/16 3fff::/20";

/// Loopback, private, shared and unique-local addresses.
const PRIVATE: &str =
    "10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 172.16.0.0/12 192.168.0.0/16 ::1/128 fc00::/7";

/// Addresses in [`PRIVATE`] of the metadata services of two clouds.
const METADATA: &str = "100.100.100.200/32 fd00:ec2::254/128";

/// Domains whose names are never public (RFC 6761, 6762, 7686, 8375, 9476; `corp`, `home` and `lan` by custom).
const PRIVATE_DOMAINS: &[&str] = &[
    "alt",
    "corp",
    "home",
    "home.arpa",
    "internal",
    "intranet",
    "invalid",
    "lan",
    "local",
    "localdomain",
    "localhost",
    "onion",
    "private",
    "test",
];

/// The rules for callbacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    /// Permits private, shared, loopback and unique-local addresses and names of private networks; link-local,
    /// metadata, multicast and reserved addresses stay refused.
    pub allow_private: bool,
    /// Permitted ports of callbacks.
    pub ports: Ports,
}

/// Why a callback is not called; the text is the rest of a message that begins with the field's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GuardError {
    /// The port is in none of the permitted ranges.
    #[error("port {port} is not one of {permitted}")]
    Port {
        /// The port of the callback.
        port: u16,
        /// The ranges, as the operator wrote them.
        permitted: String,
    },
    /// The name is that of a private network.
    #[error("host {0} is not a public name")]
    Name(String),
    /// The address is not global unicast.
    #[error("address {0} is not public")]
    Address(IpAddr),
}

/// Ranges of ports, written `443,8443,1024-65535`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ports {
    text: String,
    ranges: Vec<RangeInclusive<u16>>,
}

/// Why a text is no list of ports.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PortsError {
    /// Something that should be a port is no number from 1 to 65535.
    #[error("{0:?} is not a port from 1 to 65535")]
    NotAPort(String),
    /// The first port of a range is above the last.
    #[error("the range {0:?} is empty")]
    EmptyRange(String),
}

impl Guard {
    /// Checks the port, and the host without resolving it.
    ///
    /// # Errors
    /// The port, the name or the address is not permitted.
    pub fn check_callback(&self, callback: &Callback) -> Result<(), GuardError> {
        if !self.ports.contains(callback.port()) {
            return Err(GuardError::Port {
                port: callback.port(),
                permitted: self.ports.text.clone(),
            });
        }
        match callback.host() {
            Host::Domain(name) => self.check_name(name),
            Host::Ipv4(address) => self.check_address(IpAddr::V4(*address)),
            Host::Ipv6(address) => self.check_address(IpAddr::V6(*address)),
        }
    }

    fn check_name(&self, name: &str) -> Result<(), GuardError> {
        if !self.allow_private && is_private_name(name) {
            return Err(GuardError::Name(name.to_owned()));
        }
        Ok(())
    }

    fn check_address(&self, address: IpAddr) -> Result<(), GuardError> {
        if !self.permits(address) {
            return Err(GuardError::Address(address));
        }
        Ok(())
    }

    /// Tells whether an address of a callback, literal or resolved, is permitted.
    #[must_use]
    pub fn permits(&self, address: IpAddr) -> bool {
        let address = unwrap(address);
        let is_global = is_in(UNICAST, address) && !is_in(SPECIAL, address);
        let is_private = is_in(PRIVATE, address) && !is_in(METADATA, address);
        is_global || (self.allow_private && is_private)
    }
}

impl Ports {
    /// Parses ranges separated by commas; `1024-` has no upper end.
    ///
    /// # Errors
    /// A part is no port, or a range is empty.
    pub fn parse(text: &str) -> Result<Ports, PortsError> {
        let mut ranges = Vec::new();
        for part in text.split(',') {
            ranges.push(parse_range(part.trim())?);
        }
        Ok(Ports {
            text: text.to_owned(),
            ranges,
        })
    }

    fn contains(&self, port: u16) -> bool {
        self.ranges.iter().any(|range| range.contains(&port))
    }
}

/// Parses `443`, `8000-8999` or `1024-`.
fn parse_range(part: &str) -> Result<RangeInclusive<u16>, PortsError> {
    let Some((first, last)) = part.split_once('-') else {
        let port = parse_port(part)?;
        return Ok(port..=port);
    };
    let first = parse_port(first)?;
    let last = if last.is_empty() {
        u16::MAX
    } else {
        parse_port(last)?
    };
    if first > last {
        return Err(PortsError::EmptyRange(part.to_owned()));
    }
    Ok(first..=last)
}

fn parse_port(digits: &str) -> Result<u16, PortsError> {
    match digits.parse() {
        Ok(port @ 1..) => Ok(port),
        _ => Err(PortsError::NotAPort(digits.to_owned())),
    }
}

/// Returns the host of a URL without the brackets of an IPv6 address.
pub(super) fn bare(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}

/// Returns the embedded address of IPv6 forms that lead to the IPv4 internet, or the address itself.
fn unwrap(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        // NAT64 (RFC 6052).
        IpAddr::V6(v6) if v6.segments()[..6] == [0x64, 0xff9b, 0, 0, 0, 0] => {
            let [.., a, b, c, d] = v6.octets();
            Ipv4Addr::new(a, b, c, d).into()
        }
        canonical => canonical,
    }
}

fn is_in(networks: &str, address: IpAddr) -> bool {
    networks.split_whitespace().any(|network| {
        let network: IpNet = network.parse().expect("each of the lists above parses");
        network.contains(&address)
    })
}

/// Tells whether a name is never public: a single label, a name under a private domain, or one whose last label begins
/// with a digit.
fn is_private_name(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    let Some((_, last_label)) = name.rsplit_once('.') else {
        return true;
    };
    // `127.1` and `0x7f.1` resolve as addresses.
    if last_label.starts_with(|c: char| c.is_ascii_digit()) {
        return true;
    }
    PRIVATE_DOMAINS.iter().any(|domain| is_under(name, domain))
}

/// Tells whether `name` is `domain` or a name under it.
fn is_under(name: &str, domain: &str) -> bool {
    match name.strip_suffix(domain) {
        Some(head) => head.is_empty() || head.ends_with('.'),
        None => false,
    }
}

#[cfg(test)]
#[path = "guard/tests.rs"]
mod tests;

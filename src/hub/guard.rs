//! Which callbacks the hub may reach: ports, names, and every address that a name resolves to.
//!
//! The hub sends requests to URLs that any client can choose, from inside the operator's network. So an address must be
//! global unicast, judged after unwrapping the IPv6 forms that carry an IPv4 address, and one refused address
//! condemns the whole name: answers that mix public and private addresses are how guards are slipped past.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::Host;

use super::Callback;

/// What callbacks are permitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    /// Permit private, shared, loopback and unique-local addresses and the names that go with them; link-local,
    /// metadata, multicast and reserved addresses stay refused.
    pub allow_private: bool,
    /// Ports that callbacks may have.
    pub ports: Ports,
}

/// Ranges of ports, written `443,8443,1024-65535`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ports {
    text: String,
    ranges: Vec<(u16, u16)>,
}

impl Guard {
    /// Judges what can be judged without a resolver: the port, and the host as it is written.
    ///
    /// # Errors
    /// What is refused, for a message that begins with the field's name.
    pub fn check_callback(&self, callback: &Callback) -> Result<(), String> {
        let (host, port, ports) = (callback.host(), callback.port(), &self.ports);
        if !ports.contains(port) {
            return Err(format!("port {port} is not one of {}", ports.text));
        }
        let is_permitted = match host {
            Host::Domain(name) if !self.allow_private && is_special(name) => {
                return Err(format!("host {name} is not a public name"));
            }
            Host::Domain(_) => true,
            Host::Ipv4(address) => self.permits((*address).into()),
            Host::Ipv6(address) => self.permits((*address).into()),
        };
        let refuse = || format!("address {} is not a public one", bare(&host.to_string()));
        is_permitted.then_some(()).ok_or_else(refuse)
    }

    /// Judges an address, as written or as resolved.
    #[must_use]
    pub fn permits(&self, address: IpAddr) -> bool {
        match unwrap(address) {
            IpAddr::V4(v4) => is_global_v4(v4) || (self.allow_private && is_private_v4(v4)),
            IpAddr::V6(v6) => is_global_v6(v6) || (self.allow_private && is_private_v6(v6)),
        }
    }
}

impl Ports {
    /// Parses ranges separated by commas; `1024-` has no upper end.
    ///
    /// # Errors
    /// One line that says what is wrong.
    pub fn parse(text: &str) -> Result<Ports, String> {
        let port = |digits: &str| match digits.parse() {
            Ok(port @ 1_u16..) => Ok(port),
            _ => Err(format!("{digits:?} is not a port from 1 to 65535")),
        };
        let range = |part: &str| {
            let (first, last) = match part.trim().split_once('-') {
                None => (port(part.trim())?, port(part.trim())?),
                Some((first, "")) => (port(first)?, u16::MAX),
                Some((first, last)) => (port(first)?, port(last)?),
            };
            match first <= last {
                true => Ok((first, last)),
                false => Err(format!("the range {part:?} is empty")),
            }
        };
        let ranges: Result<_, String> = text.split(',').map(range).collect();
        Ok(Ports {
            text: text.to_owned(),
            ranges: ranges?,
        })
    }

    fn contains(&self, port: u16) -> bool {
        let mut ranges = self.ranges.iter();
        ranges.any(|(first, last)| (*first..=*last).contains(&port))
    }
}

/// Returns the host of a URL without the brackets of an IPv6 address.
pub(super) fn bare(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}

/// Takes the IPv4 address out of the IPv6 forms that carry one to the IPv4 internet.
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

/// Everything but the special-purpose registry of IANA (RFC 6890 and its updates), multicast and class E. 192.0.0.0/24
/// is refused whole, although two of its addresses are global: no callback is there.
fn is_global_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !matches!(
        (a, b, c),
        (0 | 10 | 127 | 224..=255, _, _)
            | (100, 64..=127, _)
            | (169, 254, _)
            | (172, 16..=31, _)
            | (192, 0, 0 | 2)
            | (192, 31, 196)
            | (192, 52, 193)
            | (192, 88, 99)
            | (192, 168, _)
            | (192, 175, 48)
            | (198, 18 | 19, _)
            | (198, 51, 100)
            | (203, 0, 113)
    )
}

/// 2000::/3 without protocol assignments (Teredo and ORCHID among them), documentation and 6to4.
fn is_global_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let is_unicast = segments[0] & 0xe000 == 0x2000;
    let is_protocol = segments[0] == 0x2001 && segments[1] < 0x200;
    let is_documentation = (segments[0] == 0x2001 && segments[1] == 0xdb8)
        || (segments[0] == 0x3fff && segments[1] < 0x1000);
    let is_6to4 = segments[0] == 0x2002;
    is_unicast && !is_protocol && !is_documentation && !is_6to4
}

/// Loopback, private and shared addresses, but for the metadata service that one cloud keeps among them.
fn is_private_v4(address: Ipv4Addr) -> bool {
    let [a, b, _, _] = address.octets();
    let is_shared =
        a == 100 && (64..=127).contains(&b) && address != Ipv4Addr::new(100, 100, 100, 200);
    address.is_private() || address.is_loopback() || is_shared
}

/// Loopback and unique-local addresses, but for the metadata service that one cloud keeps among them.
fn is_private_v6(address: Ipv6Addr) -> bool {
    let is_metadata = address == Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);
    let is_unique_local = address.segments()[0] & 0xfe00 == 0xfc00;
    address.is_loopback() || (is_unique_local && !is_metadata)
}

/// Single labels, names under domains that never lead to the public internet (RFC 6761, 6762, 8375, 9476 and the customs of
/// private networks), and those whose last label begins with a digit: resolvers take `127.1` and `0x7f.1` for addresses.
fn is_special(name: &str) -> bool {
    const DOMAINS: &str = "alt corp home home.arpa internal intranet invalid lan local localdomain localhost onion private test";
    let name = name.trim_end_matches('.');
    let is_under = |domain: &str| {
        let head = name.strip_suffix(domain);
        head.is_some_and(|head| head.is_empty() || head.ends_with('.'))
    };
    let is_number = |(_, last): (&str, &str)| last.starts_with(|c: char| c.is_ascii_digit());
    name.rsplit_once('.').is_none_or(is_number) || DOMAINS.split(' ').any(is_under)
}

#[cfg(test)]
#[path = "guard/tests.rs"]
mod tests;

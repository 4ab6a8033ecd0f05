//! Checks which callbacks the hub may contact: their port, their host, and every address that the host resolves to.
//!
//! The hub sends requests to URLs that any client can choose, from inside the operator's network. So an address must be
//! global unicast; for IPv6 forms that embed an IPv4 address, that address is checked. One refused address refuses the
//! whole name, because attackers bypass guards with DNS responses that mix public and private addresses.

use std::net::{IpAddr, Ipv4Addr};

use url::Host;

use super::Callback;
use ipnet::IpNet;

/// The rules for callbacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    /// Permits private, shared, loopback and unique-local addresses and names of private networks; link-local,
    /// metadata, multicast and reserved addresses stay refused.
    pub allow_private: bool,
    /// Permitted ports of callbacks.
    pub ports: Ports,
}

/// Ranges of ports, written `443,8443,1024-65535`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ports {
    text: String,
    ranges: Vec<(u16, u16)>,
}

impl Guard {
    /// Checks the port, and the host without resolving it.
    ///
    /// # Errors
    /// The error, as the rest of a message that begins with the field's name.
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
        let refuse = || format!("address {} is not public", bare(&host.to_string()));
        is_permitted.then_some(()).ok_or_else(refuse)
    }

    /// Tells whether an address, given or resolved, is permitted.
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
    /// A description of the error in one line.
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
    let mut networks = networks.split_whitespace();
    networks.any(|network| {
        let network: IpNet = network.parse().expect("each of the lists below parses");
        network.contains(&address)
    })
}

/// Tells whether a name is not public: a single label, a name under a domain that is never public (RFC 6761, 6762,
/// 8375, 9476, or by custom), or one whose last label begins with a digit: `127.1` and `0x7f.1` resolve as addresses.
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

#[cfg(test)]
#[path = "guard/tests.rs"]
mod tests;

//! Which addresses and names are public: the rule for requests to URLs that others choose, from inside the operator's
//! network.
//!
//! An address must be global unicast; of IPv6 forms that embed an IPv4 address, that address is checked.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;

/// Domains whose names are never public (RFC 6761, 6762, 7686, 8375, 9476; `corp`, `home` and `lan` by custom).
const PRIVATE_DOMAINS: [&str; 14] = [
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

/// Networks that contain all assigned unicast addresses.
const UNICAST: &str = "0.0.0.0/0 2000::/3";

/// Networks of [`UNICAST`] that are not global. IPv4: the special-purpose registry of IANA (RFC 6890 and its updates),
/// multicast and class E. IPv6: protocol assignments (with Teredo and ORCHID), documentation and 6to4. All of
/// 192.0.0.0/24 is refused, although two of its addresses are global: no public service uses them.
const SPECIAL: &str = "
    0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
    192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24
    203.0.113.0/24 224.0.0.0/3 2001::/23 2001:db8::/32 2002::/16 3fff::/20";

/// Loopback, private, shared and unique-local addresses.
const PRIVATE: &str =
    "10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 172.16.0.0/12 192.168.0.0/16 ::1/128 fc00::/7";

/// Addresses in [`PRIVATE`] of the metadata services of two clouds.
const METADATA: &str = "100.100.100.200/32 fd00:ec2::254/128";

/// Tells whether this program may send requests to an address. Addresses of the public Internet are permitted. Those of
/// private networks, and of this machine itself, are permitted only with `allow_private`. All others are never permitted:
/// link-local, multicast and reserved addresses, and the metadata services of clouds.
#[must_use]
pub fn is_permitted(address: IpAddr, allow_private: bool) -> bool {
    let address = embedded(address);
    if is_in(UNICAST, address) && !is_in(SPECIAL, address) {
        return true;
    }
    allow_private && is_in(PRIVATE, address) && !is_in(METADATA, address)
}

/// Tells whether a host name may be public: not a single label, not under a domain that is never public, and its last
/// label does not begin with a digit, as `127.1` and `0x7f.1` resolve as addresses.
#[must_use]
pub fn is_public_name(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    let Some((_, last_label)) = name.rsplit_once('.') else {
        return false;
    };
    if last_label.starts_with(|c: char| c.is_ascii_digit()) {
        return false;
    }
    !PRIVATE_DOMAINS.iter().any(|domain| is_under(name, domain))
}

/// Whether `name` is `domain` or a name under it.
fn is_under(name: &str, domain: &str) -> bool {
    match name.strip_suffix(domain) {
        Some(head) => head.is_empty() || head.ends_with('.'),
        None => false,
    }
}

/// Returns the embedded address of IPv6 forms that lead to the IPv4 internet, or the address itself.
fn embedded(address: IpAddr) -> IpAddr {
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
        let network: IpNet = network.parse().expect("each of the lists above parses");
        network.contains(&address)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn global_addresses_are_permitted_and_private_ones_with_the_flag() {
        for (address, permitted) in [
            ("1.1.1.1", [true, true]),
            ("2606:4700::1111", [true, true]),
            ("::ffff:8.8.8.8", [true, true]),
            ("127.0.0.1", [false, true]),
            ("::ffff:127.0.0.1", [false, true]),
            ("64:ff9b::192.168.1.1", [false, true]),
            ("169.254.169.254", [false, false]),
            ("100.100.100.200", [false, false]),
            ("fe80::1", [false, false]),
            ("224.0.0.1", [false, false]),
        ] {
            let parsed: IpAddr = address.parse().expect("an address");
            let found = [false, true].map(|flag| is_permitted(parsed, flag));
            assert_eq!(found, permitted, "{address}");
        }
    }

    #[test]
    fn names_of_private_networks_are_not_public() {
        for (name, is_public) in [
            ("cdn.example", true),
            ("notlocalhost.com", true),
            ("localhost", false),
            ("a.localhost.", false),
            ("db.internal", false),
            ("127.1", false),
            ("0x7f.1", false),
        ] {
            assert_eq!(is_public_name(name), is_public, "{name}");
        }
    }
}

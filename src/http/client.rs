//! The client of a request: the address of the peer, or what trusted proxies say of theirs.

use std::net::IpAddr;

use super::head::RequestHead;
use crate::wire::forwarded::{Hop, parse_forwarded, parse_x_forwarded_for};
use crate::wire::network::IpNet;

/// The proxies that the operator has in front of the service.
#[derive(Clone, Debug)]
pub struct Proxies {
    /// Where they are; empty if there are none.
    pub networks: Vec<IpNet>,
    /// Where they write the address that they were asked from.
    pub field: ProxyField,
}

/// The field in which proxies name their clients.
///
/// One of the two, as most proxies write one and hand the other on as it came: read both, and a client could name
/// itself in the one that its proxy does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyField {
    /// X-Forwarded-For.
    XForwardedFor,
    /// Forwarded (RFC 7239).
    Forwarded,
}

impl Proxies {
    /// Tells whether `address` is one of the proxies.
    pub(crate) fn contain(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.networks
            .iter()
            .any(|network| network.contains(&address))
    }

    /// Returns the address that a request came from: the peer itself, and behind trusted proxies the right-most address of
    /// their field that is not one of theirs. IPv4 addresses are never wrapped in IPv6.
    ///
    /// Where a proxy does not say which client it serves, it is taken for the client itself.
    pub(crate) fn client_of(&self, head: &RequestHead<'_>) -> IpAddr {
        let mut client = head.peer.to_canonical();
        if !self.contain(client) {
            return client;
        }
        let name = match self.field {
            ProxyField::XForwardedFor => "x-forwarded-for",
            ProxyField::Forwarded => "forwarded",
        };
        for line in head.lines_from_last(name) {
            let is_found = match self.field {
                ProxyField::XForwardedFor => self.walk(parse_x_forwarded_for(line), &mut client),
                ProxyField::Forwarded => self.walk(parse_forwarded(line), &mut client),
            };
            if is_found {
                break;
            }
        }
        client
    }

    /// Goes from proxy to proxy; true at the first that is none of ours, or that cannot be told.
    fn walk(&self, hops: impl IntoIterator<Item = Hop>, client: &mut IpAddr) -> bool {
        for hop in hops {
            let Some(address) = hop else { return true };
            *client = address.to_canonical();
            if !self.contain(*client) {
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderMap, HeaderValue};

    use super::super::head::tests::of_headers;
    use super::*;

    fn client(field: ProxyField, lines: &[(&'static str, &'static str)], peer: &str) -> String {
        let proxies = Proxies {
            networks: ["10.0.0.0/8", "2001:db8::/32"]
                .map(|text| text.parse().expect(text))
                .to_vec(),
            field,
        };
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, HeaderValue::from_static(value));
        }
        let mut head = of_headers(&headers);
        head.peer = peer.parse().expect(peer);
        proxies.client_of(&head).to_string()
    }

    #[test]
    fn a_peer_that_is_no_proxy_is_the_client_whatever_it_says() {
        for field in [ProxyField::XForwardedFor, ProxyField::Forwarded] {
            let says = [
                ("x-forwarded-for", "192.0.2.1"),
                ("forwarded", "for=192.0.2.1"),
            ];
            assert_eq!(client(field, &says, "198.51.100.1"), "198.51.100.1");
            assert_eq!(client(field, &says, "::ffff:198.51.100.1"), "198.51.100.1");
        }
    }

    #[test]
    fn behind_proxies_the_right_most_other_address_is_the_client() {
        let (peer, mapped) = ("10.0.0.1", "::ffff:10.0.0.1");
        for (lines, peer, expected) in [
            (&["192.0.2.1"][..], peer, "192.0.2.1"),
            (&["203.0.113.9, ::ffff:192.0.2.1"], peer, "192.0.2.1"),
            (&["192.0.2.1, 10.9.9.9, 2001:db8::5"], mapped, "192.0.2.1"),
            (&["203.0.113.9", "192.0.2.1", "10.1.1.1"], peer, "192.0.2.1"),
            // Only proxies are named: the first of them asked for itself.
            (&["10.3.3.3, 10.2.2.2"], peer, "10.3.3.3"),
            (&[], peer, "10.0.0.1"),
            // What a proxy does not tell is not looked for in what it was told.
            (&["192.0.2.1, unknown"], peer, "10.0.0.1"),
            (&["192.0.2.1, unknown, 10.2.2.2"], peer, "10.2.2.2"),
        ] {
            let fields = lines.iter().map(|line| ("x-forwarded-for", *line));
            let fields: Vec<_> = fields.collect();
            let found = client(ProxyField::XForwardedFor, &fields, peer);
            assert_eq!(found, expected, "{lines:?}");
        }
    }
}

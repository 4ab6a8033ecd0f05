//! The client of a request: the address of the peer, or what trusted proxies say of theirs in X-Forwarded-For.

use std::net::IpAddr;

use super::head::RequestHead;
use crate::wire::forwarded::parse_x_forwarded_for;
use crate::wire::network::IpNet;

/// The proxies that the operator has in front of the service.
#[derive(Clone, Debug)]
pub struct Proxies {
    /// Where they are; empty if there are none.
    pub networks: Vec<IpNet>,
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
        for line in head.lines_from_last("x-forwarded-for") {
            for hop in parse_x_forwarded_for(line) {
                // What is left of a hop that is not given, or is no proxy's, is the client's own word.
                let Some(address) = hop else { return client };
                client = address.to_canonical();
                if !self.contain(client) {
                    return client;
                }
            }
        }
        client
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderMap, HeaderValue};

    use super::super::head::tests::of_headers;
    use super::*;

    fn client(lines: &[&'static str], peer: &str) -> String {
        let proxies = Proxies {
            networks: ["10.0.0.0/8", "2001:db8::/32"]
                .map(|text| text.parse().expect(text))
                .to_vec(),
        };
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append("x-forwarded-for", HeaderValue::from_static(line));
        }
        let mut head = of_headers(&headers);
        head.peer = peer.parse().expect(peer);
        proxies.client_of(&head).to_string()
    }

    #[test]
    fn a_peer_that_is_no_proxy_is_the_client_whatever_it_says() {
        for peer in ["198.51.100.1", "::ffff:198.51.100.1"] {
            assert_eq!(client(&["192.0.2.1"], peer), "198.51.100.1");
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
            assert_eq!(client(lines, peer), expected, "{lines:?}");
        }
    }
}

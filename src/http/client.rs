//! Finds the client address of a request: the peer, or the address that trusted proxies give in X-Forwarded-For.
//!
//! The rates and budgets of a client do not apply to loopback addresses, nor to a proxy whose request names no client,
//! because these may send the requests of any number of clients.

#![warn(clippy::indexing_slicing)]

use std::net::IpAddr;

use super::head::RequestHead;
use crate::limits::Account;
use crate::wire::forwarded::parse_x_forwarded_for;
use crate::wire::network::IpNet;

/// The peer of a connection: a client, or a proxy.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Its address.
    pub address: IpAddr,
    /// What the connection holds, and the client that this counts for.
    pub account: Account,
}

/// The trusted proxies in front of the service.
#[derive(Clone, Debug)]
pub struct Proxies {
    /// Their networks; empty if there are none.
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

    /// Returns `client` if the rates and budgets of a client apply to it; `None` for a loopback address or a proxy.
    pub(crate) fn limited(&self, client: IpAddr) -> Option<IpAddr> {
        let is_exempt = client.to_canonical().is_loopback() || self.contain(client);
        if is_exempt { None } else { Some(client) }
    }

    /// Returns the account that the bytes of a request count for: that of the connection, or if its peer is a proxy, that of
    /// the client which the proxy names.
    pub(crate) fn account_of(&self, peer: &Peer, head: &RequestHead) -> Account {
        if !self.contain(peer.address) {
            return peer.account.clone();
        }
        match self.limited(self.client_of(head)) {
            Some(client) => peer.account.for_client(client),
            None => peer.account.clone(),
        }
    }

    /// Returns the address of the client: the peer, or, if the peer is a trusted proxy, the right-most address in
    /// X-Forwarded-For that is not a trusted proxy. IPv4-mapped IPv6 addresses are returned as IPv4.
    ///
    /// If the hop in front of a proxy is missing or cannot be parsed, the proxy itself is the client.
    pub(crate) fn client_of(&self, head: &RequestHead) -> IpAddr {
        let mut client = head.peer.to_canonical();
        if !self.contain(client) {
            return client;
        }
        for line in head.lines_from_last("x-forwarded-for") {
            for hop in parse_x_forwarded_for(line) {
                // Hops to the left of an unparsable or untrusted hop are client-controlled, so they are ignored.
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
        let mut head = of_headers(headers);
        head.peer = peer.parse().expect(peer);
        proxies.client_of(&head).to_string()
    }

    #[test]
    fn loopback_and_proxies_without_a_client_have_no_limits_of_a_client() {
        let proxies = Proxies {
            networks: vec!["10.0.0.0/8".parse().unwrap()],
        };
        for (address, is_limited) in [
            ("127.0.0.1", false),
            ("127.9.9.9", false),
            ("::1", false),
            ("::ffff:127.0.0.1", false),
            ("10.1.2.3", false),
            ("192.0.2.1", true),
            ("::ffff:192.0.2.1", true),
            ("2001:db8::1", true),
        ] {
            let limited = proxies.limited(address.parse().expect(address));
            assert_eq!(limited.is_some(), is_limited, "{address}");
        }
    }

    #[test]
    fn x_forwarded_for_of_an_untrusted_peer_is_ignored() {
        for peer in ["198.51.100.1", "::ffff:198.51.100.1"] {
            assert_eq!(client(&["192.0.2.1"], peer), "198.51.100.1");
        }
    }

    #[test]
    fn behind_proxies_the_right_most_other_address_is_the_client() {
        let peer = "10.0.0.1";
        let mapped = "::ffff:10.0.0.1";
        for (lines, peer, expected) in [
            (&["192.0.2.1"][..], peer, "192.0.2.1"),
            (&["203.0.113.9, ::ffff:192.0.2.1"], peer, "192.0.2.1"),
            (&["192.0.2.1, 10.9.9.9, 2001:db8::5"], mapped, "192.0.2.1"),
            (&["203.0.113.9", "192.0.2.1", "10.1.1.1"], peer, "192.0.2.1"),
            // All hops are proxies: the left-most one is the client.
            (&["10.3.3.3, 10.2.2.2"], peer, "10.3.3.3"),
            (&[], peer, "10.0.0.1"),
            // Hops to the left of an unknown hop are ignored.
            (&["192.0.2.1, unknown"], peer, "10.0.0.1"),
            (&["192.0.2.1, unknown, 10.2.2.2"], peer, "10.2.2.2"),
        ] {
            assert_eq!(client(lines, peer), expected, "{lines:?}");
        }
    }
}

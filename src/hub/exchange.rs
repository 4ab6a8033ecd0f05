//! One exchange with one subscriber: what a thread of the pool does.

use std::net::{SocketAddr, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use arc_swap::ArcSwap;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use bytes::Bytes;

use super::Callback;
use super::client::{Client, Exchange, Payload, delivery_timeout};
use super::outcome::Failure;
use super::resolve::ResolverPool;
use super::signature::sign;
use super::store::{Delivery, DenialNotice, Verification};
use crate::wire::date::Timestamp;

/// A topic's content and the fields that go with it, shared by all its deliveries.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) digest: [u8; 32],
    /// The dataset's `updated_at`.
    pub(super) dated: Timestamp,
    pub(super) media_type: &'static str,
    /// The value of `Link`: the topic first, since there are subscribers that read only one entry.
    pub(super) link: String,
    pub(super) body: Bytes,
}

/// What a thread is to do.
#[derive(Debug)]
pub(super) enum Job {
    Verify(Verification),
    /// The number counts the bytes that were taken.
    Deliver(Delivery, Arc<Content>, Arc<AtomicU64>),
    Deny(DenialNotice),
    Probe(Vec<(String, u16)>),
}

impl Job {
    /// Returns whom it is for, and about which topic; nothing for a probe.
    pub(super) fn subject(&self) -> Option<(&Callback, &str)> {
        match self {
            Job::Verify(asked) => Some((&asked.callback, &asked.topic_given)),
            Job::Deliver(delivery, ..) => Some((&delivery.callback, &delivery.topic)),
            Job::Deny(notice) => Some((&notice.callback, &notice.topic)),
            Job::Probe(_) => None,
        }
    }
}

/// Everything that exchanges share. Its clients are replaced when they were cut.
pub(super) struct CallbackClient {
    pub(super) clients: ArcSwap<Clients>,
    pub(super) lookups: ResolverPool,
    pub(super) delivery_timeout: Duration,
    pub(super) verify_timeout: Duration,
}

/// One client for verifications and denials, one for deliveries: hanging lookups of one do not hold up the other.
pub(super) struct Clients {
    pub(super) asking: Client,
    pub(super) delivering: Client,
}

impl CallbackClient {
    /// Breaks every exchange that is under way, and begins none until there are new clients.
    pub(super) fn cut(&self) {
        let clients = self.clients.load();
        clients.asking.cut();
        clients.delivering.cut();
    }

    /// Does the job; a panic on the way is an end like any other.
    pub(super) fn run(&self, job: &Job) -> Exchange {
        let exchange = AssertUnwindSafe(|| self.exchange(job));
        catch_unwind(exchange).unwrap_or_else(|_| {
            tracing::error!("an exchange with a subscriber panicked, which is an error in reviewd");
            Exchange::failed(Failure::Internal, true)
        })
    }

    fn exchange(&self, job: &Job) -> Exchange {
        let clients = self.clients.load();
        match job {
            Job::Verify(asked) => {
                let Some(challenge) = challenge() else {
                    return Exchange::WITHHELD;
                };
                let lease = asked.lease_s.to_string();
                let uri = asked.callback.with_query(&[
                    ("hub.mode", asked.mode.as_str()),
                    ("hub.topic", &asked.topic_given),
                    ("hub.challenge", &challenge),
                    ("hub.lease_seconds", &lease),
                ]);
                let asking = &clients.asking;
                asking.verify(&uri, &challenge, self.verify_timeout)
            }
            Job::Deliver(delivery, content, sent) => {
                let secret = delivery.secret.as_ref();
                let signature = secret.map(|secret| sign(secret, &content.body));
                let payload = Payload {
                    media_type: content.media_type,
                    link: &content.link,
                    body: &content.body,
                    signature: signature.as_deref(),
                };
                let (patience, callback) = (self.delivery_timeout, &delivery.callback);
                let timeout = delivery_timeout(patience, content.body.len());
                let delivering = &clients.delivering;
                delivering.deliver(callback, &payload, patience, timeout, sent)
            }
            Job::Deny(notice) => {
                let reason = notice.removal.reason().unwrap_or("the subscription ended");
                let uri = notice.callback.with_query(&[
                    ("hub.mode", "denied"),
                    ("hub.topic", &notice.topic),
                    ("hub.reason", reason),
                ]);
                clients.asking.tell(&uri, self.verify_timeout)
            }
            Job::Probe(targets) => Exchange {
                reached: targets
                    .iter()
                    .any(|(host, port)| self.connects(host, *port)),
                ..Exchange::WITHHELD
            },
        }
    }

    /// Connects and hangs up: enough to know that the network is there.
    fn connects(&self, host: &str, port: u16) -> bool {
        let addresses = self.lookups.resolve(host, PROBE_TIMEOUT);
        let Some(address) = addresses.ok().and_then(|found| found.first().copied()) else {
            return false;
        };
        match TcpStream::connect_timeout(&SocketAddr::new(address, port), PROBE_TIMEOUT) {
            Ok(_) => true,
            // A host that says no is there as well.
            Err(error) => error.kind() == std::io::ErrorKind::ConnectionRefused,
        }
    }
}

/// Returns 43 random characters of `A-Z a-z 0-9 _ -`, all within the set of WebSub §5.3: 256 bits that cannot be guessed.
/// `None` when the system has no randomness.
fn challenge() -> Option<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).ok()?;
    Some(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

/// A probe's lookup and its connection may each take this long.
const PROBE_TIMEOUT: Duration = Duration::from_secs(3);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h39_h63_challenges_are_43_permitted_characters_and_never_the_same() {
        let one = challenge().expect("randomness");
        assert_eq!(one.len(), 43);
        assert!(
            one.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)),
            "{one}"
        );
        assert_ne!(challenge(), Some(one));
    }
}

//! One exchange with one subscriber, from the job to its end: what a thread of the pool does.

use std::net::{SocketAddr, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use bytes::Bytes;

use super::client::{Client, Exchange, Payload, delivery_timeout};
use super::resolve::ResolverPool;
use super::signature::sign;
use crate::hub::store::{Delivery, DenialNotice, Verification};
use crate::hub::subscription::{Answer, Failure};
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

/// How it ended.
#[derive(Debug)]
pub(super) enum End {
    Verified {
        id: i64,
        exchange: Exchange,
        confirmed: bool,
    },
    Delivered {
        id: i64,
        attempt: u64,
        digest: [u8; 32],
        exchange: Exchange,
    },
    Denied {
        notice: DenialNotice,
        exchange: Exchange,
    },
    Probed {
        reached: bool,
    },
}

/// Everything that exchanges share.
pub(super) struct CallbackClient {
    clients: ArcSwap<Clients>,
    make: Box<dyn Fn() -> Clients + Send + Sync>,
    lookups: ResolverPool,
    delivery_timeout: Duration,
    verify_timeout: Duration,
}

/// One client for verifications and denials, one for deliveries: hanging lookups of one do not hold up the other.
pub(super) struct Clients {
    pub(super) asking: Client,
    pub(super) delivering: Client,
}

impl CallbackClient {
    /// Makes one whose clients `make` makes, and whose probes ask `lookups`.
    pub(super) fn new(
        make: Box<dyn Fn() -> Clients + Send + Sync>,
        lookups: ResolverPool,
        delivery_timeout: Duration,
        verify_timeout: Duration,
    ) -> CallbackClient {
        CallbackClient {
            clients: ArcSwap::from_pointee(make()),
            make,
            lookups,
            delivery_timeout,
            verify_timeout,
        }
    }

    /// Breaks every exchange that is under way, and begins none until [`CallbackClient::renew`].
    pub(super) fn cut(&self) {
        let clients = self.clients.load();
        clients.asking.cut();
        clients.delivering.cut();
    }

    /// Takes new clients in place of those that were cut.
    pub(super) fn renew(&self) {
        self.clients.store(Arc::new((self.make)()));
    }

    /// Does the job; a panic on the way is an end like any other.
    pub(super) fn run(&self, job: &Job) -> (End, Duration) {
        let began = Instant::now();
        let end = catch_unwind(AssertUnwindSafe(|| self.exchange(job))).unwrap_or_else(|_| {
            tracing::error!("an exchange with a subscriber panicked, which is an error in reviewd");
            let failed = Some(Answer::Failed(Failure::Internal));
            end_of(
                job,
                Exchange {
                    answer: failed,
                    retry_after: None,
                    reached: true,
                    stalled: false,
                },
                false,
            )
        });
        (end, began.elapsed())
    }

    fn exchange(&self, job: &Job) -> End {
        match job {
            Job::Verify(verification) => self.verify(job, verification),
            Job::Deliver(delivery, content, sent) => {
                let signature = delivery
                    .secret
                    .as_ref()
                    .map(|secret| sign(secret, &content.body));
                let payload = Payload {
                    media_type: content.media_type,
                    link: &content.link,
                    body: &content.body,
                    signature: signature.as_deref(),
                };
                let patience = self.delivery_timeout;
                let timeout = delivery_timeout(patience, content.body.len());
                let callback = &delivery.callback;
                let clients = self.clients.load();
                let exchange = clients
                    .delivering
                    .deliver(callback, &payload, patience, timeout, sent);
                end_of(job, exchange, false)
            }
            Job::Deny(notice) => {
                let reason = notice.removal.reason().unwrap_or("the subscription ended");
                let pairs = [
                    ("hub.mode", "denied"),
                    ("hub.topic", &notice.topic),
                    ("hub.reason", reason),
                ];
                end_of(
                    job,
                    self.clients
                        .load()
                        .asking
                        .tell(&notice.callback.with_query(&pairs), self.verify_timeout),
                    false,
                )
            }
            Job::Probe(targets) => {
                let reached = targets
                    .iter()
                    .any(|(host, port)| self.connects(host, *port));
                End::Probed { reached }
            }
        }
    }

    fn verify(&self, job: &Job, verification: &Verification) -> End {
        let Some(challenge) = challenge() else {
            return end_of(job, UNSENT, false);
        };
        let lease = verification.lease_s.to_string();
        let uri = verification.callback.with_query(&[
            ("hub.mode", verification.mode.as_str()),
            ("hub.topic", &verification.topic_given),
            ("hub.challenge", &challenge),
            ("hub.lease_seconds", &lease),
        ]);
        let (exchange, confirmed) =
            self.clients
                .load()
                .asking
                .verify(&uri, &challenge, self.verify_timeout);
        end_of(job, exchange, confirmed)
    }

    /// Connects and hangs up: enough to know that the network is there.
    fn connects(&self, host: &str, port: u16) -> bool {
        let Ok(addresses) = self.lookups.resolve(host, PROBE_TIMEOUT) else {
            return false;
        };
        let connects =
            |address| TcpStream::connect_timeout(&SocketAddr::new(address, port), PROBE_TIMEOUT);
        // Somebody who says no is there as well.
        addresses
            .into_iter()
            .take(1)
            .map(connects)
            .any(|result| match result {
                Ok(_) => true,
                Err(error) => error.kind() == std::io::ErrorKind::ConnectionRefused,
            })
    }
}

fn end_of(job: &Job, exchange: Exchange, confirmed: bool) -> End {
    match job {
        Job::Verify(verification) => End::Verified {
            id: verification.id,
            exchange,
            confirmed,
        },
        Job::Deliver(delivery, ..) => End::Delivered {
            id: delivery.id,
            attempt: delivery.attempt,
            digest: delivery.digest,
            exchange,
        },
        Job::Deny(notice) => End::Denied {
            notice: notice.clone(),
            exchange,
        },
        Job::Probe(_) => End::Probed { reached: false },
    }
}

/// Returns 43 random characters of `A-Z a-z 0-9 _ -`, all within the set of WebSub §5.3: 256 bits that nobody guesses.
/// `None` when the system has no randomness.
fn challenge() -> Option<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).ok()?;
    Some(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

/// Nothing was sent, for a reason of ours.
const UNSENT: Exchange = Exchange {
    answer: None,
    retry_after: None,
    reached: true,
    stalled: false,
};

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

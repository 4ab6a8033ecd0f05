//! The hub's public interface: submit requests, publish topics, read health and metrics, shut down.

use std::collections::hash_map::DefaultHasher;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::net::IpAddr;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::engine::{Engine, HubMessage, Submission};
use super::settings::{HubSettings, Outside};
use super::shared::{Health, OnHealth, Shared, Stats};
use super::store::Accept;
use super::transport::CaError;
use super::{Callback, HubRequest, RequestRefusal};
use crate::Topic;
use crate::notice::NoticeSource;
use reviewd_wire::text::quote;

/// Capacity of the queue to the hub's thread; a request beyond it is refused.
const MESSAGES_MAX: usize = 1_024;

/// How long a request waits until it is stored.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// The running hub; cheap to clone. When the last clone is dropped, it stops without waiting.
#[derive(Clone)]
pub struct Hub {
    inner: Arc<Inner>,
}

struct Inner {
    settings: HubSettings,
    /// The public address as a callback, which is refused; `None` if it is not https.
    own: Option<Callback>,
    /// The URLs of the topics; they do not change while the hub runs.
    topics: Vec<String>,
    sender: SyncSender<HubMessage>,
    shared: Arc<Shared>,
    /// Random, so that addresses cannot be found again from the numbers in the store.
    asker_keys: RandomState,
}

impl Hub {
    /// Returns a hub of `topics`, whose URLs begin with `base_url` (scheme and authority, no trailing slash), and the
    /// function that its thread must run until the hub stops. If that panics, requests are refused and nothing is
    /// delivered. `on_health` is called on this thread whenever the hub's health changes.
    ///
    /// The hub starts even if the state directory cannot be used: it refuses requests, reports the reason in its
    /// health, and tries again every second.
    ///
    /// # Errors
    /// If the file of certificate authorities cannot be used.
    pub fn start(
        base_url: &str,
        settings: HubSettings,
        outside: Outside,
        topics: impl IntoIterator<Item = Topic>,
        on_health: impl Fn(&Health) + Send + Sync + 'static,
    ) -> Result<(Hub, impl FnOnce() + Send + 'static), CaError> {
        let (sender, messages) = sync_channel(MESSAGES_MAX);
        let shared = Arc::new(Shared::default());
        let on_health: OnHealth = Arc::new(on_health);
        let engine = Engine::new(
            base_url,
            settings.clone(),
            outside,
            Arc::clone(&shared),
            sender.clone(),
            on_health,
        )?;
        let topics: Vec<Topic> = topics.into_iter().collect();
        let urls = topics
            .iter()
            .map(|topic| format!("{base_url}{}", topic.path));
        let hub = Hub {
            inner: Arc::new(Inner {
                settings,
                own: Callback::parse(&format!("{base_url}/")).ok(),
                topics: urls.collect(),
                sender,
                shared,
                asker_keys: RandomState::new(),
            }),
        };
        hub.publish(topics);
        Ok((hub, move || engine.run(&messages)))
    }

    /// Accepts a request from the address `client`: returns once it is on disk. Cancel safe: the request is stored
    /// completely or not at all. Requests from one address, or from one IPv6 network (a /48), share a turn.
    ///
    /// # Errors
    /// [`RefusalKind::TooMany`](crate::RefusalKind::TooMany) if the callback host has used up its quota, `Field`
    /// for an unknown topic or a callback that is not permitted, `Unavailable` if the hub is full, stopping, or cannot
    /// write.
    pub async fn submit(&self, request: HubRequest, client: IpAddr) -> Result<(), RequestRefusal> {
        let result = self.try_submit(request, client).await;
        let counter = match &result {
            Ok(()) => &self.stats().accepted,
            Err(_) => &self.stats().refused,
        };
        counter.fetch_add(1, Relaxed);
        result
    }

    async fn try_submit(&self, request: HubRequest, client: IpAddr) -> Result<(), RequestRefusal> {
        let Inner {
            topics,
            settings,
            sender,
            ..
        } = &*self.inner;
        if !topics.contains(&request.topic) {
            let topic = quote(&request.topic_given);
            let topics = topics.join(" ");
            let what = format!("{topic} is not one of {topics}");
            return Err(RequestRefusal::field("hub.topic", what));
        }
        self.check_callback(&request.callback)?;
        let jitter = lease_jitter(&request);
        let lease_s = settings.leases.grant(request.lease_asked_s, jitter);
        let (reply, answer) = oneshot::channel();
        let accept = Accept {
            request,
            lease_s,
            asker: self.asker(client),
        };
        match sender.try_send(HubMessage::Submit(Submission { accept, reply })) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => return Err(RequestRefusal::busy("the hub is busy")),
            Err(TrySendError::Disconnected(_)) => {
                return Err(RequestRefusal::busy("the hub is stopping"));
            }
        }
        match tokio::time::timeout(ANSWER_TIMEOUT, answer).await {
            Ok(answer) => {
                answer.unwrap_or_else(|_| Err(RequestRefusal::busy("the hub is stopping")))
            }
            // The request may still be stored; then the callback is verified, which does no harm.
            Err(_) => Err(RequestRefusal::busy(
                "the hub's store did not respond in time",
            )),
        }
    }

    /// Returns a number that stands for an address; the address itself is not stored.
    fn asker(&self, client: IpAddr) -> i64 {
        let network = match client.to_canonical() {
            IpAddr::V4(address) => u64::from(address.to_bits()),
            // The first 48 bits; never one of the small numbers above.
            IpAddr::V6(address) => (address.to_bits() >> 80) as u64 | 1 << 63,
        };
        self.inner.asker_keys.hash_one(network).cast_signed()
    }

    fn check_callback(&self, callback: &Callback) -> Result<(), RequestRefusal> {
        let guard = &self.inner.settings.guard;
        let permitted = guard.check_callback(callback);
        permitted.map_err(|error| RequestRefusal::field("hub.callback", error.to_string()))?;
        let own = self.inner.own.as_ref();
        if own.is_some_and(|own| own.host() == callback.host() && own.port() == callback.port()) {
            let what = "must not be this service itself";
            return Err(RequestRefusal::field("hub.callback", what));
        }
        Ok(())
    }

    /// Publishes the present content of all topics; those with a new digest will be delivered. Returns at once.
    pub fn publish(&self, topics: impl IntoIterator<Item = Topic>) {
        let next = self.inner.shared.next_topics.lock();
        *next.unwrap_or_else(PoisonError::into_inner) = Some(topics.into_iter().collect());
        // If the queue is full, its messages wake the thread as well.
        let _awake = self.inner.sender.try_send(HubMessage::Wake);
    }

    /// Tells the operator's targets of what has changed since the last call, also in an earlier process: see
    /// [`notice`](crate::notice). Returns at once.
    pub fn tell(&self, source: Arc<dyn NoticeSource>) {
        let next = self.inner.shared.next_notices.lock();
        *next.unwrap_or_else(PoisonError::into_inner) = Some(source);
        // If the queue is full, its messages wake the thread as well.
        let _awake = self.inner.sender.try_send(HubMessage::Wake);
    }

    /// Returns the health of the hub.
    #[must_use]
    pub fn health(&self) -> Arc<Health> {
        self.inner.shared.health.load_full()
    }

    /// Returns the type of the store: `directory` or `postgres`.
    #[must_use]
    pub fn store(&self) -> &'static str {
        self.inner.settings.location.kind()
    }

    /// Returns the hub's counters and gauges.
    #[must_use]
    pub fn stats(&self) -> &Stats {
        &self.inner.shared.stats
    }

    /// Ends a running shutdown without further waiting; without one, stops the hub at once.
    pub fn shutdown_now(&self) {
        self.inner.stop_now();
    }

    /// Stops the hub: starts no new exchange, waits up to `deadline` for running ones, and stores their results.
    /// Returns true if all have ended; the others are delivered again after the next start.
    #[must_use]
    pub fn shutdown(&self, deadline: Duration) -> bool {
        let (done, stopped) = sync_channel(1);
        let until = Instant::now() + deadline;
        let done = Some(done);
        let message = HubMessage::Stop { until, done };
        if self.inner.sender.send(message).is_err() {
            return true;
        }
        // The thread waits for exchanges until the deadline, and replies when the store is closed.
        stopped.recv().unwrap_or(false)
    }
}

impl Inner {
    /// Requests a stop without waiting for it. If the queue is full, an earlier stop ends by its own deadline.
    fn stop_now(&self) {
        let until = Instant::now();
        let _full = self.sender.try_send(HubMessage::Stop { until, done: None });
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.stop_now();
    }
}

/// Derived from the request, so that a repeated request gets the same lease and equals the pending one.
fn lease_jitter(request: &HubRequest) -> u16 {
    let mut hasher = DefaultHasher::new();
    (request.callback.uri(), &request.topic).hash(&mut hasher);
    u16::try_from(hasher.finish() >> 48).unwrap_or_default()
}

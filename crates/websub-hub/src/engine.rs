//! The hub's thread, the only owner of the store. It receives requests, finished exchanges and changed topics as
//! messages, stores each batch in a few transactions, and then replies. It claims due exchanges and runs each on a
//! thread of its own (`exchanges`), so it never waits for a subscriber.

mod exchanges;
mod storage;

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, SyncSender};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tracing::{info, warn};

use self::exchanges::FinishedExchange;
use self::storage::Role;
use super::breaker::Breaker;
use super::client::{Attempt, Client, Job};
use super::in_flight::{InFlight, YOUNG};
use super::priority::{Priority, lower_priority};
use super::resolve::GuardedResolver;
use super::settings::{HubSettings, Outside};
use super::shared::{Health, OnHealth, Shared};
use super::store::{Accept, QuotaExceeded, Store};
use super::subscription::RemovalReason;
use super::transport::{CaError, client_config};
use super::{Refusal, UnixMillis};
use crate::hub::Topic;

/// A message to the thread.
#[derive(Debug)]
pub(super) enum Message {
    /// A request to store, and the channel for the result.
    Submit {
        accept: Accept,
        reply: oneshot::Sender<Result<(), Refusal>>,
    },
    /// An exchange ended.
    Ended {
        number: u64,
        job: Arc<Job>,
        exchange: Attempt,
        elapsed: Duration,
    },
    /// Topics may have changed.
    Wake,
    /// Stop, at the latest at `until`.
    Stop {
        until: Instant,
        done: Option<SyncSender<bool>>,
    },
}

/// The thread's state.
pub(super) struct Engine {
    base_url: String,
    settings: HubSettings,
    shared: Arc<Shared>,
    sender: SyncSender<Message>,
    on_health: OnHealth,
    client: Client,
    store: Option<Store>,
    role: Role,
    /// When to use the store again after an error.
    open_at: Instant,
    health: Health,
    in_flight: InFlight,
    breaker: Breaker,
    /// The current content of each topic, by its URL.
    contents: BTreeMap<String, Topic>,
    /// Whether `contents` may be newer than the store.
    unpublished: bool,
    /// When a topic last got new content, or when this process started.
    published_at: UnixMillis,
    /// Finished exchanges that are not stored yet.
    ended: Vec<FinishedExchange>,
    /// The wall clock; `anchor` is its last reading.
    unix_ms: Box<dyn Fn() -> i64 + Send>,
    anchor: (Instant, i64),
    sweep_at: Instant,
    count_at: Instant,
    /// Verifications that were deferred since the pending requests were last counted.
    deferred: u64,
    stopping: Option<(Instant, Vec<SyncSender<bool>>)>,
}

impl Engine {
    pub(super) fn new(
        base_url: &str,
        settings: HubSettings,
        outside: Outside,
        shared: Arc<Shared>,
        sender: SyncSender<Message>,
        on_health: OnHealth,
    ) -> Result<Engine, CaError> {
        let lanes = settings.lanes;
        let tls = client_config(settings.ca_file.as_deref())?;
        let guard = settings.guard.clone();
        let resolver = GuardedResolver::new(outside.lookup, guard, lanes.sockets());
        let client = Client::new(base_url, tls, resolver, &settings);
        let now = Instant::now();
        let now_ms = (outside.unix_ms)();
        Ok(Engine {
            base_url: base_url.to_owned(),
            shared,
            sender,
            on_health,
            client,
            store: None,
            role: Role {
                is_ours: false,
                ask_at: now,
                yield_at: now,
            },
            open_at: now,
            health: Health::default(),
            in_flight: InFlight::new(lanes, now),
            breaker: Breaker::default(),
            contents: BTreeMap::new(),
            unpublished: false,
            published_at: UnixMillis::new(now_ms),
            ended: Vec::new(),
            anchor: (now, now_ms),
            unix_ms: outside.unix_ms,
            sweep_at: now,
            count_at: now,
            deferred: 0,
            stopping: None,
            settings,
        })
    }

    /// Processes messages until a `Stop`, and then until all exchanges have ended or its deadline has passed.
    pub(super) fn run(mut self, messages: &Receiver<Message>) {
        lower_priority(Priority::Low);
        let mut wait = Duration::ZERO;
        loop {
            // This thread keeps a sender too, so the channel never closes.
            let mut batch = Vec::from_iter(messages.recv_timeout(wait));
            batch.extend(messages.try_iter().take(BATCH_MAX - batch.len()));
            let more = self.process_batch(batch);
            let is_over = self.stopping.as_ref().is_some_and(|(until, _)| {
                (self.in_flight.len() == 0 && self.ended.is_empty()) || Instant::now() >= *until
            });
            if is_over {
                return self.close();
            }
            wait = match self.in_flight.len() {
                _ if more => TICK_BUSY,
                0 => TICK,
                // An exchange may cease to be young, and free its place in the lane.
                _ => YOUNG / 2,
            };
        }
    }

    /// Processes a batch. Returns true if due exchanges may be waiting for a free place in a lane.
    fn process_batch(&mut self, batch: Vec<Message>) -> bool {
        let now = self.moment();
        self.take_topics();
        self.open(now);
        let mut accepts = Vec::new();
        for message in batch {
            match message {
                Message::Submit { accept, reply } if self.stopping.is_none() => {
                    accepts.push((accept, reply));
                }
                // The client may have disconnected.
                Message::Submit { reply, .. } => {
                    drop(reply.send(Err(Refusal::busy("the hub is stopping"))))
                }
                Message::Ended {
                    number,
                    job,
                    exchange,
                    elapsed,
                } => {
                    self.in_flight.end(number);
                    self.take_end(job, &exchange, elapsed, now);
                }
                Message::Wake => {}
                Message::Stop { until, done } => {
                    let (by, waiting) = self.stopping.get_or_insert((until, Vec::new()));
                    *by = until.min(*by);
                    waiting.extend(done);
                }
            }
        }
        self.publish(now);
        self.accept(accepts, now);
        self.record(now);
        let is_behind = self.store.as_ref().is_some_and(|store| store.is_behind);
        let may_begin = self.role.may_deliver(is_behind, Instant::now()) && self.stopping.is_none();
        let more = may_begin && self.ended.is_empty() && self.dispatch(now);
        self.yield_role();
        self.run_maintenance(now);
        self.report_health();
        more
    }

    /// Returns the wall-clock time. If the clock has jumped, shifts all stored times: leases are durations.
    fn moment(&mut self) -> UnixMillis {
        let (began, was_ms) = self.anchor;
        let instant = Instant::now();
        let elapsed = instant.saturating_duration_since(began);
        let expected = UnixMillis::new(was_ms).plus(elapsed);
        let now_ms = (self.unix_ms)();
        let jump_ms = now_ms.saturating_sub(expected.as_ms());
        self.anchor = (instant, now_ms);
        if jump_ms.abs() >= JUMP_MS && self.role.is_ours {
            warn!(jump_ms, "the clock jumped: shifting leases and retries");
            if self.write_store(|store| store.shift(jump_ms)).is_none() {
                // Retried with the next batch, until the store can be written.
                self.anchor.1 = now_ms.saturating_sub(jump_ms);
            }
        }
        UnixMillis::new(now_ms)
    }

    /// Takes the topics that the service has published since the last batch.
    fn take_topics(&mut self) {
        let next = self.shared.next_topics.lock();
        let next = next.unwrap_or_else(PoisonError::into_inner).take();
        if let Some(topics) = next {
            let url = |topic: &Topic| format!("{}{}", self.base_url, topic.path);
            let contents = topics.into_iter().map(|topic| (url(&topic), topic));
            self.contents = contents.collect();
            self.unpublished = true;
        }
    }

    /// Stores the requests, all in one transaction, and replies to them.
    fn accept(
        &mut self,
        messages: Vec<(Accept, oneshot::Sender<Result<(), Refusal>>)>,
        now: UnixMillis,
    ) {
        if messages.is_empty() {
            return;
        }
        let (accepts, replies): (Vec<Accept>, Vec<_>) = messages.into_iter().unzip();
        let quotas = self.settings.quotas;
        let answers = self.write_store(|store| store.accept(&accepts, &quotas, now));
        for (index, reply) in replies.into_iter().enumerate() {
            let answer = match answers.as_ref().and_then(|answers| answers.get(index)) {
                Some(answer) => answer.map_err(refuse),
                None => Err(Refusal::busy("the hub cannot store requests at present")),
            };
            // The client may have disconnected; its request stays stored.
            let _gone = reply.send(answer);
        }
    }

    /// Periodically ends leases, drops tombstones and updates the gauges.
    fn run_maintenance(&mut self, now: UnixMillis) {
        let instant = Instant::now();
        let under_way = self.in_flight.len().try_into().unwrap_or(u64::MAX);
        self.shared.stats.in_flight.store(under_way, Relaxed);
        if self.health.store_error.is_some() && instant >= self.open_at {
            // A write without requests shows whether the error persists.
            let quotas = self.settings.quotas;
            let _error_is_recorded = self.write_store(|store| store.accept(&[], &quotas, now));
        }
        if self.role.is_ours && instant >= self.sweep_at {
            self.sweep_at = instant + SWEEP_EVERY;
            let swept = self.with_store(|store| store.sweep(TOMBSTONE_AGE, now));
            let swept = swept.unwrap_or_default();
            for reason in &swept {
                self.shared.stats.count_removals(*reason, 1);
            }
            let is_lease = |reason: &&RemovalReason| **reason == RemovalReason::LeaseEnded;
            let subscriptions = swept.iter().filter(is_lease).count();
            if subscriptions > 0 {
                info!(subscriptions, "leases ended");
            }
        }
        if instant >= self.count_at {
            let counted = self.with_store(|store| store.counts(now));
            // Counting millions of subscriptions is slow, so it takes at most 1/50 of this thread's time.
            self.count_at = Instant::now() + COUNT_EVERY.max(instant.elapsed() * 50);
            if let Some(counts) = counted {
                self.deferred = 0;
                // Deliveries of new content are due since it was published.
                self.shared.stats.set_counts(&counts, self.published_at);
            }
        }
    }

    /// Cancels running exchanges, closes the store, which gives the role back, and then reports completion.
    fn close(mut self) {
        let clean = self.in_flight.len() == 0;
        self.client.cut();
        drop(self.store);
        for done in self.stopping.into_iter().flat_map(|(_, waiting)| waiting) {
            // The caller may not have waited.
            let _gone = done.try_send(clean);
        }
    }
}

/// Returns the refusal of a request that exceeds a quota.
fn refuse(exceeded: QuotaExceeded) -> Refusal {
    match exceeded {
        QuotaExceeded::Requests(_) => Refusal::unavailable(exceeded.to_string(), VERIFIED_S),
        QuotaExceeded::RequestsOfHost(_) => Refusal::too_many(exceeded, VERIFIED_S),
        QuotaExceeded::Subscriptions(_) => Refusal::unavailable(exceeded.to_string(), LEASE_S),
        QuotaExceeded::SubscriptionsOfHost(_) => Refusal::too_many(exceeded, LEASE_S),
    }
}

/// Returns a random number. Without randomness all hubs jitter alike, which is no worse than no jitter.
fn jitter() -> u16 {
    let mut bytes = [0; 2];
    let _predictable = getrandom::fill(&mut bytes);
    u16::from_ne_bytes(bytes)
}

/// Messages in a batch; limits the size of a transaction.
const BATCH_MAX: usize = 512;

/// Longest wait for a message, after which the store is polled for due retries, leases and other processes' work.
const TICK: Duration = Duration::from_millis(500);

/// The same while due exchanges wait for a place in a lane.
const TICK_BUSY: Duration = Duration::from_millis(20);

/// Difference between wall clock and monotonic clock, from one batch to the next, that counts as a jump.
const JUMP_MS: i64 = 5_000;

/// How often expired leases are ended.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

/// How long the tombstone of an ended subscription is kept.
const TOMBSTONE_AGE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// How often the gauges are updated, by a scan of all subscriptions.
const COUNT_EVERY: Duration = Duration::from_secs(10);

/// Seconds in Retry-After while too many verifications are pending.
const VERIFIED_S: u32 = 30;

/// Seconds in Retry-After while there are too many subscriptions: leases end, but not soon.
const LEASE_S: u32 = 3_600;

//! The hub's thread, the only owner of the store. It receives requests, ended attempts and changed topics as messages,
//! stores each batch in a few transactions, and then replies. It starts due attempts on threads of a pool (`attempts`),
//! so it never waits for a subscriber.
//!
//! The thread reads the clocks twice for each batch, in [`Engine::run`], and gives every rule this time as an argument.
//! Other readings only measure how long the store took.

mod attempts;
mod notices;
mod storage;
mod time;

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, SyncSender};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tracing::{info, warn};

use self::attempts::{AttemptRecord, Attempts, EndedAttempt};
use self::notices::Notices;
use self::storage::Storage;
use self::time::{ClockWatch, Now};
use super::breaker::Breaker;
use super::client::Client;
use super::priority::{Priority, lower_priority};
use super::resolve::GuardedResolver;
use super::settings::{HubSettings, Outside};
use super::shared::{Health, OnHealth, Shared};
use super::store::{Accept, QuotaExceeded, Store, TopicVersion};
use super::subscription::RemovalReason;
use super::transport::{CaError, client_config};
use super::{RequestRefusal, UnixMillis};
use crate::Topic;

/// Messages in a batch; limits the size of a transaction.
const BATCH_MAX: usize = 512;

/// Longest wait for a message, after which the store is polled for due retries, leases and other processes' work.
const TICK: Duration = Duration::from_millis(500);

/// Shortest wait for a message after a batch, so that queued attempts do not keep the thread busy.
const TICK_MIN: Duration = Duration::from_millis(5);

/// How often expired leases are ended.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

/// How long the tombstone of an ended subscription, or of a request, is kept.
const TOMBSTONE_AGE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// How often the gauges are updated, by a scan of all subscriptions.
const COUNT_EVERY: Duration = Duration::from_secs(10);

/// How long the health tells of an attempt that was late because of this machine.
const LAG_SHOWN: Duration = Duration::from_secs(60);

/// Lookups for each attempt: the system's resolver may take three times as long as an attempt waits for it.
const LOOKUPS_PER_ATTEMPT: usize = 3;

/// Seconds in Retry-After while too many verifications are pending.
const VERIFIED_S: u32 = 30;

/// Seconds in Retry-After while there are too many subscriptions: leases end, but not soon.
const LEASE_S: u32 = 3_600;

/// A message to the thread.
#[derive(Debug)]
pub(super) enum HubMessage {
    /// A request to store, and the channel for the result.
    Submit(Submission),
    /// An attempt ended.
    Ended(EndedAttempt),
    /// Topics may have changed.
    Wake,
    /// Stop, at the latest at `until`.
    Stop {
        until: Instant,
        /// Gets, when the store is closed, whether all attempts had ended.
        done: Option<SyncSender<bool>>,
    },
}

/// A request to store, and the channel for the result.
#[derive(Debug)]
pub(super) struct Submission {
    pub(super) accept: Accept,
    pub(super) reply: oneshot::Sender<Result<(), RequestRefusal>>,
}

/// The thread's state.
pub(super) struct Engine {
    base_url: String,
    settings: HubSettings,
    shared: Arc<Shared>,
    on_health: OnHealth,
    health: Health,
    /// The wall clock.
    unix_ms: Box<dyn Fn() -> i64 + Send>,
    clock: ClockWatch,
    storage: Storage,
    attempts: Attempts,
    breaker: Breaker,
    /// The current content of each topic, by its URL.
    contents: BTreeMap<String, Topic>,
    /// Whether `contents` may be newer than the store.
    unpublished: bool,
    /// When a topic last got new content, or when this process started.
    published_at: Instant,
    /// What the operator's targets are told of.
    notices: Notices,
    /// Ended attempts whose results are not stored yet.
    unrecorded: Vec<AttemptRecord>,
    /// When an attempt was last late because of this machine.
    lagged_at: Option<Instant>,
    sweep_at: Instant,
    count_at: Instant,
    stopping: Option<Stopping>,
}

/// A requested stop.
struct Stopping {
    until: Instant,
    waiting: Vec<SyncSender<bool>>,
}

impl Engine {
    pub(super) fn new(
        base_url: &str,
        settings: HubSettings,
        outside: Outside,
        shared: Arc<Shared>,
        sender: SyncSender<HubMessage>,
        on_health: OnHealth,
    ) -> Result<Engine, CaError> {
        let tls = client_config(settings.ca_file.as_deref())?;
        let guard = settings.guard.clone();
        let lookups_max = settings.sockets() * LOOKUPS_PER_ATTEMPT;
        let resolver = GuardedResolver::new(outside.lookup, guard, lookups_max);
        let client = Client::new(base_url, tls, resolver, &settings);
        let now = Instant::now();
        let unix_ms = (outside.unix_ms)();
        Ok(Engine {
            base_url: base_url.to_owned(),
            shared,
            on_health,
            health: Health::default(),
            unix_ms: outside.unix_ms,
            clock: ClockWatch::new(now, unix_ms),
            storage: Storage::new(settings.location.clone(), now),
            attempts: Attempts::new(client, sender, &settings, now),
            breaker: Breaker::default(),
            contents: BTreeMap::new(),
            unpublished: false,
            published_at: now,
            notices: Notices::default(),
            unrecorded: Vec::new(),
            lagged_at: None,
            sweep_at: now,
            count_at: now,
            stopping: None,
            settings,
        })
    }

    /// Processes messages until a `Stop`, and then until all attempts have ended or its deadline has passed.
    pub(super) fn run(mut self, messages: &Receiver<HubMessage>) {
        lower_priority(Priority::Low);
        let mut wait = Duration::ZERO;
        loop {
            // This thread keeps a sender too, so the channel never closes.
            let mut batch = Vec::from_iter(messages.recv_timeout(wait));
            batch.extend(messages.try_iter().take(BATCH_MAX - batch.len()));
            let now = self.read_clock();
            self.process(batch, now);
            // Storing may have taken long: leases may have ended, or retries become due.
            let now = self.read_clock();
            self.start_attempts(now);
            self.storage.yield_role(
                self.attempts.running() == 0 && self.unrecorded.is_empty(),
                self.unpublished,
                now.instant,
            );
            self.run_maintenance(now);
            self.report_health(now.instant);
            if self.is_over(now.instant) {
                return self.close();
            }
            wait = self
                .attempts
                .until_change(now.instant)
                .clamp(TICK_MIN, TICK);
        }
    }

    /// Reads the clocks. If the wall clock has jumped, shifts all stored times: leases are durations.
    fn read_clock(&mut self) -> Now {
        let instant = Instant::now();
        let unix_ms = (self.unix_ms)();
        if let Some(jump_ms) = self.clock.observe(instant, unix_ms) {
            self.follow_jump(jump_ms, instant);
        }
        Now {
            instant,
            unix: UnixMillis::new(unix_ms),
        }
    }

    /// Shifts leases and retries by a jump of the clock, and counts the gauges, which are times of this clock, anew.
    fn follow_jump(&mut self, jump_ms: i64, now: Instant) {
        if self.storage.is_delivering() {
            warn!(jump_ms, "the clock jumped: shifting leases and retries");
            if self.storage.write(|store| store.shift(jump_ms)).is_none() {
                // Retried with the next batch, until the store can be written.
                return self.clock.forget(jump_ms);
            }
        }
        self.count_at = now;
    }

    /// Processes a batch of messages, and stores their effects.
    fn process(&mut self, batch: Vec<HubMessage>, now: Now) {
        self.take_topics();
        self.take_notices();
        self.open(now);
        let mut submissions = Vec::new();
        for message in batch {
            match message {
                HubMessage::Submit(submission) if self.stopping.is_none() => {
                    submissions.push(submission);
                }
                HubMessage::Submit(Submission { reply, .. }) => {
                    // The client may have disconnected.
                    let _gone = reply.send(Err(RequestRefusal::busy("the hub is stopping")));
                }
                HubMessage::Ended(ended) => self.end_attempt(ended, now),
                HubMessage::Wake => {}
                HubMessage::Stop { until, done } => {
                    let stopping = self.stopping.get_or_insert(Stopping {
                        until,
                        waiting: Vec::new(),
                    });
                    stopping.until = until.min(stopping.until);
                    stopping.waiting.extend(done);
                }
            }
        }
        self.publish(now);
        self.tell(now);
        self.accept(submissions, now.unix);
        self.record(now.unix);
        if self.storage.take_role_loss() {
            self.attempts.cut();
        }
    }

    /// Opens the store and takes the delivery role, if not done yet. Does not ask for the role before
    /// all attempts of an earlier role have ended, so that none runs twice.
    fn open(&mut self, now: Now) {
        if self.storage.open(now.instant) {
            // The store may have an older state: a backup, or a standby that lacks the last changes.
            self.unpublished = true;
        }
        let may_ask = self.stopping.is_none() && self.attempts.running() == 0;
        if !may_ask || !self.storage.try_take_role(now.instant) {
            return;
        }
        // Stores the results of earlier attempts; `recover` releases the other claims.
        self.record(now.unix);
        if self
            .storage
            .write(|store| store.recover(now.unix))
            .is_some()
        {
            info!(state = %self.settings.location, "the hub delivers");
            self.storage.begin_role();
            self.notices.is_untold = true;
            self.attempts.scan_now();
        }
    }

    /// Takes the topics that the service has published since the last batch.
    fn take_topics(&mut self) {
        let next = self
            .shared
            .next_topics
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Some(topics) = next else {
            return;
        };
        self.contents.clear();
        for topic in topics {
            self.contents
                .insert(format!("{}{}", self.base_url, topic.path), topic);
        }
        self.unpublished = true;
    }

    /// Publishes the topics that are served; after a failure it is retried later.
    fn publish(&mut self, now: Now) {
        // In a store that replicas do not share, publishing removes subscriptions to other topics, so it needs the role.
        let may_publish = self.storage.is_delivering() || self.settings.location.is_shared();
        if !self.unpublished || !may_publish || !self.storage.may_try(now.instant) {
            return;
        }
        let mut versions = Vec::new();
        for (url, topic) in &self.contents {
            versions.push(TopicVersion {
                url: url.clone(),
                digest: topic.digest,
                dated: topic.updated_at,
            });
        }
        let published = self
            .storage
            .write(|store| store.publish(&versions, now.unix));
        let Some(published) = published else {
            return;
        };
        self.unpublished = false;
        self.attempts.scan_now();
        if !published.changed.is_empty() {
            self.published_at = now.instant;
        }
        for topic in &published.changed {
            info!(topic, "the topic has new content");
        }
        for topic in &published.older {
            warn!(
                topic,
                "the topic keeps the content of another replica, because the content served here is not newer"
            );
        }
        let subscriptions = published.withdrawn;
        if subscriptions > 0 {
            let stats = &self.shared.stats;
            stats.count_removals(RemovalReason::TopicWithdrawn, subscriptions);
            warn!(
                subscriptions,
                "subscriptions to topics that are no longer served are removed: has --base-url changed?"
            );
        }
    }

    /// Stores the requests, all in one transaction, and replies to them.
    fn accept(&mut self, submissions: Vec<Submission>, now: UnixMillis) {
        if submissions.is_empty() {
            return;
        }
        let mut accepts = Vec::with_capacity(submissions.len());
        let mut replies = Vec::with_capacity(submissions.len());
        for Submission { accept, reply } in submissions {
            accepts.push(accept);
            replies.push(reply);
        }
        let quotas = self.settings.quotas;
        let results = self
            .storage
            .write(|store| store.accept(&accepts, &quotas, now));
        self.attempts.scan_requests_soon();
        for (index, reply) in replies.into_iter().enumerate() {
            let result = match results.as_ref().and_then(|results| results.get(index)) {
                Some(result) => result.map_err(quota_refusal),
                None => Err(RequestRefusal::busy(
                    "the hub cannot store requests at present",
                )),
            };
            // The client may have disconnected; its request stays stored.
            let _gone = reply.send(result);
        }
    }

    /// Starts due verifications, denials and deliveries.
    fn start_attempts(&mut self, now: Now) {
        self.attempts.observe_progress(now.instant);
        let may_start = self.stopping.is_none() && self.unrecorded.is_empty();
        if !may_start || !self.storage.may_deliver(now.instant) {
            return;
        }
        let mut not_run = self.attempts.start_verifications(&mut self.storage, now);
        if !self.unpublished {
            not_run.extend(self.attempts.start_deliveries(
                &mut self.storage,
                &self.contents,
                self.notices.targets(),
                now,
            ));
        }
        for ended in not_run {
            self.end_attempt(ended, now);
        }
    }

    /// Periodically ends subscriptions, drops tombstones and updates the gauges.
    fn run_maintenance(&mut self, now: Now) {
        let running = self.attempts.running().try_into().unwrap_or(u64::MAX);
        self.shared.stats.in_flight.store(running, Relaxed);
        if self.storage.has_error() && self.storage.may_try(now.instant) {
            // A write without requests shows whether the error persists.
            let quotas = self.settings.quotas;
            let _error_is_recorded = self
                .storage
                .write(|store| store.accept(&[], &quotas, now.unix));
        }
        if self.storage.is_delivering() && now.instant >= self.sweep_at {
            self.sweep_at = now.instant + SWEEP_EVERY;
            self.sweep(now.unix);
        }
        if now.instant >= self.count_at {
            let began = Instant::now();
            let counted = self.storage.read(|store| store.counts(now.unix));
            if let Some(counts) = self.storage.read(Store::notice_counts) {
                self.shared.stats.set_notice_counts(counts);
            }
            // Counting millions of subscriptions is slow, so it takes at most 1/50 of this thread's time.
            self.count_at = now.instant + COUNT_EVERY.max(began.elapsed() * 50);
            if let Some(counts) = counted {
                // Deliveries of new content are due since it was published.
                let published_before = now.instant.saturating_duration_since(self.published_at);
                let published_at = now.unix.minus(published_before);
                self.shared.stats.set_counts(&counts, published_at);
            }
        }
    }

    fn sweep(&mut self, now: UnixMillis) {
        let swept = self
            .storage
            .read(|store| store.sweep(TOMBSTONE_AGE, now))
            .unwrap_or_default();
        for reason in &swept {
            self.shared.stats.count_removals(*reason, 1);
        }
        for (removal, message) in [
            (RemovalReason::LeaseEnded, "leases ended"),
            (
                RemovalReason::NeverAcknowledged,
                "subscriptions are removed that have never acknowledged a delivery, and were owed one for three days",
            ),
        ] {
            let subscriptions = swept.iter().filter(|reason| **reason == removal).count();
            if subscriptions > 0 {
                info!(subscriptions, "{message}");
            }
        }
    }

    fn report_health(&mut self, now: Instant) {
        let was = self.health.clone();
        self.storage.report(&mut self.health);
        self.health.paused = self.breaker.is_open(now);
        self.health.lagging = self
            .lagged_at
            .is_some_and(|at| now.saturating_duration_since(at) < LAG_SHOWN);
        if self.health.paused && !was.paused {
            warn!(
                "most callback hosts cannot be reached, so our own network may be at fault: failed deliveries do not count until most can be reached"
            );
        }
        if was.paused && !self.health.paused {
            info!("most callback hosts can be reached again");
        }
        if self.health.lagging && !was.lagging {
            warn!(
                "deliveries or verifications are late because this machine has no core for them: those that time out do not count"
            );
        }
        if was.lagging && !self.health.lagging {
            info!("this machine has time for deliveries again");
        }
        if **self.shared.health.load() != self.health {
            self.shared.health.store(Arc::new(self.health.clone()));
            (self.on_health)(&self.health);
        }
    }

    fn is_over(&self, now: Instant) -> bool {
        let is_idle = self.attempts.running() == 0 && self.unrecorded.is_empty();
        let stopping = self.stopping.as_ref();
        stopping.is_some_and(|stopping| is_idle || now >= stopping.until)
    }

    /// Cancels running attempts, closes the store, which gives the role back, and then reports completion.
    fn close(mut self) {
        let clean = self.attempts.running() == 0 && self.unrecorded.is_empty();
        self.attempts.cut();
        drop(self.storage);
        for done in self.stopping.into_iter().flat_map(|stop| stop.waiting) {
            // The caller may not have waited.
            let _gone = done.try_send(clean);
        }
    }
}

/// Returns the refusal of a request that exceeds a quota.
fn quota_refusal(exceeded: QuotaExceeded) -> RequestRefusal {
    match exceeded {
        QuotaExceeded::Requests(_) => RequestRefusal::unavailable(exceeded.to_string(), VERIFIED_S),
        QuotaExceeded::RequestsOfHost(_) | QuotaExceeded::RequestsOfAddress(_) => {
            RequestRefusal::too_many(exceeded, VERIFIED_S)
        }
        QuotaExceeded::Subscriptions(_) => {
            RequestRefusal::unavailable(exceeded.to_string(), LEASE_S)
        }
        QuotaExceeded::SubscriptionsOfHost(_) => RequestRefusal::too_many(exceeded, LEASE_S),
    }
}

/// Returns a random number. Without randomness all hubs jitter alike, which is no worse than no jitter.
fn jitter() -> u16 {
    let mut bytes = [0; 2];
    let _predictable = getrandom::fill(&mut bytes);
    u16::from_ne_bytes(bytes)
}

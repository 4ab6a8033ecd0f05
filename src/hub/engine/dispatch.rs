//! Dispatch: what is due is claimed in the store and handed to the pool, as far as there is room.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tracing::{error, info, warn};

use super::super::breaker::{PROBE_WAIT_MAX, PROBES};
use super::super::exchange::{End, Job};
use super::super::in_flight::{Attempt, Kind};
use super::{Engine, Logged};
use crate::hub::store::{Claim, Delivery, Lane, Report, SweepReport};
use crate::hub::subscription::{Outcome, RemovalReason};
use crate::hub::{Callback, Moment};

impl Engine {
    /// Begins what may begin; true when it is worth looking again soon: a lane is full, or claims are to be given back.
    pub(super) fn dispatch(&mut self, now: Moment) -> bool {
        self.in_flight.observe(Instant::now());
        self.dispatch_probe(now);
        let mut more = self.dispatch_requests(now);
        if !self.breaker.is_paused() && !self.unpublished {
            more |= self.dispatch_deliveries(Lane::Fast, now);
            more |= self.dispatch_deliveries(Lane::Slow, now);
        }
        more |= self.dispatch_notices(now);
        more | !self.reports.is_empty()
    }

    /// Probes hosts of active subscriptions while deliveries pause: those reached last, and others by turns.
    fn dispatch_probe(&mut self, now: Moment) {
        if self.breaker.end_long_pause(Instant::now()) {
            warn!(
                "deliveries go on after the longest pause, although no callback host was reached"
            );
            self.write_store(|store| store.set_paused(None, now));
        }
        let Some(mut targets) = self.breaker.begin_probe(Instant::now()) else {
            return;
        };
        self.write_store(|store| store.set_paused(Some(PAUSE_NOTED), now));
        let (after, wanted) = (self.probed_id, PROBES - targets.len());
        let others = self.with_store(|store| store.list(after, wanted));
        let others = others.unwrap_or_default();
        // From the first again when the last was among them.
        self.probed_id = match others.last() {
            Some(last) if others.len() == wanted => last.id,
            _ => 0,
        };
        let address = |callback: &Callback| (callback.host().to_string(), callback.port());
        targets.extend(others.iter().map(|listed| address(&listed.callback)));
        self.begin(Kind::Other, None, String::new(), Job::Probe(targets));
    }

    /// Returns the time of day within a turn that began at `now`: booking and publishing may have taken a while, which
    /// the lease of an attempt is not to lack.
    fn later(&self, now: Moment) -> Moment {
        now.plus(self.anchor.0.elapsed())
    }

    fn dispatch_requests(&mut self, now: Moment) -> bool {
        let room = self.in_flight.verify_room(Instant::now());
        if room == 0 {
            return true;
        }
        let now = self.later(now);
        let busy = self.in_flight.busy(&[Kind::Verify], Instant::now());
        let claim = Claim {
            limit: room,
            per_host: self.settings.lanes.per_host,
            busy: &busy,
        };
        let Some(claimed) = self.with_store(|store| store.claim_requests(&claim, now)) else {
            return false;
        };
        let full = claimed.len() == room;
        for verification in claimed {
            let (callback, topic) = (
                verification.callback.clone(),
                verification.topic_given.clone(),
            );
            self.begin(
                Kind::Verify,
                Some(&callback),
                topic,
                Job::Verify(verification),
            );
        }
        full
    }

    fn dispatch_deliveries(&mut self, lane: Lane, now: Moment) -> bool {
        let (instant, lanes) = (Instant::now(), self.settings.lanes);
        let (kind, room, per_host) = match lane {
            Lane::Fast => (
                Kind::Fast,
                self.in_flight.fast_room(instant),
                lanes.per_host,
            ),
            // Subscribers known to be slow begin only in the half that those which hang may hold.
            Lane::Slow => (
                Kind::Slow,
                self.in_flight.slow_room(instant),
                lanes.half_of_host(),
            ),
        };
        if room == 0 {
            return true;
        }
        let busy = self.in_flight.busy(&[Kind::Fast, Kind::Slow], instant);
        let now = self.later(now);
        let claim = Claim {
            limit: room,
            per_host,
            busy: &busy,
        };
        let Some(claimed) = self.with_store(|store| store.claim_deliveries(lane, &claim, now))
        else {
            return false;
        };
        let full = claimed.len() == room;
        for delivery in claimed {
            self.deliver(kind, delivery);
        }
        full
    }

    /// Begins a delivery, or gives its claim back when another content is served by now.
    fn deliver(&mut self, kind: Kind, delivery: Delivery) {
        let (callback, topic) = (delivery.callback.clone(), delivery.topic.clone());
        let content = self.contents.get(&topic);
        if let Some(content) = content.filter(|content| content.digest == delivery.digest) {
            let job = Job::Deliver(delivery, Arc::clone(content), Arc::default());
            return self.begin(kind, Some(&callback), topic, job);
        }
        let report = Report::Delivered {
            id: delivery.id,
            attempt: delivery.attempt,
            digest: delivery.digest,
            outcome: Outcome::Deferred,
            elapsed: Duration::ZERO,
            jitter: 0,
        };
        let logged = Logged {
            topic,
            host: callback.host().to_string(),
            answer: "withheld".to_owned(),
            elapsed: Duration::ZERO,
        };
        self.reports.push((report, logged));
    }

    fn dispatch_notices(&mut self, now: Moment) -> bool {
        let room = self.in_flight.verify_room(Instant::now());
        if room == 0 {
            return true;
        }
        let Some(notices) = self.with_store(|store| store.take_notices(room, now)) else {
            return false;
        };
        let full = notices.len() == room;
        for notice in notices {
            let (callback, topic) = (notice.callback.clone(), notice.topic.clone());
            self.begin(Kind::Other, Some(&callback), topic, Job::Deny(notice));
        }
        full
    }

    fn begin(&mut self, kind: Kind, callback: Option<&Callback>, topic: String, job: Job) {
        let (host, port) = callback.map_or_else(Default::default, |callback| {
            (callback.host().to_string(), callback.port())
        });
        let sent = match &job {
            Job::Deliver(_, _, sent) => Arc::clone(sent),
            _ => Arc::default(),
        };
        let number =
            self.in_flight
                .begin(Attempt::new(kind, host, port, topic, sent, Instant::now()));
        let pool = match kind {
            Kind::Fast | Kind::Slow => &self.delivering,
            Kind::Verify | Kind::Other => &self.asking,
        };
        if let Err((number, job)) = pool.submit((number, job)) {
            error!("the system refuses threads, exchanges with subscribers wait");
            self.withhold(number, job);
        }
    }

    /// Ends an exchange that could not begin.
    fn withhold(&mut self, number: u64, job: Job) {
        let exchange = super::super::client::Exchange {
            answer: None,
            retry_after: None,
            reached: false,
            stalled: false,
        };
        let end = match job {
            Job::Verify(verification) => End::Verified {
                id: verification.id,
                exchange,
                confirmed: false,
            },
            Job::Deliver(delivery, ..) => End::Delivered {
                id: delivery.id,
                attempt: delivery.attempt,
                digest: delivery.digest,
                exchange,
            },
            Job::Deny(notice) => End::Denied { notice, exchange },
            Job::Probe(_) => End::Probed { reached: false },
        };
        let now = Moment::from_unix_ms((self.unix_ms)());
        self.note_end(number, end, Duration::ZERO, now);
    }

    fn note_swept(&self, swept: SweepReport) {
        let stats = &self.shared.stats;
        stats.note_removals(RemovalReason::LeaseEnded, swept.expired);
        stats.note_removals(RemovalReason::Unsubscribed, swept.left);
        if swept.expired > 0 {
            info!(subscriptions = swept.expired, "leases ended");
        }
    }

    /// Ends leases, drops tombstones, and counts, each from time to time.
    pub(super) fn run_maintenance(&mut self, now: Moment) {
        let in_flight = u64::try_from(self.in_flight.len()).unwrap_or(u64::MAX);
        self.shared.stats.in_flight.set(in_flight);
        let instant = Instant::now();
        if self.health.store_error.is_some() && instant >= self.open_at {
            // A write that changes nothing tells whether the trouble is over.
            let quotas = self.settings.quotas;
            let _trouble_is_noted = self.write_store(|store| store.accept(&[], &quotas, now));
        }
        if self.has_role && instant >= self.sweep_at {
            self.sweep_at = instant + SWEEP_EVERY;
            let (policy, age) = (self.settings.policy.clone(), self.settings.tombstone_age);
            if let Some(swept) = self.with_store(|store| store.sweep(&policy, age, now)) {
                self.note_swept(swept);
            }
        }
        if instant >= self.count_at {
            let counted = self.with_store(|store| store.counts(now));
            // Of many millions the count takes its time, and gets no more than a fiftieth of it.
            self.count_at = Instant::now() + COUNT_EVERY.max(instant.elapsed() * 50);
            if let Some(counts) = counted {
                self.put_off = 0;
                self.shared.stats.subscriptions.set(counts.subscriptions);
                self.shared.stats.requests.set(counts.requests);
                self.shared.stats.owed.set(counts.owed);
                self.shared.stats.due.set(counts.due);
                // What a new content made due is due since that was published.
                let since = counts.due_since.map(|since| since.max(self.published_at));
                let since_ms = since.map_or(0, Moment::unix_ms);
                self.shared
                    .stats
                    .due_since_ms
                    .set(u64::try_from(since_ms).unwrap_or(0));
            }
        }
    }
}

/// How long the store says that deliveries pause after a probe began: until the next one has begun, however long it took.
const PAUSE_NOTED: Duration = PROBE_WAIT_MAX.saturating_mul(2);

/// How often leases are looked at.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

/// How often the gauges are counted: a walk over all subscriptions.
const COUNT_EVERY: Duration = Duration::from_secs(10);

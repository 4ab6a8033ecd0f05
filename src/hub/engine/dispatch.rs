//! Dispatch: what is due is claimed in the store and handed to the pool, as far as there is room.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tracing::{error, info};

use super::{Engine, FinishedExchange, Message};
use crate::hub::Moment;
use crate::hub::breaker::{PROBE_WAIT_MAX, PROBES};
use crate::hub::client::Job;
use crate::hub::outcome::{Outcome, RemovalReason};
use crate::hub::store::{Delivery, Lane, Listed};

impl Engine {
    /// Begins what may begin; true when it is worth looking again soon: a lane is full, or claims are to be given back.
    pub(super) fn dispatch(&mut self, now: Moment) -> bool {
        self.in_flight.observe(Instant::now());
        self.dispatch_probe(now);
        let mut more = self.dispatch_lane(Lane::Ask, now);
        if !self.breaker.is_paused() && !self.unpublished {
            more |= self.dispatch_lane(Lane::Fast, now);
            more |= self.dispatch_lane(Lane::Slow, now);
        }
        more | !self.ended.is_empty()
    }

    /// Probes hosts of active subscriptions while deliveries pause: those reached last, and others by turns.
    fn dispatch_probe(&mut self, now: Moment) {
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
        let address =
            |listed: &Listed| (listed.callback.host().to_string(), listed.callback.port());
        targets.extend(others.iter().map(address));
        self.begin(Lane::Ask, Job::Probe(targets));
    }

    /// Claims what may begin in a lane, and begins it; true when there may be more.
    fn dispatch_lane(&mut self, lane: Lane, now: Moment) -> bool {
        let claim = self.in_flight.room(lane, Instant::now());
        if claim.limit == 0 {
            return true;
        }
        // Recording and publishing may have taken a while, in which leases may have ended and waits passed.
        let now = now.plus(self.anchor.0.elapsed());
        let mut begun = 0;
        if lane == Lane::Ask {
            let asked = self.with_store(|store| store.claim_requests(&claim, now));
            let asked = asked.unwrap_or_default();
            let left = claim.limit - asked.len();
            let notices = self.with_store(|store| store.take_notices(left, now));
            let notices = notices.unwrap_or_default().into_iter().map(Job::Deny);
            for job in asked.into_iter().map(Job::Verify).chain(notices) {
                self.begin(lane, job);
                begun += 1;
            }
        } else {
            let claimed = self.with_store(|store| store.claim_deliveries(lane, &claim, now));
            for delivery in claimed.unwrap_or_default() {
                self.deliver(lane, delivery);
                begun += 1;
            }
        }
        begun == claim.limit
    }

    /// Begins a delivery, or gives its claim back when another content is served by now.
    fn deliver(&mut self, lane: Lane, delivery: Delivery) {
        let content = self.contents.get(&delivery.topic).map(Arc::clone);
        match content.filter(|content| content.topic.digest == delivery.digest) {
            Some(content) => self.begin(lane, Job::Deliver(delivery, content)),
            None => self.ended.push(FinishedExchange {
                report: delivery.ended(Outcome::Deferred, Duration::ZERO, 0),
                host: delivery.callback.host().to_string(),
                topic: delivery.topic,
                status: "withheld".to_owned(),
                elapsed: Duration::ZERO,
            }),
        }
    }

    fn begin(&mut self, lane: Lane, job: Job) {
        let (began, progress) = (Instant::now(), Arc::default());
        let host = job.callback().map(|callback| callback.host().to_string());
        let host = host.unwrap_or_default();
        let number = self
            .in_flight
            .begin(lane, host, Arc::clone(&progress), began);
        let pool = match lane {
            Lane::Fast | Lane::Slow => &self.delivering,
            Lane::Ask => &self.asking,
        };
        let (client, sender) = (Arc::clone(&self.client), self.sender.clone());
        let run = move || {
            let began = Instant::now();
            let exchange = client.run(&job, &progress);
            // When the hub's thread is gone, the result is not needed.
            let _gone = sender.send(Message::Ended {
                number,
                job,
                exchange,
                elapsed: began.elapsed(),
            });
        };
        if !pool.submit(run) {
            error!("the system refuses threads, exchanges with subscribers wait");
        }
    }

    /// Ends leases, drops tombstones, and counts, each from time to time.
    pub(super) fn run_maintenance(&mut self, now: Moment) {
        let instant = Instant::now();
        let under_way = self.in_flight.len().try_into().unwrap_or(u64::MAX);
        self.shared.stats.in_flight.set(under_way);
        if self.health.store_error.is_some() && instant >= self.open_at {
            // A write that changes nothing tells whether the trouble is over.
            let quotas = self.settings.quotas;
            let _trouble_is_noted = self.write_store(|store| store.accept(&[], &quotas, now));
        }
        if self.role.is_ours && instant >= self.sweep_at {
            self.sweep_at = instant + SWEEP_EVERY;
            if let Some(swept) = self.with_store(|store| store.sweep(TOMBSTONE_AGE, now)) {
                let stats = &self.shared.stats;
                stats.count_removals(RemovalReason::LeaseEnded, swept.expired);
                stats.count_removals(RemovalReason::Unsubscribed, swept.left);
                if swept.expired > 0 {
                    info!(subscriptions = swept.expired, "leases ended");
                }
            }
        }
        if instant >= self.count_at {
            let counted = self.with_store(|store| store.counts(now));
            // Of many millions the count takes its time, and gets no more than a fiftieth of it.
            self.count_at = Instant::now() + COUNT_EVERY.max(instant.elapsed() * 50);
            if let Some(counts) = counted {
                self.put_off = 0;
                // What a new content made due is due since that was published.
                self.shared.stats.set_counts(&counts, self.published_at);
            }
        }
    }
}

/// How long the store says that deliveries pause after a probe began: until the next one has begun, however long it took.
const PAUSE_NOTED: Duration = PROBE_WAIT_MAX.saturating_mul(2);

/// How often leases are looked at.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

/// How long an ended subscription is remembered.
const TOMBSTONE_AGE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// How often the gauges are counted: a walk over all subscriptions.
const COUNT_EVERY: Duration = Duration::from_secs(10);

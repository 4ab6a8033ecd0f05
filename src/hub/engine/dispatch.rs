//! Dispatch: what is due is claimed in the store and handed to the pool, as far as there is room.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tracing::{error, info};

use super::{Engine, Logged, Message};
use crate::hub::breaker::{PROBE_WAIT_MAX, PROBES};
use crate::hub::client::Job;
use crate::hub::outcome::{Outcome, RemovalReason};
use crate::hub::store::{Delivery, Lane, Listed};
use crate::hub::{Moment, store};

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

    /// Returns the time of day within a turn that began at `now`: booking and publishing may have taken a while, which
    /// the lease of an attempt is not to lack.
    fn later(&self, now: Moment) -> Moment {
        now.plus(self.anchor.0.elapsed())
    }

    fn dispatch_requests(&mut self, now: Moment) -> bool {
        let claim = self.in_flight.room(Lane::Ask, Instant::now());
        let now = self.later(now);
        let claimed = self.claim(claim.limit, |store| store.claim_requests(&claim, now));
        let is_full = claimed.len() == claim.limit;
        for verification in claimed {
            self.begin(Lane::Ask, Job::Verify(verification));
        }
        is_full
    }

    fn dispatch_deliveries(&mut self, lane: Lane, now: Moment) -> bool {
        let claim = self.in_flight.room(lane, Instant::now());
        let now = self.later(now);
        let claimed = self.claim(claim.limit, |store| {
            store.claim_deliveries(lane, &claim, now)
        });
        let is_full = claimed.len() == claim.limit;
        for delivery in claimed {
            self.deliver(lane, delivery);
        }
        is_full
    }

    /// Begins a delivery, or gives its claim back when another content is served by now.
    fn deliver(&mut self, lane: Lane, delivery: Delivery) {
        let content = self.contents.get(&delivery.topic).map(Arc::clone);
        match content.filter(|content| content.digest == delivery.digest) {
            Some(content) => self.begin(lane, Job::Deliver(delivery, content, Arc::default())),
            None => {
                let report = delivery.ended(Outcome::Deferred, Duration::ZERO, 0);
                let logged = Logged {
                    host: delivery.callback.host().to_string(),
                    topic: delivery.topic,
                    answer: "withheld".to_owned(),
                    elapsed: Duration::ZERO,
                };
                self.reports.push((report, logged));
            }
        }
    }

    fn dispatch_notices(&mut self, now: Moment) -> bool {
        let room = self.in_flight.room(Lane::Ask, Instant::now()).limit;
        let notices = self.claim(room, |store| store.take_notices(room, now));
        let is_full = notices.len() == room;
        for notice in notices {
            self.begin(Lane::Ask, Job::Deny(notice));
        }
        is_full
    }

    /// Takes work for which there is `room` out of the store.
    fn claim<T>(
        &mut self,
        room: usize,
        claim: impl FnOnce(&mut store::Store) -> Result<Vec<T>, store::StoreError>,
    ) -> Vec<T> {
        match room {
            0 => Vec::new(),
            _ => self.with_store(claim).unwrap_or_default(),
        }
    }

    fn begin(&mut self, lane: Lane, job: Job) {
        let host = job
            .subject()
            .map_or_else(String::new, |(callback, _)| callback.host().to_string());
        let sent = match &job {
            Job::Deliver(_, _, sent) => Arc::clone(sent),
            _ => Arc::default(),
        };
        let number = self.in_flight.begin(lane, host, sent, Instant::now());
        let pool = match lane {
            Lane::Fast | Lane::Slow => &self.delivering,
            Lane::Ask => &self.asking,
        };
        let (client, sender) = (Arc::clone(&self.client), self.sender.clone());
        let run = move || {
            let began = Instant::now();
            let exchange = client.run(&job);
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
        self.shared.stats.note_in_flight(self.in_flight.len());
        if self.health.store_error.is_some() && instant >= self.open_at {
            // A write that changes nothing tells whether the trouble is over.
            let quotas = self.settings.quotas;
            let _trouble_is_noted = self.write_store(|store| store.accept(&[], &quotas, now));
        }
        if self.role.is_ours && instant >= self.sweep_at {
            self.sweep_at = instant + SWEEP_EVERY;
            let age = self.settings.tombstone_age;
            if let Some(swept) = self.with_store(|store| store.sweep(age, now)) {
                let stats = &self.shared.stats;
                stats.note_removals(RemovalReason::LeaseEnded, swept.expired);
                stats.note_removals(RemovalReason::Unsubscribed, swept.left);
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
                self.shared.stats.note_counts(&counts, self.published_at);
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

//! Exchanges with callbacks: what is due is claimed in the store and sent by threads, as far as there is room; their ends come
//! back, and what they mean goes into the store and the log.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tracing::{debug, error, info, warn};

use super::{Engine, Message, jitter};
use crate::hub::breaker::{PROBE_WAIT_MAX, PROBES};
use crate::hub::client::{Exchange, Job};
use crate::hub::priority::{Behind, give_way};
use crate::hub::resolve::STACK_BYTES;
use crate::hub::store::{DenialNotice, Lane, Listed, Recorded, Report};
use crate::hub::subscription::Answer;
use crate::hub::{Callback, Moment};

/// The end of an exchange for the store, and what the log says of it.
pub(super) struct FinishedExchange {
    report: Report,
    topic: String,
    host: String,
    status: String,
}

impl Engine {
    /// Begins what may begin; true when it is worth looking again soon, as a lane is full.
    pub(super) fn dispatch(&mut self, now: Moment) -> bool {
        self.in_flight.observe(Instant::now());
        self.dispatch_probe(now);
        let mut more = self.dispatch_lane(Lane::Ask, now);
        if !self.breaker.is_paused() && !self.unpublished {
            more |= self.dispatch_lane(Lane::Fast, now);
            more |= self.dispatch_lane(Lane::Slow, now);
        }
        more
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
        let address = |one: &Listed| (one.callback.host().to_string(), one.callback.port());
        targets.extend(others.iter().map(address));
        self.begin(Lane::Ask, vec![Job::Probe(targets)], now);
    }

    /// Claims what may begin in a lane, and begins it; true when there may be more.
    fn dispatch_lane(&mut self, lane: Lane, now: Moment) -> bool {
        let claim = self.in_flight.room(lane, Instant::now());
        if claim.limit == 0 {
            return true;
        }
        // Recording and publishing may have taken a while, in which leases may have ended and waits passed.
        let now = now.plus(self.anchor.0.elapsed());
        let mut jobs = Vec::new();
        if lane == Lane::Ask {
            let asked = self.with_store(|store| store.claim_requests(&claim, now));
            jobs.extend(asked.into_iter().flatten().map(Job::Verify));
            let left = claim.limit - jobs.len();
            let notices = self.with_store(|store| store.take_notices(left, now));
            jobs.extend(notices.into_iter().flatten().map(Job::Deny));
        } else {
            let claimed = self.with_store(|store| store.claim_deliveries(lane, &claim, now));
            for listed in claimed.into_iter().flatten() {
                // `claim_deliveries` returns only topics whose stored digest is one that this process has published, so
                // their content is in `contents`.
                let content = self.contents.get(&listed.topic).map(Arc::clone);
                jobs.extend(content.map(|content| Job::Deliver(listed, content)));
            }
        }
        let is_full = jobs.len() == claim.limit;
        self.begin(lane, jobs, now);
        is_full
    }

    /// Begins exchanges. When the system refuses a thread, that exchange and the rest are given back.
    fn begin(&mut self, lane: Lane, jobs: Vec<Job>, now: Moment) {
        let mut has_threads = true;
        for job in jobs.into_iter().map(Arc::new) {
            has_threads = has_threads && self.spawn(lane, &job);
            if !has_threads {
                self.take_end(&job, &Exchange::WITHHELD, Duration::ZERO, now);
            }
        }
    }

    /// Begins an exchange on a thread of its own, so that one that hangs keeps no other waiting.
    fn spawn(&mut self, lane: Lane, job: &Arc<Job>) -> bool {
        let sent = Arc::default();
        let (host, began) = (job.host(), Instant::now());
        let number = self.in_flight.begin(lane, host, Arc::clone(&sent), began);
        let behind = match lane {
            Lane::Fast | Lane::Slow => Behind::Far,
            // Few, and a client waits for them.
            Lane::Ask => Behind::Little,
        };
        let (client, sender) = (self.client.clone(), self.sender.clone());
        let task = Arc::clone(job);
        let run = move || {
            give_way(behind);
            let began = Instant::now();
            let exchange = client.run(&task, &sent);
            // When the hub's thread is gone, the result is not needed.
            let _gone = sender.send(Message::Ended {
                number,
                job: task,
                exchange,
                elapsed: began.elapsed(),
            });
        };
        let builder = thread::Builder::new().name("hub-exchange".to_owned());
        let spawned = builder.stack_size(STACK_BYTES).spawn(run);
        if let Err(error) = &spawned {
            error!(%error, "the system refuses threads, exchanges with subscribers wait");
            self.in_flight.end(number);
        }
        spawned.is_ok()
    }

    /// Takes the end of an exchange; of those that change something, for the store.
    pub(super) fn take_end(
        &mut self,
        job: &Job,
        exchange: &Exchange,
        elapsed: Duration,
        now: Moment,
    ) {
        let answer = exchange.answer;
        let mut status = answer.map_or("withheld".to_owned(), |answer| answer.to_string());
        let (report, callback, topic) = match job {
            Job::Probe(_) => {
                if self.breaker.end_probe(exchange.contact, Instant::now()) {
                    info!("a callback host can be reached again, deliveries go on");
                    self.write_store(|store| store.set_paused(None, now));
                }
                return;
            }
            Job::Deny(notice) => return self.end_denial(notice, exchange, &status, now),
            Job::Verify(asked) => {
                let (id, confirmed) = (asked.id, exchange.confirmed);
                if answer.is_some_and(Answer::is_success) && !confirmed {
                    status.push_str(" without the challenge");
                }
                let report = match answer {
                    answer if answer.is_none_or(|answer| self.may_verify_again(answer)) => {
                        // As for a delivery, and at most a minute.
                        let delay = self.settings.policy.delay(1, None, jitter());
                        let delay = delay.min(VERIFY_DELAY_MAX);
                        Report::Unreached { id, answer, delay }
                    }
                    _ => Report::Verified {
                        id,
                        // The lease counts from the request that was confirmed.
                        asked_at: now.minus(elapsed),
                        confirmed,
                    },
                };
                (report, &asked.callback, &asked.topic_given)
            }
            Job::Deliver(listed, _) => {
                let report = Report::Delivered {
                    id: listed.id,
                    attempt: listed.state.attempt,
                    answer: self.count_end(&listed.callback, exchange, elapsed),
                    retry_after: exchange.retry_after,
                    elapsed,
                    jitter: jitter(),
                };
                (report, &listed.callback, &listed.topic)
            }
        };
        // What was cut with the role says nothing of its subscriber.
        if self.role.is_ours || matches!(answer, Some(Answer::Status(_))) {
            self.ended.push(FinishedExchange {
                report,
                topic: topic.clone(),
                host: callback.host().to_string(),
                status,
            });
        }
    }

    /// Keeps a denial that did not reach its callback. An answer has told it, whatever it says, but for that of a proxy whose
    /// server is down.
    fn end_denial(
        &mut self,
        notice: &DenialNotice,
        exchange: &Exchange,
        status: &str,
        now: Moment,
    ) {
        let is_told = exchange.answer.is_some_and(|answer| {
            !answer.is_of_network() && !matches!(answer, Answer::Status(502..=504))
        });
        let (topic, callback_host) = (&notice.topic, notice.callback.host());
        debug!(topic, %callback_host, status, is_told, "a denial was sent");
        if !is_told {
            self.write_store(|store| store.defer_notice(notice, now));
        }
    }

    /// Tells whether a verification failed for a fault of the network, which may pass, and there is room for requests that
    /// wait: requests for unreachable hosts must not keep others out.
    fn may_verify_again(&mut self, answer: Answer) -> bool {
        let half = u64::from(self.settings.quotas.requests / 2);
        // The count is some seconds old, so all requests that were put off since then are added.
        let waiting = self.shared.stats.requests.value() + self.put_off;
        let may = answer.is_of_network() && waiting <= half;
        self.put_off += u64::from(may);
        may
    }

    /// Counts the end of a delivery, takes note of how far it came with its host, and returns the answer, unless the fault is
    /// ours. Verifications do not count here: any client can cause them.
    fn count_end(
        &mut self,
        callback: &Callback,
        exchange: &Exchange,
        elapsed: Duration,
    ) -> Option<Answer> {
        let stats = &self.shared.stats;
        if let Some(answer) = exchange.answer {
            let (host, was_paused) = (callback.host().to_string(), self.breaker.is_paused());
            let (port, contact) = (callback.port(), exchange.contact);
            let is_ours = self.breaker.record(&host, port, contact, Instant::now());
            if self.breaker.is_paused() && !was_paused {
                warn!(
                    "most callback hosts cannot be reached, so our own network may be at fault: deliveries pause until one can"
                );
            }
            if !is_ours {
                stats.count_answer(answer, elapsed);
                return exchange.answer;
            }
        }
        stats.withheld.add(1);
        None
    }

    /// Stores the ends of exchanges, all in one transaction; when it cannot, they wait, and nothing new begins.
    pub(super) fn record(&mut self, now: Moment) {
        if self.ended.is_empty() || self.store.is_none() {
            return;
        }
        let reports = self.ended.iter().map(|ended| ended.report.clone());
        let reports: Vec<Report> = reports.collect();
        let policy = self.settings.policy.clone();
        let Some(results) = self.write_store(|store| store.record(&reports, &policy, now)) else {
            return;
        };
        let ended = std::mem::take(&mut self.ended);
        for (ended, recorded) in ended.into_iter().zip(results) {
            self.log(&ended, recorded);
        }
    }

    /// Counts and logs what the end of an exchange changed.
    fn log(&self, ended: &FinishedExchange, recorded: Recorded) {
        let stats = &self.shared.stats;
        let (request, subscription) = match ended.report {
            Report::Delivered { id, .. } => (None, Some(id)),
            Report::Verified { id, .. } | Report::Unreached { id, .. } => (Some(id), None),
        };
        let (topic, callback_host, status) = (&ended.topic, &ended.host, &ended.status);
        let mut reason = None;
        let message = match recorded {
            Recorded::Activated => "a subscription is active",
            Recorded::Renewed => "a subscription is renewed",
            Recorded::Leaving => "a subscription leaves with its attempt under way",
            Recorded::Rejected => "a request was not confirmed",
            Recorded::Removed(removal) => {
                stats.count_removals(removal, 1);
                reason = Some(removal.as_str());
                "a subscription is removed"
            }
            Recorded::Waiting
                if !matches!(ended.report, Report::Unreached { answer: None, .. }) =>
            {
                "a callback could not be reached for its verification, which is tried again"
            }
            Recorded::Waiting | Recorded::Stale | Recorded::Kept => {
                debug!(
                    subscription,
                    request, topic, callback_host, status, "an exchange ended"
                );
                return;
            }
        };
        match (recorded, &ended.report) {
            (Recorded::Rejected, _) => stats.rejected.add(1),
            (_, Report::Verified { .. }) => stats.confirmed.add(1),
            _ => {}
        }
        info!(
            subscription,
            request, topic, callback_host, reason, status, "{message}"
        );
    }
}

/// The longest wait before a verification is tried again.
const VERIFY_DELAY_MAX: Duration = Duration::from_secs(60);

/// How long the store says that deliveries pause after a probe began: until the next one has begun, however long it took.
const PAUSE_NOTED: Duration = PROBE_WAIT_MAX.saturating_mul(2);

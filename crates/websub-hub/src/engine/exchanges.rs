//! Exchanges with callbacks: claims due exchanges in the store, runs them on threads within the limits of the lanes,
//! and records their results in the store and the log.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

use tracing::{debug, error, info};

use super::{Engine, Message, jitter};
use crate::hub::UnixMillis;
use crate::hub::client::{Attempt, Job};
use crate::hub::priority::{Priority, lower_priority};
use crate::hub::resolve::STACK_BYTES;
use crate::hub::store::{DenialNotice, Lane, Report, ReportEffect};
use crate::hub::subscription::{AttemptResult, DeliveryResult};

/// The result of an exchange for the store, and its status for the log.
pub(super) struct FinishedExchange {
    job: Arc<Job>,
    report: Report,
    status: String,
}

impl Engine {
    /// Starts due exchanges in all lanes. Returns true if a lane is full, so more may be due.
    pub(super) fn dispatch(&mut self, now: UnixMillis) -> bool {
        self.in_flight.observe(Instant::now());
        let mut more = self.dispatch_lane(Lane::Ask, now);
        if !self.unpublished {
            more |= self.dispatch_lane(Lane::Fast, now);
            more |= self.dispatch_lane(Lane::Slow, now);
        }
        more
    }

    /// Claims and starts due exchanges of a lane. Returns true if it is full, so more may be due.
    fn dispatch_lane(&mut self, lane: Lane, now: UnixMillis) -> bool {
        let claim = self.in_flight.room(lane, Instant::now());
        if claim.limit == 0 {
            return true;
        }
        // Recording and publishing may have taken long, and leases may have ended or retries become due meanwhile.
        let now = now.plus(self.anchor.0.elapsed());
        let mut jobs = Vec::new();
        if lane == Lane::Ask {
            let asked = self.with_store(|store| store.claim_requests(&claim, now));
            jobs.extend(asked.into_iter().flatten().map(Job::Verify));
            let left = claim.limit - jobs.len();
            let notices = self.with_store(|store| store.claim_notices(left, now));
            jobs.extend(notices.into_iter().flatten().map(Job::Deny));
        } else {
            let claimed = self.with_store(|store| store.claim_deliveries(lane, &claim, now));
            for listed in claimed.into_iter().flatten() {
                // `claim_deliveries` returns only topics whose stored digest is one that this process has published, so
                // their content is in `contents`.
                let topic = self.contents.get(&listed.topic).cloned();
                jobs.extend(topic.map(|topic| Job::Deliver(listed, topic)));
            }
        }
        let is_full = jobs.len() == claim.limit;
        // If the system refuses a thread, this exchange and the remaining ones are released.
        let mut has_threads = true;
        for job in jobs.into_iter().map(Arc::new) {
            has_threads = has_threads && self.spawn(lane, &job);
            if !has_threads {
                self.take_end(job, &Attempt::DEFERRED, Duration::ZERO, now);
            }
        }
        is_full
    }

    /// Starts an exchange on a thread of its own, so that a callback that hangs delays no other exchange.
    fn spawn(&mut self, lane: Lane, job: &Arc<Job>) -> bool {
        let sent = Arc::default();
        let (host, began) = (job.pair().1, Instant::now());
        let number = self.in_flight.begin(lane, host, Arc::clone(&sent), began);
        let priority = match lane {
            Lane::Fast | Lane::Slow => Priority::Lowest,
            // There are few, and a client waits for each.
            Lane::Ask => Priority::Low,
        };
        let (client, sender) = (self.client.clone(), self.sender.clone());
        let task = Arc::clone(job);
        let run = move || {
            lower_priority(priority);
            let exchange = client.run(&task, &sent);
            // After the hub's thread has ended, the result is not needed.
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
            error!(%error, "cannot start a thread: deliveries and verifications are deferred");
            self.in_flight.end(number);
        }
        spawned.is_ok()
    }

    /// Processes the end of an exchange: ends a denial at once, and queues other results for the store.
    pub(super) fn take_end(
        &mut self,
        job: Arc<Job>,
        exchange: &Attempt,
        elapsed: Duration,
        now: UnixMillis,
    ) {
        let answer = exchange.answer;
        let mut status = answer.map_or("deferred".to_owned(), |answer| answer.to_string());
        let report = match &*job {
            Job::Deny(notice) => return self.end_denial(notice, exchange, &status),
            Job::Verify(asked) => {
                let (id, confirmed) = (asked.id, exchange.confirmed);
                if answer.is_some_and(AttemptResult::is_success) && !confirmed {
                    status.push_str(" without the challenge");
                }
                if answer.is_none_or(|answer| self.may_verify_again(answer)) {
                    let delay = self.repeat_delay();
                    Report::Unreached { id, answer, delay }
                } else {
                    // The lease counts from the request that was confirmed.
                    let asked_at = now.minus(elapsed);
                    Report::Verified {
                        id,
                        asked_at,
                        confirmed,
                    }
                }
            }
            Job::Deliver(listed, _) => {
                // If most hosts are unreachable, our own network is at fault, and the failure does not count.
                // Verifications are no evidence of that, because any client can request them.
                let (host, is_reached) = (job.pair().1, exchange.is_reached);
                let breaker = &mut self.breaker;
                let counted = answer.filter(|_| !breaker.record(&host, is_reached, Instant::now()));
                self.shared.stats.count_end(counted, elapsed);
                let is_ours = answer.is_some() && counted.is_none();
                let result = DeliveryResult {
                    attempt: listed.state.attempt,
                    answer: counted,
                    retry_after: match is_ours {
                        true => Some(self.repeat_delay()),
                        false => exchange.retry_after,
                    },
                    elapsed,
                    jitter: jitter(),
                };
                let id = listed.id;
                Report::Delivered { id, result }
            }
        };
        // An exchange that was cancelled with the loss of the role is no failure of its subscriber.
        if self.role.is_ours || matches!(answer, Some(AttemptResult::Status(_))) {
            self.ended.push(FinishedExchange {
                job,
                report,
                status,
            });
        }
    }

    /// Ends a denial that has reached its callback: any status shows that, except those of a proxy whose server is down
    /// (502 to 504).
    fn end_denial(&mut self, notice: &DenialNotice, exchange: &Attempt, status: &str) {
        let is_told = exchange.answer.is_some_and(|answer| {
            !answer.is_of_network() && !matches!(answer, AttemptResult::Status(502..=504))
        });
        let (topic, callback_host) = (&notice.topic, notice.callback.host());
        debug!(topic, %callback_host, status, is_told, "a denial was sent");
        if is_told {
            self.write_store(|store| store.end_notice(notice.id));
        }
    }

    /// Returns the delay before an exchange that did not reach its host is repeated without counting a failure: the
    /// delay after a first failure, but at most a minute.
    fn repeat_delay(&self) -> Duration {
        let delay = self.settings.policy.delay(1, None, jitter());
        delay.min(REPEAT_DELAY_MAX)
    }

    /// Tells whether a verification failed because of the network, and at most half of the quota of pending requests is
    /// in use: requests for unreachable hosts must not use up the quota.
    fn may_verify_again(&mut self, answer: AttemptResult) -> bool {
        let half = u64::from(self.settings.quotas.requests / 2);
        // The count is some seconds old, so the requests that were deferred since then are added.
        let waiting = self.shared.stats.requests.load(Relaxed) + self.deferred;
        let may = answer.is_of_network() && waiting <= half;
        self.deferred += u64::from(may);
        may
    }

    /// Stores the results of exchanges in one transaction. If that fails, they stay queued, and no new exchange starts.
    pub(super) fn record(&mut self, now: UnixMillis) {
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

    /// Counts and logs the effect of an exchange.
    fn log(&self, ended: &FinishedExchange, recorded: ReportEffect) {
        let stats = &self.shared.stats;
        let (request, subscription) = match ended.report {
            Report::Delivered { id, .. } => (None, Some(id)),
            Report::Verified { id, .. } | Report::Unreached { id, .. } => (Some(id), None),
        };
        let ((topic, callback_host), status) = (ended.job.pair(), &ended.status);
        let mut reason = None;
        let message = match recorded {
            ReportEffect::Activated => "a subscription is active",
            ReportEffect::Renewed => "a subscription is renewed",
            ReportEffect::Leaving => {
                "a subscription is removed when its running delivery has ended"
            }
            ReportEffect::Rejected => "a request was not confirmed",
            ReportEffect::Removed(removal) => {
                stats.count_removals(removal, 1);
                reason = Some(removal.as_str());
                "a subscription is removed"
            }
            ReportEffect::Waiting
                if !matches!(ended.report, Report::Unreached { answer: None, .. }) =>
            {
                "a callback could not be reached for its verification, which is retried"
            }
            ReportEffect::Waiting | ReportEffect::Stale | ReportEffect::Kept => {
                debug!(
                    subscription,
                    request, topic, callback_host, status, "a delivery or verification ended"
                );
                return;
            }
        };
        match (recorded, &ended.report) {
            (ReportEffect::Rejected, _) => stats.rejected.fetch_add(1, Relaxed),
            (_, Report::Verified { .. }) => stats.confirmed.fetch_add(1, Relaxed),
            _ => 0,
        };
        info!(
            subscription,
            request, topic, callback_host, reason, status, "{message}"
        );
    }
}

/// The longest delay before an exchange that did not reach its host is repeated.
const REPEAT_DELAY_MAX: Duration = Duration::from_secs(60);

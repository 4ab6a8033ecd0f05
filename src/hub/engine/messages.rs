//! Requests in, ends of exchanges in, and what they mean into the store.

use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tracing::{debug, info, warn};

use super::{Engine, Logged, jitter};
use crate::hub::client::{Exchange, Job};
use crate::hub::handle::BUSY_S;
use crate::hub::outcome::{Answer, Outcome};
use crate::hub::store::{Accept, DenialNotice, QuotaExceeded, Quotas, Recorded, Report};
use crate::hub::{Callback, Moment, Refusal};

impl Engine {
    /// Keeps the requests, all in one transaction, and answers them.
    pub(super) fn accept(
        &mut self,
        messages: Vec<(Accept, oneshot::Sender<Result<(), Refusal>>)>,
        now: Moment,
    ) {
        if messages.is_empty() {
            return;
        }
        let (accepts, replies): (Vec<Accept>, Vec<_>) = messages.into_iter().unzip();
        let quotas = self.settings.quotas;
        let answers = self.write_store(|store| store.accept(&accepts, &quotas, now));
        for (index, reply) in replies.into_iter().enumerate() {
            let answer = match answers.as_ref().and_then(|answers| answers.get(index)) {
                Some(answer) => answer.map_err(|exceeded| refuse(exceeded, &quotas)),
                None => {
                    let what = "the hub cannot store requests at present";
                    Err(Refusal::unavailable(what.to_owned(), BUSY_S))
                }
            };
            // The client may have gone; the request is kept all the same.
            let _gone = reply.send(answer);
        }
    }

    /// Takes the end of an exchange; of those that change something, as a report that the store will get.
    pub(super) fn note_end(
        &mut self,
        job: Job,
        exchange: Exchange,
        elapsed: Duration,
        now: Moment,
    ) {
        let Some((callback, topic)) = job.subject() else {
            if self.breaker.end_probe(exchange.reached, Instant::now()) {
                info!("a callback host can be reached again, deliveries go on");
                self.write_store(|store| store.set_paused(None, now));
            }
            return;
        };
        let answer = exchange.answer;
        let mut logged = Logged {
            topic: topic.to_owned(),
            host: callback.host().to_string(),
            answer: answer.map_or_else(|| "withheld".to_owned(), |answer| answer.to_string()),
            elapsed,
        };
        let report = match &job {
            Job::Probe(_) => return,
            Job::Deny(notice) => return self.note_denial(notice, &exchange, &logged, now),
            Job::Verify(asked) => {
                let id = asked.id;
                if answer.is_some_and(Answer::is_success) && !exchange.confirmed {
                    logged.answer.push_str(" without the challenge");
                }
                match answer {
                    None => Report::Unsent { id },
                    Some(answer) if self.may_verify_again(answer) => Report::Unreached {
                        id,
                        answer,
                        delay: self.verify_delay(),
                    },
                    Some(_) => Report::Verified {
                        id,
                        // The lease counts from the request that was confirmed.
                        asked_at: now.minus(elapsed),
                        confirmed: exchange.confirmed,
                    },
                }
            }
            Job::Deliver(delivery, ..) => {
                let outcome = self.outcome(&delivery.callback, &exchange, elapsed);
                delivery.ended(outcome, elapsed, jitter())
            }
        };
        // What was cut with the role says nothing of its subscriber.
        if self.role.is_ours || matches!(answer, Some(Answer::Status(_))) {
            self.reports.push((report, logged));
        }
    }

    /// Keeps a denial that did not reach its callback. An answer has told it, whatever it says, but for that of a proxy whose
    /// server is down.
    fn note_denial(
        &mut self,
        notice: &DenialNotice,
        exchange: &Exchange,
        logged: &Logged,
        now: Moment,
    ) {
        let is_told = exchange.answer.is_some_and(|answer| {
            !answer.is_of_network() && !matches!(answer, Answer::Status(502..=504))
        });
        let (topic, callback_host, status) = (&logged.topic, &logged.host, &logged.answer);
        debug!(topic, callback_host, status, is_told, "a denial was sent");
        if !is_told {
            self.write_store(|store| store.defer_notice(notice, now));
        }
    }

    /// Tells whether a verification failed for a fault of the network, which may pass, and there is room for requests that
    /// wait: requests for unreachable hosts must not keep others out.
    fn may_verify_again(&mut self, answer: Answer) -> bool {
        let half = u64::from(self.settings.quotas.requests / 2);
        // The count is some seconds old; all that were put off since are taken for new ones.
        let waiting = self.shared.stats.requests.value() + self.put_off;
        let may = answer.is_of_network() && waiting <= half;
        self.put_off += u64::from(may);
        may
    }

    /// The wait before a verification is tried again: as for a delivery, and at most a minute.
    fn verify_delay(&self) -> Duration {
        let delay = self.settings.policy.delay(1, None, jitter());
        delay.min(VERIFY_DELAY_MAX)
    }

    /// Counts the end of a delivery, takes note of whether it reached its host, and returns what it means for the
    /// subscription. Verifications do not count here: any client can cause them.
    fn outcome(&mut self, callback: &Callback, exchange: &Exchange, elapsed: Duration) -> Outcome {
        let (host, port) = (callback.host().to_string(), callback.port());
        let (now, reached) = (Instant::now(), exchange.reached);
        let is_congested = exchange.stalled && self.breaker.record_stall(&host, port, now);
        let counts = exchange.answer.is_some() && !exchange.stalled;
        if counts && self.breaker.record(&host, port, reached, now) {
            warn!(
                "most callback hosts cannot be reached, so our own network may be at fault: deliveries pause until one can"
            );
        }
        let is_ours = is_congested || (!reached && self.breaker.is_paused());
        let stats = &self.shared.stats;
        let Some(answer) = exchange.answer.filter(|_| !is_ours) else {
            stats.withheld.add(1);
            return Outcome::Deferred;
        };
        stats.note_answer(answer, elapsed);
        Outcome::Attempted {
            answer,
            retry_after: exchange.retry_after,
        }
    }

    /// Stores the ends of exchanges, all in one transaction; when it cannot, they wait, and nothing new begins.
    pub(super) fn record(&mut self, now: Moment) {
        if self.reports.is_empty() || self.store.is_none() {
            return;
        }
        let reports = self.reports.iter().map(|(report, _)| report.clone());
        let reports: Vec<Report> = reports.collect();
        let policy = self.settings.policy.clone();
        let Some(results) = self.write_store(|store| store.record(&reports, &policy, now)) else {
            return;
        };
        let ended = std::mem::take(&mut self.reports);
        for ((report, logged), recorded) in ended.into_iter().zip(results) {
            self.log(&report, &logged, recorded);
        }
    }

    /// Counts and logs what a report changed.
    fn log(&self, report: &Report, logged: &Logged, recorded: Recorded) {
        let stats = &self.shared.stats;
        let (request, subscription) = match report {
            Report::Delivered { id, .. } => (None, Some(*id)),
            Report::Verified { id, .. } | Report::Unreached { id, .. } | Report::Unsent { id } => {
                (Some(*id), None)
            }
        };
        let (topic, callback_host) = (&logged.topic, &logged.host);
        let (mut status, mut reason) = (Some(&logged.answer), None);
        let message = match recorded {
            Recorded::Activated => "a subscription is active",
            Recorded::Renewed => "a subscription is renewed",
            Recorded::Leaving => "a subscription leaves with its attempt under way",
            Recorded::Rejected => "a request was not confirmed",
            Recorded::Removed(_) => "a subscription is removed",
            Recorded::Waiting if matches!(report, Report::Unreached { .. }) => {
                "a callback could not be reached for its verification, which is tried again"
            }
            Recorded::Waiting | Recorded::Stale | Recorded::Kept { .. } => {
                let elapsed_ms = u64::try_from(logged.elapsed.as_millis()).unwrap_or(u64::MAX);
                debug!(
                    subscription,
                    request, topic, callback_host, status, elapsed_ms, "an exchange ended"
                );
                return;
            }
        };
        match recorded {
            Recorded::Activated | Recorded::Renewed | Recorded::Leaving => {
                stats.confirmed.add(1);
                status = None;
            }
            Recorded::Rejected => stats.rejected.add(1),
            Recorded::Removed(removal) => {
                stats.note_removals(removal, 1);
                let is_verified = matches!(report, Report::Verified { .. });
                stats.confirmed.add(u64::from(is_verified));
                reason = Some(removal.as_str());
            }
            Recorded::Waiting | Recorded::Stale | Recorded::Kept { .. } => {}
        }
        info!(
            subscription,
            request, topic, callback_host, reason, status, "{message}"
        );
    }
}

fn refuse(exceeded: QuotaExceeded, quotas: &Quotas) -> Refusal {
    let (most, what, wait_s) = match exceeded {
        QuotaExceeded::Requests => (quotas.requests, WAITING, VERIFIED_S),
        QuotaExceeded::Subscriptions => (quotas.subscriptions, ACTIVE, LEASE_S),
        QuotaExceeded::RequestsOfHost => (quotas.requests_per_host, WAITING_OF_HOST, VERIFIED_S),
        QuotaExceeded::SubscriptionsOfHost => {
            (quotas.subscriptions_per_host, ACTIVE_OF_HOST, LEASE_S)
        }
    };
    let reason = format!("{most} {what}, which is the most");
    match exceeded {
        QuotaExceeded::Requests | QuotaExceeded::Subscriptions => {
            Refusal::unavailable(reason, wait_s)
        }
        _ => Refusal::too_many(format!("hub.callback: {reason}"), wait_s),
    }
}

/// What a refusal for a full quota names.
const WAITING: &str = "requests wait for verification";
const WAITING_OF_HOST: &str = "requests for its host wait for verification";
const ACTIVE: &str = "subscriptions are active";
const ACTIVE_OF_HOST: &str = "subscriptions of its host are active";

/// The longest wait before a verification is tried again.
const VERIFY_DELAY_MAX: Duration = Duration::from_secs(60);

/// When to come back to a hub that has too many requests to verify.
const VERIFIED_S: u32 = 30;

/// When to come back to a hub that has too many subscriptions: leases end, but not soon.
const LEASE_S: u32 = 3_600;

//! Requests in, ends of exchanges in, and what they mean into the store.

use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tracing::{debug, info, warn};

use super::{Engine, jitter};
use crate::hub::breaker::Contact;
use crate::hub::client::{Exchange, Job};
use crate::hub::outcome::{Answer, Outcome};
use crate::hub::store::{Accept, DenialNotice, QuotaExceeded, Quotas, Recorded, Report};
use crate::hub::{Callback, Moment, Refusal};

/// The end of an exchange for the store, and what the log says of it.
pub(super) struct FinishedExchange {
    pub(super) report: Report,
    pub(super) topic: String,
    pub(super) host: String,
    pub(super) status: String,
    pub(super) elapsed: Duration,
}

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
                None => Err(Refusal::busy("the hub cannot store requests at present")),
            };
            // The client may have gone; the request is kept all the same.
            let _gone = reply.send(answer);
        }
    }

    /// Takes the end of an exchange; of those that change something, for the store.
    pub(super) fn take_end(
        &mut self,
        job: Job,
        exchange: &Exchange,
        elapsed: Duration,
        now: Moment,
    ) {
        let answer = exchange.answer;
        let mut status = answer.map_or("withheld".to_owned(), |answer| answer.to_string());
        let (report, callback, topic) = match job {
            Job::Probe(_) => return self.end_probe(exchange.contact, now),
            Job::Deny(notice) => return self.end_denial(&notice, exchange, &status, now),
            Job::Verify(asked) => {
                let (id, confirmed) = (asked.id, exchange.confirmed);
                if answer.is_some_and(Answer::is_success) && !confirmed {
                    status.push_str(" without the challenge");
                }
                let report = match answer {
                    None => Report::Unsent { id },
                    Some(answer) if self.may_verify_again(answer) => {
                        // As for a delivery, and at most a minute.
                        let delay = self.settings.policy.delay(1, None, jitter());
                        let delay = delay.min(VERIFY_DELAY_MAX);
                        Report::Unreached { id, answer, delay }
                    }
                    Some(_) => Report::Verified {
                        id,
                        // The lease counts from the request that was confirmed.
                        asked_at: now.minus(elapsed),
                        confirmed,
                    },
                };
                (report, asked.callback, asked.topic_given)
            }
            Job::Deliver(delivery, _) => {
                let outcome = self.outcome(&delivery.callback, exchange, elapsed);
                let report = delivery.ended(outcome, elapsed, jitter());
                (report, delivery.callback, delivery.topic)
            }
        };
        // What was cut with the role says nothing of its subscriber.
        if self.role.is_ours || matches!(answer, Some(Answer::Status(_))) {
            self.ended.push(FinishedExchange {
                report,
                topic,
                host: callback.host().to_string(),
                status,
                elapsed,
            });
        }
    }

    fn end_probe(&mut self, contact: Contact, now: Moment) {
        if self.breaker.end_probe(contact, Instant::now()) {
            info!("a callback host can be reached again, deliveries go on");
            self.write_store(|store| store.set_paused(None, now));
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
        // The count is some seconds old; all that were put off since are taken for new ones.
        let waiting = self.shared.stats.requests.value() + self.put_off;
        let may = answer.is_of_network() && waiting <= half;
        self.put_off += u64::from(may);
        may
    }

    /// Counts the end of a delivery, takes note of how far it came with its host, and returns what it means for the
    /// subscription. Verifications do not count here: any client can cause them.
    fn outcome(&mut self, callback: &Callback, exchange: &Exchange, elapsed: Duration) -> Outcome {
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
                return Outcome::Attempted {
                    answer,
                    retry_after: exchange.retry_after,
                };
            }
        }
        stats.withheld.add(1);
        Outcome::Deferred
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
            Report::Verified { id, .. } | Report::Unreached { id, .. } | Report::Unsent { id } => {
                (Some(id), None)
            }
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
            Recorded::Waiting if matches!(ended.report, Report::Unreached { .. }) => {
                "a callback could not be reached for its verification, which is tried again"
            }
            Recorded::Waiting | Recorded::Stale | Recorded::Kept { .. } => {
                let elapsed_ms = u64::try_from(ended.elapsed.as_millis()).unwrap_or(u64::MAX);
                debug!(
                    subscription,
                    request, topic, callback_host, status, elapsed_ms, "an exchange ended"
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

fn refuse(exceeded: QuotaExceeded, quotas: &Quotas) -> Refusal {
    let (most, what) = match exceeded {
        QuotaExceeded::Requests => (quotas.requests, "requests wait for verification"),
        QuotaExceeded::RequestsOfHost => (
            quotas.requests_per_host,
            "requests for its host wait for verification",
        ),
        QuotaExceeded::Subscriptions => (quotas.subscriptions, "subscriptions are active"),
        QuotaExceeded::SubscriptionsOfHost => (
            quotas.subscriptions_per_host,
            "subscriptions of its host are active",
        ),
    };
    let reason = format!("{most} {what}, which is the most");
    match exceeded {
        QuotaExceeded::Requests => Refusal::unavailable(reason, VERIFIED_S),
        QuotaExceeded::Subscriptions => Refusal::unavailable(reason, LEASE_S),
        QuotaExceeded::RequestsOfHost => Refusal::too_many(reason, VERIFIED_S),
        QuotaExceeded::SubscriptionsOfHost => Refusal::too_many(reason, LEASE_S),
    }
}

/// The longest wait before a verification is tried again.
const VERIFY_DELAY_MAX: Duration = Duration::from_secs(60);

/// When to come back to a hub that has too many requests to verify.
const VERIFIED_S: u32 = 30;

/// When to come back to a hub that has too many subscriptions: leases end, but not soon.
const LEASE_S: u32 = 3_600;

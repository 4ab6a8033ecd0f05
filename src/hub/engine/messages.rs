//! Requests in, ends of exchanges in, and what they mean into the store.

use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tracing::{debug, info, warn};

use super::super::client::Exchange;
use super::super::exchange::End;
use super::super::handle::BUSY_S;
use super::{Engine, Logged};
use crate::hub::store::{Accept, QuotaExceeded, Recorded, Report};
use crate::hub::subscription::{Answer, Outcome};
use crate::hub::{Moment, Refusal};

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
        let answers = match self.write_store(|store| store.accept(&accepts, &quotas, now)) {
            Some(answers) => answers
                .into_iter()
                .map(|answer| answer.map_err(|full| self.refuse(full)))
                .collect(),
            None => {
                let refusal = || {
                    Refusal::unavailable(
                        "the hub cannot store requests at present".to_owned(),
                        BUSY_S,
                    )
                };
                accepts.iter().map(|_| Err(refusal())).collect::<Vec<_>>()
            }
        };
        for (reply, answer) in replies.into_iter().zip(answers) {
            // The one who asked may have gone; the request is kept all the same.
            let _gone = reply.send(answer);
        }
    }

    fn refuse(&self, full: QuotaExceeded) -> Refusal {
        let quotas = &self.settings.quotas;
        match full {
            QuotaExceeded::Requests => {
                let most = quotas.requests;
                Refusal::unavailable(
                    format!("{most} requests wait for verification, which is the most"),
                    VERIFIED_S,
                )
            }
            QuotaExceeded::RequestsOfHost => {
                let most = quotas.requests_per_host;
                Refusal::too_many(
                    format!(
                        "hub.callback: {most} requests for its host wait for verification, which is the most"
                    ),
                    VERIFIED_S,
                )
            }
            QuotaExceeded::Subscriptions => {
                let most = quotas.subscriptions;
                Refusal::unavailable(
                    format!("{most} subscriptions are active, which is the most"),
                    LEASE_S,
                )
            }
            QuotaExceeded::SubscriptionsOfHost => {
                let most = quotas.subscriptions_per_host;
                Refusal::too_many(
                    format!(
                        "hub.callback: {most} subscriptions of its host are active, which is the most"
                    ),
                    LEASE_S,
                )
            }
        }
    }

    /// Takes the end of an exchange; of those that change something, as a report that the store will get.
    pub(super) fn note_end(&mut self, number: u64, end: End, elapsed: Duration, now: Moment) {
        let Some(flight) = self.in_flight.end(number) else {
            return;
        };
        let (exchange, report) = match end {
            End::Probed { reached } => {
                if self.breaker.end_probe(reached, Instant::now()) {
                    info!("a callback host can be reached again, deliveries go on");
                    self.write_store(|store| store.set_paused(None, now));
                }
                return;
            }
            End::Denied { notice, exchange } => {
                let status = answer_text(&exchange);
                let (topic, callback_host) = (&flight.topic, &flight.host);
                // An answer has told it, whatever it says, but for that of a proxy whose server is down.
                let is_told = exchange.answer.is_some_and(|answer| {
                    !answer.is_of_network() && !matches!(answer, Answer::Status(502..=504))
                });
                debug!(topic, callback_host, status, is_told, "a denial was sent");
                if !is_told {
                    self.write_store(|store| store.defer_notice(&notice, now));
                }
                return;
            }
            End::Verified {
                id,
                exchange,
                confirmed,
            } => {
                // The lease counts from the request that was confirmed.
                let asked_at = now.minus(elapsed);
                let report = match exchange.answer {
                    None => Report::Unsent { id },
                    Some(answer) if self.may_verify_again(answer) => Report::Unreached {
                        id,
                        answer,
                        delay: self.verify_delay(),
                    },
                    Some(_) => Report::Verified {
                        id,
                        asked_at,
                        confirmed,
                    },
                };
                (exchange, report)
            }
            End::Delivered {
                id,
                attempt,
                digest,
                exchange,
            } => {
                let is_ours = self.record_reached(&flight.host, flight.port, &exchange);
                let outcome = self.outcome(&exchange, is_ours, elapsed);
                if matches!(exchange.answer, Some(Answer::Status(200..=299))) {
                    self.in_flight.note_acknowledged(elapsed);
                }
                let jitter = self.jitter();
                let report = Report::Delivered {
                    id,
                    attempt,
                    digest,
                    outcome,
                    elapsed,
                    jitter,
                };
                (exchange, report)
            }
        };
        // What was cut with the role says nothing of its subscriber.
        if !self.has_role && !matches!(exchange.answer, Some(Answer::Status(_))) {
            return;
        }
        let mut answer = answer_text(&exchange);
        let is_unconfirmed = matches!(
            report,
            Report::Verified {
                confirmed: false,
                ..
            }
        );
        if is_unconfirmed && matches!(exchange.answer, Some(Answer::Status(200..=299))) {
            answer.push_str(" without the challenge");
        }
        let logged = Logged {
            topic: flight.topic,
            host: flight.host,
            answer,
            elapsed,
        };
        self.reports.push((report, logged));
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
    fn verify_delay(&mut self) -> Duration {
        let jitter = self.jitter();
        let delay = self.settings.policy.delay(1, None, jitter);
        delay.min(VERIFY_DELAY_MAX)
    }

    /// Counts the end of a delivery and returns what it means for the subscription.
    fn outcome(&self, exchange: &Exchange, is_congested: bool, elapsed: Duration) -> Outcome {
        let is_ours = is_congested || (!exchange.reached && self.breaker.is_trial(Instant::now()));
        let Some(answer) = exchange.answer.filter(|_| !is_ours) else {
            self.shared.stats.withheld.add(1);
            return Outcome::Deferred;
        };
        let elapsed_ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
        self.shared.stats.note_answer(answer, elapsed_ms);
        Outcome::Attempted {
            answer,
            retry_after: exchange.retry_after,
        }
    }

    /// Takes note of whether a delivery reached its host. Verifications do not count: any client can cause them. Returns
    /// true when the body was not taken for our own line's sake.
    fn record_reached(&mut self, host: &str, port: u16, exchange: &Exchange) -> bool {
        if exchange.stalled {
            return self.breaker.record_stall(host, port, Instant::now());
        }
        if exchange.answer.is_some()
            && self
                .breaker
                .record(host, port, exchange.reached, Instant::now())
        {
            warn!(
                "most callback hosts cannot be reached, so our own network may be at fault: deliveries pause until one can"
            );
        }
        false
    }

    /// Stores the ends of exchanges, all in one transaction; when it cannot, they wait, and nothing new begins.
    pub(super) fn record(&mut self, now: Moment) {
        if self.reports.is_empty() || self.store.is_none() {
            return;
        }
        let reports: Vec<Report> = self
            .reports
            .iter()
            .map(|(report, _)| report.clone())
            .collect();
        let policy = self.settings.policy.clone();
        let Some(results) = self.write_store(|store| store.record(&reports, &policy, now)) else {
            return;
        };
        for ((report, logged), recorded) in
            std::mem::take(&mut self.reports).into_iter().zip(results)
        {
            self.log(&report, &logged, recorded);
        }
    }

    fn log(&self, report: &Report, logged: &Logged, recorded: Recorded) {
        let Logged {
            topic,
            host,
            answer,
            ..
        } = logged;
        let stats = &self.shared.stats;
        let (request, subscription) = ids(report);
        match recorded {
            Recorded::Activated => {
                stats.confirmed.add(1);
                info!(
                    request,
                    topic,
                    callback_host = host,
                    "a subscription is active"
                );
            }
            Recorded::Renewed => {
                stats.confirmed.add(1);
                info!(
                    request,
                    topic,
                    callback_host = host,
                    "a subscription is renewed"
                );
            }
            Recorded::Leaving => {
                stats.confirmed.add(1);
                info!(
                    request,
                    topic,
                    callback_host = host,
                    "a subscription leaves with its attempt under way"
                );
            }
            Recorded::Rejected => {
                stats.rejected.add(1);
                info!(
                    request,
                    topic,
                    callback_host = host,
                    status = answer,
                    "a request was not confirmed"
                );
            }
            Recorded::Removed(removal) => {
                stats.note_removals(removal, 1);
                if matches!(report, Report::Verified { .. }) {
                    stats.confirmed.add(1);
                }
                info!(subscription, request, topic, callback_host = host, reason = %removal, status = answer, "a subscription is removed");
            }
            Recorded::Waiting if matches!(report, Report::Unreached { .. }) => {
                info!(
                    request,
                    topic,
                    callback_host = host,
                    status = answer,
                    "a callback could not be reached for its verification, which is tried again"
                );
            }
            Recorded::Waiting | Recorded::Stale => log_exchange(report, logged, 0),
            Recorded::Kept { failures } => log_exchange(report, logged, failures),
        }
    }
}

/// Logs an exchange that changed nothing for the operator.
fn log_exchange(report: &Report, logged: &Logged, failures: u32) {
    let (request, subscription) = ids(report);
    let (topic, callback_host, status) = (&logged.topic, &logged.host, &logged.answer);
    let elapsed_ms = u64::try_from(logged.elapsed.as_millis()).unwrap_or(u64::MAX);
    debug!(
        subscription,
        request, topic, callback_host, status, elapsed_ms, failures, "an exchange ended"
    );
}

/// Returns the id of the request, or that of the subscription, that a report is about.
fn ids(report: &Report) -> (Option<i64>, Option<i64>) {
    match report {
        Report::Delivered { id, .. } => (None, Some(*id)),
        Report::Verified { id, .. } | Report::Unreached { id, .. } | Report::Unsent { id } => {
            (Some(*id), None)
        }
    }
}

fn answer_text(exchange: &Exchange) -> String {
    exchange
        .answer
        .as_ref()
        .map_or_else(|| "withheld".to_owned(), Answer::to_string)
}

/// The longest wait before a verification is tried again.
const VERIFY_DELAY_MAX: Duration = Duration::from_secs(60);

/// When to come back to a hub that has too many requests to verify.
const VERIFIED_S: u32 = 30;

/// When to come back to a hub that has too many subscriptions: leases end, but not soon.
const LEASE_S: u32 = 3_600;

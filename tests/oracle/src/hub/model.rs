//! A hub's store as a few lists, every question answered by looking at all of them. It shares no transition with the
//! real ones: it is their judge.

mod store;

use reviewd::hub::store::{
    Accept, DenialNotice, QuotaExceeded, Quotas, Recorded, Report, Tombstone, WaitingRequest,
};
use reviewd::hub::subscription::{
    Answer, Ended, Outcome, Phase, Policy, RemovalReason, Subscription,
};
use reviewd::hub::{Callback, Mode, Moment};

/// The naive store. It is in memory, so "on disk" means nothing here; a crash is `recover`.
#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    topics: Vec<(String, [u8; 32])>,
    requests: Vec<Waiting>,
    subscriptions: Vec<Active>,
    tombstones: Vec<Tombstone>,
    /// With the moment before which none is sent.
    notices: Vec<(DenialNotice, Moment)>,
    requests_ever: i64,
    subscriptions_ever: i64,
    seen_ms: i64,
}

#[derive(Clone, Debug)]
struct Waiting {
    id: i64,
    accept: Accept,
    attempts: u64,
    claimed: bool,
    next_at: Moment,
    accepted_at: Moment,
    last: Option<Answer>,
    /// What the topic held when it was accepted.
    digest: [u8; 32],
}

impl Waiting {
    fn as_request(&self) -> WaitingRequest {
        let Accept { request, lease_s } = self.accept.clone();
        let at = self.accepted_at;
        WaitingRequest {
            id: self.id,
            mode: request.mode,
            topic: request.topic,
            topic_given: request.topic_given,
            callback: request.callback,
            lease_s,
            state: Subscription {
                attempt: self.attempts,
                claimed: self.claimed,
                next_at: self.next_at,
                last: self.last.map(|answer| Ended { at, answer }),
                ..Subscription::request(lease_s, request.secret, self.digest, at)
            },
        }
    }
}

#[derive(Clone, Debug)]
struct Active {
    id: i64,
    topic: String,
    callback: Callback,
    state: Subscription,
}

impl Model {
    fn current(&self, topic: &str) -> Option<[u8; 32]> {
        self.topics
            .iter()
            .find(|(url, _)| url == topic)
            .map(|(_, digest)| *digest)
    }

    fn is_owed(&self, active: &Active) -> bool {
        !active.state.acknowledged || Some(active.state.digest) != self.current(&active.topic)
    }

    fn end(&mut self, id: i64, removal: RemovalReason, now: Moment) {
        let at = self
            .subscriptions
            .iter()
            .position(|active| active.id == id)
            .expect("known id");
        let active = self.subscriptions.remove(at);
        let removal = match active.state.phase {
            Phase::Unsubscribing => RemovalReason::Unsubscribed,
            Phase::Active { .. } | Phase::Pending { .. } => removal,
        };
        self.tombstones.push(Tombstone {
            id,
            topic: active.topic.clone(),
            host: active.callback.host().to_string(),
            removal,
            at: now,
            last: active.state.last,
            created_at: active.state.created_at,
        });
        if !matches!(
            removal,
            RemovalReason::Unsubscribed | RemovalReason::LeaseEnded
        ) {
            let notice = DenialNotice {
                topic: active.topic,
                callback: active.callback,
                removal,
                since: now,
                attempts: 0,
            };
            self.notices.push((notice, Moment::ZERO));
        }
    }

    fn confirm(&mut self, waiting: Waiting, asked_at: Moment, now: Moment) -> Recorded {
        let Accept { request, lease_s } = waiting.accept;
        if self.current(&request.topic).is_none() {
            return Recorded::Rejected;
        }
        let lease_end = Moment::from_unix_ms(asked_at.unix_ms() + i64::from(lease_s) * 1000);
        let found = self.subscriptions.iter().position(|active| {
            active.topic == request.topic && active.callback == request.callback
        });
        match (request.mode, found) {
            (Mode::Unsubscribe, None) => Recorded::Stale,
            (Mode::Unsubscribe, Some(at)) if self.subscriptions[at].state.claimed => {
                let state = &mut self.subscriptions[at].state;
                state.phase = Phase::Unsubscribing;
                state.lease_end = now;
                state.verified_at = now;
                Recorded::Leaving
            }
            (Mode::Unsubscribe, Some(at)) => {
                self.end(self.subscriptions[at].id, RemovalReason::Unsubscribed, now);
                Recorded::Removed(RemovalReason::Unsubscribed)
            }
            (Mode::Subscribe, Some(at)) => {
                let state = &mut self.subscriptions[at].state;
                state.secret = request.secret;
                state.phase = Phase::Active { lease_s };
                state.lease_end = lease_end;
                state.verified_at = now;
                state.failures = 0;
                if !state.claimed {
                    state.next_at = Moment::ZERO;
                }
                Recorded::Renewed
            }
            (Mode::Subscribe, None) => {
                self.subscriptions_ever += 1;
                self.notices.retain(|(notice, _)| {
                    notice.topic != request.topic || notice.callback != request.callback
                });
                let state = Subscription {
                    phase: Phase::Active { lease_s },
                    secret: request.secret,
                    lease_end,
                    digest: waiting.digest,
                    acknowledged: true,
                    failures: 0,
                    next_at: Moment::ZERO,
                    claimed: false,
                    attempt: 0,
                    elapsed_ms: 0,
                    created_at: now,
                    verified_at: now,
                    last: None,
                };
                self.subscriptions.push(Active {
                    id: self.subscriptions_ever,
                    topic: request.topic,
                    callback: request.callback,
                    state,
                });
                Recorded::Activated
            }
        }
    }

    fn book(&mut self, report: &Report, policy: &Policy, now: Moment) -> Recorded {
        let Report::Delivered {
            id,
            attempt,
            digest,
            outcome,
            elapsed,
            jitter,
        } = report
        else {
            return self.book_request(report, now);
        };
        let Some(active) = self
            .subscriptions
            .iter_mut()
            .find(|active| active.id == *id)
        else {
            return Recorded::Stale;
        };
        let state = &mut active.state;
        if !state.claimed || state.attempt != *attempt || state.digest != *digest {
            return Recorded::Stale;
        }
        state.claimed = false;
        state.elapsed_ms = u32::try_from(elapsed.as_millis()).expect("short");
        let is_leaving = state.phase == Phase::Unsubscribing;
        let Outcome::Attempted {
            answer,
            retry_after,
        } = outcome
        else {
            if is_leaving {
                return self.book_removal(*id, RemovalReason::Unsubscribed, now);
            }
            state.next_at = Moment::from_unix_ms(now.unix_ms() + 1000);
            return Recorded::Kept {
                failures: state.failures,
            };
        };
        state.last = Some(Ended {
            at: now,
            answer: *answer,
        });
        match answer {
            _ if is_leaving => return self.book_removal(*id, RemovalReason::Unsubscribed, now),
            Answer::Status(status) if status / 100 == 2 => {
                state.acknowledged = true;
                state.failures = 0;
                state.next_at = Moment::ZERO;
                return Recorded::Kept { failures: 0 };
            }
            Answer::Status(410) => return self.book_removal(*id, RemovalReason::Gone, now),
            _ => {}
        }
        state.failures += 1;
        let failures = state.failures;
        if failures >= policy.failures_max {
            return self.book_removal(*id, RemovalReason::Failures, now);
        }
        let delay_ms = policy.retry_delays
            [(failures as usize - 1).min(policy.retry_delays.len() - 1)]
        .as_nanos();
        let delay_ms = (delay_ms + delay_ms * u128::from(*jitter) / (4 * 65535)) / 1_000_000;
        let wish_ms = retry_after.map_or(0, |wish| wish.min(policy.retry_after_max).as_millis());
        state.next_at = Moment::from_unix_ms(
            now.unix_ms() + i64::try_from(delay_ms.max(wish_ms)).expect("short"),
        );
        Recorded::Kept { failures }
    }

    fn book_removal(&mut self, id: i64, removal: RemovalReason, now: Moment) -> Recorded {
        self.end(id, removal, now);
        Recorded::Removed(removal)
    }

    fn book_request(&mut self, report: &Report, now: Moment) -> Recorded {
        let (Report::Verified { id, .. }
        | Report::Unreached { id, .. }
        | Report::Unsent { id }
        | Report::Delivered { id, .. }) = report;
        let Some(at) = self
            .requests
            .iter()
            .position(|waiting| waiting.id == *id && waiting.claimed)
        else {
            return Recorded::Stale;
        };
        match report {
            Report::Verified {
                confirmed,
                asked_at,
                ..
            } => {
                let waiting = self.requests.remove(at);
                if *confirmed {
                    self.confirm(waiting, *asked_at, now)
                } else {
                    Recorded::Rejected
                }
            }
            Report::Unreached { .. } if self.requests[at].attempts >= 3 => {
                self.requests.remove(at);
                Recorded::Rejected
            }
            Report::Unreached { delay, answer, .. } => {
                self.requests[at].last = Some(*answer);
                let delay_ms = i64::try_from(delay.as_millis()).expect("short");
                self.requests[at].claimed = false;
                self.requests[at].next_at = Moment::from_unix_ms(now.unix_ms() + delay_ms);
                Recorded::Waiting
            }
            _ => {
                self.requests[at].claimed = false;
                self.requests[at].attempts -= 1;
                Recorded::Waiting
            }
        }
    }

    fn full(&self, accept: &Accept, quotas: &Quotas) -> Option<QuotaExceeded> {
        let request = &accept.request;
        let host = request.callback.host();
        let of_host = |callback: &Callback| callback.host() == host;
        if self.requests.len() >= quotas.requests as usize {
            return Some(QuotaExceeded::Requests);
        }
        if self
            .requests
            .iter()
            .filter(|waiting| of_host(&waiting.accept.request.callback))
            .count()
            >= quotas.requests_per_host as usize
        {
            return Some(QuotaExceeded::RequestsOfHost);
        }
        let known = self
            .subscriptions
            .iter()
            .any(|active| active.topic == request.topic && active.callback == request.callback);
        if known || request.mode == Mode::Unsubscribe {
            return None;
        }
        let asked = || {
            self.requests
                .iter()
                .filter(|waiting| waiting.accept.request.mode == Mode::Subscribe)
        };
        if self.subscriptions.len() + asked().count() >= quotas.subscriptions as usize {
            return Some(QuotaExceeded::Subscriptions);
        }
        let active = self
            .subscriptions
            .iter()
            .filter(|active| of_host(&active.callback))
            .count();
        let asked = asked()
            .filter(|waiting| of_host(&waiting.accept.request.callback))
            .count();
        (active + asked >= quotas.subscriptions_per_host as usize)
            .then_some(QuotaExceeded::SubscriptionsOfHost)
    }
}

//! A hub's store as a few lists, every question answered by looking at all of them. It shares no transition with the
//! real one: it is its judge. It is in memory, so "on disk" means nothing here; a crash is `recover`.

use std::cmp::Reverse;
use std::time::Duration;

use reviewd::hub::store::{
    Accept, AdminCommand, Claim, Counts, DenialNotice, Lane, Listed, Published, QuotaExceeded,
    Quotas, Recorded, Report, Tombstone, TopicVersion, WaitingRequest,
};
use reviewd::hub::subscription::{Answer, Ended, Phase, Policy, RemovalReason, Subscription};
use reviewd::hub::{Callback, Mode, Moment};

/// The naive store, with the methods of [`Store`](reviewd::hub::store::Store).
#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    topics: Vec<(String, [u8; 32])>,
    requests: Vec<WaitingRequest>,
    /// What follows from the topic is filled in by `list`.
    subscriptions: Vec<Listed>,
    tombstones: Vec<Tombstone>,
    /// With the moment before which none is sent.
    notices: Vec<(DenialNotice, Moment)>,
    requests_ever: i64,
    subscriptions_ever: i64,
    seen_ms: i64,
}

impl Model {
    pub(super) fn publish(&mut self, versions: &[TopicVersion], now: Moment) -> Published {
        let changed = versions
            .iter()
            .filter(|version| self.current(&version.url) != Some(version.digest));
        let changed = changed.map(|version| version.url.clone()).collect();
        let were: Vec<String> = self.topics.iter().map(|(url, _)| url.clone()).collect();
        let is_gone = |topic: &String| {
            were.contains(topic) && !versions.iter().any(|version| version.url == *topic)
        };
        self.requests.retain(|waiting| !is_gone(&waiting.topic));
        let withdrawn = self.ids(|listed| is_gone(&listed.topic));
        for id in &withdrawn {
            self.end(*id, RemovalReason::TopicWithdrawn, now);
        }
        let versions = versions.iter();
        self.topics = versions
            .map(|version| (version.url.clone(), version.digest))
            .collect();
        Published {
            changed,
            older: Vec::new(),
            withdrawn: withdrawn.len(),
        }
    }

    pub(super) fn accept(
        &mut self,
        requests: &[Accept],
        quotas: &Quotas,
        now: Moment,
    ) -> Vec<Result<(), QuotaExceeded>> {
        self.seen_ms = now.unix_ms();
        let one = |Accept { request, lease_s }: &Accept| {
            let digest = self.current(&request.topic).unwrap_or_default();
            let waiting = WaitingRequest {
                id: self.requests_ever + 1,
                mode: request.mode,
                topic: request.topic.clone(),
                topic_given: request.topic_given.clone(),
                callback: request.callback.clone(),
                lease_s: *lease_s,
                state: Subscription::request(*lease_s, request.secret.clone(), digest, now),
            };
            let what = |one: &WaitingRequest| {
                let given = (
                    one.topic.clone(),
                    one.topic_given.clone(),
                    one.state.secret.clone(),
                );
                (one.mode, given, one.callback.clone(), one.lease_s)
            };
            let joins = self.requests.iter().any(|other| {
                !other.state.claimed && other.state.attempt == 0 && what(other) == what(&waiting)
            });
            if joins {
                return Ok(());
            }
            if let Some(exceeded) = self.exceeded(&waiting, quotas) {
                return Err(exceeded);
            }
            self.requests_ever += 1;
            self.requests.push(waiting);
            Ok(())
        };
        requests.iter().map(one).collect()
    }

    fn exceeded(&self, request: &WaitingRequest, quotas: &Quotas) -> Option<QuotaExceeded> {
        type Limit = fn(u32) -> QuotaExceeded;
        use QuotaExceeded::{Requests, RequestsOfHost, Subscriptions, SubscriptionsOfHost};
        let of_host = |callback: &Callback| callback.host() == request.callback.host();
        let waiting = |counts: &dyn Fn(&WaitingRequest) -> bool| {
            self.requests.iter().filter(|one| counts(one)).count()
        };
        let asks = |one: &WaitingRequest| one.mode == Mode::Subscribe;
        let active_of_host = self.ids(|listed| of_host(&listed.callback)).len();
        let subscriptions = self.subscriptions.len() + waiting(&asks);
        let of_host_in_all = active_of_host + waiting(&|one| asks(one) && of_host(&one.callback));
        let of_host_waiting = waiting(&|one| of_host(&one.callback));
        let is_new = request.mode == Mode::Subscribe
            && self.find(&request.topic, &request.callback).is_none();
        let rules: [(Limit, usize, u32, bool); 4] = [
            (Requests, waiting(&|_| true), quotas.requests, true),
            (
                RequestsOfHost,
                of_host_waiting,
                quotas.requests_per_host,
                true,
            ),
            (Subscriptions, subscriptions, quotas.subscriptions, is_new),
            (
                SubscriptionsOfHost,
                of_host_in_all,
                quotas.subscriptions_per_host,
                is_new,
            ),
        ];
        let mut broken = rules
            .iter()
            .filter(|(_, count, most, holds)| *holds && *count >= *most as usize);
        broken.next().map(|(exceeded, _, most, _)| exceeded(*most))
    }

    pub(super) fn claim_requests(&mut self, claim: &Claim, now: Moment) -> Vec<WaitingRequest> {
        let mut busy = claim.busy.clone();
        let mut in_turn = self.requests.clone();
        in_turn.sort_by_key(|one| (self.find(&one.topic, &one.callback).is_none(), one.id));
        let is_first = |one: &WaitingRequest| {
            let pair = |other: &&WaitingRequest| {
                (&other.topic, &other.callback) == (&one.topic, &one.callback)
            };
            self.requests.iter().find(pair).map(|first| first.id) == Some(one.id)
        };
        let mut found = Vec::new();
        for mut one in in_turn {
            let taken = busy.entry(one.callback.host().to_string()).or_default();
            let may = !one.state.claimed && one.state.next_at <= now && is_first(&one);
            if may && found.len() < claim.limit && *taken < claim.per_host {
                *taken += 1;
                one.state.claimed = true;
                one.state.attempt += 1;
                found.push(one);
            }
        }
        for claimed in &found {
            let is_it = |one: &&mut WaitingRequest| one.id == claimed.id;
            *self.requests.iter_mut().find(is_it).expect("known") = claimed.clone();
        }
        found
    }

    pub(super) fn claim_deliveries(
        &mut self,
        lane: Lane,
        claim: &Claim,
        now: Moment,
    ) -> Vec<Listed> {
        let mut busy = claim.busy.clone();
        let topics = self.topics.clone();
        let mut found = Vec::new();
        for listed in &mut self.subscriptions {
            let topic = topics.iter().find(|(url, _)| *url == listed.topic);
            let digest = topic.expect("a known topic").1;
            let state = &mut listed.state;
            let is_slow = state.attempt == 0 || state.failures > 0 || state.elapsed_ms >= 1000;
            let is_owed = !state.acknowledged || state.digest != digest;
            let is_due = is_owed && !state.claimed && state.next_at <= now && now < state.lease_end;
            let taken = busy.entry(listed.callback.host().to_string()).or_default();
            let has_room = found.len() < claim.limit && *taken < claim.per_host;
            if is_due && has_room && is_slow == (lane == Lane::Slow) {
                *taken += 1;
                state.digest = digest;
                state.acknowledged = false;
                state.claimed = true;
                state.attempt += 1;
                found.push(Listed {
                    current: digest,
                    owed: true,
                    ..listed.clone()
                });
            }
        }
        found
    }

    pub(super) fn record(
        &mut self,
        reports: &[Report],
        policy: &Policy,
        now: Moment,
    ) -> Vec<Recorded> {
        reports
            .iter()
            .map(|report| self.record_one(report, policy, now))
            .collect()
    }

    fn record_one(&mut self, report: &Report, policy: &Policy, now: Moment) -> Recorded {
        let Report::Delivered {
            id,
            attempt,
            answer,
            retry_after,
            elapsed,
            jitter,
        } = report
        else {
            return self.record_verification(report, now);
        };
        let is_it = |listed: &&mut Listed| {
            let state = &listed.state;
            (listed.id, state.claimed, state.attempt) == (*id, true, *attempt)
        };
        let Some(listed) = self.subscriptions.iter_mut().find(is_it) else {
            return Recorded::Stale;
        };
        let state = &mut listed.state;
        state.claimed = false;
        state.elapsed_ms = u32::try_from(elapsed.as_millis()).expect("short");
        if let Some(answer) = *answer {
            state.last = Some(Ended { at: now, answer });
        }
        let removal = match *answer {
            _ if state.phase == Phase::Unsubscribing => RemovalReason::Unsubscribed,
            None => {
                state.next_at = moved(now, 1000);
                return Recorded::Kept;
            }
            Some(Answer::Status(200..=299)) => {
                state.acknowledged = true;
                state.failures = 0;
                state.next_at = Moment::ZERO;
                return Recorded::Kept;
            }
            Some(Answer::Status(410)) => RemovalReason::Gone,
            Some(_) => {
                state.failures += 1;
                if state.failures < policy.failures_max {
                    let last = policy.retry_delays.len() - 1;
                    let delay =
                        policy.retry_delays[(state.failures as usize - 1).min(last)].as_nanos();
                    let delay_ms = (delay + delay * u128::from(*jitter) / (4 * 65535)) / 1_000_000;
                    let wish =
                        retry_after.map_or(0, |wish| wish.min(policy.retry_after_max).as_millis());
                    state.next_at = moved(now, i64::try_from(delay_ms.max(wish)).expect("short"));
                    return Recorded::Kept;
                }
                RemovalReason::Failures
            }
        };
        self.end(*id, removal, now);
        Recorded::Removed(removal)
    }

    fn record_verification(&mut self, report: &Report, now: Moment) -> Recorded {
        let (Report::Verified { id, .. }
        | Report::Unreached { id, .. }
        | Report::Delivered { id, .. }) = report;
        let at = self
            .requests
            .iter()
            .position(|one| one.id == *id && one.state.claimed);
        let Some(at) = at else {
            return Recorded::Stale;
        };
        let state = &mut self.requests[at].state;
        match *report {
            Report::Unreached { answer: None, .. } => {
                state.claimed = false;
                state.attempt -= 1;
                state.next_at = moved(now, 1000);
                Recorded::Waiting
            }
            Report::Unreached {
                delay,
                answer: Some(answer),
                ..
            } if state.attempt < 3 => {
                // Stored without its time.
                state.last = Some(Ended {
                    at: state.created_at,
                    answer,
                });
                state.claimed = false;
                state.next_at = now.plus(delay);
                Recorded::Waiting
            }
            Report::Verified {
                asked_at,
                confirmed: true,
                ..
            } => {
                let request = self.requests.remove(at);
                self.confirm(request, asked_at, now)
            }
            _ => {
                self.requests.remove(at);
                Recorded::Rejected
            }
        }
    }

    fn confirm(&mut self, request: WaitingRequest, asked_at: Moment, now: Moment) -> Recorded {
        if self.current(&request.topic).is_none() {
            return Recorded::Rejected;
        }
        let known = self.find(&request.topic, &request.callback);
        let lease_end = moved(asked_at, i64::from(request.lease_s) * 1000);
        let phase = Phase::Active {
            lease_s: request.lease_s,
        };
        match (request.mode, known) {
            (Mode::Unsubscribe, None) => Recorded::Stale,
            (Mode::Unsubscribe, Some(at)) if self.subscriptions[at].state.claimed => {
                let state = &mut self.subscriptions[at].state;
                (state.phase, state.lease_end, state.verified_at) =
                    (Phase::Unsubscribing, now, now);
                Recorded::Leaving
            }
            (Mode::Unsubscribe, Some(at)) => {
                self.end(self.subscriptions[at].id, RemovalReason::Unsubscribed, now);
                Recorded::Removed(RemovalReason::Unsubscribed)
            }
            (Mode::Subscribe, Some(at)) => {
                let state = &mut self.subscriptions[at].state;
                (state.phase, state.lease_end, state.verified_at) = (phase, lease_end, now);
                state.secret = request.state.secret;
                state.failures = 0;
                if !state.claimed {
                    state.next_at = Moment::ZERO;
                }
                Recorded::Renewed
            }
            (Mode::Subscribe, None) => {
                self.subscriptions_ever += 1;
                let is_other = |notice: &DenialNotice| {
                    (&notice.topic, &notice.callback) != (&request.topic, &request.callback)
                };
                self.notices.retain(|(notice, _)| is_other(notice));
                self.subscriptions.push(Listed {
                    id: self.subscriptions_ever,
                    topic: request.topic,
                    callback: request.callback,
                    current: [0; 32],
                    owed: false,
                    state: Subscription {
                        phase,
                        lease_end,
                        verified_at: now,
                        created_at: now,
                        next_at: Moment::ZERO,
                        claimed: false,
                        attempt: 0,
                        last: None,
                        ..request.state
                    },
                });
                Recorded::Activated
            }
        }
    }

    pub(super) fn take_notices(&mut self, limit: usize, now: Moment) -> Vec<DenialNotice> {
        let mut taken = Vec::new();
        self.notices.retain(|(notice, next_at)| {
            let is_taken = *next_at <= now && taken.len() < limit;
            if is_taken {
                taken.push(notice.clone());
            }
            !is_taken
        });
        taken
    }

    pub(super) fn defer_notice(&mut self, notice: &DenialNotice, now: Moment) -> bool {
        let is_over = now.since(notice.since) >= Duration::from_secs(86_400);
        if is_over || self.find(&notice.topic, &notice.callback).is_some() {
            return false;
        }
        let minutes = [1, 4, 16].get(notice.attempts as usize).unwrap_or(&60);
        let mut notice = notice.clone();
        notice.attempts += 1;
        self.notices.push((notice, moved(now, minutes * 60_000)));
        true
    }

    pub(super) fn sweep(&mut self, tombstone_age: Duration, now: Moment) -> Vec<RemovalReason> {
        let is_asked = |listed: &Listed| {
            let mut requests = self
                .requests
                .iter()
                .filter(|one| one.mode == Mode::Subscribe);
            requests.any(|one| (&one.topic, &one.callback) == (&listed.topic, &listed.callback))
        };
        let over = self.ids(|listed| {
            listed.state.lease_end <= now && !listed.state.claimed && !is_asked(listed)
        });
        let oldest = now.minus(tombstone_age);
        self.tombstones.retain(|stone| stone.at >= oldest);
        for id in &over {
            self.end(*id, RemovalReason::LeaseEnded, now);
        }
        if self.seen_ms <= now.unix_ms() - 60_000 {
            self.seen_ms = now.unix_ms();
        }
        let ended = &self.tombstones[self.tombstones.len() - over.len()..];
        ended.iter().map(|stone| stone.removal).collect()
    }

    pub(super) fn recover(&mut self, now: Moment) {
        if now.unix_ms() + 5_000 < self.seen_ms {
            self.shift(now.unix_ms() - self.seen_ms);
        }
        self.seen_ms = now.unix_ms();
        for listed in &mut self.subscriptions {
            if listed.state.claimed {
                listed.state.claimed = false;
                listed.state.next_at = Moment::ZERO;
            }
        }
        self.requests
            .retain(|one| !(one.state.claimed && one.state.attempt >= 5));
        for waiting in &mut self.requests {
            waiting.state.claimed = false;
        }
    }

    pub(super) fn shift(&mut self, by_ms: i64) {
        self.seen_ms += by_ms;
        let mut all: Vec<&mut Moment> = Vec::new();
        for Listed { state, .. } in &mut self.subscriptions {
            all.extend([
                &mut state.lease_end,
                &mut state.next_at,
                &mut state.created_at,
                &mut state.verified_at,
            ]);
            all.extend(state.last.iter_mut().map(|last| &mut last.at));
        }
        for WaitingRequest { state, .. } in &mut self.requests {
            all.extend([
                &mut state.lease_end,
                &mut state.next_at,
                &mut state.created_at,
                &mut state.verified_at,
            ]);
            all.extend(state.last.iter_mut().map(|last| &mut last.at));
        }
        for (notice, next_at) in &mut self.notices {
            all.extend([&mut notice.since, next_at]);
        }
        for stone in &mut self.tombstones {
            all.extend([&mut stone.at, &mut stone.created_at]);
            all.extend(stone.last.iter_mut().map(|last| &mut last.at));
        }
        for moment in all {
            *moment = moved(*moment, by_ms);
        }
    }

    pub(super) fn counts(&mut self, now: Moment) -> Counts {
        let owed: Vec<Moment> = self
            .list(0, usize::MAX)
            .into_iter()
            .filter(|listed| listed.owed)
            .map(|listed| listed.state.next_at)
            .collect();
        let due = || owed.iter().filter(|next_at| **next_at <= now);
        Counts {
            subscriptions: self.subscriptions.len() as u64,
            requests: self.requests.len() as u64,
            owed: owed.len() as u64,
            due: due().count() as u64,
            due_since: due().min().copied(),
        }
    }

    pub(super) fn list(&mut self, after: i64, limit: usize) -> Vec<Listed> {
        let filled = |listed: &Listed| {
            let current = self.current(&listed.topic).expect("a known topic");
            let owed = !listed.state.acknowledged || listed.state.digest != current;
            Listed {
                current,
                owed,
                ..listed.clone()
            }
        };
        let found = self.subscriptions.iter().filter(|listed| listed.id > after);
        found.take(limit).map(filled).collect()
    }

    pub(super) fn requests(&mut self, limit: usize) -> Vec<WaitingRequest> {
        self.requests.iter().take(limit).cloned().collect()
    }

    pub(super) fn tombstones(&mut self, limit: usize) -> Vec<Tombstone> {
        let mut stones = self.tombstones.clone();
        stones.sort_by_key(|stone| Reverse((stone.at, stone.id)));
        stones.truncate(limit);
        stones
    }

    pub(super) fn apply_admin(&mut self, id: i64, command: AdminCommand, now: Moment) -> bool {
        let Some(listed) = self.subscriptions.iter_mut().find(|listed| listed.id == id) else {
            return false;
        };
        match command {
            AdminCommand::Remove => self.end(id, RemovalReason::Operator, now),
            AdminCommand::Retry if !listed.state.claimed => listed.state.next_at = Moment::ZERO,
            AdminCommand::Retry => {}
        }
        true
    }

    fn current(&self, topic: &str) -> Option<[u8; 32]> {
        let mut topics = self.topics.iter();
        topics
            .find(|(url, _)| url == topic)
            .map(|(_, digest)| *digest)
    }

    fn find(&self, topic: &str, callback: &Callback) -> Option<usize> {
        let mut all = self.subscriptions.iter();
        all.position(|listed| listed.topic == topic && listed.callback == *callback)
    }

    fn ids(&self, is_meant: impl Fn(&Listed) -> bool) -> Vec<i64> {
        let meant = self.subscriptions.iter().filter(|listed| is_meant(listed));
        meant.map(|listed| listed.id).collect()
    }

    fn end(&mut self, id: i64, removal: RemovalReason, now: Moment) {
        use RemovalReason::{LeaseEnded, Unsubscribed};
        let at = self.subscriptions.iter().position(|listed| listed.id == id);
        let Listed {
            topic,
            callback,
            state,
            ..
        } = self.subscriptions.remove(at.expect("known id"));
        let removal = match state.phase {
            Phase::Unsubscribing => Unsubscribed,
            Phase::Active { .. } | Phase::Pending { .. } => removal,
        };
        self.tombstones.push(Tombstone {
            id,
            topic: topic.clone(),
            host: callback.host().to_string(),
            removal,
            at: now,
            last: state.last,
            created_at: state.created_at,
        });
        if !matches!(removal, Unsubscribed | LeaseEnded) {
            let notice = DenialNotice {
                topic,
                callback,
                removal,
                since: now,
                attempts: 0,
            };
            self.notices.push((notice, Moment::ZERO));
        }
    }
}

/// Returns the moment moved by `by_ms`, backwards when it is negative.
pub(super) fn moved(moment: Moment, by_ms: i64) -> Moment {
    Moment::from_unix_ms(moment.unix_ms().saturating_add(by_ms))
}

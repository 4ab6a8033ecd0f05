//! Reference model of a hub's store: a few lists, which every operation scans completely. It shares no transition of
//! states with the real store, which it checks. `recover` models the start after a crash.

use std::cmp::Reverse;
use std::time::Duration;

use reviewd::hub::store::{
    Accept, AdminCommand, Claim, Counts, DenialNotice, Lane, Listed, PublishResult, QuotaExceeded,
    Quotas, Report, ReportEffect, Tombstone, TopicVersion, WaitingRequest,
};
use reviewd::hub::subscription::{
    AttemptResult, LastAttempt, Phase, Policy, RemovalReason, Subscription,
};
use reviewd::hub::{Callback, Mode, UnixMillis};

/// The naive store, with the methods of [`Store`](reviewd::hub::store::Store).
#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) is_shared: bool,
    topics: Vec<TopicVersion>,
    /// The versions last published by this process, some of which may be older than `topics`.
    own: Vec<TopicVersion>,
    pub(super) requests: Vec<WaitingRequest>,
    /// `list` fills in the fields that depend on the topic.
    subscriptions: Vec<Listed>,
    tombstones: Vec<Tombstone>,
    notices: Vec<Notice>,
    notices_ever: i64,
    requests_ever: i64,
    subscriptions_ever: i64,
    seen_ms: i64,
}

/// A denial, when it was created, the time before which it is not sent, and how often it was sent.
#[derive(Clone, Debug)]
struct Notice {
    denial: DenialNotice,
    since: UnixMillis,
    next_at: UnixMillis,
    attempts: usize,
}

impl Model {
    /// Creates an empty store, which replicas share or not.
    pub(super) fn new(is_shared: bool) -> Model {
        Model {
            is_shared,
            ..Model::default()
        }
    }

    pub(super) fn publish(&mut self, versions: &[TopicVersion], now: UnixMillis) -> PublishResult {
        let mut published = PublishResult::default();
        for version in versions {
            let mut topics = self.topics.iter_mut();
            match topics.find(|topic| topic.url == version.url) {
                None => self.topics.push(version.clone()),
                Some(topic) if topic.digest == version.digest => continue,
                Some(topic) if self.is_shared && version.dated <= topic.dated => {
                    published.older.push(version.url.clone());
                    continue;
                }
                Some(topic) => *topic = version.clone(),
            }
            published.changed.push(version.url.clone());
        }
        self.own = versions.to_vec();
        if !self.is_shared {
            let is_served = |url: &str| versions.iter().any(|version| version.url == url);
            self.topics.retain(|topic| is_served(&topic.url));
            self.requests.retain(|waiting| is_served(&waiting.topic));
            let withdrawn = self.ids(|listed| !is_served(&listed.topic));
            published.withdrawn = withdrawn.len();
            for id in withdrawn {
                self.end(id, RemovalReason::TopicWithdrawn, now);
            }
        }
        published
    }

    pub(super) fn accept(
        &mut self,
        requests: &[Accept],
        quotas: &Quotas,
        now: UnixMillis,
    ) -> Vec<Result<(), QuotaExceeded>> {
        self.seen_ms = now.as_ms();
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
            let joins = self.requests.iter().any(|other| {
                !other.state.claimed
                    && other.state.attempt == 0
                    && other.state.secret == waiting.state.secret
                    && (other.mode, other.lease_s) == (waiting.mode, waiting.lease_s)
                    && (&other.topic, &other.callback) == (&waiting.topic, &waiting.callback)
            });
            if !joins {
                self.check_quotas(&waiting, quotas)?;
                self.requests_ever += 1;
                self.requests.push(waiting);
            }
            Ok(())
        };
        requests.iter().map(one).collect()
    }

    fn check_quotas(&self, request: &WaitingRequest, quotas: &Quotas) -> Result<(), QuotaExceeded> {
        use QuotaExceeded::{Requests, RequestsOfHost, Subscriptions, SubscriptionsOfHost};
        type Limit = fn(u32) -> QuotaExceeded;
        let check = |callbacks: &[&Callback], most: u32, exceeded: Limit, is_of_host: bool| {
            let counts = |one: &&&Callback| !is_of_host || one.host() == request.callback.host();
            match callbacks.iter().filter(counts).count() < most as usize {
                true => Ok(()),
                false => Err(exceeded(most)),
            }
        };
        let waiting: Vec<&Callback> = self.requests.iter().map(|one| &one.callback).collect();
        check(&waiting, quotas.requests, Requests, false)?;
        check(&waiting, quotas.requests_per_host, RequestsOfHost, true)?;
        let is_known = self.find(&request.topic, &request.callback).is_some();
        if request.mode == Mode::Unsubscribe || is_known {
            return Ok(());
        }
        let asks = |one: &&WaitingRequest| one.mode == Mode::Subscribe;
        let asked = self.requests.iter().filter(asks).map(|one| &one.callback);
        let active = self.subscriptions.iter().map(|listed| &listed.callback);
        let all: Vec<&Callback> = active.chain(asked).collect();
        check(&all, quotas.subscriptions, Subscriptions, false)?;
        check(
            &all,
            quotas.subscriptions_per_host,
            SubscriptionsOfHost,
            true,
        )
    }

    pub(super) fn claim_requests(&mut self, claim: &Claim, now: UnixMillis) -> Vec<WaitingRequest> {
        let mut busy = claim.busy.clone();
        let mut in_turn = self.requests.clone();
        in_turn.sort_by_key(|one| (self.find(&one.topic, &one.callback).is_none(), one.id));
        let mut found = Vec::new();
        for one in in_turn {
            let is_of_pair = |other: &&mut WaitingRequest| {
                (&other.topic, &other.callback) == (&one.topic, &one.callback)
            };
            let first = self.requests.iter_mut().find(is_of_pair).expect("known");
            let state = &mut first.state;
            let may = first.id == one.id && !state.claimed && state.next_at <= now;
            let taken = busy.entry(one.callback.host().to_string()).or_default();
            if may && found.len() < claim.limit && *taken < claim.per_host {
                *taken += 1;
                state.claimed = true;
                state.attempt += 1;
                found.push(first.clone());
            }
        }
        found
    }

    /// Begins the deliveries `ids`, which the real store has chosen. Asserts that all of them are due in the lane, and
    /// that the claim has no capacity for any other due delivery.
    pub(super) fn begin_deliveries(
        &mut self,
        lane: Lane,
        claim: &Claim,
        now: UnixMillis,
        ids: &[i64],
    ) -> Vec<Listed> {
        let mut busy = claim.busy.clone();
        let (mut begun, mut waiting) = (Vec::new(), Vec::new());
        for mut listed in self.list() {
            let state = &mut listed.state;
            let is_slow = state.attempt == 0 || state.failures > 0 || state.elapsed_ms >= 1000;
            let is_own =
                |own: &TopicVersion| (&own.url, own.digest) == (&listed.topic, listed.current);
            let is_due = listed.is_undelivered
                && self.own.iter().any(is_own)
                && is_slow == (lane == Lane::Slow)
                && !state.claimed
                && state.next_at <= now
                && now < state.lease_end;
            let host = listed.callback.host().to_string();
            if ids.contains(&listed.id) {
                assert!(is_due, "not due: {listed:?}");
                *busy.entry(host).or_default() += 1;
                state.digest = listed.current;
                state.acknowledged = false;
                state.claimed = true;
                state.attempt += 1;
                begun.push(listed);
            } else if is_due {
                waiting.push(host);
            }
        }
        let is_full = |host| busy.get(host).is_some_and(|taken| *taken >= claim.per_host);
        let has_no_room = begun.len() == claim.limit || waiting.iter().all(is_full);
        assert!(has_no_room, "passed over: {waiting:?}");
        assert!(begun.len() <= claim.limit && busy.values().all(|taken| *taken <= claim.per_host));
        for listed in &begun {
            let mut all = self.subscriptions.iter_mut();
            *all.find(|one| one.id == listed.id).expect("known") = listed.clone();
        }
        begun
    }

    pub(super) fn record(
        &mut self,
        reports: &[Report],
        policy: &Policy,
        now: UnixMillis,
    ) -> Vec<ReportEffect> {
        let one = |report| self.record_one(report, policy, now);
        reports.iter().map(one).collect()
    }

    fn record_one(&mut self, report: &Report, policy: &Policy, now: UnixMillis) -> ReportEffect {
        let Report::Delivered { id, result } = report else {
            return self.record_verification(report, now);
        };
        let is_it = |listed: &&mut Listed| {
            let state = &listed.state;
            (listed.id, state.claimed, state.attempt) == (*id, true, result.attempt)
        };
        let Some(listed) = self.subscriptions.iter_mut().find(is_it) else {
            return ReportEffect::Stale;
        };
        let state = &mut listed.state;
        state.claimed = false;
        state.elapsed_ms = result.elapsed.as_millis() as u32;
        if let Some(answer) = result.answer {
            state.last = Some(LastAttempt { at: now, answer });
        }
        let removal = match result.answer {
            _ if state.phase == Phase::Unsubscribing => RemovalReason::Unsubscribed,
            None => {
                state.next_at = moved(now, 1000);
                return ReportEffect::Kept;
            }
            Some(AttemptResult::Status(200..=299)) => {
                state.acknowledged = true;
                state.failures = 0;
                state.next_at = UnixMillis::ZERO;
                return ReportEffect::Kept;
            }
            Some(AttemptResult::Status(410)) => RemovalReason::Gone,
            Some(_) => {
                state.failures += 1;
                if state.failures < policy.failures_max {
                    let last = policy.retry_delays.len() - 1;
                    let delay = policy.retry_delays[last.min(state.failures as usize - 1)];
                    let delay_ms = delay.as_millis() as i64;
                    let delay_ms = delay_ms + delay_ms * i64::from(result.jitter) / (4 * 65_535);
                    let wish = result
                        .retry_after
                        .unwrap_or_default()
                        .min(policy.retry_after_max);
                    state.next_at = moved(now, delay_ms.max(wish.as_millis() as i64));
                    return ReportEffect::Kept;
                }
                RemovalReason::Failures
            }
        };
        self.end(*id, removal, now);
        ReportEffect::Removed(removal)
    }

    fn record_verification(&mut self, report: &Report, now: UnixMillis) -> ReportEffect {
        let (Report::Verified { id, .. }
        | Report::Unreached { id, .. }
        | Report::Delivered { id, .. }) = report;
        let mut requests = self.requests.iter();
        let Some(at) = requests.position(|one| one.id == *id && one.state.claimed) else {
            return ReportEffect::Stale;
        };
        let state = &mut self.requests[at].state;
        match *report {
            Report::Unreached { answer: None, .. } => {
                state.claimed = false;
                state.attempt -= 1;
                state.next_at = moved(now, 1000);
                ReportEffect::Waiting
            }
            Report::Unreached {
                delay,
                answer: Some(answer),
                ..
            } if state.attempt < 3 => {
                // The time of the attempt is not stored.
                let at = state.created_at;
                state.last = Some(LastAttempt { at, answer });
                state.claimed = false;
                state.next_at = now.plus(delay);
                ReportEffect::Waiting
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
                ReportEffect::Rejected
            }
        }
    }

    fn confirm(
        &mut self,
        request: WaitingRequest,
        asked_at: UnixMillis,
        now: UnixMillis,
    ) -> ReportEffect {
        let WaitingRequest {
            mode,
            topic,
            callback,
            lease_s,
            mut state,
            ..
        } = request;
        let lease_end = moved(asked_at, i64::from(lease_s) * 1000);
        let known = self.find(&topic, &callback);
        let known = known.map(|at| &mut self.subscriptions[at]);
        match (mode, known) {
            (Mode::Unsubscribe, None) => ReportEffect::Stale,
            (Mode::Unsubscribe, Some(listed)) if listed.state.claimed => {
                listed.state.phase = Phase::Unsubscribing;
                (listed.state.lease_end, listed.state.verified_at) = (now, now);
                ReportEffect::Leaving
            }
            (Mode::Unsubscribe, Some(listed)) => {
                let id = listed.id;
                self.end(id, RemovalReason::Unsubscribed, now);
                ReportEffect::Removed(RemovalReason::Unsubscribed)
            }
            (Mode::Subscribe, Some(Listed { state: known, .. })) => {
                known.phase = Phase::Active { lease_s };
                (known.lease_end, known.verified_at) = (lease_end, now);
                known.secret = state.secret;
                known.failures = 0;
                if !known.claimed {
                    known.next_at = UnixMillis::ZERO;
                }
                ReportEffect::Renewed
            }
            (Mode::Subscribe, None) => {
                let pair = (&topic, &callback);
                let is_other = |denial: &DenialNotice| (&denial.topic, &denial.callback) != pair;
                self.notices.retain(|notice| is_other(&notice.denial));
                state = Subscription::request(0, state.secret, state.digest, now);
                state.phase = Phase::Active { lease_s };
                state.lease_end = lease_end;
                self.subscriptions_ever += 1;
                self.subscriptions.push(Listed {
                    id: self.subscriptions_ever,
                    topic,
                    callback,
                    current: [0; 32],
                    is_undelivered: false,
                    state,
                });
                ReportEffect::Activated
            }
        }
    }

    pub(super) fn claim_notices(&mut self, limit: usize, now: UnixMillis) -> Vec<DenialNotice> {
        let day = Duration::from_secs(86_400);
        let due = |notice: &Notice| notice.next_at <= now;
        let is_over = |notice: &Notice| notice.attempts > 0 && notice.since <= now.minus(day);
        self.notices
            .retain(|notice| !(due(notice) && is_over(notice)));
        let claimed = self.notices.iter_mut().filter(|notice| due(notice));
        let claimed = claimed.take(limit).map(|notice| {
            let minutes = [1, 4, 16].get(notice.attempts).unwrap_or(&60);
            notice.next_at = moved(now, minutes * 60_000);
            notice.attempts += 1;
            notice.denial.clone()
        });
        claimed.collect()
    }

    pub(super) fn end_notice(&mut self, id: i64) {
        self.notices.retain(|notice| notice.denial.id != id);
    }

    pub(super) fn sweep(&mut self, tombstone_age: Duration, now: UnixMillis) -> Vec<RemovalReason> {
        let is_asked = |listed: &Listed| {
            self.requests.iter().any(|one| {
                one.mode == Mode::Subscribe
                    && (&one.topic, &one.callback) == (&listed.topic, &listed.callback)
            })
        };
        let over = self.ids(|listed| {
            listed.state.lease_end <= now && !listed.state.claimed && !is_asked(listed)
        });
        let oldest = now.minus(tombstone_age);
        self.tombstones.retain(|stone| stone.at >= oldest);
        if self.seen_ms <= now.as_ms() - 60_000 {
            self.seen_ms = now.as_ms();
        }
        let mut end = |id| self.end(id, RemovalReason::LeaseEnded, now);
        over.into_iter().map(&mut end).collect()
    }

    pub(super) fn recover(&mut self, now: UnixMillis) {
        if now.as_ms() + 5_000 < self.seen_ms {
            self.shift(now.as_ms() - self.seen_ms);
        }
        self.seen_ms = now.as_ms();
        for Listed { state, .. } in &mut self.subscriptions {
            if state.claimed {
                state.claimed = false;
                state.next_at = UnixMillis::ZERO;
            }
        }
        let requests = &mut self.requests;
        requests.retain(|one| !(one.state.claimed && one.state.attempt >= 5));
        requests
            .iter_mut()
            .for_each(|one| one.state.claimed = false);
    }

    pub(super) fn shift(&mut self, by_ms: i64) {
        self.seen_ms += by_ms;
        let mut all: Vec<&mut UnixMillis> = Vec::new();
        let active = self.subscriptions.iter_mut().map(|one| &mut one.state);
        let asked = self.requests.iter_mut().map(|one| &mut one.state);
        for state in active.chain(asked) {
            all.extend([&mut state.lease_end, &mut state.next_at]);
            all.extend([&mut state.created_at, &mut state.verified_at]);
            all.extend(state.last.iter_mut().map(|last| &mut last.at));
        }
        for notice in &mut self.notices {
            all.extend([&mut notice.since, &mut notice.next_at]);
        }
        for stone in &mut self.tombstones {
            all.extend([&mut stone.at, &mut stone.created_at]);
            all.extend(stone.last.iter_mut().map(|last| &mut last.at));
        }
        for moment in all {
            *moment = moved(*moment, by_ms);
        }
    }

    pub(super) fn counts(&self, now: UnixMillis) -> Counts {
        let undelivered = self
            .list()
            .into_iter()
            .filter(|listed| listed.is_undelivered);
        let undelivered: Vec<UnixMillis> = undelivered.map(|listed| listed.state.next_at).collect();
        let due = || undelivered.iter().filter(|next_at| **next_at <= now);
        Counts {
            subscriptions: self.subscriptions.len() as u64,
            requests: self.requests.len() as u64,
            undelivered: undelivered.len() as u64,
            due: due().count() as u64,
            due_since: due().min().copied(),
        }
    }

    pub(super) fn list(&self) -> Vec<Listed> {
        let mut all = self.subscriptions.clone();
        for listed in &mut all {
            listed.current = self.current(&listed.topic).expect("a known topic");
            listed.is_undelivered =
                !listed.state.acknowledged || listed.state.digest != listed.current;
        }
        all
    }

    pub(super) fn tombstones(&self) -> Vec<Tombstone> {
        let mut stones = self.tombstones.clone();
        stones.sort_by_key(|stone| Reverse((stone.at, stone.id)));
        stones
    }

    pub(super) fn apply_admin(
        &mut self,
        id: i64,
        command: AdminCommand,
        now: UnixMillis,
    ) -> Option<Listed> {
        let before = self.list().into_iter().find(|listed| listed.id == id)?;
        match command {
            AdminCommand::Remove => {
                self.end(id, RemovalReason::Operator, now);
                return Some(before);
            }
            AdminCommand::Retry => {
                let mut all = self.subscriptions.iter_mut();
                let known = all.find(|listed| listed.id == id && !listed.state.claimed);
                if let Some(known) = known {
                    known.state.next_at = UnixMillis::ZERO;
                }
            }
        }
        self.list().into_iter().find(|listed| listed.id == id)
    }

    /// Returns the digest of the topic's content.
    pub(super) fn current(&self, url: &str) -> Option<[u8; 32]> {
        let mut topics = self.topics.iter();
        topics
            .find(|topic| topic.url == url)
            .map(|topic| topic.digest)
    }

    fn find(&self, topic: &str, callback: &Callback) -> Option<usize> {
        let mut all = self.subscriptions.iter();
        all.position(|listed| listed.topic == topic && listed.callback == *callback)
    }

    fn ids(&self, is_meant: impl Fn(&Listed) -> bool) -> Vec<i64> {
        let meant = self.subscriptions.iter().filter(|listed| is_meant(listed));
        meant.map(|listed| listed.id).collect()
    }

    /// Ends a subscription, and returns the reason: an unsubscription takes precedence over any other.
    fn end(&mut self, id: i64, removal: RemovalReason, now: UnixMillis) -> RemovalReason {
        let at = self.subscriptions.iter().position(|listed| listed.id == id);
        let Listed {
            topic,
            callback,
            state,
            ..
        } = self.subscriptions.remove(at.expect("known id"));
        let removal = match state.phase {
            Phase::Unsubscribing => RemovalReason::Unsubscribed,
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
        if !matches!(
            removal,
            RemovalReason::Unsubscribed | RemovalReason::LeaseEnded
        ) {
            self.notices_ever += 1;
            let denial = DenialNotice {
                id: self.notices_ever,
                topic,
                callback,
                removal,
            };
            self.notices.push(Notice {
                denial,
                since: now,
                next_at: UnixMillis::ZERO,
                attempts: 0,
            });
        }
        removal
    }
}

/// Returns the moment moved by `by_ms`, backwards when it is negative.
pub(super) fn moved(moment: UnixMillis, by_ms: i64) -> UnixMillis {
    UnixMillis::new(moment.as_ms().saturating_add(by_ms))
}

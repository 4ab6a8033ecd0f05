//! Reference model of a hub's store: a few lists, which every operation scans completely. It shares no transition of
//! states with the real store, which it checks. `recover` models the start after a crash.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use reviewd::hub::scheduler::{AttemptId, DueAttempt, Rank};
use reviewd::hub::store::{
    Accept, AdminCommand, AttemptReport, DenialNotice, PublishResult, QuotaExceeded, Quotas,
    REJECTIONS_PER_HOST, Rejection, RejectionReason, ReportEffect, StoreCounts, StoredSubscription,
    Tombstone, TopicVersion, WaitingRequest,
};
use reviewd::hub::subscription::{
    AttemptResult, FailurePolicy, LastAttempt, Phase, RemovalReason, Subscription,
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
    subscriptions: Vec<StoredSubscription>,
    tombstones: Vec<Tombstone>,
    rejections: Vec<Rejection>,
    rejections_ever: i64,
    /// The asker of each request, by its id.
    askers: HashMap<i64, i64>,
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
            let served: Vec<&String> = versions.iter().map(|version| &version.url).collect();
            self.topics.retain(|topic| served.contains(&&topic.url));
            self.requests
                .retain(|waiting| served.contains(&&waiting.topic));
            let withdrawn = self.ids(|listed| !served.contains(&&listed.topic));
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
        let mut results = Vec::new();
        for accept in requests {
            let result = self.accept_one(accept, quotas, now);
            if result.is_err() {
                let request = &accept.request;
                self.reject(
                    (request.mode, &request.topic, &request.callback),
                    RejectionReason::Quota,
                    &Subscription::request(0, None, [0; 32], now),
                    now,
                );
            }
            results.push(result);
        }
        results
    }

    fn accept_one(
        &mut self,
        accept: &Accept,
        quotas: &Quotas,
        now: UnixMillis,
    ) -> Result<(), QuotaExceeded> {
        let Accept {
            request,
            lease_s,
            asker,
        } = accept;
        let digest = self.current(&request.topic).unwrap_or_default();
        let mut waiting = WaitingRequest {
            id: self.requests_ever + 1,
            mode: request.mode,
            topic: request.topic.clone(),
            topic_given: request.topic_given.clone(),
            callback: request.callback.clone(),
            lease_s: *lease_s,
            is_renewal: self.find(&request.topic, &request.callback).is_some(),
            state: Subscription::request(*lease_s, request.secret.clone(), digest, now),
        };
        let older = self.requests.iter_mut().find(|other| {
            !other.state.claimed && other.mode == waiting.mode && is_of_pair(other, &waiting)
        });
        if waiting.is_renewal
            && let Some(older) = older
        {
            waiting.id = older.id;
            self.askers.insert(waiting.id, *asker);
            *older = waiting;
            return Ok(());
        }
        let joins = !waiting.is_renewal
            && self.requests.iter().any(|other| {
                !other.state.claimed
                    && other.state.attempt == 0
                    && other.state.secret == waiting.state.secret
                    && other.mode == waiting.mode
                    && other.lease_s == waiting.lease_s
                    && is_of_pair(other, &waiting)
            });
        if joins {
            return Ok(());
        }
        if !waiting.is_renewal {
            self.check_quotas(&waiting, *asker, quotas)?;
        }
        self.requests_ever += 1;
        self.askers.insert(waiting.id, *asker);
        self.requests.push(waiting);
        Ok(())
    }

    /// Keeps a request that ended without effect.
    fn reject(
        &mut self,
        (mode, topic, callback): (Mode, &str, &Callback),
        reason: RejectionReason,
        state: &Subscription,
        now: UnixMillis,
    ) {
        self.rejections_ever += 1;
        let host = callback.host().to_string();
        self.rejections.push(Rejection {
            id: self.rejections_ever,
            mode,
            topic: topic.to_owned(),
            host: host.clone(),
            reason,
            at: now,
            attempts: state.attempt,
            last: state.last.clone(),
            accepted_at: state.created_at,
        });
        let of_host = self.rejections.iter().filter(|one| one.host == host);
        if of_host.count() > REJECTIONS_PER_HOST {
            let oldest = self.rejections.iter().position(|one| one.host == host);
            self.rejections.remove(oldest.expect("there are some"));
        }
    }

    fn reject_request(&mut self, at: usize, reason: RejectionReason, now: UnixMillis) {
        let request = self.requests.remove(at);
        let what = (request.mode, request.topic.as_str(), &request.callback);
        self.reject(what, reason, &request.state, now);
    }

    pub(super) fn rejections(&self) -> Vec<Rejection> {
        self.rejections.iter().rev().cloned().collect()
    }

    pub(super) fn remove_request(&mut self, id: i64, now: UnixMillis) -> Option<WaitingRequest> {
        let at = self.requests.iter().position(|one| one.id == id)?;
        let request = self.requests[at].clone();
        self.reject_request(at, RejectionReason::Operator, now);
        Some(request)
    }

    fn check_quotas(
        &self,
        request: &WaitingRequest,
        asker: i64,
        quotas: &Quotas,
    ) -> Result<(), QuotaExceeded> {
        use QuotaExceeded::{Requests, RequestsOfHost, Subscriptions, SubscriptionsOfHost};
        let authority = request.callback.authority();
        let new = self.new_requests();
        let waiting: Vec<&Callback> = new.iter().map(|one| &one.callback).collect();
        check_limit(waiting.len(), quotas.requests, Requests)?;
        check_limit(
            count_of_host(&waiting, &authority),
            quotas.requests_per_host,
            RequestsOfHost,
        )?;
        let of_asker = new
            .iter()
            .filter(|one| self.askers[&one.id] == asker)
            .count();
        if of_asker + waiting.len() >= quotas.requests as usize {
            return Err(QuotaExceeded::RequestsOfAddress(of_asker as u32));
        }
        if request.mode == Mode::Unsubscribe {
            return Ok(());
        }
        let active = self.subscriptions.iter().map(|listed| &listed.callback);
        let mut all: Vec<&Callback> = active.collect();
        for one in new {
            if one.mode == Mode::Subscribe {
                all.push(&one.callback);
            }
        }
        check_limit(all.len(), quotas.subscriptions, Subscriptions)?;
        check_limit(
            count_of_host(&all, &authority),
            quotas.subscriptions_per_host,
            SubscriptionsOfHost,
        )
    }

    /// Returns the waiting requests for subscriptions that do not exist yet.
    fn new_requests(&self) -> Vec<&WaitingRequest> {
        self.requests.iter().filter(|one| !one.is_renewal).collect()
    }

    pub(super) fn due_requests(&self, most: usize, now: UnixMillis) -> Vec<DueAttempt> {
        let mut in_turn: Vec<&WaitingRequest> = self.requests.iter().collect();
        in_turn.sort_by_key(|one| (!one.is_renewal, one.id));
        let mut due = Vec::new();
        for one in in_turn {
            let of_pair = self.requests.iter().filter(|other| is_of_pair(other, one));
            let is_first = of_pair.map(|other| other.id).min() == Some(one.id);
            if is_first && !one.state.claimed && one.state.next_at <= now {
                due.push(DueAttempt {
                    id: AttemptId::Verification(one.id),
                    rank: match (one.is_renewal, one.state.attempt) {
                        (true, 0) => Rank::KnownFirst,
                        (false, 0) => Rank::NewFirst,
                        (true, _) => Rank::KnownRetry,
                        (false, _) => Rank::NewRetry,
                    },
                    authority: one.callback.authority().into(),
                    asker: Some(self.askers[&one.id]),
                });
            }
        }
        due.truncate(most);
        due
    }

    pub(super) fn begin_verifications(&mut self, ids: &[i64]) -> Vec<WaitingRequest> {
        let mut begun = Vec::new();
        for request in &mut self.requests {
            if ids.contains(&request.id) && !request.state.claimed {
                request.state.claimed = true;
                request.state.attempt += 1;
                begun.push(request.clone());
            }
        }
        begun
    }

    /// Asserts that `due` are the deliveries that are due, or at most `most` of the highest ranks.
    pub(super) fn check_due_deliveries(&self, due: &[DueAttempt], most: usize, now: UnixMillis) {
        let mut expected = BTreeSet::new();
        for listed in self.list() {
            if self.is_due(&listed, now) {
                let state = &listed.state;
                let rank = match (state.acknowledged_at, state.acknowledged) {
                    (Some(_), true) => Rank::KnownFirst,
                    (None, true) => Rank::NewFirst,
                    (Some(_), false) => Rank::KnownRetry,
                    (None, false) => Rank::NewRetry,
                };
                expected.insert((rank, listed.id, listed.callback.authority()));
            }
        }
        assert_eq!(due.len(), expected.len().min(most), "{due:?}");
        let lowest = due.iter().map(|one| one.rank).max();
        for one in due {
            let AttemptId::Delivery(id) = one.id else {
                panic!("{one:?}");
            };
            let key = (one.rank, id, one.authority.to_string());
            assert!(expected.remove(&key), "not due: {one:?}");
        }
        let passed_over = expected.first().map(|(rank, ..)| *rank);
        assert!(passed_over.is_none_or(|rank| Some(rank) >= lowest));
    }

    fn is_due(&self, listed: &StoredSubscription, now: UnixMillis) -> bool {
        let state = &listed.state;
        let is_own = self
            .own
            .iter()
            .any(|own| own.url == listed.topic && own.digest == listed.current);
        listed.is_undelivered
            && is_own
            && !state.claimed
            && state.next_at <= now
            && now < state.lease_end
    }

    /// Begins those of these deliveries that are due.
    pub(super) fn begin_deliveries(
        &mut self,
        ids: &[i64],
        now: UnixMillis,
    ) -> Vec<StoredSubscription> {
        let mut begun = Vec::new();
        for mut listed in self.list() {
            if !ids.contains(&listed.id) || !self.is_due(&listed, now) {
                continue;
            }
            let state = &mut listed.state;
            state.digest = listed.current;
            state.acknowledged = false;
            state.owed_since = state.owed_since.or(Some(now));
            state.claimed = true;
            state.attempt += 1;
            let mut all = self.subscriptions.iter_mut();
            let stored = all.find(|one| one.id == listed.id);
            *stored.expect("it was listed") = listed.clone();
            begun.push(listed);
        }
        begun
    }

    pub(super) fn record(
        &mut self,
        reports: &[AttemptReport],
        policy: &FailurePolicy,
        quotas: &Quotas,
        now: UnixMillis,
    ) -> Vec<ReportEffect> {
        let mut effects = Vec::new();
        for report in reports {
            effects.push(self.record_one(report, policy, quotas, now));
        }
        effects
    }

    fn record_one(
        &mut self,
        report: &AttemptReport,
        policy: &FailurePolicy,
        quotas: &Quotas,
        now: UnixMillis,
    ) -> ReportEffect {
        let AttemptReport::Delivered { id, result } = report else {
            return self.record_verification(report, quotas, now);
        };
        let running = self.subscriptions.iter_mut().find(|listed| {
            listed.id == *id && listed.state.claimed && listed.state.attempt == result.attempt
        });
        let Some(listed) = running else {
            return ReportEffect::Stale;
        };
        let state = &mut listed.state;
        state.claimed = false;
        state.elapsed_ms = result.elapsed.as_millis() as u32;
        if let Some(result) = result.result {
            state.last = Some(LastAttempt { at: now, result });
        }
        let removal = match result.result {
            _ if state.phase == Phase::Unsubscribing => RemovalReason::Unsubscribed,
            None => {
                state.next_at = moved(now, 1000);
                return ReportEffect::Kept;
            }
            Some(AttemptResult::Status(200..=299)) => {
                state.acknowledged = true;
                state.acknowledged_at = Some(now);
                state.owed_since = None;
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
                    let configured_ms = delay.as_millis() as i64;
                    let extra_ms = configured_ms * i64::from(result.jitter) / (4 * 65_535);
                    let delay_ms = configured_ms + extra_ms;
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

    fn record_verification(
        &mut self,
        report: &AttemptReport,
        quotas: &Quotas,
        now: UnixMillis,
    ) -> ReportEffect {
        let (AttemptReport::Verified { id, .. }
        | AttemptReport::Unreached { id, .. }
        | AttemptReport::Delivered { id, .. }
        | AttemptReport::Notified { id, .. }) = report;
        let mut requests = self.requests.iter();
        let Some(at) = requests.position(|one| one.id == *id && one.state.claimed) else {
            return ReportEffect::Stale;
        };
        let state = &mut self.requests[at].state;
        match *report {
            AttemptReport::Unreached { result: None, .. } => {
                state.claimed = false;
                state.attempt -= 1;
                state.next_at = moved(now, 1000);
                ReportEffect::Waiting
            }
            AttemptReport::Unreached {
                delay,
                result: Some(result),
                ..
            } => {
                state.last = Some(LastAttempt { at: now, result });
                state.claimed = false;
                state.next_at = now.plus(delay);
                if state.attempt < 3 && self.has_capacity(at, quotas) {
                    return ReportEffect::Waiting;
                }
                self.reject_request(at, RejectionReason::Unreached, now);
                ReportEffect::Rejected
            }
            AttemptReport::Verified {
                asked_at,
                confirmed: true,
                ..
            } => {
                let request = self.requests.remove(at);
                self.confirm(request, asked_at, now)
            }
            AttemptReport::Verified { result, .. } => {
                state.last = Some(LastAttempt { at: now, result });
                self.reject_request(at, RejectionReason::NotConfirmed, now);
                ReportEffect::Rejected
            }
            AttemptReport::Delivered { .. } | AttemptReport::Notified { .. } => ReportEffect::Stale,
        }
    }

    /// Tells whether at most half of both quotas is in use, or the request is for an active subscription.
    fn has_capacity(&self, at: usize, quotas: &Quotas) -> bool {
        let request = &self.requests[at];
        let new = self.new_requests();
        let callbacks: Vec<&Callback> = new.iter().map(|one| &one.callback).collect();
        let of_host = count_of_host(&callbacks, &request.callback.authority());
        request.is_renewal
            || (new.len() * 2 <= quotas.requests as usize
                && of_host * 2 <= quotas.requests_per_host as usize)
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
        let active = self
            .find(&topic, &callback)
            .map(|at| &mut self.subscriptions[at]);
        match (mode, active) {
            (Mode::Unsubscribe, None) => ReportEffect::Stale,
            (Mode::Unsubscribe, Some(listed)) if listed.state.claimed => {
                listed.state.phase = Phase::Unsubscribing;
                listed.state.lease_end = now;
                listed.state.verified_at = now;
                ReportEffect::Leaving
            }
            (Mode::Unsubscribe, Some(listed)) => {
                let id = listed.id;
                self.end(id, RemovalReason::Unsubscribed, now);
                ReportEffect::Removed(RemovalReason::Unsubscribed)
            }
            (Mode::Subscribe, Some(StoredSubscription { state: renewed, .. })) => {
                renewed.phase = Phase::Active { lease_s };
                renewed.lease_end = lease_end;
                renewed.verified_at = now;
                renewed.secret = state.secret;
                renewed.failures = 0;
                if !renewed.claimed {
                    renewed.next_at = UnixMillis::ZERO;
                }
                ReportEffect::Renewed
            }
            (Mode::Subscribe, None) => {
                self.notices.retain(|notice| {
                    notice.denial.topic != topic || notice.denial.callback != callback
                });
                state = Subscription::request(0, state.secret, state.digest, now);
                state.phase = Phase::Active { lease_s };
                state.lease_end = lease_end;
                self.subscriptions_ever += 1;
                self.subscriptions.push(StoredSubscription {
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

    pub(super) fn due_denials(&self, most: usize, now: UnixMillis) -> Vec<DueAttempt> {
        let due = self
            .notices
            .iter()
            .filter(|notice| notice.next_at <= now)
            .take(most)
            .map(|notice| DueAttempt {
                id: AttemptId::Denial(notice.denial.id),
                rank: Rank::NewRetry,
                authority: notice.denial.callback.authority().into(),
                asker: None,
            });
        due.collect()
    }

    pub(super) fn begin_denials(&mut self, ids: &[i64], now: UnixMillis) -> Vec<DenialNotice> {
        if ids.is_empty() {
            return Vec::new();
        }
        let day = Duration::from_secs(86_400);
        self.notices.retain(|notice| {
            let is_over = notice.attempts > 0 && notice.since <= now.minus(day);
            notice.next_at > now || !is_over
        });
        let mut begun = Vec::new();
        for notice in &mut self.notices {
            if ids.contains(&notice.denial.id) && notice.next_at <= now {
                let minutes = [1, 4, 16].get(notice.attempts).unwrap_or(&60);
                notice.next_at = moved(now, minutes * 60_000);
                notice.attempts += 1;
                begun.push(notice.denial.clone());
            }
        }
        begun
    }

    pub(super) fn end_denial(&mut self, id: i64) {
        self.notices.retain(|notice| notice.denial.id != id);
    }

    pub(super) fn sweep(&mut self, tombstone_age: Duration, now: UnixMillis) -> Vec<RemovalReason> {
        let three_days = Duration::from_secs(3 * 86_400);
        let mut over: Vec<(i64, RemovalReason)> = Vec::new();
        for listed in &self.subscriptions {
            let state = &listed.state;
            let owed_since = state.owed_since.filter(|_| state.acknowledged_at.is_none());
            if state.claimed {
                continue;
            }
            if state.lease_end <= now && !self.is_asked(listed) {
                over.push((listed.id, RemovalReason::LeaseEnded));
            } else if owed_since.is_some_and(|since| since.plus(three_days) <= now) {
                let reason = if state.lease_end <= now {
                    RemovalReason::LeaseEnded
                } else {
                    RemovalReason::NeverAcknowledged
                };
                over.push((listed.id, reason));
            }
        }
        let oldest = now.minus(tombstone_age);
        self.tombstones.retain(|stone| stone.at >= oldest);
        self.rejections.retain(|one| one.at >= oldest);
        if self.seen_ms <= now.as_ms() - 60_000 {
            self.seen_ms = now.as_ms();
        }
        let mut reasons = Vec::new();
        for (id, reason) in over {
            reasons.push(self.end(id, reason, now));
        }
        reasons
    }

    /// Tells whether a request to subscribe waits for the pair of a subscription.
    fn is_asked(&self, listed: &StoredSubscription) -> bool {
        self.requests.iter().any(|one| {
            one.mode == Mode::Subscribe
                && one.topic == listed.topic
                && one.callback == listed.callback
        })
    }

    pub(super) fn recover(&mut self, now: UnixMillis) {
        if now.as_ms() + 5_000 < self.seen_ms {
            self.shift(now.as_ms() - self.seen_ms);
        }
        self.seen_ms = now.as_ms();
        for StoredSubscription { state, .. } in &mut self.subscriptions {
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
            all.extend(&mut state.acknowledged_at);
            all.extend(&mut state.owed_since);
        }
        for rejection in &mut self.rejections {
            all.extend([&mut rejection.at, &mut rejection.accepted_at]);
            all.extend(rejection.last.iter_mut().map(|last| &mut last.at));
        }
        for notice in &mut self.notices {
            all.extend([&mut notice.since, &mut notice.next_at]);
        }
        for stone in &mut self.tombstones {
            all.extend([&mut stone.at, &mut stone.created_at]);
            all.extend(stone.last.iter_mut().map(|last| &mut last.at));
        }
        for time in all {
            *time = moved(*time, by_ms);
        }
    }

    pub(super) fn counts(&self, now: UnixMillis) -> StoreCounts {
        let mut undelivered = 0;
        let mut due = Vec::new();
        for listed in self.list() {
            if !listed.is_undelivered {
                continue;
            }
            undelivered += 1;
            if listed.state.next_at <= now {
                due.push(listed.state.next_at);
            }
        }
        StoreCounts {
            subscriptions: self.subscriptions.len() as u64,
            requests: self.requests.len() as u64,
            undelivered,
            due: due.len() as u64,
            due_since: due.into_iter().min(),
        }
    }

    pub(super) fn list(&self) -> Vec<StoredSubscription> {
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
    ) -> Option<StoredSubscription> {
        let before = self.list().into_iter().find(|listed| listed.id == id)?;
        match command {
            AdminCommand::Remove => {
                self.end(id, RemovalReason::Operator, now);
                return Some(before);
            }
            AdminCommand::Retry => {
                let mut all = self.subscriptions.iter_mut();
                let idle = all.find(|listed| listed.id == id && !listed.state.claimed);
                if let Some(listed) = idle {
                    listed.state.next_at = UnixMillis::ZERO;
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

    fn ids(&self, is_meant: impl Fn(&StoredSubscription) -> bool) -> Vec<i64> {
        let meant = self.subscriptions.iter().filter(|listed| is_meant(listed));
        meant.map(|listed| listed.id).collect()
    }

    /// Ends a subscription, and returns the reason: an unsubscription takes precedence over any other.
    fn end(&mut self, id: i64, removal: RemovalReason, now: UnixMillis) -> RemovalReason {
        let at = self.subscriptions.iter().position(|listed| listed.id == id);
        let StoredSubscription {
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

/// Tells whether two requests are for the same topic and callback.
fn is_of_pair(one: &WaitingRequest, other: &WaitingRequest) -> bool {
    one.topic == other.topic && one.callback == other.callback
}

/// Counts the callbacks with this host and port.
fn count_of_host(callbacks: &[&Callback], authority: &str) -> usize {
    callbacks
        .iter()
        .filter(|one| one.authority() == authority)
        .count()
}

fn check_limit(
    count: usize,
    most: u32,
    exceeded: fn(u32) -> QuotaExceeded,
) -> Result<(), QuotaExceeded> {
    if count < most as usize {
        Ok(())
    } else {
        Err(exceeded(most))
    }
}

//! The methods of [`Store`](reviewd::hub::store::Store), each a walk over the lists.

use std::collections::HashMap;
use std::time::Duration;

use super::{Active, Model, Waiting};
use reviewd::hub::store::{
    Accept, AdminCommand, Claim, Counts, Delivery, DenialNotice, Lane, Listed, Published,
    QuotaExceeded, Quotas, Recorded, Report, StoreError, SweepReport, Tombstone, TopicVersion,
    WaitingRequest,
};
use reviewd::hub::subscription::{Policy, RemovalReason};
use reviewd::hub::{Mode, Moment};

impl Model {
    pub(in super::super) fn publish(
        &mut self,
        versions: &[TopicVersion],
        now: Moment,
    ) -> Result<Published, StoreError> {
        let mut published = Published::default();
        for TopicVersion { url, digest, .. } in versions {
            if self.current(url) != Some(*digest) {
                published.changed.push(url.clone());
            }
        }
        let gone: Vec<i64> = self
            .subscriptions
            .iter()
            .filter(|active| !versions.iter().any(|version| version.url == active.topic))
            .map(|active| active.id)
            .collect();
        for id in &gone {
            self.end(*id, RemovalReason::TopicWithdrawn, now);
        }
        published.withdrawn = gone.len();
        let were: Vec<String> = self.topics.iter().map(|(url, _)| url.clone()).collect();
        self.requests.retain(|waiting| {
            let topic = &waiting.accept.request.topic;
            !were.contains(topic) || versions.iter().any(|version| version.url == *topic)
        });
        self.topics = versions
            .iter()
            .map(|version| (version.url.clone(), version.digest))
            .collect();
        Ok(published)
    }

    pub(in super::super) fn accept(
        &mut self,
        requests: &[Accept],
        quotas: &Quotas,
        now: Moment,
    ) -> Result<Vec<Result<(), QuotaExceeded>>, StoreError> {
        self.seen_ms = now.unix_ms();
        let mut answers = Vec::new();
        for accept in requests {
            let joined = self.requests.iter().any(|waiting| {
                waiting.accept == *accept && !waiting.claimed && waiting.attempts == 0
            });
            let full = if joined {
                None
            } else {
                self.full(accept, quotas)
            };
            if !joined && full.is_none() {
                self.requests_ever += 1;
                self.requests.push(Waiting {
                    id: self.requests_ever,
                    accept: accept.clone(),
                    attempts: 0,
                    claimed: false,
                    next_at: Moment::ZERO,
                    accepted_at: now,
                    last: None,
                    digest: self.current(&accept.request.topic).unwrap_or_default(),
                });
            }
            answers.push(full.map_or(Ok(()), Err));
        }
        Ok(answers)
    }

    pub(in super::super) fn claim_requests(
        &mut self,
        claim: &Claim,
        now: Moment,
    ) -> Result<Vec<WaitingRequest>, StoreError> {
        let mut taken = claim.busy.clone();
        let mut found = Vec::new();
        let pair = |waiting: &Waiting| {
            let request = &waiting.accept.request;
            (request.callback.clone(), request.topic.clone())
        };
        let all = self.requests.clone();
        let active = |waiting: &Waiting| {
            let pair = pair(waiting);
            let is_it = |active: &Active| (&active.callback, &active.topic) == (&pair.0, &pair.1);
            self.subscriptions.iter().any(is_it)
        };
        let mut in_turn: Vec<&mut Waiting> = self.requests.iter_mut().collect();
        in_turn.sort_by_key(|waiting| (!active(waiting), waiting.id));
        for waiting in in_turn {
            let earlier = |other: &Waiting| other.id < waiting.id && pair(other) == pair(waiting);
            let first = !all.iter().any(earlier) && waiting.next_at <= now;
            let request = &waiting.accept.request;
            let busy = taken
                .entry(request.callback.host().to_string())
                .or_default();
            if found.len() == claim.limit || waiting.claimed || !first || *busy >= claim.per_host {
                continue;
            }
            *busy += 1;
            waiting.claimed = true;
            waiting.attempts += 1;
            found.push(waiting.as_request());
        }
        Ok(found)
    }

    pub(in super::super) fn claim_deliveries(
        &mut self,
        lane: Lane,
        claim: &Claim,
        now: Moment,
    ) -> Result<Vec<Delivery>, StoreError> {
        let mut taken: HashMap<String, usize> = claim.busy.clone();
        let topics = self.topics.clone();
        let mut found = Vec::new();
        for active in &mut self.subscriptions {
            let Some((_, digest)) = topics.iter().find(|(url, _)| *url == active.topic) else {
                continue;
            };
            let state = &mut active.state;
            let slow = state.attempt == 0 || state.failures > 0 || state.elapsed_ms >= 1000;
            let owed = !state.acknowledged || state.digest != *digest;
            let in_time = !state.claimed && state.next_at <= now && now < state.lease_end;
            let busy = taken.entry(active.callback.host().to_string()).or_default();
            if slow != (lane == Lane::Slow)
                || !owed
                || !in_time
                || *busy >= claim.per_host
                || found.len() == claim.limit
            {
                continue;
            }
            *busy += 1;
            state.digest = *digest;
            state.acknowledged = false;
            state.claimed = true;
            state.attempt += 1;
            found.push(Delivery {
                id: active.id,
                attempt: state.attempt,
                topic: active.topic.clone(),
                digest: *digest,
                callback: active.callback.clone(),
                secret: state.secret.clone(),
            });
        }
        Ok(found)
    }

    pub(in super::super) fn take_notices(
        &mut self,
        limit: usize,
        now: Moment,
    ) -> Result<Vec<DenialNotice>, StoreError> {
        let mut taken = Vec::new();
        self.notices.retain(|(notice, next_at)| {
            let is_taken = *next_at <= now && taken.len() < limit;
            if is_taken {
                taken.push(notice.clone());
            }
            !is_taken
        });
        Ok(taken)
    }

    pub(in super::super) fn defer_notice(
        &mut self,
        notice: &DenialNotice,
        now: Moment,
    ) -> Result<bool, StoreError> {
        let age_ms = now.unix_ms() - notice.since.unix_ms();
        let is_active = self
            .subscriptions
            .iter()
            .any(|active| active.topic == notice.topic && active.callback == notice.callback);
        if age_ms >= 86_400_000 || is_active {
            return Ok(false);
        }
        let minutes = [1, 4, 16].get(notice.attempts as usize).unwrap_or(&60);
        let next_at = Moment::from_unix_ms(now.unix_ms() + minutes * 60_000);
        let attempts = notice.attempts + 1;
        let notice = notice.clone();
        self.notices
            .push((DenialNotice { attempts, ..notice }, next_at));
        Ok(true)
    }

    pub(in super::super) fn record(
        &mut self,
        reports: &[Report],
        policy: &Policy,
        now: Moment,
    ) -> Result<Vec<Recorded>, StoreError> {
        Ok(reports
            .iter()
            .map(|report| self.book(report, policy, now))
            .collect())
    }

    pub(in super::super) fn sweep(
        &mut self,
        tombstone_age: Duration,
        now: Moment,
    ) -> Result<SweepReport, StoreError> {
        let over: Vec<i64> = self
            .subscriptions
            .iter()
            .filter(|active| active.state.lease_end <= now && !active.state.claimed)
            .filter(|active| {
                !self.requests.iter().any(|waiting| {
                    let request = &waiting.accept.request;
                    request.mode == Mode::Subscribe
                        && request.topic == active.topic
                        && request.callback == active.callback
                })
            })
            .map(|active| active.id)
            .collect();
        let oldest_ms = now.unix_ms() - i64::try_from(tombstone_age.as_millis()).expect("short");
        self.tombstones
            .retain(|stone| stone.at.unix_ms() >= oldest_ms);
        if self.seen_ms <= now.unix_ms() - 60_000 {
            self.seen_ms = now.unix_ms();
        }
        for id in &over {
            self.end(*id, RemovalReason::LeaseEnded, now);
        }
        let ended = self.tombstones.iter().rev().take(over.len());
        let left = ended
            .filter(|stone| stone.removal == RemovalReason::Unsubscribed)
            .count();
        Ok(SweepReport {
            expired: over.len() - left,
            left,
        })
    }

    pub(in super::super) fn recover(&mut self, now: Moment) -> Result<(), StoreError> {
        if now.unix_ms() + 5_000 < self.seen_ms {
            self.shift(now.unix_ms() - self.seen_ms)?;
        }
        self.seen_ms = now.unix_ms();
        for active in &mut self.subscriptions {
            if active.state.claimed {
                active.state.claimed = false;
                active.state.next_at = Moment::ZERO;
            }
        }
        self.requests
            .retain(|waiting| !(waiting.claimed && waiting.attempts >= 5));
        for waiting in &mut self.requests {
            waiting.claimed = false;
        }
        Ok(())
    }

    pub(in super::super) fn shift(&mut self, by_ms: i64) -> Result<(), StoreError> {
        self.seen_ms += by_ms;
        let move_it =
            |moment: &mut Moment| *moment = Moment::from_unix_ms(moment.unix_ms() + by_ms);
        for Active { state, .. } in &mut self.subscriptions {
            for moment in [
                &mut state.lease_end,
                &mut state.next_at,
                &mut state.created_at,
                &mut state.verified_at,
            ] {
                move_it(moment);
            }
            state.last.iter_mut().for_each(|last| move_it(&mut last.at));
        }
        for waiting in &mut self.requests {
            move_it(&mut waiting.next_at);
            move_it(&mut waiting.accepted_at);
        }
        for (notice, next_at) in &mut self.notices {
            move_it(&mut notice.since);
            move_it(next_at);
        }
        for stone in &mut self.tombstones {
            move_it(&mut stone.at);
            move_it(&mut stone.created_at);
            stone.last.iter_mut().for_each(|last| move_it(&mut last.at));
        }
        Ok(())
    }

    pub(in super::super) fn counts(&mut self, now: Moment) -> Result<Counts, StoreError> {
        let due = || {
            let owed = self
                .subscriptions
                .iter()
                .filter(|active| self.is_owed(active));
            owed.map(|active| active.state.next_at)
                .filter(|next_at| *next_at <= now)
        };
        Ok(Counts {
            due: due().count() as u64,
            due_since: due().min(),
            subscriptions: self.subscriptions.len() as u64,
            requests: self.requests.len() as u64,
            owed: self
                .subscriptions
                .iter()
                .filter(|active| self.is_owed(active))
                .count() as u64,
        })
    }

    pub(in super::super) fn list(
        &mut self,
        after: i64,
        limit: usize,
    ) -> Result<Vec<Listed>, StoreError> {
        let listed = |active: &Active| Listed {
            id: active.id,
            topic: active.topic.clone(),
            callback: active.callback.clone(),
            current: self.current(&active.topic).expect("a known topic"),
            owed: self.is_owed(active),
            state: active.state.clone(),
        };
        Ok(self
            .subscriptions
            .iter()
            .filter(|active| active.id > after)
            .take(limit)
            .map(listed)
            .collect())
    }

    pub(in super::super) fn tombstones(
        &mut self,
        limit: usize,
    ) -> Result<Vec<Tombstone>, StoreError> {
        let mut stones = self.tombstones.clone();
        stones.sort_by_key(|stone| std::cmp::Reverse((stone.at, stone.id)));
        stones.truncate(limit);
        Ok(stones)
    }

    pub(in super::super) fn apply_admin(
        &mut self,
        id: i64,
        order: AdminCommand,
        now: Moment,
    ) -> Result<bool, StoreError> {
        let Some(active) = self.subscriptions.iter_mut().find(|active| active.id == id) else {
            return Ok(false);
        };
        match order {
            AdminCommand::Remove => self.end(id, RemovalReason::Operator, now),
            AdminCommand::Retry if !active.state.claimed => active.state.next_at = Moment::ZERO,
            AdminCommand::Retry => {}
        }
        Ok(true)
    }
}

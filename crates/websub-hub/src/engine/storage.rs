//! The hub's use of its store: opens and reopens it, takes and gives up the delivery role, publishes topics, and
//! reports errors of the store.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tracing::{debug, error, info, warn};

use super::Engine;
use crate::hub::Topic;
use crate::hub::UnixMillis;
use crate::hub::store::{DbError, Store, StoreError, TopicVersion};
use crate::hub::subscription::RemovalReason;

/// The delivery role: whether this process has it, when to request it and when to give it up.
pub(super) struct Role {
    /// Whether this process has the role; it keeps it at most while the store is open.
    pub(super) is_ours: bool,
    /// When to request the role next.
    pub(super) ask_at: Instant,
    /// When to give up the role, while the store has newer content than is served here. Otherwise it is postponed with
    /// every batch.
    pub(super) yield_at: Instant,
}

impl Role {
    /// Tells whether this process has the role and is not about to give it up because its content `is_behind`.
    pub(super) fn may_deliver(&self, is_behind: bool, now: Instant) -> bool {
        self.is_ours && !(is_behind && now >= self.yield_at)
    }
}

impl Engine {
    /// Opens the store and takes the delivery role, if not done yet. Waits until all exchanges of an earlier role have
    /// ended, so that none runs twice.
    pub(super) fn open(&mut self, now: UnixMillis) {
        if Instant::now() < self.open_at {
            return;
        }
        if self.store.is_none() {
            match self.settings.place.open() {
                Ok(store) => {
                    self.store = Some(store);
                    // The store may have an older state: a backup, or a standby that lacks the last changes.
                    self.unpublished = true;
                }
                Err(error) => return self.fail(error),
            }
        }
        let may_ask = !self.role.is_ours && Instant::now() >= self.role.ask_at;
        if !may_ask || self.stopping.is_some() || self.in_flight.len() > 0 {
            return;
        }
        self.role.ask_at = Instant::now() + ROLE_WAIT;
        if self.with_store(Store::try_take_role) != Some(true) {
            return;
        }
        // Stores the results of earlier exchanges; `recover` releases the other claims.
        self.record(now);
        if self.write_store(|store| store.recover(now)).is_some() {
            info!(state = %self.settings.place, "the hub delivers");
            self.role.is_ours = true;
        }
    }

    /// Publishes the topics that are served; after a failure it is retried later.
    pub(super) fn publish(&mut self, now: UnixMillis) {
        let may_try = self.health.store_error.is_none() || Instant::now() >= self.open_at;
        let may_publish = self.role.is_ours || self.settings.place.is_shared();
        if !(may_publish && may_try && self.unpublished) {
            return;
        }
        let version = |(url, topic): (&String, &Topic)| TopicVersion {
            url: url.clone(),
            digest: topic.digest,
            dated: topic.updated_at,
        };
        let versions: Vec<TopicVersion> = self.contents.iter().map(version).collect();
        let Some(published) = self.write_store(|store| store.publish(&versions, now)) else {
            return;
        };
        self.unpublished = false;
        if !published.changed.is_empty() {
            self.published_at = now;
        }
        for topic in &published.changed {
            info!(topic, "the topic has new content");
        }
        for topic in &published.older {
            warn!(
                topic,
                "the topic keeps the content of another replica, because the content served here is not newer"
            );
        }
        let subscriptions = published.withdrawn;
        if subscriptions > 0 {
            let stats = &self.shared.stats;
            stats.count_removals(RemovalReason::TopicWithdrawn, subscriptions);
            warn!(
                subscriptions,
                "subscriptions to topics that are no longer served are removed: has --base-url changed?"
            );
        }
    }

    /// Offers the delivery role to replicas that serve the topics' current content, once all exchanges have ended. If
    /// no replica takes it, the next offer is after [`YIELD_EVERY`], because verifications wait during an offer.
    pub(super) fn yield_role(&mut self) {
        let (now, role) = (Instant::now(), &mut self.role);
        let is_behind = self.store.as_ref().is_some_and(|store| store.is_behind);
        if !role.is_ours || !is_behind || self.unpublished {
            role.yield_at = role.yield_at.max(now + BEHIND_MAX);
        }
        let is_idle = self.in_flight.len() == 0 && self.ended.is_empty();
        let is_over = role.is_ours && now >= role.yield_at && is_idle;
        if is_over && self.write_store(Store::give_up_role).is_some() {
            debug!("other replicas have newer content; one of them may deliver");
            self.role = Role {
                is_ours: false,
                ask_at: now + YIELD_TIME,
                yield_at: now + YIELD_EVERY,
            };
        }
    }

    /// Writes to the store; `None` if it cannot be used, which is recorded and logged. A successful write clears an
    /// earlier error.
    pub(super) fn write_store<T>(
        &mut self,
        act: impl FnOnce(&mut Store) -> Result<T, StoreError>,
    ) -> Option<T> {
        let value = self.with_store(act)?;
        if self.health.store_error.take().is_some() {
            info!("the hub's store can be used again");
        }
        Some(value)
    }

    /// Reads or writes the store; `None` if it cannot be used, which is recorded and logged.
    pub(super) fn with_store<T>(
        &mut self,
        act: impl FnOnce(&mut Store) -> Result<T, StoreError>,
    ) -> Option<T> {
        let result = act(self.store.as_mut()?);
        result.map_err(|error| self.fail(error)).ok()
    }

    /// Records an error of the store. After an I/O error the file is closed and reopened, because the kernel may have
    /// dropped data that the open file takes for written. This gives up the delivery role, which another process may
    /// take, so running exchanges are cancelled.
    fn fail(&mut self, error: StoreError) {
        let text = error.to_string();
        if self.health.store_error.as_ref() != Some(&text) {
            error!(
                "the hub's store cannot be used; requests to the hub are rejected until it can: {text}"
            );
        }
        self.health.store_error = Some(text);
        self.health.is_off = !self.health.is_open && !error.may_pass();
        if !matches!(error.cause, DbError::DiskFull | DbError::Busy) {
            self.store = None;
            if std::mem::take(&mut self.role.is_ours) {
                self.client.cut();
            }
        }
        self.open_at = Instant::now() + OPEN_WAIT;
    }

    pub(super) fn report_health(&mut self) {
        self.health.is_open |= self.store.is_some();
        self.health.is_off &= !self.health.is_open;
        self.health.delivering = self.role.is_ours;
        let is_open = self.breaker.is_open(Instant::now());
        match (is_open, std::mem::replace(&mut self.health.paused, is_open)) {
            (true, false) => warn!(
                "most callback hosts cannot be reached, so our own network may be at fault: failed deliveries do not count until most can be reached"
            ),
            (false, true) => info!("most callback hosts can be reached again"),
            _ => {}
        }
        if **self.shared.health.load() != self.health {
            self.shared.health.store(Arc::new(self.health.clone()));
            (self.on_health)(&self.health);
        }
    }
}

/// Delay before a store that could not be used is tried again.
const OPEN_WAIT: Duration = Duration::from_secs(1);

/// How long content may be older than that of other replicas before the role is given up. Our choice: most replicas get
/// the same files within a second.
const BEHIND_MAX: Duration = Duration::from_secs(1);

/// How long other replicas then have to take the role, and how often the role is offered.
const YIELD_TIME: Duration = Duration::from_secs(2);
const YIELD_EVERY: Duration = Duration::from_secs(30);

/// Delay before the delivery role is requested again.
const ROLE_WAIT: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_batch_stops_only_deliveries_of_outdated_content() {
        let now = Instant::now();
        let role = |is_ours| Role {
            is_ours,
            ask_at: now,
            yield_at: now,
        };
        for (is_behind, at, may_deliver) in [
            (false, now, true),
            (false, now + BEHIND_MAX * 5, true),
            (true, now, false),
            (true, now - BEHIND_MAX, true),
        ] {
            assert_eq!(role(true).may_deliver(is_behind, at), may_deliver);
            assert!(!role(false).may_deliver(is_behind, at));
        }
    }
}

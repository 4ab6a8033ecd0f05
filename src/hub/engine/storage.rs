//! The store in the hub's hands: opened, opened anew after trouble, and what is wrong with it made known.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tracing::{debug, error, info, warn};

use super::Engine;
use crate::hub::Moment;
use crate::hub::store::{Store, StoreError, TopicVersion};
use crate::hub::subscription::RemovalReason;

impl Engine {
    /// Opens the store and takes the delivery role, as far as neither has happened. Exchanges of an earlier role end first, so
    /// that nothing is begun beside them.
    pub(super) fn open(&mut self, now: Moment) {
        if Instant::now() < self.open_at {
            return;
        }
        if self.store.is_none() {
            match self.settings.place.open() {
                Ok(store) => {
                    self.store = Some(store);
                    // What is there may be an older state: a backup, or a standby that had not heard of the last change.
                    self.unpublished = true;
                }
                Err(error) => return self.fail(error),
            }
        }
        let may_take = !self.has_role && self.stopping.is_none() && self.in_flight.len() == 0;
        if may_take && Instant::now() >= self.role_at {
            self.role_at = Instant::now() + ROLE_WAIT;
            if self.with_store(Store::try_take_role) == Some(true) {
                self.take_role(now);
            }
        }
    }

    /// Publishes what is served; what failed is tried again after a while.
    pub(super) fn publish(&mut self, now: Moment) {
        let may_try = self.health.store_error.is_none() || Instant::now() >= self.open_at;
        let may_publish = self.has_role || self.settings.place.is_shared();
        if may_publish && self.store.is_some() && may_try && self.unpublished {
            let policy = self.settings.policy.clone();
            let versions = self.versions();
            if let Some(published) =
                self.write_store(|store| store.publish(&versions, &policy, now))
            {
                self.unpublished = false;
                if !published.changed.is_empty() {
                    self.published_at = now;
                }
                for topic in &published.changed {
                    info!(topic, "the topic has new content");
                }
                let is_news = published.older != self.older;
                for topic in published.older.iter().filter(|_| is_news) {
                    warn!(
                        topic,
                        "the content that another replica has published stays, as what is served here is not newer"
                    );
                }
                self.older = published.older;
                if published.withdrawn > 0 {
                    let stats = &self.shared.stats;
                    stats.note_removals(RemovalReason::TopicWithdrawn, published.withdrawn);
                    info!(
                        subscriptions = published.withdrawn,
                        "subscriptions to topics that are no longer served are removed"
                    );
                }
            }
        }
    }

    /// What is served, as the store gets it.
    fn versions(&self) -> Vec<TopicVersion> {
        let mut versions: Vec<TopicVersion> = self
            .contents
            .iter()
            .map(|(url, content)| TopicVersion {
                url: url.clone(),
                digest: content.digest,
                dated: content.dated,
            })
            .collect();
        versions.sort_by(|one, other| one.url.cmp(&other.url));
        versions
    }

    /// Begins to deliver: what is known of earlier exchanges is stored, and what else they had claimed returns.
    fn take_role(&mut self, now: Moment) {
        self.record(now);
        let policy = self.settings.policy.clone();
        if self
            .write_store(|store| store.recover(&policy, now))
            .is_some()
        {
            info!(state = %self.settings.place, "the hub delivers");
            self.callbacks.renew();
            self.has_role = true;
            self.unpublished = true;
        }
    }

    /// Tells whether the role is about to be given up, because others have newer contents.
    pub(super) fn is_yielding(&self) -> bool {
        self.behind_since
            .is_some_and(|since| since.elapsed() >= BEHIND_MAX)
    }

    /// Gives the role to a replica that serves what the topics hold, once all exchanges have ended.
    pub(super) fn yield_role(&mut self) {
        let is_behind = self.store.as_ref().is_some_and(Store::is_behind);
        let may_yield = self.has_role && !self.unpublished && Instant::now() >= self.yield_at;
        self.behind_since = match may_yield && is_behind {
            true => self.behind_since.or_else(|| Some(Instant::now())),
            false => None,
        };
        if self.is_yielding()
            && self.in_flight.len() == 0
            && self.reports.is_empty()
            && self.write_store(Store::give_up_role).is_some()
        {
            debug!("other replicas have newer content, one of them may deliver");
            self.has_role = false;
            self.role_at = Instant::now() + YIELD_TIME;
            self.yield_at = Instant::now() + YIELD_EVERY;
        }
    }

    /// Writes to the store; `None` when it cannot be used, which is then known and logged. What could be written ends
    /// an earlier trouble.
    pub(super) fn write_store<T>(
        &mut self,
        act: impl FnOnce(&mut Store) -> Result<T, StoreError>,
    ) -> Option<T> {
        let value = self.with_store(act)?;
        if self.health.store_error.take().is_some() {
            self.open_wait = OPEN_WAIT_MIN;
            info!("the hub's store can be used again");
        }
        Some(value)
    }

    /// Uses the store, maybe only to look; `None` when it cannot be used, which is then known and logged.
    pub(super) fn with_store<T>(
        &mut self,
        act: impl FnOnce(&mut Store) -> Result<T, StoreError>,
    ) -> Option<T> {
        match act(self.store.as_mut()?) {
            Ok(value) => Some(value),
            Err(error) => {
                self.fail(error);
                None
            }
        }
    }

    /// Notes what is wrong with the store. After an error of the disk the file is closed and opened anew: what the
    /// kernel has dropped of it must not be taken for written. With it goes the delivery role, which another process may
    /// take, and so the exchanges under way end.
    pub(super) fn fail(&mut self, error: StoreError) {
        let text = error.to_string();
        if self.health.store_error.as_ref() != Some(&text) {
            error!(
                "the hub's store cannot be used, requests to the hub are refused meanwhile: {text}"
            );
        }
        self.health.store_error = Some(text);
        self.health.is_off = !self.health.is_open && !error.may_pass();
        if !matches!(error, StoreError::QuotaExceeded(_) | StoreError::Busy(_)) {
            self.store = None;
            if std::mem::take(&mut self.has_role) {
                self.callbacks.cut();
            }
        }
        self.open_at = Instant::now() + self.open_wait;
        self.open_wait = (self.open_wait * 2).min(OPEN_WAIT_MAX);
    }

    pub(super) fn report_health(&mut self) {
        self.health.is_open |= self.store.is_some();
        self.health.is_off &= !self.health.is_open;
        self.health.delivering = self.has_role;
        self.health.paused = self.breaker.is_paused();
        if **self.shared.health.load() != self.health {
            self.shared.health.store(Arc::new(self.health.clone()));
            (self.on_health)(&self.health);
        }
    }
}

/// The first wait before a store that could not be used is tried again; each one after it is twice as long.
pub(super) const OPEN_WAIT_MIN: Duration = Duration::from_millis(250);

/// The longest of these waits.
const OPEN_WAIT_MAX: Duration = Duration::from_secs(4);

/// How long contents may be behind those of other replicas before the role is given up. Our choice: most replicas get the
/// same files within a second.
const BEHIND_MAX: Duration = Duration::from_secs(1);

/// How long the others have then to take the role, and how often they are given that time.
const YIELD_TIME: Duration = Duration::from_secs(2);
const YIELD_EVERY: Duration = Duration::from_secs(10);

/// The wait before the delivery role is asked for again.
const ROLE_WAIT: Duration = Duration::from_millis(500);

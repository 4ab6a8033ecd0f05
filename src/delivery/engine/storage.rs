//! The store in the hub's hands: opened, opened anew after trouble, and what is wrong with it made known.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tracing::{error, info, warn};

use super::Engine;
use crate::websub::Moment;
use crate::websub::sqlite::Role;
use crate::websub::store::{Store, StoreError, TopicVersion};
use crate::websub::subscription::RemovalReason;

impl Engine {
    /// Opens the store and takes the delivery role, as far as neither has happened.
    pub(super) fn open(&mut self, now: Moment) {
        if self.store.is_none() && Instant::now() >= self.open_at {
            match self.settings.place.open() {
                Ok(store) => {
                    self.store = Some(store);
                    // What is there may be an older state: a backup, or a standby that had not heard of the last change.
                    self.unpublished = true;
                    self.transfer.leave();
                }
                Err(error) => self.fail(error),
            }
        }
        if self.store.is_some()
            && self.role.is_none()
            && self.stopping.is_none()
            && Instant::now() >= self.open_at
        {
            match self.settings.place.try_take_role() {
                Ok(Some(role)) => self.take_role(role, now),
                Ok(None) => self.open_at = Instant::now() + ROLE_WAIT,
                Err(error) => self.fail(error),
            }
        }
    }

    /// Publishes what is served, when its bodies are there; what failed is tried again after a while.
    pub(super) fn publish(&mut self, now: Moment) {
        let may_try = self.health.store_error.is_none() || Instant::now() >= self.open_at;
        let is_open = self.role.is_some() && self.store.is_some();
        if is_open && may_try && self.unpublished && self.has_brought() {
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
                for topic in &published.older {
                    warn!(
                        topic,
                        "other replicas have published newer content than what is served here"
                    );
                }
                for topic in &published.rivals {
                    warn!(
                        topic,
                        "other replicas have published another content with the same updated_at, which stays until a \
                         later one: their files or their version are not those of this one"
                    );
                }
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
    pub(super) fn versions(&self) -> Vec<TopicVersion> {
        let mut versions: Vec<TopicVersion> = self
            .contents
            .iter()
            .map(|(url, content)| TopicVersion {
                url: url.clone(),
                digest: content.digest,
                dated: content.dated,
                body: content.body.clone(),
            })
            .collect();
        // In one order everywhere, so that replicas which publish at once do not wait for each other in a circle.
        versions.sort_by(|one, other| one.url.cmp(&other.url));
        versions
    }

    fn take_role(&mut self, role: Role, now: Moment) {
        let policy = self.settings.policy.clone();
        if self
            .write_store(|store| store.recover(&policy, now))
            .is_some()
        {
            info!(state = %self.settings.place, "the hub delivers");
            self.role = Some(role);
        }
    }

    /// Writes to the store; `None` when it cannot be used, which is then known and logged. What could be written ends
    /// an earlier trouble.
    pub(super) fn write_store<T>(
        &mut self,
        act: impl FnOnce(&mut dyn Store) -> Result<T, StoreError>,
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
        act: impl FnOnce(&mut dyn Store) -> Result<T, StoreError>,
    ) -> Option<T> {
        match act(self.store.as_mut()?.as_mut()) {
            Ok(value) => Some(value),
            Err(error) => {
                self.fail(error);
                None
            }
        }
    }

    /// Notes what is wrong with the store. After an error of the disk the file is closed and opened anew: what the
    /// kernel has dropped of it must not be taken for written. The role is kept, as nobody else should deliver.
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
        }
        self.open_at = Instant::now() + self.open_wait;
        self.open_wait = (self.open_wait * 2).min(OPEN_WAIT_MAX);
    }

    pub(super) fn report_health(&mut self) {
        self.health.is_open |= self.store.is_some();
        self.health.is_off &= !self.health.is_open;
        self.health.delivering = self.role.is_some() && self.store.is_some();
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

/// The wait before the delivery role is asked for again.
const ROLE_WAIT: Duration = Duration::from_millis(500);

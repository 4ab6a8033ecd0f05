//! The engine's store: opened and reopened, with the delivery role, and with the error that keeps it from being used.

use std::time::{Duration, Instant};

use tracing::{debug, error, info};

use crate::StoreLocation;
use crate::shared::Health;
use crate::store::{DbError, Store, StoreError};

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

/// The store and its state.
pub(super) struct Storage {
    location: StoreLocation,
    store: Option<Store>,
    role: Role,
    /// When to use the store again after an error.
    open_at: Instant,
    /// Why the store cannot be used at present.
    error: Option<String>,
    was_opened: bool,
    was_written: bool,
    /// Whether the store was never written, for a reason that only the operator can fix.
    is_off: bool,
    /// Whether the role was lost with the store since [`Storage::take_role_loss`] was called.
    has_lost_role: bool,
}

/// The delivery role: whether this process has it, when to request it and when to give it up.
struct Role {
    /// Whether this process has the role; it keeps it at most while the store is open.
    is_ours: bool,
    /// When to request the role next.
    ask_at: Instant,
    /// When to give up the role, while the store has newer content than is served here. Otherwise it is postponed with
    /// every batch.
    yield_at: Instant,
}

impl Role {
    /// Tells whether this process has the role and is not about to give it up because its content `is_behind`.
    fn may_deliver(&self, is_behind: bool, now: Instant) -> bool {
        self.is_ours && !(is_behind && now >= self.yield_at)
    }
}

impl Storage {
    pub(super) fn new(location: StoreLocation, now: Instant) -> Storage {
        Storage {
            location,
            store: None,
            role: Role {
                is_ours: false,
                ask_at: now,
                yield_at: now,
            },
            open_at: now,
            error: None,
            was_opened: false,
            was_written: false,
            is_off: false,
            has_lost_role: false,
        }
    }

    /// Opens the store if it is not open and it is time to try. Returns true if it was opened.
    pub(super) fn open(&mut self, now: Instant) -> bool {
        if self.store.is_some() || now < self.open_at {
            return false;
        }
        match self.location.open() {
            Ok(store) => {
                self.store = Some(store);
                self.was_opened = true;
                true
            }
            Err(error) => {
                self.fail(error);
                false
            }
        }
    }

    /// Requests the delivery role, if this process does not have it and it is time to ask. Returns true if it was
    /// granted; it begins with [`Storage::begin_role`].
    pub(super) fn try_take_role(&mut self, now: Instant) -> bool {
        if self.role.is_ours || now < self.role.ask_at || now < self.open_at {
            return false;
        }
        self.role.ask_at = now + ROLE_WAIT;
        self.read(Store::try_take_role) == Some(true)
    }

    pub(super) fn begin_role(&mut self) {
        self.role.is_ours = true;
    }

    /// Tells whether this process has the delivery role.
    pub(super) fn is_delivering(&self) -> bool {
        self.role.is_ours
    }

    /// Tells whether deliveries may start.
    pub(super) fn may_deliver(&self, now: Instant) -> bool {
        self.role.may_deliver(self.is_behind(), now)
    }

    fn is_behind(&self) -> bool {
        self.store.as_ref().is_some_and(|store| store.is_behind)
    }

    /// Offers the delivery role to replicas that serve the topics' current content, once the engine `is_idle`: no attempt
    /// runs or is to be recorded. If no replica takes it, the next offer is after [`YIELD_EVERY`], because verifications
    /// wait during an offer.
    pub(super) fn yield_role(&mut self, is_idle: bool, unpublished: bool, now: Instant) {
        // Only the process with the role can offer it, and only replicas with newer content can use it.
        if !self.role.is_ours || !self.is_behind() || unpublished {
            self.role.yield_at = self.role.yield_at.max(now + BEHIND_MAX);
        }
        let is_over = self.role.is_ours && now >= self.role.yield_at && is_idle;
        if !is_over {
            return;
        }
        let given_up = self.write(Store::give_up_role);
        if given_up.is_some() {
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
    pub(super) fn write<T>(
        &mut self,
        act: impl FnOnce(&mut Store) -> Result<T, StoreError>,
    ) -> Option<T> {
        let value = self.read(act)?;
        self.was_written = true;
        if self.error.take().is_some() {
            info!("the hub's store can be used again");
        }
        Some(value)
    }

    /// Writes to the store if `is_needed`; returns nothing if not, or if the store cannot be used.
    pub(super) fn write_if<T>(
        &mut self,
        is_needed: bool,
        act: impl FnOnce(&mut Store) -> Result<Vec<T>, StoreError>,
    ) -> Vec<T> {
        if !is_needed {
            return Vec::new();
        }
        self.write(act).unwrap_or_default()
    }

    /// Reads or writes the store; `None` if it cannot be used, which is recorded and logged.
    pub(super) fn read<T>(
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

    /// Tells whether the store is open.
    pub(super) fn is_open(&self) -> bool {
        self.store.is_some()
    }

    pub(super) fn has_error(&self) -> bool {
        self.error.is_some()
    }

    /// Tells whether the store may be used: after an error, only from time to time.
    pub(super) fn may_try(&self, now: Instant) -> bool {
        self.error.is_none() || now >= self.open_at
    }

    /// Tells whether the delivery role was lost with the store since the last call.
    pub(super) fn take_role_loss(&mut self) -> bool {
        std::mem::take(&mut self.has_lost_role)
    }

    /// Records an error of the store. After an I/O error the file is closed and reopened, because the kernel may have
    /// dropped data that the open file takes for written. This gives up the delivery role, which another process may
    /// take, so running attempts must be cancelled.
    fn fail(&mut self, error: StoreError) {
        let text = error.to_string();
        if self.error.as_ref() != Some(&text) {
            error!(
                "the hub's store cannot be used; requests to the hub are rejected until it can: {text}"
            );
        }
        self.error = Some(text);
        self.is_off = !self.was_written && !error.may_pass();
        if !matches!(error.cause, DbError::DiskFull | DbError::Busy) {
            self.store = None;
            if self.role.is_ours {
                self.role.is_ours = false;
                self.has_lost_role = true;
            }
        }
        // The failed call may have taken long.
        self.open_at = Instant::now() + OPEN_WAIT;
    }

    /// Sets the parts of the hub's health that the store decides.
    pub(super) fn report(&self, health: &mut Health) {
        health.is_open = self.was_opened;
        health.is_off = self.is_off && !self.was_written;
        health.store_error.clone_from(&self.error);
        health.delivering = self.role.is_ours;
    }
}

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

//! What makes the reload thread look at the files: requests, which are never lost, and changes, which are merged.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tracing::warn;

/// Notifies the reload thread; clones notify the same one.
#[derive(Clone, Debug, Default)]
pub(super) struct ReloadTrigger {
    shared: Arc<(Mutex<Events>, Condvar)>,
}

/// What has happened since the reload thread last waited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Events {
    /// A reload was requested: read the files even if they look unchanged.
    pub(super) requested: bool,
    /// Something may have changed.
    pub(super) changed: bool,
    /// The server stops; once set, it stays.
    pub(super) stopping: bool,
}

impl ReloadTrigger {
    /// Requests a reload. Several requests before one begins are one, and it begins after the last of them.
    pub(super) fn request(&self) {
        self.notify(|events| events.requested = true);
    }

    /// Notifies that something may have changed.
    pub(super) fn poke(&self) {
        self.notify(|events| events.changed = true);
    }

    /// Notifies that the server stops.
    pub(super) fn stop(&self) {
        self.notify(|events| events.stopping = true);
    }

    fn notify(&self, set: impl FnOnce(&mut Events)) {
        set(&mut self.events());
        self.shared.1.notify_all();
    }

    /// Waits for any event, at most for `time`, and returns and clears what has happened.
    pub(super) fn wait(&self, time: Duration) -> Events {
        self.wait_while(time, |events| *events == Events::default())
    }

    /// Waits for a change, at most for `time`; a request stays.
    pub(super) fn pause(&self, time: Duration) {
        let events = self.wait_while(time, |events| !events.changed && !events.stopping);
        self.events().requested |= events.requested;
    }

    fn wait_while(&self, time: Duration, is_quiet: impl Fn(&Events) -> bool) -> Events {
        let waited = self
            .shared
            .1
            .wait_timeout_while(self.events(), time, |events| is_quiet(events));
        let (mut events, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let happened = *events;
        *events = Events {
            stopping: happened.stopping,
            ..Events::default()
        };
        happened
    }

    /// Returns whether the server stops.
    pub(super) fn is_stopping(&self) -> bool {
        self.events().stopping
    }

    fn events(&self) -> MutexGuard<'_, Events> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The data directory, watched through the operating system.
///
/// The directory is watched and not its files: editors and deployment tools replace files, and a watch would stay
/// with the old one. For the same reason the watch is renewed when the path leads to another directory.
pub(super) struct WatchedDirectory {
    path: PathBuf,
    trigger: ReloadTrigger,
    /// Dropping it ends the watch.
    watcher: Option<RecommendedWatcher>,
    /// Device and inode of the directory that is watched.
    identity: Option<(u64, u64)>,
    has_warned: bool,
}

impl WatchedDirectory {
    /// Prepares to watch `path`; [`WatchedDirectory::renew`] begins.
    pub(super) fn new(path: &Path, trigger: ReloadTrigger) -> WatchedDirectory {
        WatchedDirectory {
            path: path.to_owned(),
            trigger,
            watcher: None,
            identity: None,
            has_warned: false,
        }
    }

    /// Watches the directory that the path leads to now, if it does not yet; a missing one is tried again at the next
    /// call.
    pub(super) fn renew(&mut self) {
        let metadata = fs::metadata(&self.path).ok();
        let identity = metadata.map(|metadata| (metadata.dev(), metadata.ino()));
        if identity == self.identity {
            return;
        }
        self.watcher = None;
        self.identity = identity;
        if identity.is_none() {
            return;
        }
        match self.watch() {
            Ok(watcher) => {
                self.watcher = Some(watcher);
                // What happened between the last look and this watch would go unnoticed.
                self.trigger.poke();
            }
            Err(error) if !self.has_warned => {
                self.has_warned = true;
                warn!(%error, "changes of the data directory are not reported by the system, only --poll and SIGHUP find them");
            }
            Err(_) => {}
        }
    }

    fn watch(&self) -> notify::Result<RecommendedWatcher> {
        let trigger = self.trigger.clone();
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            // An error may stand for events that were lost.
            if event.map_or(true, |event| may_change(event.kind)) {
                trigger.poke();
            }
        })?;
        watcher.watch(&self.path, RecursiveMode::NonRecursive)?;
        Ok(watcher)
    }
}

/// Returns whether an event can mean other contents; reading the files causes events as well.
fn may_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(access) => access == AccessKind::Close(AccessMode::Write),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn requests_and_changes_are_merged_and_a_request_outlasts_a_pause() {
        let trigger = ReloadTrigger::default();
        trigger.poke();
        trigger.request();
        trigger.request();
        trigger.poke();
        trigger.pause(LONG);
        trigger.pause(Duration::ZERO);
        let events = trigger.wait(LONG);
        assert!(events.requested && !events.changed);
        assert_eq!(trigger.wait(Duration::ZERO), Events::default());
    }

    #[test]
    fn every_wait_ends_once_the_server_stops() {
        let trigger = ReloadTrigger::default();
        let other = trigger.clone();
        std::thread::spawn(move || other.stop());
        assert!(trigger.wait(LONG).stopping);
        trigger.pause(LONG);
        assert!(trigger.is_stopping() && trigger.wait(LONG).stopping);
    }
}

//! Hears of changes in the data directory through the operating system.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tracing::warn;

use super::reload_trigger::ReloadTrigger;

/// The watched data directory.
///
/// The directory is watched and not its files: editors and deployment tools replace files, and a watch would stay
/// with the old one. For the same reason the watch is renewed when the path leads to another directory.
pub(super) struct Directory {
    path: PathBuf,
    trigger: ReloadTrigger,
    /// Dropping it ends the watch.
    watcher: Option<RecommendedWatcher>,
    /// Device and inode of the directory that is watched.
    identity: Option<(u64, u64)>,
    /// That the system cannot watch is said once.
    complained: bool,
}

impl Directory {
    /// Prepares to watch `path`; [`Directory::renew`] begins.
    pub(super) fn new(path: &Path, trigger: ReloadTrigger) -> Directory {
        Directory {
            path: path.to_owned(),
            trigger,
            watcher: None,
            identity: None,
            complained: false,
        }
    }

    /// Watches the directory that the path leads to now, if it does not yet; a path to nowhere is tried again later.
    pub(super) fn renew(&mut self) {
        let identity = fs::metadata(&self.path)
            .ok()
            .map(|metadata| (metadata.dev(), metadata.ino()));
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
            Err(error) if !self.complained => {
                self.complained = true;
                warn!(%error, "changes of the data directory are not reported by the system, only --poll and SIGHUP find them");
            }
            Err(_) => {}
        }
    }

    fn watch(&self) -> notify::Result<RecommendedWatcher> {
        let trigger = self.trigger.clone();
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            // An error may stand for events that were lost, so it is a reason to look as well.
            if event.is_ok_and(|event| !may_change(event.kind)) {
                return;
            }
            trigger.poke();
        })?;
        watcher.watch(&self.path, RecursiveMode::NonRecursive)?;
        Ok(watcher)
    }
}

/// Returns whether an event can mean other contents; our own reading causes events as well.
fn may_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => true,
        EventKind::Access(_) => false,
        EventKind::Any
        | EventKind::Create(_)
        | EventKind::Modify(_)
        | EventKind::Remove(_)
        | EventKind::Other => true,
    }
}

/// How often the certificate is looked at whatever `--poll` is: tools that renew one send no SIGHUP.
const CERTIFICATE_LOOK: Duration = Duration::from_secs(60);

/// Returns how long to sleep when the data files are looked at every `poll` and were `elapsed` ago.
pub(super) fn time_to_look(poll: Duration, elapsed: Duration, has_certificate: bool) -> Duration {
    let data = poll.saturating_sub(elapsed);
    if has_certificate {
        data.min(CERTIFICATE_LOOK)
    } else {
        data
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_looked_at_each_minute_and_the_files_as_poll_says() {
        let (never, minute) = (Duration::from_secs(86_400), Duration::from_secs(60));
        let second = Duration::from_secs(1);
        assert_eq!(time_to_look(never, second, false), never - second);
        assert_eq!(time_to_look(never, Duration::ZERO, true), minute);
        assert_eq!(time_to_look(never, never - second, true), second);
        assert_eq!(time_to_look(second, Duration::ZERO, true), second);
        assert_eq!(time_to_look(second, minute, true), Duration::ZERO);
    }
}

//! Follows an address: a look every so often, and what it leads to.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use tracing::{error, info};

use super::super::fetch::{Answer, FetchError, Fetcher, Validators, read};
use super::super::files::{NAMES, REVIEWS};
use super::super::load::{self, Judged, LoadError};
use super::super::wake::Waker;
use super::digest::{CopyError, Hex, copy, parse_many, parse_one};
use super::error::{FollowError, Worth};
use super::polls::{Polled, Polls};
use super::shelf::{Draft, Shelf};
use super::{Location, Remote, SUMS, unpack};
use crate::clock;
use crate::delivery::priority::{Behind, give_way};
use crate::http::{App, Reason};
use crate::wire::date::Timestamp;

/// Looks at an address, and keeps what it finds.
pub(in crate::server) struct Follower {
    fetcher: Fetcher,
    location: Location,
    interval: Duration,
    shelf: Shelf,
    file_bytes: u64,
    /// Those of the digests that are kept.
    known: Option<Validators>,
    /// What was fetched in vain and is not fetched again before its time, if there is one.
    refused: Option<Refused>,
    /// Whether what is kept was refused: it is fetched again, whatever its digest.
    is_doubted: bool,
    polls: Arc<Polls>,
}

/// What was fetched in vain.
struct Refused {
    digest: Hex,
    /// Why.
    what: String,
    worth: Worth,
}

/// The thread that follows; it ends soon after this is dropped.
#[derive(Debug)]
pub(in crate::server) struct Following {
    wake: SyncSender<()>,
}

impl Follower {
    /// Prepares to follow `remote`, keeping in the directory `state` what it finds.
    ///
    /// # Errors
    /// Where the directory or the file of authorities cannot be used.
    pub(super) fn new(
        remote: &Remote,
        state: &Path,
        file_bytes: u64,
    ) -> Result<Follower, FollowError> {
        let fetcher = Fetcher::new(remote.ca.as_deref(), TIME_MAX)
            .map_err(|error| FollowError::Ca(error.to_string()))?;
        Ok(Follower {
            fetcher,
            location: remote.location.clone(),
            interval: remote.poll,
            shelf: Shelf::open(state, remote.location.url.as_str())?,
            file_bytes,
            known: None,
            refused: None,
            is_doubted: false,
            polls: Arc::default(),
        })
    }

    /// Returns whether something was fetched, now or in an earlier life.
    pub(super) fn has_current(&self) -> bool {
        self.shelf.digest().is_some()
    }

    /// Returns the path that leads to what was fetched last.
    pub(super) fn current(&self) -> PathBuf {
        self.shelf.current()
    }

    /// Returns what is counted.
    pub(in crate::server) fn polls(&self) -> Arc<Polls> {
        Arc::clone(&self.polls)
    }

    /// Fetches again what is kept, which was refused. It stays until there is better: a wrong clock or a disk that
    /// cannot be read may be the reason, and the source may be gone.
    pub(super) fn replace(&mut self, now: Timestamp) -> Result<(), FollowError> {
        self.is_doubted = true;
        self.poll(None, now).map(drop)
    }

    /// Looks once at the time `now`; a dataset that is not later than the one that is `served` is refused.
    pub(super) fn poll(
        &mut self,
        served: Option<Judged>,
        now: Timestamp,
    ) -> Result<Polled, FollowError> {
        let polled = self.look(served, now);
        self.polls.note(*polled.as_ref().unwrap_or(&Polled::Failed));
        polled
    }

    fn look(&mut self, served: Option<Judged>, now: Timestamp) -> Result<Polled, FollowError> {
        let url = self.location.digests();
        let fetched = |error| FollowError::Fetch(url.clone(), error);
        let answer = self.fetcher.get(&url, self.known.as_ref());
        let (validators, body) = match answer.map_err(fetched)? {
            Answer::NotModified => return Ok(Polled::Same),
            Answer::Found { validators, body } => (validators, body),
        };
        let text = read(body, DIGESTS_BYTES_MAX).map_err(fetched)?;
        let digest = if self.location.is_bundle {
            let wrong = || "must begin with a digest of 64 hexadecimal digits".to_owned();
            parse_one(&text).ok_or_else(|| FollowError::Digests(url.clone(), wrong()))?
        } else {
            Hex::of(&text)
        };
        if !self.is_doubted && self.shelf.digest().as_ref() == Some(&digest) {
            self.known = Some(validators);
            return Ok(Polled::Same);
        }
        if let Some(refused) = &self.refused
            && refused.digest == digest
            && !refused.worth.is_given(now)
        {
            return Err(FollowError::Data(refused.what.clone()));
        }
        self.refused = None;
        match self.take(&url, &text, &digest, served, now) {
            Ok(()) => {
                self.known = Some(validators);
                self.is_doubted = false;
                Ok(Polled::Replaced)
            }
            Err(error) => {
                self.refused = Some(Refused {
                    digest,
                    what: error.to_string(),
                    worth: error.worth(now),
                });
                Err(error)
            }
        }
    }

    /// Fetches, unpacks, judges and keeps.
    fn take(
        &self,
        url: &str,
        digests: &[u8],
        digest: &Hex,
        served: Option<Judged>,
        now: Timestamp,
    ) -> Result<(), FollowError> {
        let draft = self.shelf.draft()?;
        if self.location.is_bundle {
            self.fetch_bundle(&draft, digest)?;
        } else {
            let wrong = |what| FollowError::Digests(url.to_owned(), what);
            let files = self.listed(digests).map_err(wrong)?;
            self.fetch_files(&draft, digests, &files)?;
        }
        let found = self.judge(&draft.path, now)?;
        if let Some(served) = served
            && found.digest != served.digest
            && found.updated_at <= served.updated_at
        {
            return Err(FollowError::Older {
                kept: served.updated_at,
                found: found.updated_at,
            });
        }
        self.shelf.publish(draft, digest, self.is_doubted)
    }

    /// Judges what was fetched. What is refused now and would not be later is told apart.
    fn judge(&self, directory: &Path, now: Timestamp) -> Result<Judged, FollowError> {
        let refused = match load::judge(directory, self.file_bytes, now) {
            Err(LoadError::Data(problems)) => problems,
            judged => return Ok(judged?),
        };
        let what = refused.to_string();
        match load::judge(directory, self.file_bytes, Timestamp::MAX) {
            Ok(Judged { updated_at, .. }) => Err(FollowError::Early {
                until: updated_at,
                what,
            }),
            Err(LoadError::Data(_)) => Err(FollowError::Data(what)),
            Err(error) => Err(error.into()),
        }
    }

    fn fetch_bundle(&self, draft: &Draft, digest: &Hex) -> Result<(), FollowError> {
        let path = draft.path.join("bundle");
        self.fetch(self.location.url.as_str(), &path, digest)?;
        let failed = |error| FollowError::Disk(path.display().to_string(), error);
        let file = File::open(&path).map_err(failed)?;
        fs::remove_file(&path).map_err(failed)?;
        unpack::unpack(file, &draft.path, self.file_bytes)
    }

    /// Returns the files of a directory that are ours, with their digests.
    fn listed(&self, digests: &[u8]) -> Result<Vec<(Hex, &'static str)>, String> {
        let mut files: Vec<(Hex, &'static str)> = Vec::new();
        for (digest, name) in parse_many(digests)? {
            let Some(name) = NAMES.into_iter().find(|known| *known == name) else {
                continue;
            };
            if files.iter().any(|(_, other)| *other == name) {
                return Err(format!("names {name} twice"));
            }
            files.push((digest, name));
        }
        if files.iter().any(|(_, name)| *name == REVIEWS) {
            Ok(files)
        } else {
            Err(format!("does not name {REVIEWS}"))
        }
    }

    fn fetch_files(
        &self,
        draft: &Draft,
        digests: &[u8],
        files: &[(Hex, &'static str)],
    ) -> Result<(), FollowError> {
        let kept = match self.is_doubted {
            false => fs::read(self.current().join(SUMS)).unwrap_or_default(),
            true => Vec::new(),
        };
        let kept = self.listed(&kept).unwrap_or_default();
        for (digest, name) in files {
            let path = draft.path.join(name);
            let is_kept = kept.iter().any(|file| file == &(digest.clone(), *name));
            // What has not changed is not fetched again; where it cannot be linked, it is.
            if is_kept && fs::hard_link(self.current().join(name), &path).is_ok() {
                continue;
            }
            self.fetch(&format!("{}{name}", self.location.url), &path, digest)?;
        }
        let path = draft.path.join(SUMS);
        fs::write(&path, digests).map_err(|error| disk(&path, error))
    }

    /// Writes what is at `url` into a file, if it has that digest.
    fn fetch(&self, url: &str, path: &Path, digest: &Hex) -> Result<(), FollowError> {
        let fetched = |error| FollowError::Fetch(url.to_owned(), error);
        let Answer::Found { body, .. } = self.fetcher.get(url, None).map_err(fetched)? else {
            return Err(fetched(FetchError::Status("304".to_owned(), None)));
        };
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
            .map_err(|error| disk(path, error))?;
        let (found, _) = copy(body, &mut file, self.file_bytes).map_err(|error| match error {
            CopyError::TooLarge => fetched(FetchError::TooLarge(self.file_bytes)),
            CopyError::Read(error) => fetched(FetchError::Exchange(error.to_string())),
            CopyError::Write(error) => disk(path, error),
        })?;
        if found != *digest {
            return Err(FollowError::Mismatch {
                url: url.to_owned(),
                named: digest.as_str().to_owned(),
                found: found.as_str().to_owned(),
            });
        }
        file.sync_all().map_err(|error| disk(path, error))
    }

    /// Looks on a thread of its own from now on, and wakes whoever reloads.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub(in crate::server) fn start(
        mut self,
        app: &Arc<App>,
        reload: Waker,
    ) -> io::Result<Following> {
        let (wake, woken) = sync_channel(1);
        let app = Arc::downgrade(app);
        thread::Builder::new()
            .name("follow".to_owned())
            .spawn(move || {
                give_way(Behind::Well);
                self.run(&app, &reload, &woken);
            })?;
        Ok(Following { wake })
    }

    fn run(&mut self, app: &Weak<App>, reload: &Waker, woken: &Receiver<()>) {
        // Nothing has been looked at in this life where there was something to serve.
        let mut is_due = self.polls.well_ms() == 0;
        let mut told = None;
        loop {
            if !is_due && woken.recv_timeout(self.interval) == Err(RecvTimeoutError::Disconnected) {
                return;
            }
            is_due = false;
            let Some(app) = app.upgrade() else { return };
            let served = app.current();
            let served = Judged {
                digest: served.snapshot().digest,
                updated_at: served.snapshot().updated_at,
            };
            let polled = catch_unwind(AssertUnwindSafe(|| self.poll(Some(served), clock::now())));
            match polled.unwrap_or_else(|_| Err(FollowError::Data(PANIC.to_owned()))) {
                Ok(end) => {
                    if told.take().is_some() {
                        app.readiness.withdraw(BEHIND);
                        info!(source = %self.location.url, "the source of the dataset is followed again");
                    }
                    if end == Polled::Replaced {
                        info!(source = %self.location.url, "another dataset was fetched");
                        reload.hint();
                    }
                }
                Err(error) => self.complain(&app, &error.to_string(), &mut told),
            }
        }
    }

    /// Says what is wrong, once.
    fn complain(&self, app: &App, message: &str, told: &mut Option<String>) {
        if told.as_deref() == Some(message) {
            return;
        }
        let source = &self.location.url;
        error!(%source, "the dataset there is not taken: {message}; what was read before is still served");
        app.readiness.report(&Reason {
            code: BEHIND,
            message: "the dataset at its source is not taken".to_owned(),
            details: Vec::new(),
            internal: Some(message.to_owned()),
            blocking: false,
        });
        *told = Some(message.to_owned());
    }
}

impl Following {
    /// Returns what asks for a look now.
    pub(in crate::server) fn waker(&self) -> SyncSender<()> {
        self.wake.clone()
    }
}

fn disk(path: &Path, error: io::Error) -> FollowError {
    FollowError::Disk(path.display().to_string(), error)
}

/// Under this code `/readyz` tells that a newer dataset may be at the source, and is not served.
const BEHIND: &str = "source_failed";

/// What is said where we fail ourselves.
const PANIC: &str = "looking at it failed, which is an error in reviewd";

/// How long one answer may take, from the name to the last byte: 256 MiB at 1 MiB/s, and some.
const TIME_MAX: Duration = Duration::from_secs(300);

/// Bytes of the file with the digests.
const DIGESTS_BYTES_MAX: u64 = 64 << 10;

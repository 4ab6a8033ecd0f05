//! `reviewd serve`: checks the data and state directories, starts the server, and waits for the signal to stop.

use std::fs::{self, DirBuilder, File};
use std::io::{self, IsTerminal, Write};
use std::net::TcpListener;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;
use std::thread;

use listenfd::ListenFd;
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use socket2::SockRef;
use tracing::warn;

use crate::hub::StoreLocation;
use crate::hub::store::FILE_NAME;
use crate::server::logs::{self, LogError, LogGuard};
use crate::server::{self, Config, DataSource, Signals, StartError, process};

use super::config::ServeArgs;
use super::exit::{Failure, Status};

/// Files of the state directory that contain secrets of subscribers.
const PRIVATE_FILES: [&str; 4] = [FILE_NAME, "hub.sqlite3-wal", "hub.sqlite3-shm", "hub.lock"];

/// Serves until a signal. Prints a welcome on a terminal, and elsewhere if the program was started without arguments
/// (`is_bare`).
pub(super) fn run(args: &ServeArgs, is_bare: bool) -> Result<(), Failure> {
    let _last_lines = set_up_logs(args)?;
    server::end_process_on_panic();
    process::warn_of_memory_limit();
    for warning in super::unknown_variables() {
        warn!("{warning}");
    }
    let config = Config {
        inherited: inherited()?,
        ..args.config()?
    };
    if let DataSource::Directory(directory) = &config.data
        && !directory.is_dir()
    {
        let message = format!("--data {}: there is no such directory", directory.display());
        return Err(Failure::new(Status::NoInput, message));
    }
    if let Some(directory) = &config.state {
        remove_drafts(directory);
    }
    if let Some(hub) = &config.hub {
        check_location(&hub.location, &config)?;
    }
    let mut signals = Signals::install().map_err(StartError::Signals)?;
    let requests = config.hub.as_ref().map_or(0, |hub| hub.sockets());
    process::allow_connections(config.limits.connections, requests);
    let running = server::start(config.clone(), Some(&mut signals))?;
    if is_bare || io::stdout().is_terminal() {
        let text = welcome(&config.data, &config.origin_at(running.local_addr()));
        print_beside(text);
    }
    let ended = running.run_until_signal(signals);
    ended.map_err(|error| Failure::new(Status::Unavailable, error.to_string()))
}

/// Sets up the logs. The result writes the last lines when it is dropped; there is none if another logger is in use.
fn set_up_logs(args: &ServeArgs) -> Result<Option<LogGuard>, Failure> {
    match logs::set_up(&args.log_settings()) {
        Ok(guard) => Ok(Some(guard)),
        // A program that embeds this one may have set up logging already; its logger is kept.
        Err(LogError::AlreadySetUp(_)) => Ok(None),
        Err(error @ LogError::AccessLog { .. }) => {
            Err(Failure::new(Status::Config, error.to_string()))
        }
        // A service manager tries again, as the reader may start a moment later.
        Err(error @ (LogError::AccessLogReader { .. } | LogError::Writer(_))) => {
            Err(Failure::new(Status::Unavailable, error.to_string()))
        }
    }
}

/// Writes `text` to standard output on a thread of its own, because a terminal that is stopped must not delay signals.
fn print_beside(text: String) {
    let thread = thread::Builder::new().name("welcome".to_owned());
    // A closed standard output is no reason not to serve.
    let _not_printed = thread.spawn(move || io::stdout().write_all(text.as_bytes()));
}

/// Returns the listening socket that the service manager passed to this process (sd_listen_fds(3)), if there is one.
///
/// # Errors
/// Status 78 unless it is exactly one listening TCP socket: listening on another address would go unnoticed.
fn inherited() -> Result<Option<Arc<TcpListener>>, Failure> {
    let mut passed = ListenFd::from_env();
    let count = passed.len();
    if count == 0 {
        return Ok(None);
    }
    if count == 1
        && let Ok(Some(listener)) = passed.take_tcp_listener(0)
        && SockRef::from(&listener).is_listener().unwrap_or(false)
    {
        return Ok(Some(Arc::new(listener)));
    }
    let message = format!(
        "LISTEN_FDS: {count} passed to this process, and not one listening TCP socket: the socket unit needs one \
         ListenStream= with a port, and Accept=no"
    );
    Err(Failure::new(Status::Config, message))
}

/// Checks that the hub's state can be stored, before anything is served. Warns of subscriptions in the state directory,
/// which are not served if `--store` names a database.
fn check_location(location: &StoreLocation, config: &Config) -> Result<(), Failure> {
    if let Some(directory) = &config.state
        && !location.is_shared()
    {
        return check_state(directory);
    }
    if let Some(state) = &config.state
        && state.join(FILE_NAME).exists()
    {
        warn!(
            "the subscriptions in {} are not served, as --store is given: copy them with `reviewd hub copy`, and \
             move the file away",
            state.join(FILE_NAME).display()
        );
    }
    let origin = match &config.base_url {
        Some(base_url) => Some(base_url.clone()),
        // The system chooses the address, so the origin is not known yet; publishing checks it later.
        None if config.inherited.is_some() || config.listen.port() == 0 => None,
        None => Some(config.origin_at(config.listen)),
    };
    Ok(location.await_usable(origin.as_deref())?)
}

/// Creates the state directory if it is missing, and refuses one that can never be written.
///
/// A full or broken disk is accepted: reviews are served without it, and the hub works again once it is repaired. A
/// read-only file system is accepted only if the directory has files, because then it was writable before.
fn check_state(directory: &Path) -> Result<(), Failure> {
    let mut builder = DirBuilder::new();
    let made = builder.recursive(true).mode(0o700).create(directory);
    let probe = directory.join(format!("writable.{}", std::process::id()));
    let written = made.and_then(|()| File::create_new(&probe));
    // This fails if the file could not be created.
    let _gone = fs::remove_file(&probe);
    if let Err(error) = written
        && !may_recover(&error, directory)
    {
        let message = format!(
            "cannot write to the state directory {} (--state): {error}; use another, or use --no-hub",
            directory.display()
        );
        return Err(Failure::new(Status::Config, message));
    }
    restrict_access(directory);
    Ok(())
}

/// Removes the temporary files of processes that were killed while they wrote: `content-date.PID.new` and
/// `writable.PID`. A file with the id of this process is of an earlier process, too: this one has written none yet.
fn remove_drafts(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(owner) = name.to_str().and_then(draft_owner) else {
            continue;
        };
        let is_alive = owner != std::process::id() && is_running(owner);
        if !is_alive && let Err(error) = fs::remove_file(entry.path()) {
            warn!(file = %entry.path().display(), %error, "a temporary file of a killed process cannot be removed");
        }
    }
}

/// Tells whether a process with this id is running, of any user.
fn is_running(id: u32) -> bool {
    let id = i32::try_from(id).ok().and_then(Pid::from_raw);
    id.is_some_and(|id| test_kill_process(id) != Err(Errno::SRCH))
}

/// Returns the id of the process that wrote a temporary file; `None` if the name is not that of one.
fn draft_owner(name: &str) -> Option<u32> {
    let id = match name.strip_prefix("content-date.") {
        Some(rest) => rest.strip_suffix(".new")?,
        None => name.strip_prefix("writable.")?,
    };
    id.parse().ok()
}

/// Whether a state directory that cannot be written may be writable later, with the same settings.
fn may_recover(error: &io::Error, directory: &Path) -> bool {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => true,
        io::ErrorKind::ReadOnlyFilesystem => {
            fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_some())
        }
        _ => error.raw_os_error() == Some(Errno::IO.raw_os_error()),
    }
}

/// Restricts the files of the state to their owner, as others may have access on a volume or after a restore. Warns of
/// a directory in which any user can replace the files, whatever their modes.
///
/// Modes are changed by path, because closing a descriptor of the hub's files would release all locks of this process.
fn restrict_access(directory: &Path) {
    let mode = mode_of(directory);
    if mode & 0o002 != 0 {
        let shown = directory.display();
        warn!(
            "every user of this machine can write to the state directory {shown} (mode {mode:o}): chmod o-w it"
        );
    }
    for path in PRIVATE_FILES.map(|name| directory.join(name)) {
        if mode_of(&path) & 0o077 != 0
            && let Err(error) = fs::set_permissions(&path, fs::Permissions::from_mode(0o600))
        {
            warn!(file = %path.display(), %error, "other users of this machine may read a file of the state");
        }
    }
}

/// Returns the permission bits of a file; 0 if it is missing or cannot be looked at.
fn mode_of(path: &Path) -> u32 {
    match fs::metadata(path) {
        Ok(metadata) => metadata.permissions().mode() & 0o7777,
        Err(_) => 0,
    }
}

/// Returns the text that a first run prints.
fn welcome(source: &DataSource, base: &str) -> String {
    let data = match source {
        DataSource::Directory(directory) => format!("the reviews in `{}`", directory.display()),
        DataSource::Sample => {
            "a sample (there is no `data` directory here; --data DIR serves yours)".to_owned()
        }
    };
    format!(
        "reviewd serves {data}

  {base}/                the home page
  {base}/developers      all endpoints, with examples to try
  {base}/reviews.json    all reviews
  {base}/mcp             the same data for agents (Model Context Protocol)

Try:
  curl '{base}/api/reviews/search?min_rating=4&limit=3'
  curl '{base}/api/reviews/since/2026-01-01'
  curl '{base}/api/feed.json'

Ctrl-C stops it.
"
    )
}

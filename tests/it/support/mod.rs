//! Support for tests over sockets: a server on a free port, a client that shows every byte, and waiting for a
//! condition with a deadline instead of sleeping.

pub(crate) mod client;
pub(crate) mod dataset;
pub(crate) mod frames;
pub(crate) mod load;
pub(crate) mod mount;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
pub(crate) mod program;
pub(crate) mod server;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub(crate) use client::{
    Connection, FORM, Fields, Response, ask_hub, connect_from, connect_narrow, get, hub_form,
    post_mcp, send, statuses,
};
pub(crate) use load::Load;
pub(crate) use mount::Mount;
pub(crate) use program::Program;
pub(crate) use server::{BASE_URL, Server, service};

/// The header by which a proxy names a client to a server: loopback itself has no rates.
pub(crate) const CLIENT: (&str, &str) = ("X-Forwarded-For", "192.0.2.1");

/// How long a condition may take to become true; generous, because a passing test does not wait for it.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// Pause between two checks of a condition.
const PAUSE: Duration = Duration::from_millis(5);

/// A message that an MCP client sends.
pub(crate) const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// Every file below a folder of the repository, with its text.
pub(crate) fn files_below(folder: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut waiting = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    while let Some(path) = waiting.pop() {
        match std::fs::read_dir(&path) {
            Ok(entries) => waiting.extend(entries.flatten().map(|entry| entry.path())),
            Err(_) => found.push((path.clone(), std::fs::read_to_string(path).unwrap())),
        }
    }
    found
}

/// Waits until `condition` holds, and panics with `what` if it does not within [`DEADLINE`].
pub(crate) fn wait_until(what: &str, condition: impl FnMut() -> bool) {
    wait_within(DEADLINE, what, condition);
}

/// Waits until `condition` holds, and panics with `what` if it does not within `time`.
pub(crate) fn wait_within(time: Duration, what: &str, mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < time, "not within {time:?}: {what}");
        std::thread::sleep(PAUSE);
    }
}

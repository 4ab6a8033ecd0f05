//! Whole replies of the fast path, held to what hyper sends for the same bytes of the same client.
//!
//! An input is a row of requests. A byte below 0x80 stands for itself, any other for a word: a target, the name of a
//! field, a value, or an entity-tag of the site itself. So a fuzzer that changes single bytes makes requests that are
//! nearly simple.

mod in_memory;
mod words;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use reviewd::clock;
use reviewd::http::{
    AccessLog, AppState, Body, LogEntry, Proxies, ProxyField, ServedState, WriterMessage,
    respond_simple,
};
use reviewd::snapshot::Snapshot;

use super::service;

use in_memory::respond_via_hyper;
use words::{FRAME, NAMES, TAGGED, VALUES};
pub(super) use words::{FRAME_BYTES, TARGETS};
#[cfg(test)]
pub(super) use words::{NAME_BYTES, TARGET_BYTES, VALUE_BYTES};

/// The address of the client, which two of the sites trust as a proxy.
const PEER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 80);

/// Checks that every request that the fast path takes from the row in `data` gets the reply that hyper sends, byte for
/// byte but for the time, and is logged alike.
///
/// # Panics
/// If the two differ, or the fast path takes more or fewer bytes than the request has.
pub fn check_plain_reply(data: &[u8]) {
    answered(data);
}

/// Checks the same; returns how many requests the fast path has taken, of all sites together.
pub(super) fn answered(data: &[u8]) -> usize {
    static WORLD: OnceLock<Mutex<World>> = OnceLock::new();
    let world = WORLD.get_or_init(|| Mutex::new(World::build()));
    // Whatever has failed before has left nothing half changed.
    let world = world.lock().unwrap_or_else(PoisonError::into_inner);
    let row = world.spell(data);
    world.sites.iter().map(|site| site.check(&row)).sum()
}

struct World {
    /// What the bytes from 0x80 on stand for.
    words: Vec<Vec<u8>>,
    sites: [Served; 4],
}

/// A site, and what it logs.
struct Served {
    app: Arc<AppState>,
    messages: Option<Receiver<WriterMessage>>,
    /// Reads are answered by 429, as all were spent before.
    is_spent: bool,
}

/// What a log tells of a request, its time aside.
type Logged = (IpAddr, String, String, u16, u64, Option<String>);

/// A reply, and what was logged of it.
type Told = (Vec<u8>, Vec<Logged>);

impl World {
    fn build() -> World {
        let sites = [
            Served::build(None, true, 0),
            Served::build(Some(ProxyField::XForwardedFor), false, u32::MAX),
            Served::build(Some(ProxyField::Forwarded), true, u32::MAX),
            Served::build(None, false, 1),
        ];
        let fixed = [&FRAME[..], &TARGETS, &NAMES, &VALUES].concat();
        let mut words: Vec<_> = fixed.iter().map(|word| word.as_bytes().to_vec()).collect();
        for coding in ["", "gzip", "br"] {
            let heads = TAGGED.map(|target| sites[0].head(target, coding));
            words.extend(heads.iter().map(|head| value(head, "etag: ")));
        }
        words.push(value(&sites[0].head("/", ""), "last-modified: "));
        World { words, sites }
    }

    fn spell(&self, data: &[u8]) -> Vec<u8> {
        let mut row = Vec::new();
        for byte in data {
            match byte.checked_sub(FRAME_BYTES.start) {
                None => row.push(*byte),
                Some(word) => {
                    let word = self.words.get(usize::from(word));
                    row.extend_from_slice(word.map_or(&[], Vec::as_slice));
                }
            }
        }
        row
    }
}

impl Served {
    /// Serves the sample: as it is after the start, or also with a log, and proxies that write `field`. Compressed variants
    /// and insights are there if it is `whole`. A client may ask for `reads` in a minute: any number, more than anybody
    /// asks for, or one, which then is spent.
    fn build(field: Option<ProxyField>, whole: bool, reads: u32) -> Served {
        let snapshot_settings = service::snapshot_settings();
        let snapshot = match whole {
            true => Snapshot::build(service::sample(), &snapshot_settings),
            false => Snapshot::build_without_insights(&service::sample(), &snapshot_settings),
        };
        let site = ServedState::new(Arc::new(snapshot)).expect("the base URL fits a header");
        let mut settings = service::settings();
        settings.rates.reads = reads;
        settings.limits.header_fields = 8;
        settings.limits.target_bytes = 256;
        if let Some(field) = field {
            let loopback = "127.0.0.0/8".parse().expect("a network");
            settings.proxies = Proxies {
                networks: vec![loopback],
                field,
            };
        }
        let app = AppState::new(settings, site).expect("the settings fit headers");
        let app = Arc::new(app);
        if whole {
            app.current().compress(|| false);
        }
        let messages = field.is_some().then(|| {
            let (log, messages) = AccessLog::new();
            app.set_access_log(log);
            messages
        });
        Served {
            app,
            messages,
            is_spent: reads == 1,
        }
    }

    /// Compares the replies to the row of requests, as far as the fast path takes them; returns how many.
    fn check(&self, row: &[u8]) -> usize {
        let mut rest = row;
        let mut count = 0;
        while let Some((mut fast, mut slow, length)) = self.ask_both(rest) {
            if self.is_spent && fast != slow {
                // A minute may have come to its end between them; another is not over that soon.
                (fast, slow, _) = self.ask_both(rest).expect("it was taken before");
            }
            let (request, behind) = rest.split_at(length);
            assert!(
                fast == slow,
                "to {}\nfast: {}\n{:?}\nslow: {}\n{:?}",
                request.escape_ascii(),
                fast.0[..fast.0.len().min(4_096)].escape_ascii(),
                fast.1,
                slow.0[..slow.0.len().min(4_096)].escape_ascii(),
                slow.1
            );
            rest = behind;
            count += 1;
        }
        count
    }

    /// Asks for the first request of `row` on both ways; returns both replies and what was logged of them, and how long the
    /// request was, or `None` where the fast path does not take it.
    fn ask_both(&self, row: &[u8]) -> Option<(Told, Told, usize)> {
        if self.is_spent {
            self.spend();
        }
        self.logged();
        let (fast, length) = self.ask_plain(row)?;
        let fast = (timeless(&fast), self.logged());
        let slow = timeless(&respond_via_hyper(&self.app, &row[..length], PEER));
        Some((fast, (slow, self.logged()), length))
    }

    /// Asks until that is too often.
    fn spend(&self) {
        let request = b"GET /nowhere HTTP/1.1\r\nHost: reviews.example\r\n\r\n";
        let is_too_many =
            || respond_via_hyper(&self.app, request, PEER).starts_with(b"HTTP/1.1 429 ");
        assert!(
            (0..3).any(|_| is_too_many()),
            "one read a minute is permitted"
        );
    }

    /// Asks the fast path; returns the whole reply, and how long the request was.
    fn ask_plain(&self, bytes: &[u8]) -> Option<(Vec<u8>, usize)> {
        let mut reply = Vec::new();
        let answered = respond_simple(&self.app, bytes, PEER, clock::instant(), &mut reply)?;
        for slice in answered.body.iter().flat_map(Body::slices) {
            reply.extend_from_slice(slice);
        }
        Some((reply, answered.length))
    }

    /// Returns what was logged since it was asked for last.
    fn logged(&self) -> Vec<Logged> {
        let messages = self.messages.iter().flat_map(Receiver::try_iter);
        let entries = messages.filter_map(|message| match message {
            WriterMessage::Entry(entry) => Some(entry),
            _ => None,
        });
        let told = |entry: LogEntry| {
            let trace = entry.trace.map(|trace| trace.as_str().to_owned());
            let method = entry.method.as_str().to_owned();
            (
                entry.client,
                method,
                entry.path,
                entry.status,
                entry.bytes,
                trace,
            )
        };
        entries.map(told).collect()
    }

    /// Returns the head of the reply to a HEAD.
    fn head(&self, target: &str, coding: &str) -> Vec<u8> {
        let request = format!(
            "HEAD {target} HTTP/1.1\r\nHost: reviews.example\r\nAccept-Encoding: {coding}\r\n\r\n"
        );
        respond_via_hyper(&self.app, request.as_bytes(), PEER)
    }
}

/// Returns the value behind `name` in a head.
fn value(head: &[u8], name: &str) -> Vec<u8> {
    let head = String::from_utf8_lossy(head);
    let (_, rest) = head.split_once(name).expect("the field is there");
    let (value, _) = rest.split_once("\r\n").expect("its line ends");
    value.as_bytes().to_vec()
}

/// Returns `reply` without what depends on the time of day: its date and what is left of the client's rate.
fn timeless(reply: &[u8]) -> Vec<u8> {
    let end = memchr::memmem::find(reply, b"\r\n\r\n").unwrap_or(reply.len());
    let (head, body) = reply.split_at(end);
    let mut kept = Vec::with_capacity(reply.len());
    for line in head.split(|byte| *byte == b'\n') {
        let name = [&b"date: "[..], b"ratelimit: ", b"retry-after: "]
            .into_iter()
            .find(|name| line.starts_with(name));
        kept.extend_from_slice(name.unwrap_or(line));
        kept.push(b'\n');
    }
    kept.extend_from_slice(body);
    kept
}

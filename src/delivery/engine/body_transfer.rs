//! Bodies on their way to a store that replicas share and from there: by a thread and a connection of their own.
//!
//! A hundred megabytes take half a minute on a slow line. On the hub's own thread nobody would be answered meanwhile, and
//! the ends of deliveries would be booked when their claims have run out, so that other replicas repeat them. While a body
//! is on its way nothing is claimed, so no claim waits for it either; the other replicas deliver.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tracing::{debug, error, warn};

use super::super::exchange::Content;
use super::super::pool::Pool;
use super::super::priority::Behind;
use super::{Engine, Message, TICK};
use crate::websub::StoreLocation;
use crate::websub::store::{StoreError, TopicVersion};

/// What is to be carried.
#[derive(Debug)]
enum TransferJob {
    /// To the store, what will be published; the number is that of the topics.
    Bring(u64, Vec<TopicVersion>),
    /// From there, the content of a topic that another replica has published.
    Fetch(Wanted),
}

/// The content of a topic: its URL and the digest.
type Wanted = (String, [u8; 32]);

/// How a transfer ended.
#[derive(Debug)]
pub(in super::super) enum TransferResult {
    /// The bodies are there.
    Brought(u64, Result<(), StoreError>),
    /// What was found, if it was.
    Fetched(Wanted, Result<Option<Bytes>, StoreError>),
}

/// What is on its way.
pub(super) struct BodyTransfer {
    pool: Pool<TransferJob>,
    bodies: Bodies,
    /// Grows with each set of topics.
    topics: u64,
    wanted: Vec<Wanted>,
    /// Nothing is claimed before.
    rest_until: Instant,
    /// Nothing is brought before, and how long it is put off when it fails next: many megabytes are too much to be sent
    /// again and again to a disk that has room for everything else.
    bring_at: Instant,
    bring_wait: Duration,
    /// The system has refused a thread, which has been told.
    is_refused: bool,
}

/// Where the bodies of what is served here are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bodies {
    /// Here, and the store may not have them.
    Unknown,
    UnderWay,
    /// There, or publishing brings them.
    Left,
}

impl BodyTransfer {
    /// Makes one that has nothing to do yet, and will tell `sender` how transfers end.
    pub(super) fn new(place: StoreLocation, sender: SyncSender<Message>) -> BodyTransfer {
        let pool = Pool::new("hub-carry", 1, Some(Behind::Little), move |job| {
            // When the hub's thread is gone, so is everybody who would want to know.
            let _gone = sender.send(Message::TransferResult(run(&place, job)));
        });
        BodyTransfer {
            pool,
            bodies: Bodies::Left,
            topics: 0,
            wanted: Vec::new(),
            rest_until: Instant::now(),
            bring_at: Instant::now(),
            bring_wait: BRING_WAIT_MIN,
            is_refused: false,
        }
    }

    /// Notes that other topics are served.
    pub(super) fn forget(&mut self) {
        self.topics += 1;
        if self.bodies == Bodies::Left {
            self.bodies = Bodies::Unknown;
        }
    }

    /// Leaves bodies to the next publication: to a store that has just been opened, nothing is written before that, or
    /// what was confirmed could be booked while its topic is not there.
    pub(super) fn leave(&mut self) {
        self.topics += 1;
        self.bodies = Bodies::Left;
    }

    /// Tells whether anything may be claimed.
    pub(super) fn is_idle(&self) -> bool {
        self.wanted.is_empty() && Instant::now() >= self.rest_until
    }

    /// Begins a transfer, or waits where the system refuses a thread for it.
    fn submit(&mut self, job: TransferJob) -> bool {
        let was_refused = self.is_refused;
        self.is_refused = self.pool.submit(job).is_err();
        if self.is_refused {
            self.rest_until = Instant::now() + TICK;
            self.bring_at = self.rest_until;
            if !was_refused {
                error!("the system refuses a thread, bodies wait");
            }
        }
        !self.is_refused
    }

    /// Puts off what could not be brought, each time for twice as long.
    fn put_off(&mut self) {
        self.bring_at = Instant::now() + self.bring_wait;
        self.bring_wait = (self.bring_wait * 2).min(BRING_WAIT_MAX);
    }
}

impl Engine {
    /// Tells whether the store has the bodies of what is served here, and has them brought otherwise. A state directory
    /// keeps none.
    pub(super) fn has_brought(&mut self) -> bool {
        if !self.settings.place.is_shared() || self.transfer.bodies == Bodies::Left {
            return true;
        }
        if self.transfer.bodies == Bodies::Unknown && Instant::now() >= self.transfer.bring_at {
            let job = TransferJob::Bring(self.transfer.topics, self.versions());
            if self.transfer.submit(job) {
                self.transfer.bodies = Bodies::UnderWay;
            }
        }
        false
    }

    /// Has the content of a topic fetched.
    pub(super) fn want(&mut self, topic: &str, digest: &[u8; 32]) {
        let wanted = (topic.to_owned(), *digest);
        if !self.transfer.wanted.contains(&wanted)
            && self.transfer.submit(TransferJob::Fetch(wanted.clone()))
        {
            debug!(topic, "its content is fetched from the store");
            self.transfer.wanted.push(wanted);
        }
    }

    /// Takes the end of a transfer. Who gets no second connection takes the hub's own, which must not end for it.
    pub(super) fn note_carried(&mut self, carried: TransferResult) {
        match carried {
            // By publishing to a store that has been opened since then, all was brought.
            TransferResult::Brought(..) if self.transfer.bodies != Bodies::UnderWay => {}
            TransferResult::Brought(topics, brought) => {
                let is_left = match &brought {
                    Ok(()) => topics == self.transfer.topics,
                    Err(error) => is_lonely(error),
                };
                self.transfer.bodies = match is_left {
                    true => Bodies::Left,
                    false => Bodies::Unknown,
                };
                match brought {
                    Err(error) if !is_left => {
                        self.transfer.put_off();
                        self.note_failure(error);
                    }
                    _ => self.transfer.bring_wait = BRING_WAIT_MIN,
                }
            }
            TransferResult::Fetched(wanted, found) => {
                self.transfer.wanted.retain(|other| *other != wanted);
                let found = match found {
                    Err(error) if is_lonely(&error) => {
                        self.with_store(|store| store.body(&wanted.1)).flatten()
                    }
                    Err(error) => {
                        self.note_failure(error);
                        None
                    }
                    Ok(found) => found,
                };
                match found {
                    Some(body) => self.keep(wanted, body),
                    // Another content may have taken its place, and the next claim says which.
                    None => self.transfer.rest_until = Instant::now() + TICK,
                }
            }
        }
    }

    fn note_failure(&mut self, error: StoreError) {
        // One that is known to be gone is not opened later for it.
        if self.store.is_some() {
            self.fail(error);
        }
    }

    fn keep(&mut self, (topic, digest): Wanted, body: Bytes) {
        // A topic that is not served here any more is not delivered from here.
        let Some(ours) = self.contents.get(&topic) else {
            return;
        };
        let content = Content {
            digest,
            dated: ours.dated,
            media_type: ours.media_type,
            link: ours.link.clone(),
            body,
        };
        self.others.insert(topic, Arc::new(content));
    }
}

/// The wait before bodies that could not be brought are brought again.
const BRING_WAIT_MIN: Duration = Duration::from_millis(250);

/// The longest of these waits. Our choice: what it costs to try is a body, and new content may wait a minute for an
/// operator who makes room.
const BRING_WAIT_MAX: Duration = Duration::from_secs(60);

/// Tells whether a second connection is not to be had, or of no use, which need not be so for the first.
fn is_lonely(error: &StoreError) -> bool {
    let is_lonely = matches!(error, StoreError::Unreachable(..) | StoreError::Refused(..));
    if is_lonely {
        warn!("a second connection to the hub's store fails, bodies take the first: {error}");
    }
    is_lonely
}

fn run(place: &StoreLocation, job: TransferJob) -> TransferResult {
    let panicked = || {
        error!("carrying a body panicked, which is an error in reviewd");
        StoreError::Unreachable(place.to_string(), "carrying a body failed".to_owned())
    };
    match job {
        TransferJob::Bring(topics, versions) => {
            let brought = catch_unwind(AssertUnwindSafe(|| place.bring(&versions)));
            TransferResult::Brought(topics, brought.unwrap_or_else(|_| Err(panicked())))
        }
        TransferJob::Fetch(wanted) => {
            let found = catch_unwind(AssertUnwindSafe(|| place.open()?.body(&wanted.1)));
            TransferResult::Fetched(wanted, found.unwrap_or_else(|_| Err(panicked())))
        }
    }
}

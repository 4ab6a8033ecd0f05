//! What the hub keeps, and what of it must be atomic.
//!
//! One method of [`Store`] is one transaction: when it returns `Ok`, all of it is on disk and survives the loss of
//! power; on an error nothing of it has happened. Methods take batches, so that one write to the disk serves many.
//! The transitions themselves are [`step`](super::subscription::step): a store loads the state, steps, and saves.
//!
//! The rules and the SQL are the same for an SQLite file and for a PostgreSQL database; what differs is in `sqlite` and
//! `postgres`. Several processes may have a store open: all of them accept requests, and the one that has the delivery role
//! verifies and delivers. Ids are never used twice.

mod connection;
mod copy;
mod deliveries;
mod error;
mod host_room;
mod maintenance;
#[cfg(feature = "postgres")]
mod postgres;
mod recorded;
mod requests;
mod rows;
mod schema;
mod sqlite;
mod view;

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use self::connection::{Access, Connection};
pub use self::error::StoreError;
#[cfg(feature = "postgres")]
pub use self::postgres::Database;
pub use self::recorded::{Recorded, Report};
pub use self::schema::SCHEMA_VERSION;
pub use self::sqlite::FILE_NAME;
pub use self::view::{AdminCommand, Counts, Listed, Tombstone, WaitingRequest};

use super::callback::Callback;
use super::moment::Moment;
use super::request::{HubRequest, Mode, Secret};
use super::subscription::{Policy, RemovalReason};
use crate::wire::date::Timestamp;

/// A blocking store of the hub's state. The errors of every method are those of [`StoreError`].
pub struct Store {
    connection: Box<dyn Connection>,
    /// Whether replicas share it.
    is_shared: bool,
    /// Digests of what this process has published: what it can send.
    own: Vec<[u8; 32]>,
    is_behind: bool,
}

impl Store {
    /// Opens the store in `hub.sqlite3` of the directory `dir`. Creates the directory (mode 0700) and the file (mode 0600)
    /// if missing; a directory that exists keeps its mode.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`], `Foreign` or `Newer` for a file that cannot be used, `ReadOnly`, `QuotaExceeded`, `Busy` or
    /// `Io` as the disk has it.
    pub fn in_directory(dir: &Path) -> Result<Store, StoreError> {
        let connection = sqlite::SqliteConnection::open(dir)?;
        Ok(Store::on(Box::new(connection), false))
    }

    /// Opens a store that lives and dies with the value: for tests and fuzzing.
    ///
    /// # Errors
    /// [`StoreError::Io`] when memory is short.
    pub fn in_memory() -> Result<Store, StoreError> {
        let connection = sqlite::SqliteConnection::in_memory()?;
        Ok(Store::on(Box::new(connection), false))
    }

    /// Opens the store in the schema `reviewd` of a database, which replicas may share.
    ///
    /// # Errors
    /// [`StoreError::Refused`] for what stays wrong until somebody changes it, `Unreachable` or `Busy` for what may pass.
    #[cfg(feature = "postgres")]
    pub fn in_database(database: &Database) -> Result<Store, StoreError> {
        let connection = postgres::PostgresConnection::open(database)?;
        Ok(Store::on(Box::new(connection), true))
    }

    fn on(connection: Box<dyn Connection>, is_shared: bool) -> Store {
        Store {
            connection,
            is_shared,
            own: Vec::new(),
            is_behind: false,
        }
    }

    /// Runs `act` in one transaction; commits if it returns `Ok`.
    fn within<T>(
        &mut self,
        access: Access,
        act: impl FnOnce(&mut dyn Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let connection = self.connection.as_mut();
        let run = |connection: &mut dyn Connection| {
            connection.begin(access)?;
            let value = act(connection)?;
            connection.commit()?;
            Ok(value)
        };
        let result = run(connection);
        result.map_err(|error| {
            connection.roll_back();
            match error {
                StoreError::Corrupt(place, what) if place.as_os_str().is_empty() => {
                    StoreError::Corrupt(connection.place(), what)
                }
                other => other,
            }
        })
    }

    fn read<T>(
        &mut self,
        look: impl FnOnce(&mut dyn Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.within(Access::Read, look)
    }

    fn write<T>(
        &mut self,
        change: impl FnOnce(&mut dyn Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.within(Access::Write, change)
    }

    /// Takes the delivery role if no other process has it. It lasts as long as the store is open.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn try_take_role(&mut self) -> Result<bool, StoreError> {
        self.connection.try_take_role()
    }

    /// Gives the delivery role to the next process that asks.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn give_up_role(&mut self) -> Result<(), StoreError> {
        self.connection.give_up_role()
    }

    /// Tells whether the last claim of deliveries found a topic that holds something else than this process has published.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// Makes sure that every topic in the store is one of `origin`, scheme and authority.
    ///
    /// # Errors
    /// [`StoreError::Refused`] where one is not, with both origins.
    pub fn check_origin(&mut self, origin: &str) -> Result<(), StoreError> {
        let place = self.connection.place();
        let other = self.read(|connection| maintenance::other_origin(connection, origin))?;
        other.map_or(Ok(()), |other| {
            let what = format!(
                "it holds topics of {other}, and the public address here is {origin} (--base-url)"
            );
            Err(StoreError::Refused(place.display().to_string(), what))
        })
    }

    /// Makes `versions` what the topics of the hub hold. What follows from a changed digest needs no writing. Subscriptions
    /// and requests for other topics are removed, the former with a denial, unless replicas share the store. There, a
    /// version that is not newer than the topic's changes nothing, and is not delivered either: of two with one date the first
    /// stays, so that no content is ever announced again without a later date.
    ///
    /// # Errors
    /// See [`StoreError`]; `Refused` where replicas share the store and it holds topics of another origin.
    pub fn publish(
        &mut self,
        versions: &[TopicVersion],
        policy: &Policy,
        now: Moment,
    ) -> Result<Published, StoreError> {
        let is_shared = self.is_shared;
        if let Some(first) = versions.first().filter(|_| is_shared) {
            self.check_origin(maintenance::origin_of(&first.url))?;
        }
        let published =
            self.write(|c| maintenance::publish(c, versions, is_shared, policy, now))?;
        self.own = versions.iter().map(|version| version.digest).collect();
        Ok(published)
    }

    /// Keeps each request that `quotas` leave room for; one that repeats a waiting one to the letter joins it. The answers
    /// are in the order of the requests.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn accept(
        &mut self,
        requests: &[Accept],
        quotas: &Quotas,
        now: Moment,
    ) -> Result<Vec<Result<(), QuotaExceeded>>, StoreError> {
        self.write(|connection| {
            maintenance::touch(connection, now)?;
            requests::accept(connection, requests, quotas, now)
        })
    }

    /// Claims requests to be verified, those of active subscriptions first and then the oldest, at most one at a time for
    /// each pair of callback and topic. A claim counts as an attempt; a request has [`VERIFICATIONS_MAX`] in its life, all
    /// but the first [`UNREACHED_MAX`] after a crash.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn claim_requests(
        &mut self,
        claim: &Claim<'_>,
        now: Moment,
    ) -> Result<Vec<Verification>, StoreError> {
        let found = self.read(|connection| requests::find(connection, claim, now))?;
        match found.is_empty() {
            true => Ok(found),
            false => self.write(|connection| requests::claim(connection, found)),
        }
    }

    /// Claims subscriptions that are due in the lane, to topics that hold what this process has published, and begins an
    /// attempt for each: the topic's current digest is stored as begun before anything is sent.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn claim_deliveries(
        &mut self,
        lane: Lane,
        claim: &Claim<'_>,
        now: Moment,
    ) -> Result<Vec<Delivery>, StoreError> {
        let own = self.own.clone();
        let due = self.read(|connection| deliveries::find(connection, &own, lane, claim, now))?;
        self.is_behind = due.is_behind;
        match due.ids.is_empty() {
            true => Ok(Vec::new()),
            false => self.write(|connection| deliveries::begin(connection, &due.ids, now)),
        }
    }

    /// Takes denials that are to be sent at `now`, oldest first, out of the store.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn take_notices(
        &mut self,
        limit: usize,
        now: Moment,
    ) -> Result<Vec<DenialNotice>, StoreError> {
        match self.read(|connection| maintenance::has_notices(connection, now))? {
            false => Ok(Vec::new()),
            true => self.write(|connection| maintenance::take_notices(connection, limit, now)),
        }
    }

    /// Keeps a denial that could not be sent until [`DenialNotice::retry_at`]; `false` where that is over, or its pair has
    /// subscribed again.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn defer_notice(&mut self, notice: &DenialNotice, now: Moment) -> Result<bool, StoreError> {
        self.write(|connection| maintenance::defer_notice(connection, notice, now))
    }

    /// Stores how verifications and attempts ended; the results are in the order of the reports.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn record(
        &mut self,
        reports: &[Report],
        policy: &Policy,
        now: Moment,
    ) -> Result<Vec<Recorded>, StoreError> {
        self.write(|connection| {
            maintenance::touch(connection, now)?;
            deliveries::record(connection, reports, policy, now)
        })
    }

    /// Ends leases that are over (unless a renewal is being verified), and drops tombstones older than `tombstone_age`.
    /// At most 1,000 leases at a time.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn sweep(
        &mut self,
        policy: &Policy,
        tombstone_age: Duration,
        now: Moment,
    ) -> Result<SweepReport, StoreError> {
        match self.read(|connection| maintenance::is_swept(connection, tombstone_age, now))? {
            true => Ok(SweepReport::default()),
            false => self.write(|c| maintenance::sweep(c, policy, tombstone_age, now)),
        }
    }

    /// Takes over from a process that is gone: its claims return, requests that had all their attempts are dropped.
    /// If the clock stands more than 5 s before the last moment that was stored, every stored moment moves back with it.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn recover(&mut self, policy: &Policy, now: Moment) -> Result<(), StoreError> {
        self.write(|connection| maintenance::recover(connection, policy, now))
    }

    /// Moves every stored moment by `by_ms`, because the clock jumped: leases neither end early nor late by it.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn shift(&mut self, by_ms: i64) -> Result<(), StoreError> {
        self.write(|connection| maintenance::shift(connection, by_ms))
    }

    /// Notes for [`Store::is_paused`] that deliveries pause for `lasts` or until the next call, or that they go on.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn set_paused(&mut self, lasts: Option<Duration>, now: Moment) -> Result<(), StoreError> {
        let until = lasts.map_or(Moment::ZERO, |lasts| now.plus(lasts));
        self.write(|connection| maintenance::set_paused(connection, until))
    }

    /// Tells whether the process that delivers has paused its deliveries.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn is_paused(&mut self, now: Moment) -> Result<bool, StoreError> {
        self.read(|connection| maintenance::is_paused(connection, now))
    }

    /// Counts what is there, and what of it is due.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn counts(&mut self, now: Moment) -> Result<Counts, StoreError> {
        self.read(|connection| maintenance::counts(connection, now))
    }

    /// Lists at most `limit` subscriptions with ids above `after`, by id.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn list(&mut self, after: i64, limit: usize) -> Result<Vec<Listed>, StoreError> {
        let stored = self.read(|connection| rows::list(connection, after, limit))?;
        Ok(stored.into_iter().map(rows::Stored::listed).collect())
    }

    /// Lists at most `limit` tombstones, newest first.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn tombstones(&mut self, limit: usize) -> Result<Vec<Tombstone>, StoreError> {
        self.read(|connection| maintenance::tombstones(connection, limit))
    }

    /// Lists at most `limit` requests that wait for their verification, oldest first.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn requests(&mut self, limit: usize) -> Result<Vec<WaitingRequest>, StoreError> {
        self.read(|connection| requests::list(connection, limit))
    }

    /// Applies the operator's command to a subscription; `false` when there is none with that id.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn apply_admin(
        &mut self,
        id: i64,
        command: AdminCommand,
        policy: &Policy,
        now: Moment,
    ) -> Result<bool, StoreError> {
        self.write(|connection| {
            maintenance::touch(connection, now)?;
            maintenance::apply_admin(connection, id, command, policy, now)
        })
    }

    /// Copies the subscriptions, waiting requests and denials of `source` into this store, in one transaction. Of two states
    /// of one subscription the later counts, so a repetition changes nothing; subscriptions whose lease is over stay behind.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn copy_from(&mut self, source: &mut Store, now: Moment) -> Result<CopyReport, StoreError> {
        source.read(|source| self.write(|target| copy::copy(source, target, now)))
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Store({})", self.connection.place().display())
    }
}

/// What a topic holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicVersion {
    /// The topic's URL.
    pub url: String,
    /// SHA-256 of the content.
    pub digest: [u8; 32],
    /// The dataset's `updated_at`: of two versions the later one is the newer.
    pub dated: Timestamp,
}

/// A request to keep, with the lease granted to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accept {
    /// What was asked.
    pub request: HubRequest,
    /// Seconds granted.
    pub lease_s: u32,
}

/// Bounds of what is kept; at each of them a request is refused and nothing else is given up for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quotas {
    /// Requests waiting for verification, in all.
    pub requests: u32,
    /// Requests waiting for verification, for one callback host.
    pub requests_per_host: u32,
    /// Subscriptions in all, those asked for included.
    pub subscriptions: u32,
    /// Subscriptions of one callback host, those asked for included.
    pub subscriptions_per_host: u32,
}

/// Which bound left no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuotaExceeded {
    /// [`Quotas::requests`].
    Requests,
    /// [`Quotas::requests_per_host`].
    RequestsOfHost,
    /// [`Quotas::subscriptions`].
    Subscriptions,
    /// [`Quotas::subscriptions_per_host`].
    SubscriptionsOfHost,
}

/// How much to claim.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    /// At most this many.
    pub limit: usize,
    /// Exchanges with one callback host at the same time.
    pub per_host: usize,
    /// Exchanges under way, by callback host.
    pub busy: &'a HashMap<String, usize>,
}

/// Which subscriptions to claim: those whose last attempt was quick and well, or the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lane {
    /// The last attempt was quick and acknowledged.
    Fast,
    /// The last attempt failed or was slow.
    Slow,
}

/// A request to be verified now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verification {
    /// The request's id.
    pub id: i64,
    /// What is to be confirmed.
    pub mode: Mode,
    /// The topic's URL as the subscriber gave it.
    pub topic_given: String,
    /// Whom to ask.
    pub callback: Callback,
    /// Seconds granted.
    pub lease_s: u32,
}

/// An attempt that has begun in the store and is now to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The subscription's id.
    pub id: i64,
    /// The attempt's number.
    pub attempt: u64,
    /// The topic's URL.
    pub topic: String,
    /// Digest of the content to send.
    pub digest: [u8; 32],
    /// Where to.
    pub callback: Callback,
    /// Key of the signature.
    pub secret: Option<Secret>,
}

/// A denial to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DenialNotice {
    /// The topic's URL.
    pub topic: String,
    /// Whom to tell.
    pub callback: Callback,
    /// Why.
    pub removal: RemovalReason,
    /// When the subscription ended.
    pub since: Moment,
    /// How often it could not be sent.
    pub attempts: u32,
}

impl DenialNotice {
    /// Returns when a denial that could not be sent at `now` is sent again: after 1, 4, 16 and then 60 minutes, `None` a
    /// day after the subscription ended. Our choice: a host that is down for a night still hears of it.
    #[must_use]
    pub fn retry_at(&self, now: Moment) -> Option<Moment> {
        let delay = NOTICE_DELAY * 4_u32.saturating_pow(self.attempts.min(3));
        let is_over = now.since(self.since) >= NOTICE_TIME;
        (!is_over).then(|| now.plus(delay.min(NOTICE_DELAY_MAX)))
    }
}

/// What [`Store::publish`] changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Published {
    /// URLs of topics whose digest is new.
    pub changed: Vec<String>,
    /// URLs of topics that hold something that is at least as new as what was to be published.
    pub older: Vec<String>,
    /// Subscriptions removed because their topic is no longer one.
    pub withdrawn: usize,
}

/// What [`Store::sweep`] changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SweepReport {
    /// Leases that ended.
    pub expired: usize,
    /// Subscriptions that their subscribers had ended, and whose attempt counts as lost.
    pub left: usize,
    /// Tombstones dropped.
    pub tombstones: usize,
}

/// What [`Store::copy_from`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopyReport {
    /// Subscriptions that were not there, or in an earlier state.
    pub copied: u64,
    /// Subscriptions that were there in this state or a later one.
    pub known: u64,
    /// Requests that wait for their verification.
    pub requests: u64,
}

/// Attempts to verify one request: one, and one more for each crash of ours that cut it short. Nobody knows whether the
/// one that was cut short had been sent, so a low bound would drop requests that were never asked for confirmation;
/// without any, a request that crashes us would do so for ever.
pub const VERIFICATIONS_MAX: u32 = 5;

/// Attempts to verify one request whose callback host is not reached.
pub const UNREACHED_MAX: u32 = 3;

/// The first and the longest wait before a denial is sent again, and for how long that goes on.
const NOTICE_DELAY: Duration = Duration::from_secs(60);
const NOTICE_DELAY_MAX: Duration = Duration::from_secs(3_600);
const NOTICE_TIME: Duration = Duration::from_secs(86_400);

/// Tombstones and denials kept, each; beyond it the oldest go. Our choice: a few megabytes at most.
pub const TOMBSTONES_MAX: usize = 10_000;

/// Leases ended by one sweep, so that no transaction grows without bound.
pub const SWEEP_MAX: usize = 1_000;

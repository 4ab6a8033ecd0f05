//! The hub's state in a PostgreSQL database: any number of replicas read, write and deliver.
//!
//! One connection for each process, used by the hub's thread. What is due is claimed with `FOR UPDATE SKIP LOCKED` and
//! a deadline, so that two replicas never send to one subscriber at a time, and what a dead one had claimed returns.
//! All moments are by the database's clock: replicas whose clocks differ agree on when a claim has run out. Durability
//! is the server's: with `synchronous_commit` on, its default, a commit that returned is on its disk, and on that of a
//! synchronous standby.
//!
//! A claim reads what topics hold under a lock that a change of them waits for. Without it, a replica could claim with
//! a digest that it has just read, while another publishes a newer content and delivers it: the older content would
//! come after the newer one.

mod adoption;
mod batch;
mod database;
mod deliveries;
mod fault;
mod host_capacity;
mod link;
mod maintenance;
mod pending_work;
mod requests;
mod rows;
mod schema;
mod tls;

use std::fmt;
use std::time::Duration;

use bytes::Bytes;

use super::moment::Moment;
use super::store::{
    Accept, AdminCommand, Claim, Counts, Delivery, DenialNotice, Lane, Listed, PendingWork,
    Published, QuotaExceeded, Quotas, Recorded, Report, Store, StoreError, SweepReport, Tombstone,
    TopicVersion, Verification, WaitingRequest,
};
use super::subscription::{Event, Policy, RemovalReason};
use super::transfer::{ExportedSubscription, ImportDecision};
use batch::Batch;
pub use database::Database;
use deliveries::Own;
use fault::Fault;
use link::{Link, Lock};

/// A [`Store`] in the schema `reviewd` of a database.
pub struct PostgresStore {
    link: Link,
    name: String,
    owner: i64,
    time: Time,
    /// What this process has published: it can send that, whatever the database keeps.
    own: Own,
    /// How many subscriptions there were when [`PostgresStore::counts`] last counted, and what this process has added
    /// since. Counting them while somebody waits for an answer would take longer than everything else; what other
    /// replicas add meanwhile exceeds the bound by little.
    subscriptions: Option<u64>,
}

/// Whose clock counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Time {
    Database,
    Given,
}

impl PostgresStore {
    /// Connects, and brings the schema to the version that this program needs.
    ///
    /// # Errors
    /// [`StoreError::Refused`] for what stays wrong until somebody changes it, `Unreachable` for what may pass.
    pub fn open(database: &Database) -> Result<PostgresStore, StoreError> {
        PostgresStore::open_by(database, Time::Database)
    }

    /// Opens a store that believes whatever time it is told: for tests.
    ///
    /// # Errors
    /// Those of [`PostgresStore::open`].
    pub fn open_in_given_time(database: &Database) -> Result<PostgresStore, StoreError> {
        PostgresStore::open_by(database, Time::Given)
    }

    fn open_by(database: &Database, time: Time) -> Result<PostgresStore, StoreError> {
        let mut link = Link::connect(database)?;
        let name = database.to_string();
        schema::prepare(&mut link, &schema::MIGRATIONS).map_err(|fault| fault.into_error(&name))?;
        Ok(PostgresStore {
            link,
            name,
            owner: database.owner,
            time,
            own: Own::default(),
            subscriptions: None,
        })
    }

    /// Makes sure that every topic in the store is one of `origin`, scheme and authority.
    ///
    /// # Errors
    /// [`StoreError::Refused`] where one is not, with both origins.
    pub fn check_origin(&mut self, origin: &str) -> Result<(), StoreError> {
        self.read(|link| maintenance::check_origin(link, origin))
    }

    /// Brings the bodies of `editions`, as far as they are newer than what the topics hold.
    ///
    /// # Errors
    /// Those of every method of a [`Store`].
    pub fn bring(&mut self, versions: &[TopicVersion]) -> Result<(), StoreError> {
        for version in versions {
            self.read(|link| maintenance::bring_newer(link, version))?;
        }
        Ok(())
    }

    /// Runs `act` in one transaction, told the time that counts; commits if it returns `Ok`.
    fn write<T>(
        &mut self,
        lock: Lock,
        given: Option<Moment>,
        act: impl FnOnce(&mut Link, Moment) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        let result = self.try_write(lock, given, act);
        result.map_err(|fault| fault.into_error(&self.name))
    }

    /// As [`PostgresStore::write`], for whoever knows what to do about a fault.
    fn try_write<T>(
        &mut self,
        lock: Lock,
        given: Option<Moment>,
        act: impl FnOnce(&mut Link, Moment) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let PostgresStore { link, time, .. } = self;
        link.within(lock, |link, of_database| {
            let now = match (time, given) {
                (Time::Given, Some(given)) => given,
                _ => of_database,
            };
            act(link, now)
        })
    }

    /// Runs `look` in a transaction too: outside of one the server would have no bound for a statement.
    fn read<T>(
        &mut self,
        look: impl FnOnce(&mut Link) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        self.write(Lock::None, None, |link, _| look(link))
    }

    /// Runs `look`, which is a transaction by itself.
    fn look<T>(
        &mut self,
        look: impl FnOnce(&mut Link) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        look(&mut self.link).map_err(|fault| fault.into_error(&self.name))
    }

    /// The time as a statement gets it: none where the database knows better.
    fn told(&self, now: Moment) -> Option<i64> {
        (self.time == Time::Given).then_some(now.unix_ms())
    }

    /// How many subscriptions there are, counted by the first who wants to know.
    fn subscriptions(&mut self) -> Result<u64, StoreError> {
        if let Some(count) = self.subscriptions {
            return Ok(count);
        }
        let count = self.read(|link| {
            let row = link.first("SELECT count(*) FROM reviewd.subscription", &[])?;
            row.map_or(Ok(0), |row| rows::number(&row, 0))
        })?;
        self.subscriptions = Some(count);
        Ok(count)
    }

    fn note_subscriptions(&mut self, recorded: &[Recorded]) {
        let Some(count) = &mut self.subscriptions else {
            return;
        };
        for recorded in recorded {
            match recorded {
                Recorded::Activated => *count += 1,
                Recorded::Removed(_) => *count = count.saturating_sub(1),
                _ => {}
            }
        }
    }
}

impl Store for PostgresStore {
    fn publish(
        &mut self,
        versions: &[TopicVersion],
        _policy: &Policy,
        now: Moment,
    ) -> Result<Published, StoreError> {
        self.own = Own::of(versions);
        let mut tries = 1;
        loop {
            self.bring(versions)?;
            let published = self.try_write(Lock::Topics, Some(now), |link, now| {
                maintenance::publish(link, versions, now)
            });
            match published {
                Err(Fault::Bodiless) if tries < PUBLISH_TRIES_MAX => tries += 1,
                published => return published.map_err(|fault| fault.into_error(&self.name)),
            }
        }
    }

    fn body(&mut self, digest: &[u8; 32]) -> Result<Option<Bytes>, StoreError> {
        self.read(|link| maintenance::body(link, digest))
    }

    fn accept(
        &mut self,
        requests: &[Accept],
        quotas: &Quotas,
        now: Moment,
    ) -> Result<Vec<Result<(), QuotaExceeded>>, StoreError> {
        let active = self.subscriptions()?;
        self.write(Lock::Requests, Some(now), |link, now| {
            requests::accept(link, requests, quotas, active, now)
        })
    }

    /// One exchange with the server.
    fn pending_work(&mut self, now: Moment) -> Result<PendingWork, StoreError> {
        let (told, own) = (self.told(now), self.own.clone());
        self.look(|link| pending_work::read(link, &own, told))
    }

    fn claim_requests(
        &mut self,
        claim: &Claim<'_>,
        now: Moment,
    ) -> Result<Vec<Verification>, StoreError> {
        let owner = self.owner;
        let lasts = claim.until.since(now);
        self.write(Lock::None, Some(now), |link, now| {
            requests::claim(link, owner, claim, now.plus(lasts), now)
        })
    }

    fn claim_deliveries(
        &mut self,
        lane: Lane,
        claim: &Claim<'_>,
        now: Moment,
    ) -> Result<Vec<Delivery>, StoreError> {
        let (owner, own) = (self.owner, self.own.clone());
        let lasts = claim.until.since(now);
        self.write(Lock::TopicsShared, Some(now), |link, now| {
            deliveries::claim(link, owner, lane, claim, &own, now.plus(lasts), now)
        })
    }

    fn take_notices(&mut self, limit: usize, now: Moment) -> Result<Vec<DenialNotice>, StoreError> {
        self.write(Lock::None, Some(now), |link, now| {
            maintenance::take_notices(link, limit, now)
        })
    }

    fn defer_notice(&mut self, notice: &DenialNotice, now: Moment) -> Result<bool, StoreError> {
        self.write(Lock::None, Some(now), |link, now| {
            maintenance::defer_notice(link, notice, now)
        })
    }

    fn record(
        &mut self,
        reports: &[Report],
        policy: &Policy,
        now: Moment,
    ) -> Result<Vec<Recorded>, StoreError> {
        let (owner, own) = (self.owner, self.own.clone());
        // A subscription that begins needs its topic, which nobody is to take away meanwhile.
        let begins = |report: &Report| matches!(report, Report::Verified { .. });
        let lock = match reports.iter().any(begins) {
            true => Lock::TopicsShared,
            false => Lock::None,
        };
        let recorded = self.write(lock, Some(now), |link, here| {
            // What is told as a moment is meant as "so long ago".
            let reports: Vec<Report> = reports
                .iter()
                .map(|report| match report {
                    Report::Verified {
                        id,
                        asked_at,
                        confirmed,
                    } => Report::Verified {
                        id: *id,
                        asked_at: here.minus(now.since(*asked_at)),
                        confirmed: *confirmed,
                    },
                    other => other.clone(),
                })
                .collect();
            deliveries::record(link, owner, &own, &reports, policy, here)
        })?;
        self.note_subscriptions(&recorded);
        Ok(recorded)
    }

    fn sweep(
        &mut self,
        policy: &Policy,
        tombstone_age: Duration,
        now: Moment,
    ) -> Result<SweepReport, StoreError> {
        let told = self.told(now);
        if self.look(|link| maintenance::is_swept(link, tombstone_age, told))? {
            return Ok(SweepReport::default());
        }
        let swept = self.write(Lock::None, Some(now), |link, now| {
            maintenance::sweep(link, policy, tombstone_age, now)
        })?;
        self.note_subscriptions(&vec![
            Recorded::Removed(RemovalReason::LeaseEnded);
            swept.expired + swept.left
        ]);
        Ok(swept)
    }

    /// Returns the claims of this process, which has none when it begins; those of a dead one return by themselves.
    fn recover(&mut self, _policy: &Policy, _now: Moment) -> Result<(), StoreError> {
        let owner = self.owner;
        self.write(Lock::None, None, |link, _| {
            maintenance::recover(link, owner)
        })
    }

    /// Moves nothing: it is this process's clock that jumped, and not the database's. Whether the store can be written
    /// is asked all the same.
    fn shift(&mut self, _by_ms: i64) -> Result<(), StoreError> {
        self.write(Lock::None, None, |link, _| {
            link.execute("UPDATE reviewd.meta SET version = version", &[])
                .map(drop)
        })
    }

    fn set_paused(&mut self, lasts: Option<Duration>, now: Moment) -> Result<(), StoreError> {
        self.write(Lock::None, Some(now), |link, now| {
            maintenance::set_paused(link, lasts.map_or(Moment::ZERO, |lasts| now.plus(lasts)))
        })
    }

    fn is_paused(&mut self, now: Moment) -> Result<bool, StoreError> {
        self.write(Lock::None, Some(now), maintenance::is_paused)
    }

    fn counts(&mut self, now: Moment) -> Result<Counts, StoreError> {
        let told = self.told(now);
        let counts = self.look(|link| maintenance::counts(link, told))?;
        self.subscriptions = Some(counts.subscriptions);
        Ok(counts)
    }

    fn list(&mut self, after: i64, limit: usize, _now: Moment) -> Result<Vec<Listed>, StoreError> {
        self.read(|link| rows::list(link, after, limit))
    }

    fn tombstones(&mut self, limit: usize) -> Result<Vec<Tombstone>, StoreError> {
        self.read(|link| rows::tombstones(link, limit))
    }

    fn requests(&mut self, limit: usize) -> Result<Vec<WaitingRequest>, StoreError> {
        self.read(|link| requests::list(link, limit))
    }

    fn apply_admin(
        &mut self,
        id: i64,
        order: AdminCommand,
        policy: &Policy,
        now: Moment,
    ) -> Result<bool, StoreError> {
        let event = match order {
            AdminCommand::Remove => Event::Removed,
            AdminCommand::Retry => Event::Retried,
        };
        self.write(Lock::None, Some(now), |link, now| {
            let mut batch = Batch::load(link, &[id])?;
            let is_there = batch.step(id, &event, policy, now).is_some();
            batch.save(link)?;
            Ok(is_there)
        })
    }

    fn adopt(
        &mut self,
        moved: &[ExportedSubscription],
        now: Moment,
    ) -> Result<Vec<ImportDecision>, StoreError> {
        self.subscriptions = None;
        self.write(Lock::Topics, Some(now), |link, now| {
            adoption::adopt(link, moved, now)
        })
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgresStore({})", self.name)
    }
}

/// How often bodies are brought for one publication, each time that others have tidied them away before it. Our choice: a
/// second time is rare, and the hub's thread has other work to do before a fourth.
const PUBLISH_TRIES_MAX: u32 = 3;

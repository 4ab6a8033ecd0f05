//! A PostgreSQL that says what it was asked and what that cost it, and stores full of subscriptions.

use std::cell::Cell;
use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use reviewd::hub::store::{Accept, Claim, Database, Quotas, Report, Store};
use reviewd::hub::subscription::Policy;
use reviewd::hub::{Callback, HubRequest, Mode, StoreLocation};

use super::measured::tree_cpu_us;
use super::support::postgres::Postgres;
use super::{now, wait_until};

/// A server with durable commits, as PostgreSQL is by default.
pub(crate) struct Server {
    postgres: Postgres,
    databases: Cell<usize>,
}

/// Where subscriptions are kept in a measurement.
pub(crate) enum Home<'s> {
    /// With the service, in a directory.
    Embedded(PathBuf),
    /// In a database of this name.
    Shared(&'s Server, String),
}

/// What a server has done so far for the role of the replicas.
#[derive(Clone, Copy, Default)]
pub(crate) struct Work {
    pub(crate) statements: u64,
    pub(crate) commits: u64,
    pub(crate) wal_bytes: u64,
    pub(crate) cpu_us: u64,
}

impl Server {
    /// Starts one; `None`, said aloud, where PostgreSQL is not installed.
    pub(crate) fn start() -> Option<Server> {
        let postgres = Postgres::start_with(&[
            "fsync=on",
            "shared_preload_libraries=pg_stat_statements",
            "pg_stat_statements.max=10000",
            "max_wal_size=4GB",
        ])?;
        postgres.query("postgres", "CREATE EXTENSION pg_stat_statements");
        Some(Server {
            postgres,
            databases: Cell::new(0),
        })
    }

    /// Makes an empty database.
    pub(crate) fn home(&self) -> Home<'_> {
        let number = self.databases.get() + 1;
        self.databases.set(number);
        let name = format!("hub{number}");
        self.postgres.database(&name);
        Home::Shared(self, name)
    }

    fn work(&self) -> Work {
        let asked = "SELECT coalesce(sum(calls), 0), coalesce(sum(calls) FILTER (WHERE query = 'COMMIT'), 0),
             pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')
             FROM pg_stat_statements WHERE userid = 'reviewd'::regrole";
        let answer = self.postgres.query("postgres", asked);
        let numbers: Vec<u64> = answer
            .split('|')
            .map(|part| part.parse().unwrap())
            .collect();
        Work {
            statements: numbers[0],
            commits: numbers[1],
            wal_bytes: numbers[2],
            cpu_us: self.postgres.id().and_then(tree_cpu_us).unwrap_or_default(),
        }
    }
}

impl Home<'_> {
    /// Returns how the table calls it.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Home::Embedded(_) => "SQLite",
            Home::Shared(..) => "PostgreSQL",
        }
    }

    /// Returns the flags of a service that has its subscriptions here.
    pub(crate) fn flags(&self) -> [String; 2] {
        match self {
            Home::Embedded(directory) => ["--state".to_owned(), directory.display().to_string()],
            Home::Shared(server, name) => {
                ["--store".to_owned(), server.postgres.url("reviewd", name)]
            }
        }
    }

    pub(crate) fn open(&self) -> Store {
        let place = match self {
            Home::Embedded(directory) => StoreLocation::Directory(directory.clone()),
            Home::Shared(server, name) => {
                let url = server.postgres.url("reviewd", name);
                StoreLocation::Database(Box::new(Database::parse(&url).unwrap()))
            }
        };
        place.open().unwrap()
    }

    /// Puts so many active subscriptions here that owe nothing. A service that delivers from here may have verified some.
    pub(crate) fn fill(&self, topic: &str, callbacks: &[String]) {
        let mut store = self.open();
        let claim = Claim {
            limit: PART,
            per_host: PART,
            busy: HashMap::new(),
        };
        for part in callbacks.chunks(PART) {
            let asked: Vec<Accept> = part.iter().map(|callback| asked(topic, callback)).collect();
            store.accept(&asked, &QUOTAS, now()).unwrap();
            let claimed = store.claim_requests(&claim, now()).unwrap();
            let confirmed = claimed.iter().map(|verification| Report::Verified {
                id: verification.id,
                asked_at: now(),
                confirmed: true,
            });
            let reports: Vec<Report> = confirmed.collect();
            store.record(&reports, &policy(), now()).unwrap();
        }
        wait_until("all subscriptions are active", || {
            let counts = store.counts(now()).unwrap();
            counts.requests == 0 && counts.subscriptions == callbacks.len() as u64
        });
        if let Home::Shared(server, name) = self {
            // What autovacuum would have done by and by.
            server.postgres.query(name, "VACUUM ANALYZE");
            server.postgres.query(name, "CHECKPOINT");
        }
    }

    /// Returns what was done so far; nothing is known of an embedded store, whose work is the service's.
    pub(crate) fn work(&self) -> Option<Work> {
        match self {
            Home::Embedded(_) => None,
            Home::Shared(server, _) => Some(server.work()),
        }
    }

    /// Returns how many of the subscriptions are still owed the content with this digest, unseen by [`Home::work`].
    pub(crate) fn open_ends(&self, digest: &[u8; 32]) -> usize {
        match self {
            Home::Embedded(_) => usize::try_from(self.open().counts(now()).unwrap().owed).unwrap(),
            Home::Shared(server, name) => {
                let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
                let sql = format!(
                    "SELECT count(*) FROM reviewd.subscription WHERE NOT (acknowledged = 1 AND digest = '\\x{hex}')"
                );
                server.postgres.query(name, &sql).parse().unwrap()
            }
        }
    }
}

impl Work {
    /// Returns what came since `earlier`.
    pub(crate) fn since(self, earlier: Work) -> Work {
        Work {
            statements: self.statements - earlier.statements,
            commits: self.commits - earlier.commits,
            wal_bytes: self.wal_bytes - earlier.wal_bytes,
            cpu_us: self.cpu_us - earlier.cpu_us,
        }
    }

    /// Renders its cells of a table: transactions, statements, bytes of log and processor time for each delivery.
    pub(crate) fn cells(work: Option<Work>, deliveries: usize) -> String {
        let Some(work) = work else {
            return "– | – | – | –".to_owned();
        };
        let each = |count: u64| count as f64 / deliveries as f64;
        format!(
            "{:.2} | {:.2} | {:.0} B | {:.0} µs",
            each(work.commits),
            each(work.statements),
            each(work.wal_bytes),
            each(work.cpu_us)
        )
    }
}

fn asked(topic: &str, callback: &str) -> Accept {
    let request = HubRequest {
        mode: Mode::Subscribe,
        topic: topic.to_owned(),
        topic_given: topic.to_owned(),
        callback: Callback::parse(callback).unwrap(),
        lease_asked_s: None,
        secret: None,
    };
    Accept {
        request,
        lease_s: LEASE_S,
    }
}

fn policy() -> Policy {
    Policy {
        failures_max: 3,
        retry_delays: vec![Duration::from_secs(1)],
        retry_after_max: Duration::ZERO,
    }
}

const QUOTAS: Quotas = Quotas {
    requests: u32::MAX,
    requests_per_host: u32::MAX,
    subscriptions: u32::MAX,
    subscriptions_per_host: u32::MAX,
};

/// Subscriptions stored at a time.
const PART: usize = 1_000;

/// Longer than any measurement.
const LEASE_S: u32 = 864_000;

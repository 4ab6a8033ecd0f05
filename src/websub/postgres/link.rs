//! One connection to the database, used by one thread that waits for every answer.
//!
//! It is `tokio-postgres` on a runtime of its own and nobody else's thread. The `postgres` crate is the same without a
//! deadline: a server that accepts and says nothing would hold the hub for ever. A transaction pooler may stand
//! between: nothing here outlives a transaction, neither named statements nor settings nor locks.

use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use tokio_postgres::config::SslMode;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, NoTls, Row, SimpleQueryMessage};
use tracing::debug;

use super::super::moment::Moment;
use super::super::store::StoreError;
use super::database::Database;
use super::fault::Fault;
use super::tls::Security;

/// A value for a statement, with its type: without it the server would have to be asked first.
pub(super) type Value<'a> = (&'a (dyn ToSql + Sync), Type);

/// A connection.
pub(super) struct Link {
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
    client: Client,
    /// What a statement of this transaction may take besides [`ANSWER`].
    extra: Duration,
}

/// What a transaction keeps others from while it lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lock {
    /// Nothing but the rows it changes.
    None,
    /// From migrating.
    Schema,
    /// From changing what topics hold; many may have it.
    TopicsShared,
    /// From looking at what topics hold in order to send it.
    Topics,
    /// From accepting, so that bounds hold.
    Requests,
}

impl Link {
    /// Connects, within a bounded time.
    pub(super) fn connect(database: &Database) -> Result<Link, StoreError> {
        Link::try_connect(database).map_err(|fault| fault.into_error(&database.to_string()))
    }

    fn try_connect(database: &Database) -> Result<Link, Fault> {
        let config = &database.config;
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Fault::Refused(format!("no runtime for it: {error}")))?;
        let each = config.get_connect_timeout().copied().unwrap_or_default();
        let hosts = u32::try_from(config.get_hosts().len()).unwrap_or(u32::MAX);
        let deadline = each.saturating_mul(hosts.max(1)) + GREETING;
        let connected = match config.get_ssl_mode() {
            SslMode::Disable => runtime.block_on(async {
                let (client, connection) = timeout(deadline, config.connect(NoTls)).await??;
                tokio::spawn(async move { note_end(connection.await) });
                Ok(client)
            }),
            _ => Security::of(database).and_then(|security| {
                runtime.block_on(async {
                    let connect = config.connect(security);
                    let (client, connection) = timeout(deadline, connect).await??;
                    tokio::spawn(async move { note_end(connection.await) });
                    Ok(client)
                })
            }),
        };
        match connected {
            Ok(client) => Ok(Link {
                runtime: Some(runtime),
                client,
                extra: Duration::ZERO,
            }),
            Err(fault) => {
                // A lookup that hangs does not hang us.
                runtime.shutdown_background();
                Err(fault)
            }
        }
    }

    /// Runs `act` in one transaction, told the database's time; commits if it returns `Ok`.
    pub(super) fn within<T>(
        &mut self,
        lock: Lock,
        act: impl FnOnce(&mut Link, Moment) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let result = self.begin(lock).and_then(|now| {
            let value = act(self, now)?;
            self.commit()?;
            Ok(value)
        });
        if result.as_ref().is_err_and(|fault| !fault.is_deaf()) {
            self.roll_back();
        }
        result
    }

    /// Begins a transaction and returns the database's time. Each statement in it sees what others committed before it.
    fn begin(&mut self, lock: Lock) -> Result<Moment, Fault> {
        self.extra = Duration::ZERO;
        // After the lock, which may have to be waited for, the time is another.
        let lock = match lock {
            Lock::None => String::new(),
            Lock::TopicsShared => {
                format!("; SELECT pg_advisory_xact_lock_shared({LOCKS}, {TOPICS}), {CLOCK_MS}")
            }
            Lock::Schema | Lock::Topics | Lock::Requests => {
                let number = match lock {
                    Lock::Schema => SCHEMA,
                    Lock::Requests => REQUESTS,
                    _ => TOPICS,
                };
                format!("; SELECT pg_advisory_xact_lock({LOCKS}, {number}), {CLOCK_MS}")
            }
        };
        let messages = self.simple(&format!("{BEGIN}, {CLOCK_MS} {lock}"))?;
        let row = messages.iter().rev().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(row.len().saturating_sub(1)),
            _ => None,
        });
        row.and_then(|text| text.parse().ok())
            .map(Moment::from_unix_ms)
            .ok_or_else(|| Fault::Damage("the database has no clock".to_owned()))
    }

    /// Commits: when it returns, the server has promised.
    fn commit(&mut self) -> Result<(), Fault> {
        self.simple("COMMIT").map(drop)
    }

    /// Ends a transaction whose work is not wanted. When that fails the connection is of no use, which its next use says.
    fn roll_back(&mut self) {
        if let Err(fault) = self.simple("ROLLBACK") {
            debug!(?fault, "a transaction was not rolled back");
        }
    }

    /// Runs statements without values.
    pub(super) fn simple(&mut self, sql: &str) -> Result<Vec<SimpleQueryMessage>, Fault> {
        let Link {
            runtime,
            client,
            extra,
        } = self;
        let runtime = runtime.as_ref().ok_or(Fault::Silence)?;
        // A COMMIT may have to bring what was sent to a standby.
        let answer = ANSWER + *extra;
        runtime.block_on(async { Ok(timeout(answer, client.simple_query(sql)).await??) })
    }

    /// Runs a statement and returns its rows.
    pub(super) fn query(&mut self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>, Fault> {
        let Link {
            runtime,
            client,
            extra,
        } = self;
        let runtime = runtime.as_ref().ok_or(Fault::Silence)?;
        runtime.block_on(async {
            Ok(timeout(ANSWER + *extra, client.query_typed(sql, values)).await??)
        })
    }

    /// Gives the statements that follow in this transaction the time that `bytes` of content take on their way.
    pub(super) fn expect_bytes(&mut self, bytes: usize) -> Result<(), Fault> {
        self.extra = extra(bytes);
        let bound_ms = (STATEMENT + self.extra).as_millis();
        self.simple(&format!("SET LOCAL statement_timeout = {bound_ms}"))
            .map(drop)
    }

    /// Runs one statement that only looks, and returns its first row: a transaction in one exchange with the server.
    /// Outside of one the server would have no bound for a statement.
    pub(super) fn look(&mut self, sql: &str, values: &[Value<'_>]) -> Result<Option<Row>, Fault> {
        let Link {
            runtime, client, ..
        } = self;
        let runtime = runtime.as_ref().ok_or(Fault::Silence)?;
        let (begun, rows, committed) = runtime.block_on(async {
            // Each is sent when it is first polled, and so in this order.
            let all = async {
                tokio::join!(
                    biased;
                    client.simple_query(BEGIN),
                    client.query_typed(sql, values),
                    client.simple_query("COMMIT"),
                )
            };
            timeout(ANSWER, all).await
        })?;
        begun?;
        let rows = rows?;
        committed?;
        Ok(rows.into_iter().next())
    }

    /// Runs a statement and returns its first row, if it has one.
    pub(super) fn first(&mut self, sql: &str, values: &[Value<'_>]) -> Result<Option<Row>, Fault> {
        Ok(self.query(sql, values)?.into_iter().next())
    }

    /// Runs a statement and returns how many rows it changed.
    pub(super) fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64, Fault> {
        let Link {
            runtime,
            client,
            extra,
        } = self;
        let runtime = runtime.as_ref().ok_or(Fault::Silence)?;
        runtime.block_on(async {
            Ok(timeout(ANSWER + *extra, client.execute_typed(sql, values)).await??)
        })
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl From<tokio::time::error::Elapsed> for Fault {
    fn from(_: tokio::time::error::Elapsed) -> Fault {
        Fault::Silence
    }
}

/// How much longer a statement may take that brings or fetches so many bytes.
fn extra(bytes: usize) -> Duration {
    Duration::from_secs(u64::try_from(bytes.div_ceil(BYTES_A_SECOND)).unwrap_or(u64::MAX))
}

fn note_end(result: Result<(), tokio_postgres::Error>) {
    if let Err(error) = result {
        // The statement that waits says so too, and that one is told.
        debug!(%error, "the connection to the database ended");
    }
}

/// The database's time in milliseconds, as an expression.
pub(super) const CLOCK_MS: &str = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/// The server's own bounds lie below ours, so that it is the one to say what was too slow, and does not go on with what
/// nobody waits for. Compiling a statement takes it 45 ms, and running ours less than one. A select of settings and not
/// a `SET LOCAL` for each: with a statement each they were most of what the server was asked.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
 SELECT set_config('statement_timeout', '8s', true), set_config('lock_timeout', '4s', true),
 set_config('idle_in_transaction_session_timeout', '20s', true), set_config('jit', 'off', true)";

/// The server's bound for a statement, as [`BEGIN`] sets it.
const STATEMENT: Duration = Duration::from_secs(8);

/// How long any one answer may take.
const ANSWER: Duration = Duration::from_secs(10);

/// What a content is allowed for its way: 32 Mbit/s, so that 128 MiB have half a minute more. Our choice: a database at
/// the end of a slow line still gets it, and the hub's thread does not wait much longer for one that hangs.
const BYTES_A_SECOND: usize = 4 << 20;

/// How long TLS and authentication may take besides the connections.
const GREETING: Duration = Duration::from_secs(3);

/// "rvwd": the class of our advisory locks, and their numbers.
const LOCKS: i32 = 0x7276_7764;
const SCHEMA: i32 = 1;
const TOPICS: i32 = 2;
const REQUESTS: i32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_has_a_second_more_for_each_4_mib_that_it_carries() {
        for (bytes, seconds) in [
            (0, 0),
            (1, 1),
            (4 << 20, 1),
            ((4 << 20) + 1, 2),
            (128 << 20, 32),
        ] {
            assert_eq!(extra(bytes), Duration::from_secs(seconds), "{bytes}");
        }
        assert!(BEGIN.contains(&format!("'statement_timeout', '{}s'", STATEMENT.as_secs())));
        assert!(STATEMENT < ANSWER, "the server is the one to say it");
    }
}

//! A PostgreSQL database that replicas share.
//!
//! It is `tokio-postgres` on a runtime of its own, whose thread does nothing else. The `postgres` crate is the same without a
//! deadline: a server that accepts and says nothing would hold the hub for ever. Writing transactions come one after the
//! other, by an advisory lock, as in SQLite. The delivery role is an advisory lock of the session: when a replica ends, the
//! server gives it to the next one that asks. A pooler between must therefore keep a session to one connection.

mod database;
mod fault;
mod tls;

use std::path::PathBuf;
use std::time::Duration;

use futures_util::future::try_join_all;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use tokio_postgres::Client;
use tokio_postgres::types::{ToSql, Type};
use tracing::debug;

use super::connection::{Access, Connection, Row, Value};
use super::error::StoreError;
use super::schema::{self, SCHEMA_VERSION};
pub use database::Database;
use fault::translate;
use tls::Security;

/// A connection to the schema `reviewd` of a database.
pub(super) struct PostgresConnection {
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
    client: Client,
    name: String,
    /// Whether this session has the delivery role: its lock could be taken twice.
    has_role: bool,
}

impl PostgresConnection {
    /// Connects within a bounded time, and brings the schema to the version that this program needs.
    ///
    /// # Errors
    /// [`StoreError::Refused`] for what stays wrong until an operator changes it, `Unreachable` for what may pass.
    pub(super) fn open(database: &Database) -> Result<PostgresConnection, StoreError> {
        let mut opened = PostgresConnection::connect(database)?;
        opened.prepare()?;
        Ok(opened)
    }

    fn connect(database: &Database) -> Result<PostgresConnection, StoreError> {
        let (config, name) = (&database.config, database.to_string());
        let refused = |what: String| StoreError::Refused(name.clone(), what);
        // With `sslmode=disable` it is made and not used.
        let security = Security::of(database);
        let security = security.map_err(|error| refused(format!("sslrootcert {error}")))?;
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| refused(format!("no runtime for it: {error}")))?;
        let each = config.get_connect_timeout().copied().unwrap_or_default();
        let hosts = u32::try_from(config.get_hosts().len()).unwrap_or(u32::MAX);
        let deadline = each.saturating_mul(hosts.max(1)) + GREETING;
        let connect = async {
            let (client, connection) = config.connect(security).await?;
            tokio::spawn(async move {
                if let Err(error) = connection.await {
                    // The statement that waits fails with the same error, and its caller logs it.
                    debug!(%error, "the connection to the database ended");
                }
            });
            Ok(client)
        };
        let connected = runtime.block_on(async { timeout(deadline, connect).await });
        match connected {
            Ok(Ok(client)) => Ok(PostgresConnection {
                runtime: Some(runtime),
                client,
                name,
                has_role: false,
            }),
            failed => {
                // A lookup that hangs does not hang us.
                runtime.shutdown_background();
                Err(match failed {
                    Ok(Err(error)) => translate(&error, &name),
                    _ => silence(&name),
                })
            }
        }
    }

    /// Makes the tables, or takes those of an earlier version to this one, and makes sure that they may be written.
    fn prepare(&mut self) -> Result<(), StoreError> {
        self.begin(Access::Write)?;
        let found = self.version()?;
        let refused = |what: String| Err(StoreError::Refused(self.name.clone(), what));
        let newest = SCHEMA_VERSION + VERSIONS_BEFORE;
        if found > newest {
            return refused(format!(
                "schema {found} is newer than this program's {newest}; use the version that made it"
            ));
        }
        if (1..=VERSIONS_BEFORE).contains(&found) {
            return refused(format!(
                "schema {found} is older than any that was released"
            ));
        }
        let from = (found - VERSIONS_BEFORE).max(0);
        if found == 0 {
            self.script(SCHEMA)?;
        }
        for sql in schema::statements(from, schema::ONE_DELIVERER) {
            self.script(&schema::in_postgres(sql))?;
        }
        if found == 0 {
            self.script("ALTER TABLE meta ADD COLUMN version BIGINT")?;
        }
        // Fails here where the rights would be missing later.
        self.execute("UPDATE meta SET version = $1", &[newest.into()])?;
        self.commit()
    }

    /// Returns the version of the schema, 0 where there is none.
    fn version(&mut self) -> Result<i64, StoreError> {
        let there = "SELECT 1::bigint FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
             WHERE n.nspname = 'reviewd' AND c.relname = 'meta'";
        if self.query(there, &[])?.is_empty() {
            return Ok(0);
        }
        let mut rows = self.query("SELECT version FROM reviewd.meta", &[])?;
        rows.first_mut().map_or(Ok(0), |row| row.int("version"))
    }

    /// Runs statements without values.
    fn script(&mut self, sql: &str) -> Result<(), StoreError> {
        self.wait(self.client.batch_execute(sql))
    }

    /// Waits for an answer of the server, within a bounded time.
    fn wait<T>(
        &self,
        answer: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, StoreError> {
        let runtime = self.runtime.as_ref().ok_or_else(|| silence(&self.name))?;
        match runtime.block_on(async { timeout(ANSWER, answer).await }) {
            Ok(answer) => answer.map_err(|error| translate(&error, &self.name)),
            Err(_) => Err(silence(&self.name)),
        }
    }
}

impl Connection for PostgresConnection {
    fn begin(&mut self, access: Access) -> Result<(), StoreError> {
        match access {
            Access::Read => self.script(&format!(
                "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {SETTINGS}"
            )),
            Access::Write => self.script(&format!(
                "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; {SETTINGS};
                 SELECT pg_advisory_xact_lock({LOCKS}, {WRITING})"
            )),
        }
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.script("COMMIT")
    }

    fn roll_back(&mut self) {
        // When that fails the connection is of no use, which its next use says.
        if let Err(error) = self.script("ROLLBACK") {
            debug!(%error, "a transaction was not rolled back");
        }
    }

    fn query(&mut self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>, StoreError> {
        let rows = self.wait(self.client.query_typed(sql, &typed(values)))?;
        let one = |row: &tokio_postgres::Row| {
            let values = (0..row.len()).map(|column| read(row, column));
            values.collect::<Result<_, _>>().map(Row::new)
        };
        rows.iter()
            .map(one)
            .collect::<Result<_, _>>()
            .map_err(|error| StoreError::Corrupt(self.place(), error.to_string()))
    }

    fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        self.wait(self.client.execute_typed(sql, &typed(values)))
    }

    fn execute_each(&mut self, sql: &str, sets: &[Vec<Value<'_>>]) -> Result<(), StoreError> {
        // They are sent one after the other, without a wait for the answers between.
        let sets: Vec<_> = sets.iter().map(|values| typed(values)).collect();
        let all = sets
            .iter()
            .map(|values| self.client.execute_typed(sql, values));
        self.wait(try_join_all(all)).map(drop)
    }

    fn try_take_role(&mut self) -> Result<bool, StoreError> {
        if self.has_role {
            return Ok(true);
        }
        // A host that loses its power says nothing. The server is to notice, or no other replica could take over.
        self.script(
            "SELECT set_config('tcp_keepalives_idle', '5', false), set_config('tcp_keepalives_interval', '2', false),
             set_config('tcp_keepalives_count', '3', false)",
        )?;
        let sql = format!("SELECT pg_try_advisory_lock({LOCKS}, {DELIVERING})::int::bigint");
        let mut rows = self.query(&sql, &[])?;
        self.has_role = rows.first_mut().map_or(Ok(false), |row| row.flag("role"))?;
        Ok(self.has_role)
    }

    fn give_up_role(&mut self) -> Result<(), StoreError> {
        self.script(&format!("SELECT pg_advisory_unlock({LOCKS}, {DELIVERING})"))?;
        self.has_role = false;
        Ok(())
    }

    fn place(&self) -> PathBuf {
        PathBuf::from(&self.name)
    }
}

impl Drop for PostgresConnection {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// The values with their types: without those the server would have to be asked first.
fn typed<'a>(values: &'a [Value<'_>]) -> Vec<(&'a (dyn ToSql + Sync), Type)> {
    let one = |value: &'a Value<'_>| -> (&'a (dyn ToSql + Sync), Type) {
        match value {
            Value::Int(number) => (number, Type::INT8),
            Value::Text(text) => (text, Type::TEXT),
            Value::Bytes(bytes) => (bytes, Type::BYTEA),
        }
    };
    values.iter().map(one).collect()
}

fn read(row: &tokio_postgres::Row, column: usize) -> Result<Value<'static>, tokio_postgres::Error> {
    Ok(match *row.columns()[column].type_() {
        Type::TEXT => Value::Text(row.try_get::<_, Option<String>>(column)?.map(Into::into)),
        Type::BYTEA => Value::Bytes(row.try_get::<_, Option<Vec<u8>>>(column)?.map(Into::into)),
        Type::BOOL => Value::Int(row.try_get::<_, Option<bool>>(column)?.map(Into::into)),
        Type::INT4 => Value::Int(row.try_get::<_, Option<i32>>(column)?.map(Into::into)),
        _ => Value::Int(row.try_get(column)?),
    })
}

/// The error for a server that does not answer by our own deadline.
fn silence(name: &str) -> StoreError {
    StoreError::Unreachable(name.to_owned(), "does not answer".to_owned())
}

/// The server's own bounds lie below ours, so that its error says what was too slow, and it does not go on with a
/// statement whose caller has given up. Compiling a statement takes it 45 ms, and running ours less than one.
const SETTINGS: &str = "SELECT set_config('search_path', 'reviewd', true), set_config('statement_timeout', '8s', true),
 set_config('lock_timeout', '4s', true), set_config('idle_in_transaction_session_timeout', '20s', true),
 set_config('jit', 'off', true)";

/// Makes the schema, unless an operator has made it.
const SCHEMA: &str = "
DO $$ BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = 'reviewd') THEN CREATE SCHEMA reviewd; END IF;
END $$;
";

/// Versions of the schema before those that number as in SQLite; none of them was released.
const VERSIONS_BEFORE: i64 = 2;

/// How long any one answer may take.
const ANSWER: Duration = Duration::from_secs(10);

/// How long TLS and authentication may take besides the connections.
const GREETING: Duration = Duration::from_secs(3);

/// "rvwd": the class of our advisory locks, and their numbers.
const LOCKS: i32 = 0x7276_7764;
const WRITING: i32 = 1;
const DELIVERING: i32 = 2;

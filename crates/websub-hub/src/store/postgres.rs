//! A PostgreSQL database that replicas share.
//!
//! It runs `tokio-postgres` on a single-threaded runtime that makes progress only while the hub's thread waits. The
//! `postgres` crate does the same without a deadline: a silent server would block the hub forever. An advisory lock
//! serializes writing transactions, as in SQLite. The delivery role is an advisory lock of the session, which the
//! server releases when a replica ends. A pooler in between must therefore pool whole sessions.

mod database;

use std::error::Error;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::try_join_all;
use rustls::RootCertStore;
use rustls::pki_types::{InvalidDnsNameError, ServerName};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use tokio_postgres::error::SqlState;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Socket};
use tokio_rustls::{TlsConnector, client};
use tracing::debug;

use super::connection::{Connection, DatabaseRow, DbError, Value};
use super::schema::SCHEMA_VERSION;
use crate::transport::{CaError, add_authorities, config_with, public_authorities};
pub use database::{Database, DatabaseUrlError};

/// The tables; the search path is the schema of the hub.
const TABLES: &str = include_str!("postgres/schema.sql");

/// The settings of a session:
///
/// - `statement_timeout` and `lock_timeout` are shorter than our own time limit, so the server's error names the cause,
///   and the server does not continue a statement whose caller has given up.
/// - `idle_in_transaction_session_timeout` ends a transaction that its process has left open.
/// - `jit`: with it, the server compiles for 45 ms what runs in less than 1 ms.
/// - `tcp_keepalives_*` let the server notice that a host has lost power, which closes no connection; then another
///   replica can take over the role.
/// - `tcp_user_timeout` (in milliseconds) is for a response that is not acknowledged: Linux sends no keepalives then, and
///   would repeat the response for a quarter of an hour.
const SETTINGS: &str = "SET statement_timeout = '8s'; SET lock_timeout = '4s';
 SET idle_in_transaction_session_timeout = '20s'; SET jit = off; SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2;
 SET tcp_keepalives_count = 3; SET tcp_user_timeout = 10000";

/// Classes of SQLSTATE: the first two of its five characters.
const CONNECTION_EXCEPTION: &str = "08";
const INVALID_AUTHORIZATION: &str = "28";
const INSUFFICIENT_RESOURCES: &str = "53";
const OPERATOR_INTERVENTION: &str = "57";

/// Time limit for one response.
const ANSWER: Duration = Duration::from_secs(10);

/// Time limit for TLS and authentication, in addition to the time for connections.
const GREETING: Duration = Duration::from_secs(3);

/// "rvwd": the class of our advisory locks; then the number of each lock.
const LOCKS: i32 = 0x7276_7764;
const WRITING: i32 = 1;
const DELIVERING: i32 = 2;

/// A connection to the schema of the hub in a database.
pub(super) struct PostgresConnection {
    runtime: Runtime,
    client: Client,
}

impl PostgresConnection {
    /// Connects within a bounded time, and creates the schema if it is missing.
    ///
    /// # Errors
    /// [`DbError::Refused`] for an error that an operator must fix, `Unreachable` for one that may be temporary.
    pub(super) fn open(database: &Database) -> Result<PostgresConnection, DbError> {
        let config = &database.config;
        // Created even with `sslmode=disable`, which does not use it.
        let security = Security::of(database)
            .map_err(|error| DbError::Refused(format!("sslrootcert {error}")))?;
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| DbError::Refused(format!("no runtime for it: {error}")))?;
        let host_timeout = config.get_connect_timeout().copied().unwrap_or_default();
        let hosts = u32::try_from(config.get_hosts().len()).unwrap_or(u32::MAX);
        let time_limit = host_timeout.saturating_mul(hosts.max(1)) + GREETING;
        let connect = async {
            let (client, connection) = config.connect(security).await?;
            tokio::spawn(async move {
                if let Err(error) = connection.await {
                    // The waiting statement fails with the same error, and its caller logs it.
                    debug!(%error, "the connection to the database ended");
                }
            });
            Ok::<_, DbError>(client)
        };
        let connected = runtime.block_on(async { timeout(time_limit, connect).await });
        match connected.unwrap_or_else(|_| Err(silence())) {
            Ok(client) => {
                let mut opened = PostgresConnection { runtime, client };
                opened.prepare(&database.schema)?;
                Ok(opened)
            }
            Err(error) => {
                // Does not wait for a lookup that hangs.
                runtime.shutdown_background();
                Err(error)
            }
        }
    }

    /// Creates the tables if there are none, and checks their version and that they are writable.
    fn prepare(&mut self, schema: &str) -> Result<(), DbError> {
        self.script(SETTINGS)?;
        self.script(&format!("SET search_path = {schema}"))?;
        self.begin()?;
        let db: &mut dyn Connection = self;
        let has_tables = format!("SELECT to_regclass('{schema}.meta') IS NOT NULL AS has_tables");
        if !db.query_one(&has_tables, &[])?.get::<bool>("has_tables")? {
            create_tables(db, schema)?;
        }
        let version: i64 = db
            .query_one("SELECT version FROM meta", &[])?
            .get("version")?;
        if version > SCHEMA_VERSION {
            let what = format!(
                "schema {version} is newer than this program's {SCHEMA_VERSION}; use the version that created it"
            );
            return Err(DbError::Refused(what));
        }
        // Fails here, not later, if permissions are missing.
        db.execute("UPDATE meta SET version = $1", &[SCHEMA_VERSION.into()])?;
        db.script("COMMIT")
    }

    /// Waits for a response of the server, at most [`ANSWER`].
    fn wait<T>(
        &self,
        answer: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, DbError> {
        let received = self
            .runtime
            .block_on(async { timeout(ANSWER, answer).await });
        let response = received.map_err(|_| silence())?;
        Ok(response?)
    }
}

impl Connection for PostgresConnection {
    fn begin(&mut self) -> Result<(), DbError> {
        self.script(&format!(
            "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SELECT pg_advisory_xact_lock({LOCKS}, {WRITING})"
        ))
    }

    fn script(&mut self, sql: &str) -> Result<(), DbError> {
        self.wait(self.client.batch_execute(sql))
    }

    fn query(&mut self, sql: &str, values: &[Value]) -> Result<Vec<DatabaseRow>, DbError> {
        let rows = self.wait(self.client.query_typed(sql, &typed(values)))?;
        let described = rows.first().map_or(&[][..], |row| row.columns());
        let columns: Rc<[String]> = described
            .iter()
            .map(|column| column.name().to_owned())
            .collect();
        let mut read_rows = Vec::with_capacity(rows.len());
        for row in &rows {
            let values: Result<_, tokio_postgres::Error> =
                (0..row.len()).map(|column| read(row, column)).collect();
            read_rows.push(DatabaseRow {
                columns: Rc::clone(&columns),
                values: values.map_err(|error| DbError::Corrupt(error.to_string()))?,
            });
        }
        Ok(read_rows)
    }

    fn execute_each(&mut self, sql: &str, sets: &[Vec<Value>]) -> Result<u64, DbError> {
        // Pipelined: no statement waits for the response to the one before it.
        let typed_sets: Vec<_> = sets.iter().map(|values| typed(values)).collect();
        let statements = typed_sets
            .iter()
            .map(|set| self.client.execute_typed(sql, set));
        let changed = self.wait(try_join_all(statements))?;
        Ok(changed.into_iter().sum())
    }

    fn try_take_role(&mut self) -> Result<bool, DbError> {
        let sql = format!("SELECT pg_try_advisory_lock({LOCKS}, {DELIVERING}) AS is_ours");
        let db: &mut dyn Connection = self;
        db.query_one(&sql, &[])?.get("is_ours")
    }

    fn give_up_role(&mut self) -> Result<(), DbError> {
        // Releases all locks, because a session that took the role twice holds it twice.
        self.script("SELECT pg_advisory_unlock_all()")
    }
}

/// Makes TLS handshakes with rustls, as the rest of the program does; name and authority are always checked.
#[derive(Clone)]
struct Security(TlsConnector);

/// A handshake with the server of this name.
struct Handshake(TlsConnector, ServerName<'static>);

/// A TLS connection to the database.
struct PostgresTlsStream(Box<client::TlsStream<Socket>>);

impl Security {
    /// Trusts the authorities in the file of `sslrootcert`, or else the public ones.
    fn of(database: &Database) -> Result<Security, CaError> {
        let mut roots = RootCertStore::empty();
        match &database.root_cert {
            None => roots = public_authorities(),
            Some(path) => add_authorities(&mut roots, path)?,
        }
        // `sslnegotiation=direct` requires this protocol; other servers ignore it.
        let config = config_with(roots, b"postgresql");
        Ok(Security(Arc::new(config).into()))
    }
}

impl MakeTlsConnect<Socket> for Security {
    type Stream = PostgresTlsStream;
    type TlsConnect = Handshake;
    type Error = InvalidDnsNameError;

    fn make_tls_connect(&mut self, domain: &str) -> Result<Handshake, InvalidDnsNameError> {
        let name = ServerName::try_from(domain.to_owned())?;
        Ok(Handshake(self.0.clone(), name))
    }
}

impl TlsConnect<Socket> for Handshake {
    type Stream = PostgresTlsStream;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<PostgresTlsStream>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move {
            let stream = self.0.connect(self.1, socket).await?;
            Ok(PostgresTlsStream(Box::new(stream)))
        })
    }
}

impl TlsStream for PostgresTlsStream {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for PostgresTlsStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_read(cx, buffer)
    }
}

impl AsyncWrite for PostgresTlsStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_shutdown(cx)
    }
}

/// Creates the tables of the hub, and the schema if no operator has.
fn create_tables(db: &mut dyn Connection, schema: &str) -> Result<(), DbError> {
    // Without CREATE SCHEMA IF NOT EXISTS, which needs a permission even if an operator has created it.
    let count = "SELECT count(*) AS schemas FROM pg_catalog.pg_namespace WHERE nspname = $1";
    let counted = db.query_one(count, &[schema.to_owned().into()])?;
    if counted.count("schemas")? == 0 {
        db.script(&format!("CREATE SCHEMA {schema}"))?;
    }
    db.script(TABLES)?;
    db.execute("UPDATE meta SET version = $1", &[SCHEMA_VERSION.into()])?;
    Ok(())
}

/// Returns the values with their types. Without types, each statement would need another round trip to the server.
fn typed(values: &[Value]) -> Vec<(&(dyn ToSql + Sync), Type)> {
    fn one(value: &Value) -> (&(dyn ToSql + Sync), Type) {
        match value {
            Value::Integer(number) => (number, Type::INT8),
            Value::Text(text) => (text, Type::TEXT),
            Value::Blob(bytes) => (bytes, Type::BYTEA),
            Value::Real(number) => (number, Type::FLOAT8),
            // The server infers the type from the statement.
            Value::Null => (&None::<&str>, Type::UNKNOWN),
        }
    }
    values.iter().map(one).collect()
}

fn read(row: &tokio_postgres::Row, column: usize) -> Result<Value, tokio_postgres::Error> {
    Ok(match *row.columns()[column].type_() {
        Type::TEXT => row.try_get::<_, Option<String>>(column)?.into(),
        Type::BYTEA => row.try_get::<_, Option<Vec<u8>>>(column)?.into(),
        Type::BOOL => row.try_get::<_, Option<bool>>(column)?.into(),
        _ => row.try_get::<_, Option<i64>>(column)?.into(),
    })
}

/// Converts an error of the connection or of the database, with a description for the operator.
impl From<tokio_postgres::Error> for DbError {
    fn from(error: tokio_postgres::Error) -> DbError {
        let text = text(&error);
        let Some(code) = error.code() else {
            return if is_lasting(&error, &text) {
                DbError::Refused(text)
            } else {
                DbError::Unreachable(text)
            };
        };
        let class = code.code().get(..2).unwrap_or_default();
        match *code {
            // No such database, missing permissions, or a schema that is not ours or was changed by hand.
            SqlState::INVALID_CATALOG_NAME
            | SqlState::INSUFFICIENT_PRIVILEGE
            | SqlState::UNDEFINED_COLUMN
            | SqlState::UNDEFINED_TABLE
            | SqlState::DUPLICATE_TABLE => DbError::Refused(text),
            // A wrong name or password.
            _ if class == INVALID_AUTHORIZATION => DbError::Refused(text),
            // Before its class, which is that of a server without a free connection.
            SqlState::DISK_FULL => DbError::DiskFull,
            // A conflict with another transaction, or a timeout: try again.
            SqlState::T_R_SERIALIZATION_FAILURE
            | SqlState::T_R_DEADLOCK_DETECTED
            | SqlState::LOCK_NOT_AVAILABLE
            | SqlState::QUERY_CANCELED => DbError::Busy,
            // The server is a standby, which another one may replace.
            SqlState::READ_ONLY_SQL_TRANSACTION | SqlState::FEATURE_NOT_SUPPORTED => {
                DbError::Unreachable(text)
            }
            // The connection broke, or the server has no free connection, or is starting or shutting down.
            _ if class == CONNECTION_EXCEPTION
                || class == INSUFFICIENT_RESOURCES
                || class == OPERATOR_INTERVENTION =>
            {
                DbError::Unreachable(text)
            }
            // Any other one, with its code for the operator.
            _ => DbError::Io(format!("{text} (SQLSTATE {})", code.code())),
        }
    }
}

/// Tells whether an error without an SQLSTATE stays until the operator changes something: a wrong certificate, a server
/// without TLS, an unsupported authentication method.
fn is_lasting(error: &tokio_postgres::Error, text: &str) -> bool {
    // The other kinds can only be recognized by their text.
    causes(error).any(is_tls)
        || text.starts_with("authentication error")
        || text.starts_with("invalid configuration")
        || text.contains("server does not support TLS")
}

/// Tells whether an error of the connection is one of TLS.
fn is_tls(cause: &(dyn Error + 'static)) -> bool {
    let io = cause.downcast_ref::<io::Error>();
    let inner = io.and_then(io::Error::get_ref);
    inner.is_some_and(|inner| inner.is::<rustls::Error>())
}

/// Renders an error and its causes in one line.
pub(super) fn text(error: &tokio_postgres::Error) -> String {
    if let Some(error) = error.as_db_error() {
        return error.message().replace('\n', " ");
    }
    let mut text = error.to_string();
    for cause in causes(error) {
        let cause = cause.to_string();
        if !text.ends_with(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text.replace('\n', " ")
}

fn causes(error: &tokio_postgres::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(error.source(), |cause: &&(dyn Error + 'static)| {
        (*cause).source()
    })
}

/// The error for a server that does not respond within our deadline.
fn silence() -> DbError {
    DbError::Unreachable("does not respond".to_owned())
}

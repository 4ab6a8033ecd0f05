//! The operator's database URL, `postgres://user:password@host:port/name?option=value`.

use std::fmt;
use std::path::PathBuf;

use thiserror::Error;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};
use url::form_urlencoded;

/// Default options. Connecting to one address may take 5 s; a peer that is silent for 10 s gets a keepalive probe, and
/// data must be acknowledged within 10 s.
const DEFAULTS: &str =
    "connect_timeout=5&target_session_attrs=read-write&tcp_user_timeout=10&keepalives_idle=10";

/// The connection settings of a database.
#[derive(Clone, PartialEq, Eq)]
pub struct Database {
    pub(super) config: Config,
    /// The schema of the hub's tables: letters, digits and underscores.
    pub(super) schema: String,
    /// File of the certificate authorities to trust instead of the public ones.
    pub(super) root_cert: Option<PathBuf>,
    /// The URL for messages: without user, password and options.
    name: String,
}

/// Why a database cannot be named so: one line that never quotes the password.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DatabaseUrlError {
    /// A schema that SQL would have to quote.
    #[error("the schema must be of small letters, digits and underscores")]
    Schema,
    /// Another scheme than `postgres` or `postgresql`.
    #[error("must begin with postgres://")]
    Scheme,
    /// More than one `@`, so that a part of the password would be taken for a host or an option.
    #[error("more than one @: write %40 for @ and %3F for ? in the password")]
    Password,
    /// The parser's message.
    #[error("{0}")]
    Syntax(String),
    /// No host.
    #[error("has no host")]
    NoHost,
    /// No user.
    #[error("has no user")]
    NoUser,
    /// An unsupported `sslmode`.
    #[error("sslmode: {0:?} is not one of disable, require and verify-full")]
    SslMode(String),
}

impl Database {
    /// Parses a URL; the hub's tables are in `schema`, which is created if it is missing and names the connection, too.
    /// Options are those that `tokio-postgres` supports, `sslmode=disable|require|verify-full` (default:
    /// `disable` on this machine, else `require`) and `sslrootcert=FILE`. `require` verifies the server like
    /// `verify-full`, because encryption without verification does not protect.
    ///
    /// # Errors
    /// If the schema would need quotes, or a part of the URL is invalid or missing.
    pub fn parse(text: &str, schema: &str) -> Result<Database, DatabaseUrlError> {
        if !is_plain_name(schema) {
            return Err(DatabaseUrlError::Schema);
        }
        if !text.starts_with("postgres://") && !text.starts_with("postgresql://") {
            return Err(DatabaseUrlError::Scheme);
        }
        let (address, query) = text.split_once('?').unwrap_or((text, ""));
        // An unescaped @ or ? ends the password too early, and its rest would be printed as a host or an option.
        if query.contains('@') || address.matches('@').count() > 1 {
            return Err(DatabaseUrlError::Password);
        }
        let mut mode = None;
        let mut root_cert = None;
        // The defaults limit every wait and exclude standbys. Options of the operator follow, because the last value of
        // an option counts.
        let mut options = format!("{DEFAULTS}&application_name={schema}");
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match form_urlencoded::parse(pair.as_bytes()).next() {
                Some((name, value)) if name == "sslmode" => mode = Some(value.into_owned()),
                Some((name, value)) if name == "sslrootcert" => {
                    root_cert = Some(PathBuf::from(value.into_owned()));
                }
                _ => options = format!("{options}&{pair}"),
            }
        }
        let mut config: Config = format!("{address}?{options}")
            .parse()
            .map_err(|error| DatabaseUrlError::Syntax(super::text(&error)))?;
        if config.get_hosts().is_empty() {
            return Err(DatabaseUrlError::NoHost);
        }
        let user = config
            .get_user()
            .ok_or(DatabaseUrlError::NoUser)?
            .to_owned();
        if config.get_dbname().is_none() {
            config.dbname(&user);
        }
        let is_here = config.get_hosts().iter().all(is_here);
        config.ssl_mode(match mode.as_deref() {
            None if is_here => SslMode::Disable,
            None | Some("require" | "verify-full") => SslMode::Require,
            Some("disable") => SslMode::Disable,
            Some(other) => return Err(DatabaseUrlError::SslMode(other.to_owned())),
        });
        // A URL without @ has no password: a colon then begins a port.
        let (_, shown) = address
            .split_once('@')
            .or(address.split_once("://"))
            .unwrap_or_default();
        Ok(Database {
            name: format!("postgres://{shown}"),
            root_cert,
            config,
            schema: schema.to_owned(),
        })
    }
}

/// Tells whether SQL takes a name without quotes: small letters, digits and underscores, a letter first.
fn is_plain_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

/// Tells whether a host is this machine: a socket file, `localhost` or a loopback address.
fn is_here(host: &Host) -> bool {
    let Host::Tcp(name) = host else {
        return true;
    };
    let address = name.parse::<std::net::IpAddr>();
    name == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

impl fmt::Display for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Database({})", self.name)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio_postgres::config::TargetSessionAttrs;

    use super::*;

    #[test]
    fn messages_contain_neither_user_nor_password() {
        for (text, name) in [
            ("://u:secret@db.example/d", "://db.example/d"),
            ("ql://u:secret@a:1,b:2?sslmode=disable", "://a:1,b:2"),
            ("://u:secret@%2Frun%2Fpg:7/d", "://%2Frun%2Fpg:7/d"),
            ("://u:secret%40%3F@h", "://h"),
            ("://h/d?user=u&password=secret", "://h/d"),
        ] {
            let database = Database::parse(&format!("postgres{text}"), "news").expect(text);
            assert_eq!(database.to_string(), format!("postgres{name}"));
            assert!(!format!("{database:?}").contains("secret"));
        }
    }

    #[test]
    fn tls_is_required_by_default_except_on_this_machine() {
        let here = "localhost/d 127.0.0.1/d %2Frun/d db.example/d?sslmode=disable";
        let elsewhere = "db.example/d localhost,db.example/d localhost/d?sslmode=require \
                         localhost/d?connect_timeout=1&sslmode=verify-full";
        for (addresses, mode) in [(here, SslMode::Disable), (elsewhere, SslMode::Require)] {
            for address in addresses.split(' ') {
                let database = Database::parse(&format!("postgres://u@{address}"), "news");
                let found = database.map(|found| found.config.get_ssl_mode());
                assert_eq!(found, Ok(mode), "{address}");
            }
        }
    }

    #[test]
    fn wrong_addresses_are_refused_in_a_line_without_the_password() {
        for (text, what) in [
            ("mysql://u:secret@h/d", "must begin with postgres://"),
            ("postgres://u:secret@/d", "has no host"),
            ("postgres://h/d", "has no user"),
            ("postgres://u:secret@h:port/d", "port"),
            ("postgres://u:secret@h/d?sslmode=prefer", "sslmode"),
            ("postgres://u:secret@h/d?colour=red", "colour"),
            ("postgres://u:p@secret@h/d", "write %40 for @"),
            ("postgres://u:p@a/secret@h/d", "write %40 for @"),
            ("postgres://u:p@a?secret@h/d", "write %40 for @"),
            ("postgres://u:p?secret@h/d", "%3F for ?"),
            ("postgres://u:p@a?x=secret@h/d", "write %40 for @"),
            ("postgres://u:secret/d", "port"),
            ("postgres://u:secret@h?connect_timeout=x", "connect_timeout"),
        ] {
            let error = Database::parse(text, "news").expect_err(text).to_string();
            assert!(error.contains(what), "{error}");
            assert!(!error.contains("secret"), "{error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn a_schema_that_would_need_quotes_is_refused() {
        for schema in ["", "1a", "News", "a b", "a;b", "a\"b", "é"] {
            let parsed = Database::parse("postgres://u@localhost/d", schema);
            assert!(parsed.is_err(), "{schema}");
        }
        assert!(Database::parse("postgres://u@localhost/d", "news_2").is_ok());
    }

    #[test]
    fn every_wait_has_a_limit_and_standbys_are_excluded() {
        let config = |text| Database::parse(text, "news").expect("address").config;
        let waits = |config: &Config| {
            let connect = config.get_connect_timeout().map(Duration::as_secs);
            let user = config.get_tcp_user_timeout().map(Duration::as_secs);
            (connect, user, config.get_keepalives_idle().as_secs())
        };
        let usual = config("postgres://u@localhost");
        assert_eq!(waits(&usual), (Some(5), Some(10), 10));
        let attributes = usual.get_target_session_attrs();
        assert_eq!(attributes, TargetSessionAttrs::ReadWrite);
        let names = (usual.get_dbname(), usual.get_application_name());
        assert_eq!(names, (Some("u"), Some("news")));
        let own = config("postgres://u@localhost/d?target_session_attrs=any&connect_timeout=10");
        assert_eq!(own.get_target_session_attrs(), TargetSessionAttrs::Any);
        assert_eq!(waits(&own), (Some(10), Some(10), 10));
    }
}

//! What an operator keeps at an address: https alone, no redirects, one deadline, answers of bounded size.
//!
//! The address is the operator's own, so it may be private; a proxy is taken from the environment, as other programs
//! do. `file://` is answered from the disk in the same words, with the file's identity and dates as its validator.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{ConnectProxyConnector, Connector, TcpConnector};
use ureq::{Agent, Proxy};

use super::files::Stamp;
use crate::delivery::tls::{CaError, TlsConnector, client_config};

/// Fetches; blocks the calling thread.
pub struct Fetcher {
    agent: Agent,
}

/// What tells whether an answer is still the one that is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Validators {
    etag: Option<String>,
    last_modified: Option<String>,
}

/// An answer.
pub enum Answer {
    /// What is known is still right.
    NotModified,
    /// A body, which ends with an error where the deadline passes.
    Found {
        /// What to ask with the next time.
        validators: Validators,
        /// The content.
        body: Box<dyn Read>,
    },
}

/// Why there is no whole answer.
#[derive(Debug)]
pub enum FetchError {
    /// It was not understood, or nobody answered, or not to the end.
    Exchange(String),
    /// It was another status than 200; where to, if it was a redirection.
    Status(String, Option<String>),
    /// It is longer than this many bytes.
    TooLarge(u64),
}

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FetchError::Exchange(reason) => f.write_str(reason),
            FetchError::Status(status, _) => write!(f, "answers {status}"),
            FetchError::TooLarge(max) => write!(f, "is larger than {max} bytes"),
        }
    }
}

impl std::error::Error for FetchError {}

impl Fetcher {
    /// Returns one that trusts the public authorities and those in the file `ca`, and that waits at most `time_max` for
    /// an answer, from the name to the last byte.
    ///
    /// # Errors
    /// Where the file of authorities cannot be used.
    pub fn new(ca: Option<&Path>, time_max: Duration) -> Result<Fetcher, CaError> {
        let tls = client_config(ca)?;
        let config = Agent::config_builder()
            .https_only(true)
            .http_status_as_error(false)
            .proxy(Proxy::try_from_env())
            .max_redirects(0)
            // Minutes lie between two questions: a connection that was kept would mostly be one that has been closed.
            .max_idle_connections(0)
            .max_idle_connections_per_host(0)
            .timeout_global(Some(time_max))
            .user_agent(concat!("reviewd/", env!("CARGO_PKG_VERSION")))
            .accept_encoding("identity")
            .build();
        let connector =
            ().chain(ConnectProxyConnector::default())
                .chain(TcpConnector::default())
                .chain(TlsConnector(tls));
        Ok(Fetcher {
            agent: Agent::with_parts(config, connector, DefaultResolver::default()),
        })
    }

    /// Asks for what is at `url`, unless it is still what `known` tells.
    ///
    /// # Errors
    /// For anything but a status of 200, or 304 to a question with validators.
    pub fn get(&self, url: &str, known: Option<&Validators>) -> Result<Answer, FetchError> {
        if let Some(path) = file_path(url) {
            return open(&path, known);
        }
        let mut request = self.agent.get(url);
        for (name, value) in known.iter().flat_map(|known| known.fields()) {
            request = request.header(name, value);
        }
        let response = request
            .call()
            .map_err(|error| FetchError::Exchange(error.to_string()))?;
        let status = response.status();
        let field = |name: &str| {
            let value = response.headers().get(name)?;
            Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
        };
        if status == 304 && known.is_some() {
            return Ok(Answer::NotModified);
        }
        if status != 200 {
            let to = field("location").filter(|_| status.is_redirection());
            let to = to.map(|to| to.escape_debug().to_string());
            return Err(FetchError::Status(status.to_string(), to));
        }
        let validators = Validators {
            etag: field("etag"),
            last_modified: field("last-modified"),
        };
        Ok(Answer::Found {
            validators,
            body: Box::new(response.into_body().into_reader()),
        })
    }

    /// Returns what is at `url`, at most `bytes_max` bytes.
    ///
    /// # Errors
    /// For anything that is not a whole answer with status 200.
    pub fn whole(&self, url: &str, bytes_max: u64) -> Result<Vec<u8>, FetchError> {
        match self.get(url, None)? {
            Answer::Found { body, .. } => read(body, bytes_max),
            // Nobody answers so to a question without validators.
            Answer::NotModified => Err(FetchError::Status("304".to_owned(), None)),
        }
    }
}

/// Reads a body of at most `bytes_max` bytes.
///
/// # Errors
/// Where it is longer, or does not come to its end.
pub fn read(body: impl Read, bytes_max: u64) -> Result<Vec<u8>, FetchError> {
    let mut bytes = Vec::new();
    let read = body
        .take(bytes_max.saturating_add(1))
        .read_to_end(&mut bytes);
    read.map_err(|error| FetchError::Exchange(error.to_string()))?;
    if bytes.len() as u64 > bytes_max {
        return Err(FetchError::TooLarge(bytes_max));
    }
    Ok(bytes)
}

impl Validators {
    fn fields(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let etag = self.etag.as_deref().map(|etag| ("If-None-Match", etag));
        let date = self.last_modified.as_deref();
        let date = date.map(|date| ("If-Modified-Since", date));
        etag.into_iter().chain(date)
    }
}

/// Returns the path that a `file://` URL names.
fn file_path(url: &str) -> Option<PathBuf> {
    let url = url::Url::parse(url).ok()?;
    (url.scheme() == "file").then(|| url.to_file_path().ok())?
}

fn open(path: &Path, known: Option<&Validators>) -> Result<Answer, FetchError> {
    let failed = |error: io::Error| FetchError::Exchange(error.to_string());
    let stamp = Stamp::at(path).map(|stamp| format!("{stamp:?}"));
    let validators = Validators {
        etag: stamp,
        last_modified: None,
    };
    if validators.etag.is_some() && known == Some(&validators) {
        return Ok(Answer::NotModified);
    }
    // Asked before it is opened, since opening a pipe waits for a writer that may never come.
    if !std::fs::metadata(path).map_err(failed)?.is_file() {
        return Err(failed(io::Error::other("it is not a regular file")));
    }
    let file = File::open(path).map_err(failed)?;
    Ok(Answer::Found {
        validators,
        body: Box::new(file),
    })
}

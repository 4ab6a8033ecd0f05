//! Asks for one page after another, waits as the platform demands, and stops at the limits.

use std::time::Duration;

use thiserror::Error;

use super::credentials::{Credentials, CredentialsError, read_access_token};
use super::message::{RemoteRequest, RemoteResponse, SourceValidators};
use super::platform::{PageError, PageNumber, read_page};
use super::spec::{RemoteKind, RemoteSource};
use super::{platform, shopify};

/// Times that one request is tried.
const TRIES_MAX: u32 = 3;

/// Longest wait between two tries that a platform may demand; after a longer one the source is tried at the next run.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// Waits before the second and the third try, if the platform demands none.
const WAITS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(4)];

/// Sends requests; the caller's, so that nothing here opens a socket or reads the clock.
pub trait RemoteClient {
    /// Sends a request and reads the whole answer, at most `bytes_max` of it.
    ///
    /// # Errors
    /// If there is no whole answer.
    fn send(
        &mut self,
        request: &RemoteRequest,
        bytes_max: u64,
    ) -> Result<RemoteResponse, RemoteError>;

    /// Waits.
    fn wait(&mut self, time: Duration);

    /// Returns the time since the source was begun.
    fn elapsed(&self) -> Duration;
}

/// What one source may take.
#[derive(Clone, Copy, Debug)]
pub struct CollectLimits {
    /// Bytes of all pages.
    pub bytes_max: u64,
    /// Pages.
    pub pages_max: u32,
    /// Time for all pages, waits included.
    pub time_max: Duration,
}

impl Default for CollectLimits {
    /// 256 MiB, 2,000 pages and 15 minutes: 200,000 reviews in pages of 100.
    fn default() -> CollectLimits {
        CollectLimits {
            bytes_max: 256 << 20,
            pages_max: 2_000,
            time_max: Duration::from_secs(15 * 60),
        }
    }
}

/// A whole source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// The pages with reviews, each an export.
    pub pages: Vec<Vec<u8>>,
    /// The validators of the document, if the source is a single document.
    pub validators: SourceValidators,
    /// Whether the source answered that it has not changed.
    pub is_unchanged: bool,
}

/// Why a source was not read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RemoteError {
    /// No connection, or a broken one.
    #[error("cannot be reached: {0}")]
    Connection(String),
    /// A redirect of a request that has a token.
    #[error(
        "was answered with a redirect (status {0}), which is not followed with a token: use the address it leads to"
    )]
    Redirect(u16),
    /// 401 or 403.
    #[error("the token was refused with status {0}: it has expired or lacks a permission")]
    Token(u16),
    /// The credentials cannot be used.
    #[error("the credentials cannot be used: {0}")]
    Credentials(CredentialsError),
    /// Any other status.
    #[error("was answered with status {0}")]
    Status(u16),
    /// The platform asks for a longer wait than one run takes.
    #[error("asks for a wait of {} seconds", .0.as_secs())]
    Wait(Duration),
    /// An answer of another shape, or a part of one.
    #[error("page {page} cannot be read: {reason}")]
    Page {
        /// From 1.
        page: u32,
        /// What is wrong with it.
        reason: PageError,
    },
    /// The limit of bytes.
    #[error("has more than {0} bytes")]
    TooLarge(u64),
    /// The limit of pages.
    #[error("has more than {0} pages")]
    TooManyPages(u32),
    /// The limit of time.
    #[error("takes longer than {} seconds", .0.as_secs())]
    TooSlow(Duration),
}

impl RemoteError {
    /// Whether the next run should wait; `None` if it may come as usual.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            RemoteError::Wait(time) => Some(*time),
            _ => None,
        }
    }

    fn may_pass(&self) -> bool {
        matches!(
            self,
            RemoteError::Connection(_) | RemoteError::Status(429 | 500 | 502 | 503 | 504)
        )
    }
}

/// Reads all pages of a source. `token` is what its variable or file has; `last` has the validators of the document that
/// was read last.
///
/// # Errors
/// The error of the first page that cannot be read, after up to three tries; then no page is returned.
pub fn collect(
    source: &RemoteSource,
    token: Option<&str>,
    last: &SourceValidators,
    limits: &CollectLimits,
    client: &mut impl RemoteClient,
) -> Result<Collected, RemoteError> {
    let mut collection = Collection {
        limits,
        client,
        bytes_left: limits.bytes_max,
    };
    let token = collection.authorize(source.kind, token)?;
    let mut collected = Collected::default();
    let is_single = source.kind.is_single_document();
    let mut page = PageNumber::first();
    loop {
        if page.number > limits.pages_max {
            return Err(RemoteError::TooManyPages(limits.pages_max));
        }
        let mut request = platform::request(source, token.as_deref(), &page);
        if is_single {
            add_conditions(&mut request, last);
        }
        let response = collection.send(&request)?;
        if response.status == 304 && is_single {
            collected.is_unchanged = true;
            collected.validators = last.clone();
            return Ok(collected);
        }
        let read =
            read_page(source.kind, &response, &page).map_err(|reason| RemoteError::Page {
                page: page.number,
                reason,
            })?;
        if is_single {
            collected.validators = response.validators;
        }
        if read.count > 0 {
            collected.pages.push(match source.kind {
                RemoteKind::Shopify => shopify::flatten(&response.body),
                _ => response.body,
            });
        }
        match read.next {
            Some(next) => page = next,
            None => return Ok(collected),
        }
    }
}

fn add_conditions(request: &mut RemoteRequest, last: &SourceValidators) {
    if let Some(etag) = &last.etag {
        request.fields.push(("If-None-Match", etag.clone()));
    }
    if let Some(date) = &last.last_modified {
        request.fields.push(("If-Modified-Since", date.clone()));
    }
}

/// One source being read.
struct Collection<'c, C> {
    limits: &'c CollectLimits,
    client: &'c mut C,
    bytes_left: u64,
}

impl<C: RemoteClient> Collection<'_, C> {
    /// Returns the token to send: the given one, or one that the given credentials are exchanged for.
    fn authorize(
        &mut self,
        kind: RemoteKind,
        token: Option<&str>,
    ) -> Result<Option<String>, RemoteError> {
        let Some(token) = token else {
            return Ok(None);
        };
        match Credentials::parse(kind, token).map_err(RemoteError::Credentials)? {
            Credentials::Token(token) => Ok(Some(token)),
            Credentials::Exchange(request) => {
                let response = self.send(&request)?;
                let token = read_access_token(&response.body);
                token.map(Some).map_err(RemoteError::Credentials)
            }
        }
    }

    /// Sends a request, up to three times.
    fn send(&mut self, request: &RemoteRequest) -> Result<RemoteResponse, RemoteError> {
        let mut tried = 0;
        loop {
            tried += 1;
            if self.client.elapsed() >= self.limits.time_max {
                return Err(RemoteError::TooSlow(self.limits.time_max));
            }
            let mut demanded = None;
            let error = match self.client.send(request, self.bytes_left) {
                Ok(response) => {
                    self.bytes_left = self.bytes_left.saturating_sub(response.body.len() as u64);
                    demanded = response.retry_after.as_deref().and_then(seconds);
                    match fault_of(response.status) {
                        None => return Ok(response),
                        Some(error) => error,
                    }
                }
                Err(error) => error,
            };
            if let Some(time) = demanded.filter(|time| *time > WAIT_MAX) {
                return Err(RemoteError::Wait(time));
            }
            if tried == TRIES_MAX || !error.may_pass() {
                return Err(last_error(error, demanded));
            }
            let wait = demanded.unwrap_or(WAITS[tried as usize - 1]);
            self.client.wait(wait);
        }
    }
}

/// The error of the last try: the demanded wait, if the status is one that comes with it. 429 (RFC 6585 §4) and 503 (RFC
/// 9110 §15.6.4) say that the same request is answered later; no other status promises that.
fn last_error(error: RemoteError, demanded: Option<Duration>) -> RemoteError {
    if let Some(time) = demanded
        && matches!(error, RemoteError::Status(429 | 503))
    {
        return RemoteError::Wait(time);
    }
    error
}

/// Reads `Retry-After` in seconds (RFC 9110 §10.2.3); a date is not read, and counts as absent.
fn seconds(text: &str) -> Option<Duration> {
    let seconds: u32 = text.trim().parse().ok()?;
    Some(Duration::from_secs(u64::from(seconds)))
}

/// The error that a status means; `None` for success and 304.
fn fault_of(status: u16) -> Option<RemoteError> {
    match status {
        200..=299 | 304 => None,
        300..=399 => Some(RemoteError::Redirect(status)),
        401 | 403 => Some(RemoteError::Token(status)),
        _ => Some(RemoteError::Status(status)),
    }
}

#[cfg(test)]
mod tests;

//! The HTTPS client: a verification, a delivery, a denial, each one request with one deadline.
//!
//! No proxy from the environment (it would resolve names itself, past the guard), no redirects, https only, nothing
//! decompressed.

use std::cell::{Cell, RefCell};
use std::io::{ErrorKind, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ureq::http::Response;
use ureq::unversioned::transport::Connector;
use ureq::{Agent, Body, Timeout};

use super::Callback;
use super::outcome::{Answer, Failure};
use super::resolve::{GuardedResolver, LookupError, ResolverPool};
use super::tcp::HubTcpConnector;
use super::tls::TlsConnector;
use crate::clock;
use crate::wire::date::parse_http_date;

/// A client whose connections and lookups are its own.
#[derive(Clone, Debug)]
pub struct Client {
    agent: Agent,
}

/// What one exchange came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The status, or why there is none; `None` when nothing was sent for a reason of ours.
    pub answer: Option<Answer>,
    /// `Retry-After` of a 429 or 503.
    pub retry_after: Option<Duration>,
    /// Whether a connection to the callback came about: if not, the network may be at fault.
    pub reached: bool,
    /// Whether the body was not taken in time, which may be the fault of our own line.
    pub stalled: bool,
    /// Whether a verification was answered by its challenge.
    pub confirmed: bool,
}

impl Exchange {
    /// Nothing was sent, for a reason of ours.
    pub(super) const WITHHELD: Exchange = Exchange {
        answer: None,
        retry_after: None,
        reached: false,
        stalled: false,
        confirmed: false,
    };

    pub(super) fn failed(failure: Failure, reached: bool) -> Exchange {
        Exchange {
            answer: Some(Answer::Failed(failure)),
            reached,
            ..Exchange::WITHHELD
        }
    }
}

/// A content to deliver, but for the subscriber's own parts.
#[derive(Clone, Copy, Debug)]
pub struct Payload<'a> {
    /// The topic's media type.
    pub media_type: &'a str,
    /// The value of `Link`, topic first.
    pub link: &'a str,
    /// The full content.
    pub body: &'a [u8],
    /// The value of `X-Hub-Signature`, if the subscriber gave a secret.
    pub signature: Option<&'a str>,
}

impl Client {
    /// Builds a client that names `user_agent`, keeps `idle_max` idle connections, and asks `lookups` for addresses.
    #[must_use]
    pub fn new(
        user_agent: &str,
        tls: Arc<rustls::ClientConfig>,
        lookups: ResolverPool,
        idle_max: usize,
    ) -> Client {
        let config = Agent::config_builder()
            .https_only(true)
            .http_status_as_error(false)
            .proxy(None)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(user_agent)
            .accept("*/*")
            .accept_encoding("identity")
            .max_response_header_size(HEADER_BYTES)
            .input_buffer_size(BUFFER_BYTES)
            .output_buffer_size(BUFFER_BYTES)
            .max_idle_connections(idle_max)
            .max_idle_connections_per_host(IDLE_PER_HOST)
            .max_idle_age(IDLE_AGE)
            // The global one is set for each request. It covers name, connection, TLS, request and answer to the last
            // byte that we read, so a byte a second cannot outlast it.
            .timeout_global(Some(Duration::ZERO))
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .build();
        let connector = HubTcpConnector.chain(TlsConnector(tls));
        Client {
            agent: Agent::with_parts(config, connector, GuardedResolver(lookups)),
        }
    }

    /// Asks the callback to confirm: GET `uri`, which carries the challenge. Confirmed is only a 2xx whose body is the
    /// challenge, to the byte. Of the answer at most one byte more than the challenge is read.
    pub(super) fn verify(&self, uri: &str, challenge: &str, timeout: Duration) -> Exchange {
        let mut response = match self.get(uri, timeout) {
            Ok(response) => response,
            Err(error) => return failure(&error),
        };
        let mut body = Vec::with_capacity(challenge.len() + 1);
        let most = u64::try_from(challenge.len() + 1).unwrap_or(u64::MAX);
        // An answer that breaks off or comes late is not the challenge.
        let reader = response.body_mut().as_reader();
        let is_whole = reader.take(most).read_to_end(&mut body).is_ok();
        let is_challenge = is_whole && body == challenge.as_bytes();
        Exchange {
            confirmed: response.status().is_success() && is_challenge,
            ..answered(&response)
        }
    }

    /// Tells the callback something: GET `uri`; only the head of the answer is read.
    pub(super) fn tell(&self, uri: &str, timeout: Duration) -> Exchange {
        match self.get(uri, timeout) {
            Ok(response) => answered(&response),
            Err(error) => failure(&error),
        }
    }

    fn get(&self, uri: &str, timeout: Duration) -> Result<Response<Body>, ureq::Error> {
        CONNECTED.set(false);
        let request = self.agent.get(uri).config().timeout_global(Some(timeout));
        request.build().call()
    }

    /// Delivers a content: POST with Content-Length; only the head of the answer is read.
    ///
    /// `patience` bounds the lookup, each wait for room in the send buffer, and the answer once the body is handed over;
    /// `timeout` bounds all of it. `sent` counts the bytes that the kernel took, while they go out.
    ///
    /// A subscriber may close an idle connection just when the request goes out on it. That is no failure, so
    /// the request is then sent once more on a connection of its own, within the same deadline.
    pub fn deliver(
        &self,
        callback: &Callback,
        payload: &Payload<'_>,
        patience: Duration,
        timeout: Duration,
        sent: &Arc<AtomicU64>,
    ) -> Exchange {
        SENT.set(Arc::clone(sent));
        let began = Instant::now();
        let first = self.post(callback, payload, patience, timeout, IDLE_AGE);
        let left = timeout.saturating_sub(began.elapsed());
        let broke = first.answer == Some(Answer::Failed(Failure::Protocol));
        if broke && !CONNECTED.get() && !left.is_zero() {
            return self.post(callback, payload, patience, left, Duration::ZERO);
        }
        first
    }

    /// Posts on a connection that has been idle for less than `idle_max`, or on a new one.
    fn post(
        &self,
        callback: &Callback,
        payload: &Payload<'_>,
        patience: Duration,
        timeout: Duration,
        idle_max: Duration,
    ) -> Exchange {
        CONNECTED.set(false);
        let sent = || SENT.with_borrow(|sent| sent.load(Ordering::Relaxed));
        let before = sent();
        let mut request = self
            .agent
            .post(callback.uri())
            .header("Content-Type", payload.media_type)
            .header("Link", payload.link);
        if let Some(signature) = payload.signature {
            request = request.header("X-Hub-Signature", signature);
        }
        let request = request
            .config()
            .timeout_global(Some(timeout))
            .timeout_resolve(Some(patience))
            .timeout_per_write(Some(patience))
            .timeout_recv_response(Some(patience))
            .max_idle_age(idle_max);
        match request.build().send(payload.body) {
            Ok(response) => answered(&response),
            Err(error) => {
                let exchange = failure(&error);
                let taken = usize::try_from(sent() - before).unwrap_or(usize::MAX);
                let is_late = exchange.answer == Some(Answer::Failed(Failure::Timeout));
                Exchange {
                    stalled: is_late && exchange.reached && taken < payload.body.len(),
                    ..exchange
                }
            }
        }
    }

    /// Breaks every exchange that is under way, and makes no new one.
    pub(super) fn cut(&self) {
        self.agent.clone().shutdown();
    }
}

thread_local! {
    /// Whether the exchange of this thread has come as far as a connection; ureq calls on the caller's thread.
    static CONNECTED: Cell<bool> = const { Cell::new(false) };

    /// Counts the bytes of this thread's delivery that the kernel took.
    static SENT: RefCell<Arc<AtomicU64>> = RefCell::default();
}

/// Notes that so many bytes were taken.
pub(super) fn note_sent(count: usize) {
    let count = u64::try_from(count).unwrap_or(u64::MAX);
    SENT.with_borrow(|sent| sent.fetch_add(count, Ordering::Relaxed));
}

/// Notes that a connection came about.
pub(super) fn mark_connected() {
    CONNECTED.set(true);
}

fn answered(response: &Response<Body>) -> Exchange {
    let status = response.status().as_u16();
    let wish = response.headers().get("retry-after");
    let wish = wish.filter(|_| matches!(status, 429 | 503));
    Exchange {
        answer: Some(Answer::Status(status)),
        retry_after: wish.and_then(|value| parse_retry_after(value.as_bytes())),
        reached: true,
        ..Exchange::WITHHELD
    }
}

/// Seconds, or a date (RFC 9110 §10.2.3).
fn parse_retry_after(value: &[u8]) -> Option<Duration> {
    let text = std::str::from_utf8(value).ok()?.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    let until = parse_http_date(text.as_bytes())?.unix();
    let wait_s = u64::try_from(until - clock::now().unix()).ok()?;
    Some(Duration::from_secs(wait_s))
}

/// Says what ureq met in our words.
fn failure(error: &ureq::Error) -> Exchange {
    let reached = CONNECTED.get();
    let failure = match error {
        ureq::Error::Io(io) => return of_io(io, reached),
        ureq::Error::Other(other) => match other.downcast_ref::<LookupError>() {
            Some(LookupError::PoolExhausted) => return Exchange::WITHHELD,
            Some(LookupError::Blocked(_)) => return Exchange::failed(Failure::Blocked, true),
            Some(LookupError::Failed | LookupError::Late) => Failure::Resolve,
            None => Failure::Protocol,
        },
        ureq::Error::Timeout(Timeout::Resolve) | ureq::Error::HostNotFound => Failure::Resolve,
        ureq::Error::Timeout(_) => Failure::Timeout,
        ureq::Error::Tls(_) | ureq::Error::Rustls(_) => Failure::Tls,
        ureq::Error::ConnectionFailed => Failure::Connect,
        ureq::Error::BadUri(_) | ureq::Error::Http(_) | ureq::Error::RequireHttpsOnly(_) => {
            Failure::Internal
        }
        _ => Failure::Protocol,
    };
    Exchange::failed(failure, reached)
}

fn of_io(error: &std::io::Error, reached: bool) -> Exchange {
    // No file descriptor left: the fault is ours.
    if matches!(error.raw_os_error(), Some(EMFILE | ENFILE)) {
        return Exchange::WITHHELD;
    }
    let inner = error.get_ref();
    if inner.is_some_and(|inner| inner.is::<rustls::Error>()) {
        return Exchange::failed(Failure::Tls, true);
    }
    match error.kind() {
        // The host is there and says no: the network is well.
        ErrorKind::ConnectionRefused => Exchange::failed(Failure::Connect, true),
        // What breaks an established connection; on one that was kept from before, `reached` is not known.
        ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::BrokenPipe
        | ErrorKind::UnexpectedEof
        | ErrorKind::NotConnected => Exchange::failed(Failure::Protocol, true),
        _ if !reached => Exchange::failed(Failure::Connect, false),
        _ => Exchange::failed(Failure::Protocol, true),
    }
}

/// How long a delivery of `bytes` may take: `base`, and a second for every 32 KiB, at most 15 min. Our choice: a sixth of a
/// line of 50 Mbit/s that 64 deliveries share, so that only those end by it whose subscriber takes hardly anything.
pub(super) fn delivery_timeout(base: Duration, bytes: usize) -> Duration {
    let extra = u64::try_from(bytes / (32 * 1024)).unwrap_or(u64::MAX);
    base.saturating_add(Duration::from_secs(extra))
        .min(DEADLINE_MAX.max(base))
}

/// The longest deadline of a delivery, unless the operator's base is longer.
const DEADLINE_MAX: Duration = Duration::from_secs(900);

/// Name aside, making a connection and its TLS may take this long, if the deadline leaves so much.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Largest head of an answer.
const HEADER_BYTES: usize = 16 * 1024;

/// Buffers of a connection, each way. ureq's default of 128 KiB would be 32 MiB for 128 exchanges.
const BUFFER_BYTES: usize = 16 * 1024;

/// Idle connections kept for one host: the three topics of one subscriber come one after the other.
const IDLE_PER_HOST: usize = 2;

/// How long an idle connection is kept. Short: a request on a connection that the subscriber is just closing fails,
/// and servers close idle ones after as little as 5 s.
const IDLE_AGE: Duration = Duration::from_secs(2);

/// "Too many open files", of this process and of the system.
const EMFILE: i32 = 24;
const ENFILE: i32 = 23;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deadline_grows_with_the_body_up_to_a_quarter_of_an_hour() {
        let base = Duration::from_secs(10);
        for (bytes, seconds) in [
            (0, 10),
            (32_767, 10),
            (32_768, 11),
            (1 << 20, 42),
            (1 << 30, 900),
        ] {
            assert_eq!(
                delivery_timeout(base, bytes),
                Duration::from_secs(seconds),
                "{bytes}"
            );
        }
        assert_eq!(
            delivery_timeout(Duration::from_secs(1_000), 1 << 30),
            Duration::from_secs(1_000)
        );
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        assert_eq!(parse_retry_after(b"120"), Some(Duration::from_secs(120)));
        assert_eq!(
            parse_retry_after(b"99999999999999999999999"),
            Some(Duration::from_secs(u64::MAX))
        );
        for value in [
            &b""[..],
            b"-1",
            b"1.5",
            b"soon",
            b"\xff",
            b"Sun, 06 Nov 1994 08:49:37 GMT",
        ] {
            assert_eq!(parse_retry_after(value), None, "{value:?}");
        }
        let later = parse_retry_after(b"Fri, 31 Dec 9999 23:59:59 GMT").expect("a date to come");
        assert!(later > Duration::from_secs(3600));
    }
}

//! The HTTPS client for verifications, deliveries and denials: one request, deadline and connection for each.
//!
//! No proxy from the environment (it would resolve names itself and bypass the guard), no redirects, https only, no
//! decompression.

use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ureq::http::Response;
use ureq::{Agent, Body, SendBody};

use super::resolve::{GuardedResolver, NoConnection};
use super::store::{DenialNotice, StoredSubscription, WaitingRequest};
use super::subscription::{AttemptFailure, AttemptResult};
use super::transport::{CaError, HttpsConnector, client_config, count_progress_in};
use super::{Callback, HubSettings, Outside};
use crate::Topic;
use crate::clock;
use crate::notice::{BegunNotice, NoticeTarget};
use reviewd_wire::date::parse_http_date;

/// The path of the hub below the public address.
const HUB_PATH: &str = "/api/websub/hub";

/// Largest time limit of a delivery, unless the operator's timeout is longer.
const DEADLINE_MAX: Duration = Duration::from_secs(900);

/// Time limit for the connection and its TLS handshake, without the lookup; the deadline may leave less.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Largest head of a response.
const HEADER_BYTES: usize = 16 * 1024;

/// Size of each of a connection's two buffers: an eighth of ureq's default, because hundreds of attempts run at once.
const BUFFER_BYTES: usize = 16 * 1024;

/// The job of an attempt's thread.
#[derive(Debug)]
pub(super) enum Job {
    Verify(WaitingRequest),
    Deliver(StoredSubscription, Topic),
    Deny(DenialNotice),
    Notify(BegunNotice, NoticeTarget),
}

impl Job {
    /// Returns the topic and the host of the callback; for a notice, whose address is not printed, the id of its target.
    pub(super) fn pair(&self) -> (&str, String) {
        let (topic, callback) = match self {
            Job::Notify(_, target) => return ("notice", target.id.clone()),
            Job::Verify(asked) => (&asked.topic_given, &asked.callback),
            Job::Deliver(subscription, _) => (&subscription.topic, &subscription.callback),
            Job::Deny(notice) => (&notice.topic, &notice.callback),
        };
        (topic, callback.host().to_string())
    }

    /// Returns the id of the target of a notice; `None` for another job.
    pub(super) fn target_id(&self) -> Option<&str> {
        match self {
            Job::Notify(_, target) => Some(&target.id),
            Job::Verify(_) | Job::Deliver(..) | Job::Deny(_) => None,
        }
    }

    /// Returns host and port of the callback.
    pub(super) fn authority(&self) -> String {
        match self {
            Job::Verify(asked) => asked.callback.authority(),
            Job::Deliver(subscription, _) => subscription.callback.authority(),
            Job::Deny(notice) => notice.callback.authority(),
            Job::Notify(_, target) => target.callback.authority(),
        }
    }
}

/// What came of one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Attempt {
    /// The status or the failure; `None` if nothing was sent, for a reason on our side.
    pub(super) result: Option<AttemptResult>,
    /// `Retry-After` of a 429 or 503.
    pub(super) retry_after: Option<Duration>,
    /// Whether the host was reached and received the request in time, whatever its response.
    pub(super) is_reached: bool,
    /// Whether a verification was confirmed: a 2xx with the challenge as its body.
    pub(super) confirmed: bool,
}

impl Attempt {
    /// Nothing was sent, for a reason on our side.
    pub(super) const DEFERRED: Attempt = Attempt {
        result: None,
        retry_after: None,
        is_reached: false,
        confirmed: false,
    };

    fn failed(failure: AttemptFailure, is_reached: bool) -> Attempt {
        Attempt {
            result: Some(AttemptResult::Failed(failure)),
            is_reached,
            ..Attempt::DEFERRED
        }
    }
}

/// The client that all attempts share; cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Client {
    agent: Agent,
    hub_url: String,
    tls: Arc<rustls::ClientConfig>,
    resolver: GuardedResolver,
    timeout: Duration,
}

impl Client {
    /// Creates the client of the hub at the public address `base_url`.
    pub(super) fn new(
        base_url: &str,
        tls: Arc<rustls::ClientConfig>,
        resolver: GuardedResolver,
        settings: &HubSettings,
    ) -> Client {
        let config = Agent::config_builder()
            .https_only(true)
            .http_status_as_error(false)
            .proxy(None)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(format!("{} (+{base_url})", settings.user_agent))
            .accept("*/*")
            .accept_encoding("identity")
            .max_response_header_size(HEADER_BYTES)
            .input_buffer_size(BUFFER_BYTES)
            .output_buffer_size(BUFFER_BYTES)
            .max_idle_connections(0)
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .build();
        let connector = HttpsConnector(Arc::clone(&tls));
        Client {
            agent: Agent::with_parts(config, connector, resolver.clone()),
            hub_url: format!("{base_url}{HUB_PATH}"),
            tls,
            resolver,
            timeout: settings.timeout,
        }
    }

    /// Cancels all attempts in progress; they end soon after.
    pub(super) fn cut(&mut self) {
        let connector = HttpsConnector(Arc::clone(&self.tls));
        let config = self.agent.config().clone();
        let next = Agent::with_parts(config, connector, self.resolver.clone());
        std::mem::replace(&mut self.agent, next).shutdown();
    }

    /// Runs the job, and counts the bytes of its connection in `progress`. A panic ends it with [`AttemptFailure::Internal`].
    pub(super) fn run(&self, job: &Job, progress: &Arc<AtomicU64>) -> Attempt {
        count_progress_in(progress);
        let run = AssertUnwindSafe(|| match job {
            Job::Verify(asked) => self.verify(asked),
            Job::Deliver(subscription, topic) => self.deliver(subscription, topic),
            Job::Deny(notice) => self.deny(notice),
            Job::Notify(notice, target) => self.notify(notice, target),
        });
        catch_unwind(run).unwrap_or_else(|_| {
            tracing::error!("an attempt panicked, which is an error in this program");
            Attempt::failed(AttemptFailure::Internal, true)
        })
    }

    /// Tells a subscriber that its subscription has ended, and why.
    fn deny(&self, notice: &DenialNotice) -> Attempt {
        let reason = notice.removal.denial_text();
        let reason = reason.unwrap_or("the subscription ended");
        let pairs = [
            ("hub.mode", "denied"),
            ("hub.topic", &notice.topic),
            ("hub.reason", reason),
        ];
        match self.get(&notice.callback, &pairs) {
            Ok(response) => answered(&response),
            Err(failure) => failure,
        }
    }

    /// Verifies a request at its callback. Only a 2xx whose body is exactly the challenge confirms it; of the body at
    /// most one byte more than the challenge is read.
    fn verify(&self, asked: &WaitingRequest) -> Attempt {
        let Some(challenge) = challenge() else {
            return Attempt::DEFERRED;
        };
        let pairs = [
            ("hub.mode", asked.mode.as_str()),
            ("hub.topic", &asked.topic_given),
            ("hub.challenge", &challenge),
            ("hub.lease_seconds", &asked.lease_s.to_string()),
        ];
        let mut response = match self.get(&asked.callback, &pairs) {
            Ok(response) => response,
            Err(failure) => return failure,
        };
        let mut body = Vec::with_capacity(challenge.len() + 1);
        let most = u64::try_from(challenge.len() + 1).unwrap_or(u64::MAX);
        // A truncated or late body is not the challenge.
        let reader = response.body_mut().as_reader();
        let is_whole = reader.take(most).read_to_end(&mut body).is_ok();
        let is_challenge = is_whole && body == challenge.as_bytes();
        Attempt {
            confirmed: response.status().is_success() && is_challenge,
            ..answered(&response)
        }
    }

    /// Sends a GET with these pairs in its query. Its time limit covers lookup, connection, TLS, request and response
    /// up to the last byte that is read, so a callback that sends a byte per second cannot exceed it.
    fn get(&self, callback: &Callback, pairs: &[(&str, &str)]) -> Result<Response<Body>, Attempt> {
        let request = self
            .agent
            .get(callback.with_query(pairs))
            .config()
            .timeout_global(Some(self.timeout))
            .build();
        request.call().map_err(|error| failure(&error))
    }

    /// Sends a notice by POST, with the headers of Standard Webhooks; reads only the head of the response. The guard's
    /// rules for names and ports hold as for callbacks, which it checks when they are asked for.
    fn notify(&self, notice: &BegunNotice, target: &NoticeTarget) -> Attempt {
        if self.resolver.check_callback(&target.callback).is_err() {
            return Attempt::failed(AttemptFailure::Blocked, true);
        }
        let unix_s = clock::now().unix();
        let mut request = self
            .agent
            .post(target.callback.uri())
            .header("Content-Type", "application/json")
            .header("webhook-id", &notice.name)
            .header("webhook-timestamp", unix_s.to_string());
        if let Some(secret) = &target.secret {
            let signature = secret.sign(&notice.name, unix_s, &notice.body);
            request = request.header("webhook-signature", signature);
        }
        let limited = request.config().timeout_global(Some(self.timeout)).build();
        match limited.send(notice.body.as_bytes()) {
            Ok(response) => answered(&response),
            Err(error) => failure(&error),
        }
    }

    /// Delivers content by POST with Content-Length; reads only the head of the response. The timeout limits the
    /// lookup, each wait for free space in the send buffer, and the wait for the response after the body;
    /// [`delivery_timeout`] limits the whole delivery.
    fn deliver(&self, subscription: &StoredSubscription, topic: &Topic) -> Attempt {
        let body = &topic.body;
        let patience = self.timeout;
        let url = &subscription.topic;
        let hub_url = &self.hub_url;
        // The topic comes first, because some subscribers read only one entry.
        let link = format!("<{url}>; rel=\"self\", <{hub_url}>; rel=\"hub\"");
        let mut request = self
            .agent
            .post(subscription.callback.uri())
            .header("Content-Type", topic.media_type)
            .header("Content-Length", body.len())
            .header("Link", link);
        if let Some(secret) = &subscription.state.secret {
            request = request.header("X-Hub-Signature", secret.sign(body));
        }
        let limited = request
            .config()
            .timeout_global(Some(delivery_timeout(patience, body.len())))
            .timeout_resolve(Some(patience))
            .timeout_per_write(Some(patience))
            .timeout_recv_response(Some(patience))
            .build();
        let mut rest: &[u8] = body;
        match limited.send(SendBody::from_reader(&mut rest)) {
            Ok(response) => answered(&response),
            Err(error) => {
                let mut attempt = failure(&error);
                let is_late =
                    attempt.result == Some(AttemptResult::Failed(AttemptFailure::Timeout));
                // A host that has not received the whole body in time counts as not reached.
                if is_late && !rest.is_empty() {
                    attempt.is_reached = false;
                }
                attempt
            }
        }
    }
}

/// The result of [`send_test`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoticeTest {
    /// The status, or the name of the failure.
    pub answer: String,
    /// Whether the answer was a 2xx.
    pub is_accepted: bool,
}

/// Sends one notice without a running hub, in the form that a service at the public address `base_url` sends it. Blocks
/// until the target has answered, or its time is over.
///
/// # Errors
/// If the file of certificate authorities cannot be used.
pub fn send_test(
    base_url: &str,
    settings: &HubSettings,
    target: &NoticeTarget,
    body: &str,
) -> Result<NoticeTest, CaError> {
    let tls = client_config(settings.ca_file.as_deref())?;
    let resolver = GuardedResolver::new(Outside::system().lookup, settings.guard.clone(), 1);
    let client = Client::new(base_url, tls, resolver, settings);
    let notice = BegunNotice {
        id: 0,
        target: target.id.clone(),
        name: format!("msg_{}", challenge().unwrap_or_default()),
        body: body.to_owned(),
        attempt: 1,
    };
    let result = client.notify(&notice, target).result;
    Ok(NoticeTest {
        answer: result.map_or("deferred".to_owned(), |result| result.to_string()),
        is_accepted: result.is_some_and(AttemptResult::is_success),
    })
}

/// Returns 43 random characters of `A-Z a-z 0-9 _ -`, all permitted by WebSub §5.3: 256 bits that cannot be guessed.
/// `None` if the system has no randomness.
fn challenge() -> Option<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).ok()?;
    Some(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

fn answered(response: &Response<Body>) -> Attempt {
    let status = response.status().as_u16();
    let mut retry_after = None;
    if matches!(status, 429 | 503)
        && let Some(value) = response.headers().get("retry-after")
    {
        retry_after = parse_retry_after(value.as_bytes());
    }
    Attempt {
        result: Some(AttemptResult::Status(status)),
        retry_after,
        is_reached: true,
        confirmed: false,
    }
}

/// Parses `Retry-After`: seconds, or a date (RFC 9110 §10.2.3).
fn parse_retry_after(value: &[u8]) -> Option<Duration> {
    let text = std::str::from_utf8(value).ok()?.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    let until = parse_http_date(text.as_bytes())?.unix();
    let wait_s = u64::try_from(until - clock::now().unix()).ok()?;
    Some(Duration::from_secs(wait_s))
}

/// Converts an error of ureq to an attempt.
fn failure(error: &ureq::Error) -> Attempt {
    let failure = match error {
        ureq::Error::Other(other) => match other.downcast_ref() {
            Some(NoConnection::Deferred) => return Attempt::DEFERRED,
            Some(NoConnection::Refused) => AttemptFailure::Connect,
            // The name was resolved, so our network works.
            Some(NoConnection::Failed(AttemptFailure::Blocked)) => AttemptFailure::Blocked,
            Some(NoConnection::Failed(failure)) => {
                return Attempt::failed(*failure, false);
            }
            None => AttemptFailure::Protocol,
        },
        ureq::Error::Io(error) => match error.get_ref() {
            Some(inner) if inner.is::<rustls::Error>() => AttemptFailure::Tls,
            _ => AttemptFailure::Protocol,
        },
        ureq::Error::Timeout(_) => AttemptFailure::Timeout,
        ureq::Error::Tls(_) | ureq::Error::Rustls(_) => AttemptFailure::Tls,
        ureq::Error::BadUri(_) | ureq::Error::Http(_) | ureq::Error::RequireHttpsOnly(_) => {
            AttemptFailure::Internal
        }
        _ => AttemptFailure::Protocol,
    };
    Attempt::failed(failure, true)
}

/// Returns the time limit of a delivery: `base`, plus a second for every 32 KiB, at most 15 min. Our choice: a third of
/// the share of each of 64 deliveries on a 50 Mbit/s link, so that only very slow subscribers exceed the limit.
fn delivery_timeout(base: Duration, bytes: usize) -> Duration {
    let extra = u64::try_from(bytes / (32 * 1024)).unwrap_or(u64::MAX);
    base.saturating_add(Duration::from_secs(extra))
        .min(DEADLINE_MAX.max(base))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_43_permitted_characters_and_never_the_same() {
        let one = challenge().expect("randomness");
        let is_permitted = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        assert!(one.len() == 43, "{one}");
        assert!(one.bytes().all(is_permitted), "{one}");
        assert_ne!(challenge(), Some(one));
    }

    #[test]
    fn the_deadline_grows_with_the_body_up_to_a_quarter_of_an_hour() {
        for (base_s, bytes, expected_s) in [
            (10, 32_767, 10),
            (10, 32_768, 11),
            (10, 1 << 30, 900),
            (1_000, 1 << 30, 1_000),
        ] {
            let [base, expected] = [base_s, expected_s].map(Duration::from_secs);
            assert_eq!(delivery_timeout(base, bytes), expected, "{bytes}");
        }
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let past = b"Sun, 06 Nov 1994 08:49:37 GMT";
        for value in [&b""[..], b"-1", b"1.5", b"soon", b"\xff", past] {
            assert_eq!(parse_retry_after(value), None, "{value:?}");
        }
        assert_eq!(parse_retry_after(b"120"), Some(Duration::from_secs(120)));
        for value in [
            &b"99999999999999999999999"[..],
            b"Fri, 31 Dec 9999 23:59:59 GMT",
        ] {
            assert!(parse_retry_after(value) > Some(Duration::from_secs(3600)));
        }
    }
}

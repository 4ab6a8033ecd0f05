//! The hub's reference model, and the checks that tests and fuzz targets share.

#[cfg(test)]
mod adversary;
mod conformance;
mod model;
mod sequence;

pub use conformance::{check_shared_store, check_store};
pub use sequence::{check_hub_sequence, check_shared_hub_sequence};

use std::collections::HashMap;

use reviewd::hub::store::{Accept, Claim, Quotas};
use reviewd::hub::{Callback, HubRequest, Mode, Secret, request};

/// Parses `body` as a hub request and checks what must hold of whatever comes out.
///
/// # Panics
/// When a refusal is not one short line that names a field, or when an accepted request breaks a bound, or when
/// rendering it again and parsing that gives another request.
pub fn check_hub_form(body: &[u8]) {
    match request::parse(Some(FORM.as_bytes()), body) {
        Err(refusal) => {
            let reason = &refusal.reason;
            assert!(
                reason.starts_with("hub.") && reason.contains(": "),
                "{reason}"
            );
            assert!(
                reason.len() < 512 && !reason.contains(['\r', '\n']),
                "{reason}"
            );
            assert_eq!(refusal.retry_after_s, None);
        }
        Ok(parsed) => {
            assert!(parsed.callback.uri().len() <= 2048 && parsed.topic.len() <= 2048);
            assert!(
                parsed
                    .callback
                    .uri()
                    .bytes()
                    .all(|byte| byte.is_ascii_graphic())
            );
            assert!(parsed.lease_asked_s != Some(0));
            let mut again = form_urlencoded(&[
                ("hub.mode", parsed.mode.as_str()),
                ("hub.callback", parsed.callback.uri()),
                ("hub.topic", &parsed.topic_given),
            ]);
            if let Some(lease_s) = parsed.lease_asked_s {
                again.push_str(&format!("&hub.lease_seconds={lease_s}"));
            }
            if let Some(secret) = &parsed.secret {
                assert!((1..200).contains(&secret.reveal().len()));
                again.push('&');
                again.push_str(&form_urlencoded(&[("hub.secret", secret.reveal())]));
            }
            let second = request::parse(Some(FORM.as_bytes()), again.as_bytes());
            assert_eq!(second.as_ref(), Ok(&parsed), "{again}");
        }
    }
}

/// Renders pairs as a form, every byte but letters and digits escaped.
fn form_urlencoded(pairs: &[(&str, &str)]) -> String {
    let escape = |text: &str| -> String {
        let byte = |byte: u8| match byte {
            b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'.' => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        };
        text.bytes().map(byte).collect()
    };
    pairs
        .iter()
        .map(|(name, value)| format!("{}={}", escape(name), escape(value)))
        .collect::<Vec<_>>()
        .join("&")
}

/// A request for a subscription, or to end one.
fn ask(mode: Mode, callback: &str, topic: &str, secret: Option<&str>, lease_s: u32) -> Accept {
    let secret = secret.and_then(|secret| Secret::new(secret.to_owned()));
    let request = HubRequest {
        mode,
        topic_given: topic.to_owned(),
        topic: topic.to_owned(),
        callback: Callback::parse(callback).expect("a URL"),
        lease_asked_s: None,
        secret,
    };
    Accept { request, lease_s }
}

/// A claim that no host bounds.
fn claim(limit: usize) -> Claim {
    Claim {
        limit,
        per_host: usize::MAX,
        busy: HashMap::new(),
    }
}

/// Room for whatever is asked.
const UNBOUNDED: Quotas = Quotas {
    requests: u32::MAX,
    requests_per_host: u32::MAX,
    subscriptions: u32::MAX,
    subscriptions_per_host: u32::MAX,
};

const FORM: &str = "application/x-www-form-urlencoded";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_bytes_are_refused_in_one_line_or_accepted_within_bounds(body in any::<Vec<u8>>()) {
            check_hub_form(&body);
        }

        #[test]
        fn forms_that_are_nearly_right_are_too(
            mode in "(subscribe|unsubscribe|%[0-9a-f]{2}|)",
            callback in "(https|http)%3A%2F%2F[a-z0-9.:@%-]{1,20}(%2F[ -~]{0,10})?",
            topic in "https%3a//[a-z]{1,8}/[ -~]{0,10}",
            lease in "(&hub.lease_seconds=[0-9e+.-]{0,25}){0,2}",
            secret in "(&hub.secret=[ -~]{0,210}){0,2}",
        ) {
            check_hub_form(format!("hub.mode={mode}&hub.callback={callback}&hub.topic={topic}{lease}{secret}").as_bytes());
        }
    }
}

//! The hub's reference model, and the checks that tests and fuzz targets share.

mod model;
mod sequence;

pub use sequence::{check_hub_sequence, check_shared_hub_sequence};

use reviewd::hub::store::Accept;
use reviewd::hub::{Callback, HubRequest, Mode, Secret, request};

use super::form::encode;

/// Parses `body` as a hub request, and checks the invariants of the result.
///
/// # Panics
/// If a refusal is not one short line that names a field, if an accepted request breaks a bound, or if it changes when
/// it is rendered and parsed again.
pub fn check_hub_form(body: &[u8]) {
    const FORM: Option<&[u8]> = Some(b"application/x-www-form-urlencoded");
    let parsed = match request::parse(FORM, body) {
        Ok(parsed) => parsed,
        Err(refusal) => {
            let reason = &refusal.reason;
            assert!(reason.starts_with("hub."), "{reason}");
            assert!(reason.contains(": "), "{reason}");
            assert!(reason.len() < 512, "{reason}");
            assert!(!reason.contains(['\r', '\n']), "{reason:?}");
            return assert_eq!(refusal.retry_after_s, None);
        }
    };
    let uri = parsed.callback.uri();
    assert!(uri.len() <= 2048);
    assert!(parsed.topic.len() <= 2048);
    assert!(uri.bytes().all(|byte| byte.is_ascii_graphic()));
    let mut fields = vec![
        ("mode", parsed.mode.as_str().to_owned()),
        ("callback", uri.to_owned()),
        ("topic", parsed.topic_given.clone()),
    ];
    if let Some(lease_s) = parsed.lease_asked_s {
        fields.push(("lease_seconds", lease_s.to_string()));
    }
    if let Some(secret) = &parsed.secret {
        assert!((1..200).contains(&secret.reveal().len()));
        fields.push(("secret", secret.reveal().to_owned()));
    }
    let fields = fields
        .iter()
        .map(|(name, value)| format!("hub.{name}={}", encode(value)));
    let again = fields.collect::<Vec<_>>().join("&");
    let second = request::parse(FORM, again.as_bytes());
    assert_eq!(second.as_ref(), Ok(&parsed), "{again}");
}

/// Returns a request to subscribe or unsubscribe.
///
/// # Panics
/// If `callback` is not a URL.
pub fn ask(mode: Mode, callback: &str, topic: &str, secret: Option<&str>, lease_s: u32) -> Accept {
    let request = HubRequest {
        mode,
        topic_given: topic.to_owned(),
        topic: topic.to_owned(),
        callback: Callback::parse(callback).expect("a URL"),
        lease_asked_s: None,
        secret: secret.and_then(|secret| Secret::new(secret.to_owned())),
    };
    Accept {
        request,
        lease_s,
        asker: 0,
    }
}

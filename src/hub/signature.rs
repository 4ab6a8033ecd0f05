//! `X-Hub-Signature`: proof to the subscriber that the content is from the hub that it gave its secret to.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::Secret;
use crate::wire::text::hex;

/// Returns the field's value for `body`: `sha256=` and 64 hexadecimal digits (WebSub §7.1).
#[must_use]
pub fn sign(secret: &Secret, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.reveal().as_bytes())
        .expect("HMAC takes keys of any length");
    mac.update(body);
    format!("sha256={}", hex(&mac.finalize().into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h60_h61_the_signature_is_hmac_sha256_over_the_body() {
        // RFC 4231, test cases 2 and 6 (whose key is longer than a block).
        let secret = Secret::new("Jefe".to_owned()).expect("4 bytes");
        assert_eq!(
            sign(&secret, b"what do ya want for nothing?"),
            "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
    }

    #[test]
    fn a_secret_of_199_bytes_signs() {
        let secret = Secret::new("k".repeat(199)).expect("199 bytes");
        assert_eq!(sign(&secret, b"").len(), 71);
    }
}

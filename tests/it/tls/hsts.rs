//! `Strict-Transport-Security`: over our own TLS, where it was asked for.

use super::{Pair, get, server};
use crate::support::Server;

#[test]
fn every_reply_says_for_how_long_https_is_to_be_asked_where_that_is_set() {
    let pair = Pair::new();
    let mut files = pair.files();
    files.hsts_s = 31_536_000;
    let strict = Server::start_with(|config| config.tls = Some(files));
    for target in ["/", "/nowhere", "/reviews.json"] {
        let reply = get(strict.address(), &pair.certificate, target).unwrap();
        let field = "\r\nstrict-transport-security: max-age=31536000\r\n";
        assert!(reply.contains(field), "{reply}");
    }
    let silent = server(&pair);
    let reply = get(silent.address(), &pair.certificate, "/").unwrap();
    assert!(!reply.contains("strict-transport-security"), "{reply}");
}

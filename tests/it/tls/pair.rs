//! Certificate and key: renewal while they are served, expiry, and unusable files.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rcgen::{CertificateParams, KeyPair};

use super::{ALWAYS, Pair, ask, get};
use crate::settings::one_line;
use crate::support::program::run;
use crate::support::wait_until;

#[test]
fn a_renewed_pair_is_used_at_once_and_open_connections_go_on() {
    let mut pair = Pair::new();
    let server = pair.server();
    let first = pair.certificate.clone();
    let kept = pair.shake(&server, "http/1.1");
    pair.renew(ALWAYS);
    wait_until("the new certificate is served", || {
        get(server.address(), &pair.certificate, "/healthz").is_ok()
    });
    assert!(get(server.address(), &first, "/healthz").is_err());
    let reply = ask(kept, "/healthz").unwrap();
    assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
}

#[test]
fn an_invalid_new_pair_is_reported_and_ignored_until_a_valid_one_replaces_it() {
    let mut pair = Pair::new();
    let server = pair.server();
    let first = pair.certificate.clone();
    let other_key = KeyPair::generate().unwrap().serialize_pem();
    std::fs::write(pair.file("key.pem"), other_key).unwrap();
    let ready = || get(server.address(), &first, "/readyz").unwrap();
    wait_until("the reason is told", || {
        ready().contains("\"tls_reload_failed\"")
    });
    let reply = ready();
    assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    let why = "is not the key of the first certificate";
    // Any client may read this, so the path is not shown.
    assert!(reply.contains(why), "{reply}");
    assert!(!reply.contains("/tmp"), "{reply}");
    pair.renew(ALWAYS);
    wait_until("the new certificate is served", || {
        get(server.address(), &pair.certificate, "/readyz")
            .is_ok_and(|reply| !reply.contains("tls_reload_failed"))
    });
}

#[test]
fn sighup_reads_the_pair_without_polling() {
    let mut pair = Pair::new();
    let program = pair.serve(&["--poll", "0"]);
    pair.renew(ALWAYS);
    program.signal("HUP");
    program.wait_for_log("a changed certificate is served");
    assert!(get(program.address(), &pair.certificate, "/healthz").is_ok());
    std::fs::write(pair.file("cert.pem"), "nonsense").unwrap();
    program.signal("HUP");
    let line = program.wait_for_log("the previous certificate is still served");
    assert!(line.contains("contains no certificate"), "{line}");
}

#[test]
fn a_certificate_that_expires_while_it_is_served_is_reported() {
    let mut pair = Pair::new();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.not_after = epoch + Duration::from_secs(now.as_secs() + 3);
    let certificate = params.self_signed(&key).unwrap();
    std::fs::write(pair.file("key.pem"), key.serialize_pem()).unwrap();
    std::fs::write(pair.file("cert.pem"), certificate.pem()).unwrap();
    let server = pair.server();
    let reasons = || server.running().app().readiness.reasons();
    assert!(reasons().is_empty());
    wait_until("the end is told", || {
        reasons()
            .iter()
            .any(|reason| reason.code == "tls_expired" && !reason.blocking)
    });
    pair.renew(ALWAYS);
    wait_until("a renewed one ends that", || reasons().is_empty());
}

/// Starts with an unusable pair, and returns the line that says why.
fn refused(pair: &Pair) -> String {
    let flags = pair.flags();
    let start = ["serve", "--listen", "127.0.0.1:0", "--log-level", "error"];
    let flags = flags.each_ref().map(String::as_str);
    one_line(run(&[&start[..], &flags].concat()), 78)
}

#[test]
fn an_unusable_pair_exits_78_with_a_line_that_says_what_to_change() {
    let other_key = std::fs::read_to_string(Pair::new().file("key.pem")).unwrap();
    let empty = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    for (flag, contents, what) in [
        ("cert", None, "there is no such file"),
        ("key", None, "there is no such file"),
        ("cert", Some(""), "contains no certificate"),
        ("cert", Some(empty), "is not X.509"),
        ("key", Some(""), "contains no unencrypted private key"),
        ("key", Some(&other_key), "is not the key of the first"),
    ] {
        let pair = Pair::new();
        let path = pair.file(&format!("{flag}.pem"));
        let changed = match contents {
            Some(contents) => std::fs::write(path, contents),
            None => std::fs::remove_file(path),
        };
        changed.unwrap();
        assert_refused(&pair, flag, what);
    }
    for (years, what) in [
        ((2001, 2002), "expired at 2002-01-01T00:00:00Z: replace"),
        ((4000, 4096), "not valid before 4000-01-01T00:00:00Z: check"),
    ] {
        let mut pair = Pair::new();
        pair.renew(years);
        assert_refused(&pair, "cert", what);
    }
}

/// Asserts that a start with this pair fails with a line about `flag` that says `what`.
fn assert_refused(pair: &Pair, flag: &str, what: &str) {
    let line = refused(pair);
    let start = format!("reviewd: --tls-{flag} ");
    assert!(line.starts_with(&start), "{what}: {line}");
    assert!(line.contains(what), "{what}: {line}");
}

#[test]
fn a_certificate_file_of_a_mebibyte_is_read_and_a_longer_one_is_refused() {
    let pair = Pair::new();
    let path = pair.file("cert.pem");
    let certificate = std::fs::read_to_string(&path).unwrap();
    // Text outside the certificates is ignored in PEM.
    let padded = |bytes: usize| format!("{certificate}{}", "\n".repeat(bytes - certificate.len()));
    std::fs::write(&path, padded(1 << 20)).unwrap();
    drop(pair.serve(&[]));
    std::fs::write(&path, padded((1 << 20) + 1)).unwrap();
    assert_refused(&pair, "cert", "is larger than 1048576 bytes");
}

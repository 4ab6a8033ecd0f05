//! Certificate and key: renewed while they are served, expired, and those that cannot be used.

use std::io::{Read, Write};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rcgen::{CertificateParams, KeyPair};

use super::{ALWAYS, Pair, get, server, shake};
use crate::support::program::run;
use crate::support::wait_until;

#[test]
fn a_renewed_pair_is_used_at_once_and_open_connections_go_on() {
    let mut pair = Pair::new();
    let server = server(&pair);
    let first = pair.certificate.clone();
    let mut kept = shake(server.address(), &first, &["http/1.1"]).unwrap();
    pair.renew(ALWAYS);
    wait_until("the new certificate is served", || {
        get(server.address(), &pair.certificate, "/healthz").is_ok()
    });
    assert!(get(server.address(), &first, "/healthz").is_err());
    kept.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut reply = String::new();
    kept.read_to_string(&mut reply).unwrap();
    assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
}

#[test]
fn a_bad_new_pair_changes_nothing_and_is_told_until_a_good_one_comes() {
    let mut pair = Pair::new();
    let server = server(&pair);
    let first = pair.certificate.clone();
    std::fs::write(
        pair.file("key.pem"),
        KeyPair::generate().unwrap().serialize_pem(),
    )
    .unwrap();
    let ready = || get(server.address(), &first, "/readyz").unwrap();
    wait_until("the reason is told", || {
        ready().contains("\"tls_reload_failed\"")
    });
    let reply = ready();
    assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    assert!(
        reply.contains("is not the key of the first certificate"),
        "{reply}"
    );
    assert!(!reply.contains("/tmp"), "anybody may ask: {reply}");
    pair.renew(ALWAYS);
    wait_until("the new certificate is served", || {
        get(server.address(), &pair.certificate, "/readyz")
            .is_ok_and(|reply| !reply.contains("tls_reload_failed"))
    });
}

#[test]
fn sighup_reads_the_pair_where_nothing_else_looks() {
    let mut pair = Pair::new();
    let program = pair.serve(&["--poll", "0"]);
    pair.renew(ALWAYS);
    program.signal("HUP");
    program.wait_for_log("a changed certificate is served");
    assert!(get(program.address(), &pair.certificate, "/healthz").is_ok());
    std::fs::write(pair.file("cert.pem"), "nonsense").unwrap();
    program.signal("HUP");
    let line = program.wait_for_log("the previous certificate is still served");
    assert!(line.contains("holds no certificate"), "{line}");
}

#[test]
fn a_certificate_that_expires_while_it_is_served_is_told() {
    let mut pair = Pair::new();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.not_after = epoch + Duration::from_secs(now.as_secs() + 6);
    let certificate = params.self_signed(&key).unwrap();
    std::fs::write(pair.file("key.pem"), key.serialize_pem()).unwrap();
    std::fs::write(pair.file("cert.pem"), certificate.pem()).unwrap();
    let server = server(&pair);
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

#[test]
fn a_pair_that_cannot_be_used_is_78_with_a_line_that_says_what_to_change() {
    let good = Pair::new();
    let refused = |pair: &Pair| {
        let (certificate, key) = (pair.file("cert.pem"), pair.file("key.pem"));
        let output = run(&[
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--tls-cert",
            certificate.to_str().unwrap(),
            "--tls-key",
            key.to_str().unwrap(),
        ]);
        let said = String::from_utf8(output.stderr).unwrap();
        let line = said
            .lines()
            .find(|line| line.starts_with("reviewd: "))
            .unwrap_or_default()
            .to_owned();
        (output.status.code(), line)
    };
    let spoilt = |name: &str, contents: Option<&str>| {
        let pair = Pair::new();
        match contents {
            Some(contents) => std::fs::write(pair.file(name), contents).unwrap(),
            None => std::fs::remove_file(pair.file(name)).unwrap(),
        }
        pair
    };
    let of = |years| {
        let mut pair = Pair::new();
        pair.renew(years);
        pair
    };
    let other_key = std::fs::read_to_string(good.file("key.pem")).unwrap();
    let empty = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    for (pair, flag, what) in [
        (
            spoilt("cert.pem", None),
            "--tls-cert",
            "there is no such file",
        ),
        (
            spoilt("key.pem", None),
            "--tls-key",
            "there is no such file",
        ),
        (
            spoilt("cert.pem", Some("")),
            "--tls-cert",
            "holds no certificate",
        ),
        (
            spoilt("cert.pem", Some(empty)),
            "--tls-cert",
            "is not X.509",
        ),
        (
            spoilt("key.pem", Some("")),
            "--tls-key",
            "holds no private key",
        ),
        (
            spoilt("key.pem", Some(&other_key)),
            "--tls-key",
            "is not the key of the first certificate in --tls-cert",
        ),
        (
            of((2001, 2002)),
            "--tls-cert",
            "expired at 2002-01-01T00:00:00Z: put a renewed one there",
        ),
        (
            of((4000, 4096)),
            "--tls-cert",
            "begins at 4000-01-01T00:00:00Z: check the clock, or wait",
        ),
    ] {
        let (status, line) = refused(&pair);
        assert_eq!(status, Some(78), "{line}");
        assert!(
            line.starts_with(&format!("reviewd: {flag} ")) && line.contains(what),
            "{what}: {line}"
        );
    }
    let output = run(&["serve", "--tls-cert", "a.pem"]);
    assert_eq!(output.status.code(), Some(64));
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("--tls-key")
    );
}

#[test]
fn a_certificate_file_of_a_mebibyte_is_read_and_a_longer_one_is_refused() {
    let pair = Pair::new();
    let path = pair.file("cert.pem");
    let certificate = std::fs::read_to_string(&path).unwrap();
    // What is between two certificates is a remark.
    let padded = |bytes: usize| format!("{certificate}{}", "\n".repeat(bytes - certificate.len()));
    std::fs::write(&path, padded(1 << 20)).unwrap();
    let program = pair.serve(&[]);
    drop(program);
    std::fs::write(&path, padded((1 << 20) + 1)).unwrap();
    let (certificate, key) = (path, pair.file("key.pem"));
    let output = run(&[
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--tls-cert",
        certificate.to_str().unwrap(),
        "--tls-key",
        key.to_str().unwrap(),
    ]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(78), "{said}");
    let told = "reviewd: --tls-cert ";
    assert!(
        said.lines()
            .any(|line| line.starts_with(told) && line.ends_with("is larger than 1048576 bytes")),
        "{said}"
    );
}

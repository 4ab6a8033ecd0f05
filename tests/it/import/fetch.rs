//! Sources at an address: another reviewd over HTTPS, with the certificate of a private authority.

use std::path::Path;

use serde_json::json;

use super::{file, fixture, import, raw, reviews, says};
use crate::hub::authority;
use crate::hub::subscriber::{Reply, Subscriber};
use crate::support::{Program, get};

/// A file with the private authority.
fn ca(folder: &Path) -> String {
    let path = folder.join("ca.pem");
    authority::write_ca(&path);
    path.to_str().unwrap().to_owned()
}

#[test]
fn another_reviewd_is_imported_over_https() {
    let folder = tempfile::tempdir().unwrap();
    let program = Program::serve(&[]);
    let address = program.address();
    let front = Subscriber::start(move |request| {
        Reply::Answer(200, get(address, &request.target, &[]).body)
    });
    let url = front.callback("/reviews.json");
    let into = folder.path().join("into");
    let ca = ca(folder.path());
    let (status, report) = import(&into, &[&url, "--ca", &ca]);
    assert_eq!(status, Some(0), "{report}");
    assert_eq!(report["sources"][0]["kind"], "reviewd");
    assert_eq!(
        (&report["review_count"], &report["published_count"]),
        (&json!(207), &json!(207))
    );
    let there: serde_json::Value =
        serde_json::from_slice(&get(address, "/reviews.json", &[]).body).unwrap();
    let ids = |reviews: &[serde_json::Value]| -> Vec<String> {
        reviews
            .iter()
            .map(|review| review["id"].to_string())
            .collect()
    };
    assert_eq!(
        ids(&reviews(&into)),
        ids(there["reviews"].as_array().unwrap())
    );
    let (_, report) = import(&into, &[&url, "--ca", &ca]);
    assert_eq!(report["written"], false, "{report}");
    assert_eq!(
        front.received()[0].field("user-agent"),
        Some(concat!("reviewd/", env!("CARGO_PKG_VERSION")))
    );
}

#[test]
fn an_authority_that_nobody_named_is_not_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let front = Subscriber::start(|_| Reply::Answer(200, b"[]".to_vec()));
    let output = raw(folder.path(), &[&front.callback("/")]);
    assert_eq!(output.status.code(), Some(74), "{output:?}");
    assert_eq!(front.received().len(), 0);
    let broken = file(folder.path(), "none.pem", "no certificate");
    says(
        folder.path(),
        &[&front.callback("/"), "--ca", &broken],
        78,
        "none.pem: holds no certificate",
    );
}

#[test]
fn only_a_whole_answer_with_status_200_is_a_source() {
    let folder = tempfile::tempdir().unwrap();
    let ca = ca(folder.path());
    let moved = b"HTTP/1.1 301 Moved\r\nLocation: https://b.example/reviews.json\r\nContent-Length: 0\r\n\r\n";
    let half = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n[";
    for (reply, reason) in [
        (Reply::Answer(404, b"[]".to_vec()), "answers 404"),
        (
            Reply::Raw(moved.to_vec()),
            "answers 301 Moved Permanently: import from https://b.example/reviews.json if that is meant",
        ),
        (Reply::Raw(half.to_vec()), ""),
        (Reply::HangUp, ""),
    ] {
        let front = Subscriber::start(move |_| reply.clone());
        says(
            folder.path(),
            &[&front.callback("/"), "--ca", &ca],
            74,
            reason,
        );
        assert!(!folder.path().join("reviews.json").exists());
    }
}

#[test]
fn an_answer_may_have_the_size_limit_and_no_byte_more() {
    let folder = tempfile::tempdir().unwrap();
    let ca = ca(folder.path());
    // The limit is that of the result too, so the page is made the larger of both.
    let page = std::fs::read_to_string(fixture("page.html")).unwrap();
    let body = page + &" ".repeat(8 << 10);
    let bytes = body.len();
    let front = Subscriber::start(move |_| Reply::Answer(200, body.clone().into_bytes()));
    for (limit, status) in [(bytes - 1, 74), (bytes, 0)] {
        let limit = limit.to_string();
        let url = front.callback("/page");
        let arguments = [&url, "--ca", &ca, "--data-file-bytes", &limit, "--dry-run"];
        let output = raw(folder.path(), &arguments);
        assert_eq!(output.status.code(), Some(status), "{output:?}");
    }
}

#[test]
fn plain_http_is_refused_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    says(
        folder.path(),
        &["http://127.0.0.1:8080/reviews.json"],
        64,
        "plain http is refused: use https, or save the answer to a file",
    );
}

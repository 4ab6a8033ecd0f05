//! A dataset at an address: what is taken, what is not, and what the operator is told.

use std::fs;
use std::net::SocketAddr;

use serde_json::Value;

use super::store::Store;
use crate::support::dataset::{DataDir, reviews_json};
use crate::support::program::run;
use crate::support::{Program, get, wait_until};

const FIRST: &str = "2026-01-01T00:00:00Z";
const SECOND: &str = "2026-01-02T00:00:00Z";
const THIRD: &str = "2026-01-03T00:00:00Z";

fn serve(store: &Store, path: &str, more: &[&str]) -> Program {
    let (url, ca) = (store.url(path), store.ca());
    let arguments = [
        "--data",
        &url,
        "--data-ca",
        &ca,
        "--data-poll",
        "1s",
        "--no-hub",
        "--admin-listen",
        "127.0.0.1:0",
    ];
    Program::serve(&[&arguments[..], more].concat())
}

/// Runs `serve` on an address that cannot be served, and returns its status and what it said.
fn refused(store: &Store, path: &str) -> (Option<i32>, String) {
    let (url, ca) = (store.url(path), store.ca());
    let state = store.path("refused");
    let state = state.to_str().unwrap();
    let output = run(&[
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--data",
        &url,
        "--data-ca",
        &ca,
        "--state",
        state,
    ]);
    (
        output.status.code(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

fn count(program: &Program) -> u64 {
    let ready = get(program.address(), "/readyz", &[]).json();
    ready["review_count"].as_u64().expect("a count")
}

/// Waits for the reason that the source is not followed, and returns what the administrator is told of it.
fn wait_for_reason(program: &Program, part: &str) -> String {
    let event: Value = serde_json::from_str(program.seen("to the administrator")).unwrap();
    let admin = event["address"].as_str().unwrap().parse().unwrap();
    let detail = |address: SocketAddr| {
        let ready = get(address, "/readyz", &[]).json();
        let mut reasons = ready["reasons"].as_array().into_iter().flatten();
        let reason = reasons.find(|reason| reason["code"] == "source_failed")?;
        Some(reason["details"][0].as_str().unwrap_or_default().to_owned())
    };
    let mut found = String::new();
    wait_until(part, || {
        found = detail(admin).unwrap_or_default();
        found.contains(part)
    });
    let public = program.address();
    assert_eq!(get(public, "/readyz", &[]).status, 200, "it still serves");
    assert_eq!(detail(public).as_deref(), Some(""), "anybody may ask there");
    found
}

#[test]
fn a_kept_dataset_that_is_broken_is_fetched_again_at_the_next_start() {
    let store = Store::start();
    store.publish(5, FIRST);
    let state = store.path("state");
    let arguments = ["--state", state.to_str().unwrap()];
    drop(serve(&store, "/reviews.tar.zst", &arguments));
    let kept = state.join("dataset/current/reviews.json");
    fs::write(&kept, "{}").unwrap();
    let program = serve(&store, "/reviews.tar.zst", &arguments);
    assert_eq!(count(&program), 5);
    let line = program.seen("the dataset that was fetched last is refused");
    assert!(line.contains("reviews.json: "), "{line}");
    drop(program);
    // Without the source it cannot be had, and the service manager tries again.
    fs::write(&kept, "{}").unwrap();
    store.spoil("/reviews.tar.zst.sha256");
    let (url, ca) = (store.url("/reviews.tar.zst"), store.ca());
    let address = ["--data", &url, "--data-ca", &ca];
    let start = ["serve", "--listen", "127.0.0.1:0", "--no-hub"];
    let output = run(&[&start[..], &address, &arguments].concat());
    assert_eq!(output.status.code(), Some(69), "{output:?}");
}

#[test]
fn what_cannot_be_taken_changes_nothing_and_is_told_until_something_better_comes() {
    let store = Store::start();
    store.publish(5, FIRST);
    let program = serve(&store, "/reviews.tar.zst", &[]);
    assert_eq!(count(&program), 5);
    store.spoil("/reviews.tar.zst.sha256");
    wait_for_reason(&program, "answers 500 Internal Server Error");
    store.put("/reviews.tar.zst.sha256", b"<html>".to_vec());
    wait_for_reason(
        &program,
        "must begin with a digest of 64 hexadecimal digits",
    );
    store.put("/reviews.tar.zst.sha256", "0".repeat(64).into_bytes());
    wait_for_reason(&program, "it is being replaced, or it is damaged");
    // An older dataset under a new digest.
    store.publish(6, "2025-01-01T00:00:00Z");
    let reason = wait_for_reason(&program, "is not later than 2026-01-01T00:00:00Z");
    assert!(
        reason.contains("set updated_at in reviews.json"),
        "{reason}"
    );
    assert_eq!(count(&program), 5);
    store.publish(7, SECOND);
    wait_until("the newer one is served", || count(&program) == 7);
    let ready = get(program.address(), "/readyz", &[]).json();
    assert_eq!(ready["reasons"], Value::Array(Vec::new()));
    // Nothing new is asked for with the tag of what is known, and answered without a body.
    let (asked, conditional) = store.asked("/reviews.tar.zst.sha256");
    wait_until("further looks are conditional", || {
        store.asked("/reviews.tar.zst.sha256").1 > conditional + 1
    });
    assert!(asked > 4);
    let bundles = store.asked("/reviews.tar.zst").0;
    wait_until("another look", || {
        store.asked("/reviews.tar.zst.sha256").1 > conditional + 3
    });
    assert_eq!(store.asked("/reviews.tar.zst").0, bundles);
}

#[test]
fn a_bundle_whose_reviews_are_refused_is_fetched_once() {
    let store = Store::start();
    store.publish(5, FIRST);
    let program = serve(&store, "/reviews.tar.zst", &[]);
    // Nobody who uses `reviewd bundle` gets so far; `tar` takes anything.
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("reviews.json"), "{}").unwrap();
    let mut archive = tar::Builder::new(Vec::new());
    archive.append_dir_all(".", folder.path()).unwrap();
    let bundle = zstd::encode_all(archive.into_inner().unwrap().as_slice(), 3).unwrap();
    store.put("/reviews.tar.zst", bundle.clone());
    let line = reviewd::server::bundle::pack::digest_line(&bundle, "reviews.tar.zst");
    store.put("/reviews.tar.zst.sha256", line.into_bytes());
    wait_for_reason(&program, "reviews.json");
    let (asked, looked) = (
        store.asked("/reviews.tar.zst").0,
        store.asked("/reviews.tar.zst.sha256").0,
    );
    wait_until("two more looks", || {
        store.asked("/reviews.tar.zst.sha256").0 > looked + 1
    });
    assert_eq!(store.asked("/reviews.tar.zst").0, asked);
    assert_eq!(count(&program), 5);
}

#[test]
fn a_directory_is_followed_by_its_digests() {
    let store = Store::start();
    let publish = |count: usize, updated_at: &str| {
        let reviews = reviews_json(count, updated_at);
        let line = reviewd::server::bundle::pack::digest_line(reviews.as_bytes(), "reviews.json");
        store.put("/reviews/reviews.json", reviews.into_bytes());
        store.put("/reviews/SHA256SUMS", line.into_bytes());
    };
    publish(3, FIRST);
    let program = serve(&store, "/reviews/", &[]);
    assert_eq!(count(&program), 3);
    publish(4, SECOND);
    wait_until("the new one is served", || count(&program) == 4);
    // The digest of one publication beside the file of the next.
    store.put("/reviews/reviews.json", reviews_json(5, THIRD).into_bytes());
    let line = reviewd::server::bundle::pack::digest_line(b"other", "reviews.json");
    store.put("/reviews/SHA256SUMS", line.into_bytes());
    wait_for_reason(&program, "it is being replaced, or it is damaged");
    publish(5, THIRD);
    wait_until("the third is served", || count(&program) == 5);
}

#[test]
fn a_start_without_anything_to_serve_says_why() {
    let store = Store::start();
    let (status, said) = refused(&store, "/reviews.tar.zst");
    assert_eq!(status, Some(69), "{said}");
    assert!(
        said.contains("no dataset could be fetched: ")
            && said.contains(".sha256: answers 404 Not Found"),
        "{said}"
    );
    store.put("/reviews.tar.zst", b"no archive".to_vec());
    let line = reviewd::server::bundle::pack::digest_line(b"no archive", "reviews.tar.zst");
    store.put("/reviews.tar.zst.sha256", line.into_bytes());
    let (status, said) = refused(&store, "/reviews.tar.zst");
    assert_eq!(status, Some(65), "{said}");
    assert!(said.contains("the bundle cannot be read"), "{said}");
    let url = store.url("/reviews.tar.zst");
    let nobody = store.path("none.pem");
    let output = run(&[
        "serve",
        "--data",
        &url,
        "--data-ca",
        nobody.to_str().unwrap(),
    ]);
    assert_eq!(output.status.code(), Some(78), "{output:?}");
}

#[test]
fn a_bundle_of_this_disk_is_followed_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("b.tar.zst");
    let pack = |count: usize, updated_at: &str| {
        let data = DataDir::with_reviews(count, updated_at);
        let (from, to) = (data.path().to_str().unwrap(), out.to_str().unwrap());
        let output = run(&["bundle", "--data", from, "--out", to]);
        assert!(output.status.success(), "{output:?}");
    };
    pack(3, FIRST);
    let url = url::Url::from_file_path(&out).unwrap();
    let program = Program::serve(&["--data", url.as_str(), "--data-poll", "1h", "--no-hub"]);
    assert_eq!(count(&program), 3);
    pack(4, SECOND);
    program.signal("HUP");
    wait_until("a signal is a look as well", || count(&program) == 4);
}

#[test]
fn a_bundle_is_the_same_every_time_and_wrong_files_are_not_packed() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let data = DataDir::with_reviews(9, FIRST);
    let from = data.path().to_str().unwrap();
    for name in ["a.tar.zst", "b.tar.zst"] {
        let output = run(&["bundle", "--data", from, "--out", &path(name)]);
        assert!(output.status.success(), "{output:?}");
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(
            said.contains(": 9 reviews of 2026-01-01T00:00:00Z, "),
            "{said}"
        );
        // Files of other times and another order in the directory.
        data.write("reviews.json", &reviews_json(9, FIRST));
    }
    assert_eq!(
        fs::read(path("a.tar.zst")).unwrap(),
        fs::read(path("b.tar.zst")).unwrap()
    );
    let line = fs::read_to_string(path("a.tar.zst.sha256")).unwrap();
    assert!(line.ends_with("  a.tar.zst\n"), "{line}");
    data.write("reviews.json", "{}");
    let output = run(&["bundle", "--data", from, "--out", &path("c.tar.zst")]);
    assert_eq!(output.status.code(), Some(65));
    assert!(!folder.path().join("c.tar.zst").exists());
    let output = run(&[
        "bundle",
        "--data",
        &path("none"),
        "--out",
        &path("c.tar.zst"),
    ]);
    assert_eq!(output.status.code(), Some(66));
    let output = run(&["bundle", "--data", from, "--out", &path("c.zip")]);
    assert_eq!(output.status.code(), Some(64));
}

#[test]
fn an_answer_that_is_there_by_its_deadline_is_taken_and_a_later_one_is_not() {
    use crate::hub::authority;
    use crate::hub::subscriber::{Reply, Subscriber};
    use reviewd::server::fetch::{FetchError, Fetcher};
    use std::time::Duration;

    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("ca.pem");
    authority::write_ca(&ca);
    // Each byte is there long before the deadline, and only the last of many is not.
    let drip = |bytes: usize| {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {bytes}\r\n\r\n");
        let whole = [head.into_bytes(), vec![b'x'; bytes]].concat();
        Subscriber::start(move |_| Reply::Drip(whole.clone(), Duration::from_millis(2)))
    };
    let deadline = Duration::from_secs(2);
    let fetcher = Fetcher::new(Some(&ca), deadline).unwrap();
    let (few, many) = (drip(10), drip(1_000_000));
    let whole = |subscriber: &Subscriber| fetcher.whole(&subscriber.callback("/"), 2_000_000);
    assert_eq!(whole(&few).unwrap(), b"xxxxxxxxxx");
    let error = whole(&many).unwrap_err();
    assert!(matches!(error, FetchError::Exchange(_)), "{error}");
    assert!(error.to_string().contains("timeout"), "{error}");
}

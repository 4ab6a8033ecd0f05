//! `/media/{digest}`: the pictures that imports have fetched.

use std::fs::File;
use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::client::{get, send};
use crate::support::dataset::{DataDir, reviews_json};
use crate::support::{Program, Server};

const DATE: &str = "2026-01-01T00:00:00Z";

/// The digest of a picture that a published review has, and of one that only a hidden review has.
const SHOWN: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const HIDDEN: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
const MISSING: &str = "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc";

/// The bytes of the pictures, which the service does not parse.
const PICTURE: &str = "\u{7f}JPEG";

/// Serves [`data`].
fn serve() -> (DataDir, Server) {
    let data = data();
    let server = Server::start_on(data.path());
    (data, server)
}

/// Returns two reviews, of which the older is not published, with pictures.
fn data() -> DataDir {
    let data = DataDir::empty();
    let mut file: Value = serde_json::from_str(&reviews_json(2, DATE)).expect("JSON");
    let medium = |digest: &str| {
        json!({"url": format!("/media/{digest}"), "alt": "The door", "type": "image/jpeg",
            "thumbnail_url": format!("/media/{digest}"), "source_url": "https://cdn.example/a.png"})
    };
    let reviews = file["reviews"].as_array_mut().expect("a list");
    reviews[0]["media"] = json!([medium(SHOWN)]);
    reviews[0]["author_avatar_url"] = json!(format!("/media/{MISSING}"));
    reviews[1]["media"] = json!([medium(HIDDEN)]);
    reviews[1]["verified"] = json!(false);
    data.write("reviews.json", &file.to_string());
    std::fs::create_dir(data.path().join("media")).expect("a directory");
    for digest in [SHOWN, HIDDEN] {
        data.write(&format!("media/{digest}.jpg"), PICTURE);
    }
    data
}

#[test]
fn a_picture_of_a_published_review_is_served_for_good() {
    let (_data, server) = serve();
    let answer = server.get(&format!("/media/{SHOWN}"));
    assert_eq!(answer.status, 200);
    assert_eq!(answer.body, PICTURE.as_bytes());
    assert_eq!(answer.field("content-type"), Some("image/jpeg"));
    let forever = "public, max-age=31536000, immutable";
    assert_eq!(answer.field("cache-control"), Some(forever));
    assert_eq!(answer.field("last-modified"), None);
    let target = format!("/media/{SHOWN}");
    let again = get(
        server.address(),
        &target,
        &[("If-None-Match", answer.etag())],
    );
    assert_eq!(again.status, 304);
    let head = send(server.address(), "HEAD", &target, &[], b"");
    assert_eq!(head.field("content-length"), answer.field("content-length"));
}

#[test]
fn no_other_file_is_served() {
    let (_data, server) = serve();
    for target in [
        format!("/media/{HIDDEN}"),
        format!("/media/{MISSING}"),
        format!("/media/{SHOWN}.jpg"),
        format!("/media/{}", SHOWN.to_uppercase()),
        "/media/..%2Freviews.json".to_owned(),
        "/media/sources.json".to_owned(),
        "/media/".to_owned(),
    ] {
        server.get(&target).assert_error(404, "not_found");
    }
}

#[test]
fn a_picture_of_four_mebibytes_is_served_and_a_larger_one_is_not_found() {
    let (data, server) = serve();
    let file = File::create(data.path().join(format!("media/{SHOWN}.jpg"))).unwrap();
    file.set_len(4 << 20).unwrap();
    let target = format!("/media/{SHOWN}");
    let largest = server.get(&target);
    assert_eq!(largest.status, 200);
    assert_eq!(largest.body.len(), 4 << 20);
    file.set_len((4 << 20) + 1).unwrap();
    server.get(&target).assert_error(404, "not_found");
}

#[test]
fn a_picture_that_cannot_be_read_gets_503_and_not_404() {
    let (data, server) = serve();
    let path = data.path().join(format!("media/{SHOWN}.jpg"));
    std::fs::remove_file(&path).unwrap();
    // A link to itself.
    symlink(&path, &path).unwrap();
    let refused = server.get(&format!("/media/{SHOWN}"));
    refused.assert_error(503, "unavailable");
    assert_eq!(refused.field("retry-after"), Some("10"));
}

#[test]
fn pictures_that_cannot_be_read_are_one_line_of_the_log_a_minute() {
    let data = data();
    let path = data.path().join(format!("media/{SHOWN}.jpg"));
    std::fs::remove_file(&path).unwrap();
    symlink(&path, &path).unwrap();
    let program = Program::serve(&["--data", data.path().to_str().unwrap(), "--no-hub"]);
    for _ in 0..3 {
        let refused = get(program.address(), &format!("/media/{SHOWN}"), &[]);
        refused.assert_error(503, "unavailable");
    }
    program.signal("TERM");
    let log = program.rest_of_log().concat();
    assert_eq!(log.matches("a picture cannot be read").count(), 1, "{log}");
}

#[test]
fn a_pipe_in_place_of_a_picture_is_not_found_and_delays_no_request() {
    let (data, server) = serve();
    let path = data.path().join(format!("media/{SHOWN}.jpg"));
    std::fs::remove_file(&path).unwrap();
    let made = Command::new("mkfifo").arg(&path).status();
    assert!(made.unwrap().success());
    let missing = server.get(&format!("/media/{SHOWN}"));
    missing.assert_error(404, "not_found");
}

#[test]
fn own_pictures_are_published_with_the_public_address() {
    let (_data, server) = serve();
    let document = server.get("/reviews.json").json();
    let review = &document["reviews"][0];
    let url = review["media"][0]["url"].as_str().expect("a URL");
    assert!(url.starts_with("http"), "{url}");
    assert!(url.ends_with(&format!("/media/{SHOWN}")), "{url}");
    assert_eq!(review["media"][0]["thumbnail_url"], url);
    let feed = server.get("/api/feed.json").json();
    let avatar = feed["items"][0]["authors"][0]["avatar"].as_str();
    let avatar = avatar.expect("a URL");
    assert!(avatar.starts_with("http"), "{avatar}");
    assert!(avatar.ends_with(MISSING), "{avatar}");
}

#[test]
fn reviews_are_found_by_their_photos() {
    let data = DataDir::empty();
    let mut file: Value = serde_json::from_str(&reviews_json(3, DATE)).expect("JSON");
    let reviews = file["reviews"].as_array_mut().expect("a list");
    let medium =
        |media_type: &str| json!([{"url": "https://cdn.example/1", "alt": "", "type": media_type}]);
    reviews[0]["media"] = medium("image/png");
    reviews[1]["media"] = medium("video/mp4");
    let with_photo = reviews[0]["id"].clone();
    data.write("reviews.json", &file.to_string());
    let server = Server::start_on(data.path());
    let with = server.get("/api/reviews/search?has_photos=true").json();
    assert_eq!(with["matched"], 1);
    assert_eq!(with["reviews"][0]["id"], with_photo);
    let without = server.get("/api/reviews/search?has_photos=False").json();
    assert_eq!(without["matched"], 2);
}

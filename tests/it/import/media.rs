//! `import --media`: pictures are fetched into the folder, and shown from there.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

use super::Folder;
use crate::hub::authority::{server_config, write_ca};
use crate::support::program::{command, run, shell};
use crate::support::{Server, wait_until};

/// A picture of one point.
const PNG: &[u8] = b"\x89PNG\x0d\x0a\x1a\x0a\x00\x00\x00\x0dIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\x0dIDATx\xdacd\xf8\xcfP\x0f\x00\x03\x86\x01\x80Z4}k\x00\x00\x00\x00IEND\xaeB`\x82";

/// A platform with pictures: it answers each request with the bytes of the path, or with 404.
struct Platform {
    port: u16,
    asked: Arc<AtomicUsize>,
}

impl Platform {
    /// Starts a platform; one that `hangs` never answers.
    fn start(hangs: bool) -> Platform {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let asked = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&asked);
        let config = server_config(&["127.0.0.1"]);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let config = Arc::clone(&config);
                let counter = Arc::clone(&counter);
                thread::spawn(move || answer(stream, config, &counter, hangs));
            }
        });
        Platform { port, asked }
    }

    fn url(&self, path: &str) -> String {
        format!("https://127.0.0.1:{}/{path}", self.port)
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

/// Answers one request; a client that has gone is no fault.
fn answer(stream: TcpStream, config: Arc<ServerConfig>, asked: &AtomicUsize, hangs: bool) {
    let Ok(connection) = ServerConnection::new(config) else {
        return;
    };
    let mut stream = BufReader::new(StreamOwned::new(connection, stream));
    let mut request = String::new();
    let mut line = String::new();
    while matches!(stream.read_line(&mut line), Ok(2..)) && line != "\r\n" {
        request.push_str(&line);
        line.clear();
    }
    asked.fetch_add(1, Ordering::SeqCst);
    if hangs {
        // Ends when the client does.
        let _gone = stream.read_line(&mut line);
        return;
    }
    let (status, body) = match request.split(' ').nth(1) {
        Some("/a.png" | "/avatar.png") => ("200 OK", PNG),
        Some("/page") => ("200 OK", &b"<html>not a picture</html>"[..]),
        _ => ("404 Not Found", &b""[..]),
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: image/png\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    let stream = stream.get_mut();
    let _sent = stream
        .write_all(head.as_bytes())
        .and_then(|()| stream.write_all(body));
    stream.conn.send_close_notify();
    let _sent = stream.flush();
}

/// A folder with an export of one review with these pictures, and the flags of an import of it.
fn folder(platform: &Platform, photos: &[&str]) -> (Folder, String) {
    let folder = Folder::new();
    write_ca(&folder.path().join("ca.pem"));
    let photos: Vec<String> = photos.iter().map(|path| platform.url(path)).collect();
    let review = json!([{"id": "1", "author": "Ann", "rating": 5, "date": "2024-03-04", "text": "Good.",
        "verified": true, "photos": photos, "avatar": platform.url("avatar.png")}]);
    let export = folder.file("export.json", review.to_string());
    (folder, export)
}

fn import(folder: &Folder, export: &str, more: &[&str]) -> Value {
    let ca = folder.path().join("ca.pem");
    let ca = ca.to_str().expect("a path of text");
    folder.import(&[&[export, "--media", "--media-ca", ca], more].concat())
}

fn photo_files(folder: &Folder) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder.path().join("media")) else {
        return Vec::new();
    };
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths
        .filter(|path| path.extension().is_some_and(|end| end == "jpg"))
        .collect()
}

#[test]
fn pictures_are_fetched_and_served_from_the_folder() {
    let platform = Platform::start(false);
    let (folder, export) = folder(&platform, &["a.png"]);
    let report = import(&folder, &export, &["--allow-private-media"]);
    assert_eq!(report["photos"]["fetched"], 2, "{report}");
    assert_eq!(report["photos"]["failed"], 0, "{report}");
    let review = &folder.reviews()[0];
    let medium = &review["media"][0];
    let path = medium["url"].as_str().expect("a path");
    assert_eq!(medium["source_url"], platform.url("a.png"));
    assert_eq!(medium["type"], "image/jpeg");
    let server = Server::start_on(folder.path());
    let picture = server.get(path);
    assert_eq!(picture.status, 200, "{path}");
    assert!(picture.body.starts_with(b"\xff\xd8\xff"), "{path}");
    let avatar = review["author_avatar_url"].as_str().expect("a path");
    assert_eq!(server.get(avatar).status, 200, "{avatar}");
    let page = String::from_utf8(server.get("/").body).expect("UTF-8");
    assert!(page.contains(avatar), "the page shows the avatar");
    assert!(
        !page.contains(&platform.url("")),
        "and loads nothing from the platform"
    );
}

#[test]
fn a_picture_is_fetched_once_and_another_import_changes_nothing() {
    let platform = Platform::start(false);
    let (folder, export) = folder(&platform, &["a.png"]);
    import(&folder, &export, &["--allow-private-media"]);
    let asked = platform.asked();
    for more in [&["--allow-private-media"][..], &[]] {
        let report = import(&folder, &export, more);
        assert_eq!(report["changes"], false, "{report}");
    }
    let plain = folder.import(&[&export]);
    assert_eq!(plain["changes"], false, "{plain}");
    assert_eq!(platform.asked(), asked);
}

#[test]
fn pictures_of_reviews_imported_before_are_fetched_later() {
    let platform = Platform::start(false);
    let (folder, export) = folder(&platform, &["a.png"]);
    folder.import(&[&export]);
    assert_eq!(
        folder.reviews()[0]["media"][0]["url"],
        platform.url("a.png")
    );
    let report = import(&folder, &export, &["--allow-private-media"]);
    assert_eq!(report["written"], true, "{report}");
    assert_eq!(
        photo_files(&folder).len(),
        1,
        "both are the same picture in one size"
    );
}

#[test]
fn pictures_that_were_written_are_not_denied_if_all_records_are_refused() {
    let platform = Platform::start(false);
    let (folder, export) = folder(&platform, &["a.png"]);
    folder.import(&[&export]);
    let refused = folder.file(
        "refused.csv",
        "id,author,rating,date,text\n9,Bo,9,2024-03-04,Fair.\n",
    );
    let ca = folder.path().join("ca.pem");
    let ca = ca.to_str().expect("a path of text");
    let flags = ["--media", "--media-ca", ca, "--allow-private-media"];
    let end = "1 rejected, and there was nothing else";
    let said = folder.says(&[&[&*refused], &flags[..]].concat(), 65, end);
    assert!(said.contains("written, updated_at"), "{said}");
    assert!(!said.contains("nothing was written"), "{said}");
    assert_eq!(photo_files(&folder).len(), 1);
}

#[test]
fn what_is_no_picture_stays_where_it_is_and_is_reported() {
    let platform = Platform::start(false);
    let (folder, export) = folder(&platform, &["page", "gone.png"]);
    let report = import(&folder, &export, &["--allow-private-media"]);
    assert_eq!(report["photos"]["failed"], 2, "{report}");
    let failures = report["photos"]["failures"].to_string();
    assert!(failures.contains("status 404"), "{failures}");
    assert!(
        failures.contains("is not a JPEG, PNG or WebP picture"),
        "{failures}"
    );
    assert_eq!(folder.reviews()[0]["media"][0]["url"], platform.url("page"));
}

#[test]
fn private_addresses_are_not_asked_without_the_flag() {
    let platform = Platform::start(false);
    let (folder, export) = folder(&platform, &["a.png"]);
    let report = import(&folder, &export, &[]);
    let failures = report["photos"]["failures"].to_string();
    assert!(
        failures.contains("is not at a public address"),
        "{failures}"
    );
    assert_eq!(platform.asked(), 0);
}

#[test]
fn a_dry_run_fetches_nothing() {
    let platform = Platform::start(false);
    let (folder, export) = folder(&platform, &["a.png"]);
    let report = import(&folder, &export, &["--allow-private-media", "--dry-run"]);
    assert_eq!(report["photos"]["fetched"], 2, "{report}");
    assert_eq!(platform.asked(), 0);
    assert!(!folder.path().join("media").exists());
}

#[test]
fn ctrl_c_leaves_the_folder_as_it_was() {
    let platform = Platform::start(true);
    let (folder, export) = folder(&platform, &["a.png"]);
    let names = || {
        let entries = std::fs::read_dir(folder.path()).expect("a folder");
        let mut names: Vec<_> = entries
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        names.sort();
        names
    };
    let before = names();
    let text = std::fs::read(folder.path().join("reviews.json")).expect("a file");
    let ca = folder.path().join("ca.pem");
    let mut child = command()
        .args([
            "import",
            &export,
            "--media",
            "--allow-private-media",
            "--media-ca",
        ])
        .arg(ca)
        .arg("--into")
        .arg(folder.path())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    wait_until("the pictures are asked for", || platform.asked() == 2);
    let kill = format!("kill -INT {}", child.id());
    let killed = shell().args(["-c", &kill]).status();
    assert!(killed.expect("a shell").success());
    let status = child.wait().expect("it ends");
    assert_eq!(status.code(), Some(130));
    let after = std::fs::read(folder.path().join("reviews.json")).expect("a file");
    assert_eq!(after, text);
    assert_eq!(names(), before);
}

#[test]
fn the_pictures_of_a_forgotten_review_are_removed() {
    let platform = Platform::start(false);
    let (folder, export) = folder(&platform, &["a.png"]);
    import(&folder, &export, &["--allow-private-media"]);
    assert!(!photo_files(&folder).is_empty());
    let id = folder.reviews()[0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let data = folder.path().to_str().expect("a path of text");
    let said = run(&["forget", &id, "--reason", "asked", "--data", data]).with(0);
    assert!(said.contains("files of pictures removed"), "{said}");
    assert!(photo_files(&folder).is_empty());
}

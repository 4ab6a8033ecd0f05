//! An object store: an HTTPS server with the certificate of a private authority, entity-tags and nothing else.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::hub::authority;
use crate::hub::subscriber::{Received, Reply, Subscriber};
use crate::support::dataset::DataDir;
use crate::support::program::run;

/// The objects by path; `None` for one that is asked for in vain, with a 500.
type Objects = Arc<Mutex<HashMap<String, Option<Vec<u8>>>>>;

/// A store, and a folder for the authority's file and what is packed.
pub(super) struct Store {
    objects: Objects,
    server: Subscriber,
    folder: tempfile::TempDir,
}

impl Store {
    pub(super) fn start() -> Store {
        let objects = Objects::default();
        let served = Arc::clone(&objects);
        let folder = tempfile::tempdir().unwrap();
        authority::write_ca(&folder.path().join("ca.pem"));
        Store {
            objects,
            server: Subscriber::start(move |request| answer(&served, request)),
            folder,
        }
    }

    /// Returns the address of an object.
    pub(super) fn url(&self, path: &str) -> String {
        self.server.callback(path)
    }

    pub(super) fn ca(&self) -> String {
        self.path("ca.pem").to_str().unwrap().to_owned()
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn put(&self, path: &str, bytes: Vec<u8>) {
        let mut objects = self.objects.lock().unwrap();
        objects.insert(path.to_owned(), Some(bytes));
    }

    /// Answers 500 for an object from now on.
    pub(super) fn spoil(&self, path: &str) {
        let mut objects = self.objects.lock().unwrap();
        objects.insert(path.to_owned(), None);
    }

    /// Packs a dataset of `count` reviews and puts it at `/reviews.tar.zst`, its digest last.
    pub(super) fn publish(&self, count: usize, updated_at: &str) {
        let data = DataDir::with_reviews(count, updated_at);
        self.publish_directory(data.path());
    }

    /// Packs a directory and puts it at `/reviews.tar.zst`, its digest last.
    pub(super) fn publish_directory(&self, directory: &Path) {
        let out = self.path("reviews.tar.zst");
        let (from, to) = (directory.to_str().unwrap(), out.to_str().unwrap());
        let output = run(&["bundle", "--data", from, "--out", to]);
        assert!(output.status.success(), "{output:?}");
        self.put("/reviews.tar.zst", std::fs::read(&out).unwrap());
        let digest = std::fs::read(self.path("reviews.tar.zst.sha256")).unwrap();
        self.put("/reviews.tar.zst.sha256", digest);
    }

    /// Returns the requests for an object so far, and how many of them were conditional.
    pub(super) fn asked(&self, path: &str) -> (usize, usize) {
        let received = self.server.received();
        let asked: Vec<_> = received.iter().filter(|one| one.target == path).collect();
        let has_tag = |one: &&&Received| one.field("if-none-match").is_some();
        (asked.len(), asked.iter().filter(has_tag).count())
    }
}

fn answer(objects: &Objects, request: &Received) -> Reply {
    let objects = objects.lock().unwrap();
    let Some(bytes) = objects.get(&request.target) else {
        return Reply::Answer(404, Vec::new());
    };
    let Some(bytes) = bytes else {
        return Reply::Answer(500, Vec::new());
    };
    let tag = format!("\"{:x}\"", crc(bytes));
    if request.field("if-none-match") == Some(&tag) {
        return Reply::Raw(format!("HTTP/1.1 304 Not Modified\r\nETag: {tag}\r\n\r\n").into());
    }
    let head = format!(
        "HTTP/1.1 200 OK\r\nETag: {tag}\r\nContent-Length: {}\r\n\r\n",
        bytes.len()
    );
    Reply::Raw([head.as_bytes(), bytes].concat())
}

/// A number that differs where the bytes do, well enough for a test.
fn crc(bytes: &[u8]) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

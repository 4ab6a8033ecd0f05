//! The control of what a reader notices: the same work as a fan-out, done by a process that is not the service.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use reviewd::hub::client::{Client, Content};
use reviewd::hub::guard::{Guard, Ports};
use reviewd::hub::priority::{Behind, give_way};
use reviewd::hub::resolve::{GuardedResolver, SystemLookup};
use reviewd::hub::subscription::Answer;
use reviewd::hub::tls::client_config;
use reviewd::hub::{Callback, Settings, StoreLocation};
use reviewd::wire::date::Timestamp;

/// Delivers `body` to every callback with the hub's own client, by as many threads as the hub has by default.
pub(crate) fn deliver(ca: &Path, callbacks: &[&String], body: &[u8]) {
    let guard = Guard {
        allow_private: true,
        ports: Ports::parse("1024-").unwrap(),
    };
    // Callbacks are addresses here.
    let resolver = GuardedResolver::new(Arc::new(SystemLookup), guard.clone());
    let tls = client_config(Some(ca)).unwrap();
    let settings = Settings {
        timeout: Duration::from_secs(60),
        ..Settings::new(StoreLocation::Directory("unused".into()), guard)
    };
    let client = Client::new("control", tls, resolver, &settings);
    let content = Content {
        digest: [0; 32],
        dated: Timestamp::from_unix(0),
        media_type: "application/json",
        link: "<https://reviews.example/>; rel=\"self\"".to_owned(),
        body: body.to_vec().into(),
    };
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                give_way(Behind::Far);
                while let Some(callback) = callbacks.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let callback = Callback::parse(callback).unwrap();
                    let exchange = client.deliver(&callback, &content, None, &Arc::default());
                    assert_eq!(exchange.answer, Some(Answer::Status(204)));
                }
            });
        }
    });
}

/// Threads that deliver, as many as the hub's fast limit.
const THREADS: usize = 64;

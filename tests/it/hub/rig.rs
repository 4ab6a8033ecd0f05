//! A hub in this process, with invented host names, a clock that can jump, and short timeouts.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicI64, AtomicUsize};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use reviewd::hub::Topic;
use reviewd::hub::guard::{Guard, Ports};
use reviewd::hub::store::{Store, StoredSubscription, Tombstone};
use reviewd::hub::subscription::RemovalReason;
use reviewd::hub::{AttemptLimits, Hub, HubSettings, Outside};
use reviewd::hub::{RequestRefusal, StoreLocation, UnixMillis, request};
use reviewd::wire::date::Timestamp;
use sha2::Digest;

use super::authority;
use crate::support::dataset::DataDir;
use crate::support::{FORM, Fields, Program, Response, ask_hub, hub_form, wait_until};

pub(crate) const BASE: &str = "https://reviews.example";
pub(crate) const FEED: &str = "https://reviews.example/feed.xml";
pub(crate) const HUB: &str = "https://reviews.example/api/websub/hub";

/// Starts the real program at the public address [`BASE`] with a hub on `store`. The hub has no rate limit, and trusts
/// the certificate authority of the subscribers.
pub(crate) fn serve(data: &DataDir, store: [&str; 2], more: &[&str]) -> Program {
    let ca = data.path().join("ca.pem");
    authority::write_ca(&ca);
    let [folder, ca] = [data.path(), &ca].map(|path| path.to_str().unwrap());
    let own = ["--data", folder, "--base-url", BASE, "--callback-ca", ca];
    let any = ["--allow-private-callbacks", "--hub-rate", "0"];
    Program::serve(&[&own[..], &store, &any, more].concat())
}

/// Sends a request of this mode for a callback of the topic `/reviews.json` to the hub at `address`.
pub(crate) fn post(address: SocketAddr, mode: &str, callback: &str, lease_s: u32) -> Response {
    let topic = "https://reviews.example/reviews.json";
    let lease = lease_s.to_string();
    let more = [("hub.lease_seconds", &*lease)];
    ask_hub(address, mode, topic, callback, &more)
}

/// Subscribes to `/reviews.json`, and waits until the subscription is active.
pub(crate) fn subscribe(program: &Program, callback: &str) {
    let response = post(program.address(), "subscribe", callback, 1_000);
    assert_eq!(response.status, 202);
    program.wait_for_log("a subscription is active");
}

/// Addresses by name; names under `.sub.test` are 127.0.0.1 unless the test sets others.
#[derive(Clone, Default)]
pub(crate) struct Names {
    answers: Arc<Mutex<HashMap<String, Vec<Vec<IpAddr>>>>>,
    lookups: Arc<AtomicUsize>,
}

/// A running hub and its state directory.
pub(crate) struct Rig {
    pub(crate) hub: Option<Hub>,
    pub(crate) names: Names,
    /// How far the hub's clock is ahead of the system clock, in milliseconds.
    ahead_ms: Arc<AtomicI64>,
    pub(crate) settings: HubSettings,
    pub(crate) base_url: String,
    /// The SHA-256 of the last content given to the hub.
    announced: Mutex<[u8; 32]>,
    _temp: tempfile::TempDir,
    runtime: tokio::runtime::Runtime,
}

impl Names {
    /// Resolves `name` to each of `answers` in turn, and to the last one from then on.
    pub(crate) fn set(&self, name: &str, answers: &[&[&str]]) {
        let parse = |all: &&[&str]| all.iter().map(|one| one.parse().unwrap()).collect();
        let answers = answers.iter().map(parse).collect();
        self.answers
            .lock()
            .unwrap()
            .insert(name.to_owned(), answers);
    }

    /// Returns how often a name was resolved.
    pub(crate) fn lookups(&self) -> usize {
        self.lookups.load(SeqCst)
    }

    fn look_up(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        self.lookups.fetch_add(1, SeqCst);
        let mut names = self.answers.lock().unwrap();
        match names.get_mut(host) {
            Some(answers) if answers.len() > 1 => Ok(answers.remove(0)),
            Some(answers) if !answers[0].is_empty() => Ok(answers[0].clone()),
            None if host.ends_with(".sub.test") => Ok(vec![Ipv4Addr::LOCALHOST.into()]),
            _ => Err(io::Error::other("no such name")),
        }
    }
}

impl Rig {
    /// Starts a hub whose topics hold the content "1".
    pub(crate) fn start() -> Rig {
        Rig::start_with(|_| {})
    }

    /// Starts a hub with changed settings.
    pub(crate) fn start_with(change: impl FnOnce(&mut HubSettings)) -> Rig {
        let temp = tempfile::tempdir().unwrap();
        let mut settings = settings(&temp);
        change(&mut settings);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let mut rig = Rig {
            hub: None,
            names: Names::default(),
            ahead_ms: Arc::default(),
            settings,
            base_url: BASE.to_owned(),
            announced: Mutex::default(),
            _temp: temp,
            runtime,
        };
        rig.boot("1");
        rig
    }

    /// Starts or restarts the hub with a content.
    pub(crate) fn boot(&mut self, content: &str) {
        let ahead_ms = Arc::clone(&self.ahead_ms);
        let names = self.names.clone();
        let outside = Outside {
            lookup: Arc::new(move |host| names.look_up(host)),
            unix_ms: Box::new(move || reviewd::clock::unix_ms() + ahead_ms.load(SeqCst)),
        };
        *self.announced.lock().unwrap() = topics(content)[0].digest;
        let settings = self.settings.clone();
        let started = Hub::start(&self.base_url, settings, outside, topics(content), |_| {});
        let (hub, work) = started.unwrap_or_else(|error| panic!("no hub: {error}"));
        thread::spawn(work);
        self.hub = Some(hub);
    }

    /// Moves the hub's clock by `by_ms` milliseconds.
    pub(crate) fn jump(&self, by_ms: i64) {
        self.ahead_ms.fetch_add(by_ms, SeqCst);
    }

    /// Returns the time of the hub's clock.
    pub(crate) fn now(&self) -> UnixMillis {
        UnixMillis::new(reviewd::clock::unix_ms() + self.ahead_ms.load(SeqCst))
    }

    /// Shuts the hub down gracefully.
    pub(crate) fn stop(&mut self) {
        assert!(self.hub.take().unwrap().shutdown(Duration::from_secs(20)));
    }

    pub(crate) fn hub(&self) -> &Hub {
        self.hub.as_ref().unwrap()
    }

    /// Changes the content of all topics.
    pub(crate) fn change(&self, content: &str) {
        *self.announced.lock().unwrap() = topics(content)[0].digest;
        self.hub().publish(topics(content));
    }

    /// Tells whether the hub's thread has stored the last change.
    fn is_noted(&self) -> bool {
        let file = self.state_dir().join("hub.sqlite3");
        let noted = rusqlite::Connection::open(file).and_then(|store| {
            let digest = "SELECT digest FROM topic WHERE url LIKE '%/feed.xml'";
            store.query_row(digest, [], |row| row.get::<_, Vec<u8>>(0))
        });
        noted.is_ok_and(|digest| digest == *self.announced.lock().unwrap())
    }

    fn post(
        &self,
        mode: &str,
        topic: &str,
        callback: &str,
        more: Fields<'_>,
    ) -> Result<(), RequestRefusal> {
        let client = Ipv4Addr::LOCALHOST.into();
        self.post_from(client, mode, topic, callback, more)
    }

    /// Sends a request from the address `client`.
    pub(crate) fn post_from(
        &self,
        client: IpAddr,
        mode: &str,
        topic: &str,
        callback: &str,
        more: Fields<'_>,
    ) -> Result<(), RequestRefusal> {
        let form = hub_form(mode, topic, callback, more);
        let request = request::parse(Some(FORM.1.as_bytes()), form.as_bytes())?;
        self.runtime.block_on(self.hub().submit(request, client))
    }

    /// Sends a request with this mode, topic and callback.
    pub(crate) fn ask(
        &self,
        mode: &str,
        topic: &str,
        callback: &str,
    ) -> Result<(), RequestRefusal> {
        self.post(mode, topic, callback, &[])
    }

    /// Requests a subscription to the feed, with further fields.
    pub(crate) fn subscribe_with(
        &self,
        callback: &str,
        more: Fields<'_>,
    ) -> Result<(), RequestRefusal> {
        self.post("subscribe", FEED, callback, more)
    }

    /// Subscribes to the feed and waits until the subscription is active.
    pub(crate) fn subscribe(&self, callback: &str) {
        self.subscribe_as(callback, &[]);
    }

    /// Subscribes to the feed, with further fields, and waits until the subscription is active.
    pub(crate) fn subscribe_as(&self, callback: &str, more: Fields<'_>) {
        self.subscribe_with(callback, more).unwrap();
        self.wait_active(callback);
    }

    /// Waits until a subscription with this callback is active.
    pub(crate) fn wait_active(&self, callback: &str) {
        wait_until("active", || self.listed(callback).is_some());
    }

    /// Waits until there is no subscription with this callback.
    pub(crate) fn wait_gone(&self, callback: &str) {
        wait_until("gone", || self.listed(callback).is_none());
    }

    /// Waits until the last change is stored, and no request and no delivery is pending.
    pub(crate) fn wait_settled(&self) {
        wait_until("settled", || {
            let counts = self.store().counts(self.now()).unwrap();
            self.is_noted() && counts.requests == 0 && counts.undelivered == 0
        });
    }

    /// Waits until the counter of removals for this reason is `subscriptions`.
    pub(crate) fn wait_removals(&self, removal: RemovalReason, subscriptions: u64) {
        let counted = &self.hub().stats().removed[removal as usize];
        wait_until("removals", || counted.load(Relaxed) == subscriptions);
    }

    /// Waits until `failures` consecutive deliveries have failed.
    pub(crate) fn wait_failures(&self, callback: &str, failures: u32) {
        wait_until("failures", || {
            let listed = self.listed(callback);
            listed.is_some_and(|listed| listed.state.failures == failures)
        });
    }

    /// Checks that the only subscription was removed for this reason, and that its last attempt has this status.
    pub(crate) fn assert_removed(&self, reason: &str, status: &str) {
        let stones = self.tombstones();
        let last = stones[0].last.as_ref().unwrap().result.to_string();
        assert_eq!((stones[0].removal.as_str(), &*last), (reason, status));
        assert_eq!((self.list().len(), stones.len()), (0, 1));
    }

    /// Waits until no verification is pending.
    pub(crate) fn wait_verified(&self) {
        wait_until("verified", || self.store_counts().1 == 0);
    }

    pub(crate) fn listed(&self, callback: &str) -> Option<StoredSubscription> {
        let mut all = self.list().into_iter();
        all.find(|listed| listed.callback.uri() == callback)
    }

    /// Returns the remaining seconds of the subscription's lease.
    pub(crate) fn lease_left_s(&self, callback: &str) -> Option<i64> {
        let lease_end = self.listed(callback)?.state.lease_end;
        Some((lease_end.as_ms() - self.now().as_ms()) / 1_000)
    }

    pub(crate) fn list(&self) -> Vec<StoredSubscription> {
        self.store().list(0, 100_000).unwrap()
    }

    pub(crate) fn tombstones(&self) -> Vec<Tombstone> {
        self.store().tombstones(None, 100).unwrap()
    }

    /// Returns how many subscriptions and requests there are.
    pub(crate) fn store_counts(&self) -> (u64, u64) {
        let counts = self.store().counts(self.now()).unwrap();
        (counts.subscriptions, counts.requests)
    }

    /// Returns the state directory.
    pub(crate) fn state_dir(&self) -> &Path {
        match &self.settings.location {
            StoreLocation::Directory(directory) => directory,
            #[cfg(feature = "postgres")]
            StoreLocation::Database(_) => panic!("a database has no directory"),
        }
    }

    /// Opens the store as another process would.
    pub(crate) fn store(&self) -> Store {
        self.settings.location.open().unwrap()
    }
}

/// Returns settings for tests, with a state directory and the authority's certificate in `temp`.
pub(crate) fn settings(temp: &tempfile::TempDir) -> HubSettings {
    let ca = temp.path().join("ca.pem");
    authority::write_ca(&ca);
    let guard = Guard {
        allow_private: true,
        ports: Ports::parse("1024-").unwrap(),
    };
    let mut settings = HubSettings::new(StoreLocation::Directory(temp.path().join("state")), guard);
    settings.user_agent = "news/1.2".to_owned();
    settings.leases.min_s = 1;
    settings.policy.retry_delays = [100, 200].map(Duration::from_millis).to_vec();
    settings.quotas.requests_per_host = 1_000;
    settings.timeout = Duration::from_secs(5);
    settings.ca_file = Some(ca);
    settings.deliveries = AttemptLimits {
        threads: 32,
        moving: 16,
    };
    settings.verifications = settings.deliveries;
    settings
}

/// Returns the three topics, all holding `content`.
pub(crate) fn topics(content: &str) -> [Topic; 3] {
    let topic = |path, media_type| Topic {
        path,
        media_type,
        body: Bytes::from(content.to_owned()),
        digest: sha2::Sha256::digest(content.as_bytes()).into(),
        updated_at: Timestamp::from_unix(0),
    };
    [
        topic("/feed.xml", "application/atom+xml"),
        topic("/api/feed.json", "application/json"),
        topic("/reviews.json", "application/json"),
    ]
}

/// Returns the current time.
pub(crate) fn now() -> UnixMillis {
    UnixMillis::new(reviewd::clock::unix_ms())
}

//! Name servers that do not answer, as the program meets them: in a mount namespace of its own, where
//! `/etc/resolv.conf` names one of ours.

use std::net::{Ipv4Addr, UdpSocket};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use reviewd::hub::store::{Listed, Store};

use super::authority;
use super::rig::now;
use super::subscriber::Subscriber;
use crate::support::dataset::{DataDir, reviews_json};
use crate::support::program::command;
use crate::support::{Program, get, send, wait_until};

/// A name server of this machine, which knows 127.0.0.1 for every name, for as long as it answers.
struct NameServer {
    address: Ipv4Addr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    silent: AtomicBool,
    /// Questions that got no answer.
    unanswered: AtomicUsize,
}

impl NameServer {
    /// Listens on the port that resolvers ask; `None` where that is not permitted.
    fn start() -> Option<NameServer> {
        let [.., high, low] = std::process::id().to_be_bytes();
        let address = Ipv4Addr::new(127, 53, high, low.clamp(1, 254));
        let socket = UdpSocket::bind((address, 53)).ok()?;
        let shared = Arc::new(Shared::default());
        let answering = Arc::clone(&shared);
        thread::spawn(move || {
            let mut question = [0; 512];
            while let Ok((length, asker)) = socket.recv_from(&mut question) {
                if answering.silent.load(Ordering::SeqCst) {
                    answering.unanswered.fetch_add(1, Ordering::SeqCst);
                } else {
                    let _gone = socket.send_to(&answer(&question[..length]), asker);
                }
            }
        });
        Some(NameServer { address, shared })
    }

    fn set_silent(&self, silent: bool) {
        self.shared.silent.store(silent, Ordering::SeqCst);
    }

    fn unanswered(&self) -> usize {
        self.shared.unanswered.load(Ordering::SeqCst)
    }
}

/// Returns the answer to a question (RFC 1035 §4.1): 127.0.0.1 where an IPv4 address is wanted, and else nothing.
fn answer(question: &[u8]) -> Vec<u8> {
    let name = question[12..]
        .iter()
        .position(|byte| *byte == 0)
        .expect("the name's end");
    let end = 12 + name + 1 + 4;
    let is_v4 = question[end - 4..end] == [0, 1, 0, 1];
    let mut answer = question[..2].to_vec();
    // A reply, recursion asked for and there; one question, and one answer or none.
    answer.extend([0x81, 0x80, 0, 1, 0, u8::from(is_v4), 0, 0, 0, 0]);
    answer.extend(&question[12..end]);
    if is_v4 {
        // The name of the question, type A, class IN, not to be kept, four bytes.
        answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 1]);
    }
    answer
}

/// Starts the program where `server` is the only name server; `None` where mounts are not permitted.
fn serve(server: &NameServer, temp: &tempfile::TempDir, data: &DataDir) -> Option<Program> {
    let resolv = temp.path().join("resolv.conf");
    std::fs::write(&resolv, format!("nameserver {}\n", server.address)).unwrap();
    let mount = "mount --bind \"$0\" /etc/resolv.conf && exec \"$@\"";
    let inside = |mut command: Command| {
        command
            .args(["--mount", "sh", "-c", mount])
            .arg(&resolv)
            .stdin(Stdio::null());
        command
    };
    let tried = inside(Command::new("unshare")).arg("true").output();
    if !tried.is_ok_and(|output| output.status.success()) {
        return None;
    }
    let ca = temp.path().join("ca.pem");
    authority::write_ca(&ca);
    let mut unshare = inside(Command::new("unshare"));
    unshare
        .arg(command().get_program())
        .args(["serve", "--listen", "127.0.0.1:0", "--log-format", "json"])
        .arg("--data")
        .arg(data.path())
        .arg("--state")
        .arg(temp.path().join("state"))
        .arg("--callback-ca")
        .arg(&ca)
        .args(["--allow-private-callbacks", "--hub-rate", "0"])
        .args(["--delivery-timeout", "1s"])
        .args(["--retry-delays", &["1s"; 100].join(",")]);
    Some(Program::spawn(unshare))
}

/// Names cannot be looked up for a while. Whoever has one waits, no longer than the deadlines allow; all others go on,
/// and afterwards everybody gets what he is owed.
#[test]
fn a_name_server_that_is_silent_holds_up_only_those_who_need_it() {
    let Some(server) = NameServer::start() else {
        println!("SKIPPED: nobody may listen on port 53 here");
        return;
    };
    let temp = tempfile::tempdir().unwrap();
    let data = DataDir::with_reviews(3, "2026-01-01T00:00:00Z");
    let Some(program) = serve(&server, &temp, &data) else {
        println!("SKIPPED: nothing can be mounted here");
        return;
    };
    let address = program.address();
    let subscriber = Subscriber::good();
    let named = format!("https://one.sub.test:{}/named", subscriber.port());
    let direct = format!("https://127.0.0.1:{}/direct", subscriber.port());
    let late = format!("https://two.sub.test:{}/late", subscriber.port());
    let store = || Store::in_directory(&temp.path().join("state")).unwrap();
    let listed = |callback: &str| -> Option<Listed> {
        let all = store().list(0, 100).unwrap();
        all.into_iter()
            .find(|listed| listed.callback.uri() == callback)
    };
    let subscribe = |callback: &str| {
        let form = format!(
            "hub.mode=subscribe&hub.topic=http://{address}/feed.xml&hub.callback={callback}"
        );
        let fields = [("Content-Type", "application/x-www-form-urlencoded")];
        let reply = send(address, "POST", "/api/websub/hub", &fields, form.as_bytes());
        assert_eq!(reply.status, 202, "{}", reply.text());
    };
    let delivered = |path: &str| {
        let deliveries = subscriber.deliveries();
        deliveries
            .iter()
            .filter(|delivery| delivery.target == path)
            .count()
    };
    for callback in [&named, &direct] {
        subscribe(callback);
        wait_until("active", || listed(callback).is_some());
    }

    server.set_silent(true);
    data.write("reviews.json", &reviews_json(4, "2026-01-02T00:00:00Z"));
    wait_until("the other is told", || delivered("/direct") == 1);
    wait_until("the resolver is asked", || server.unanswered() > 0);
    // A request that needs a name is taken, and its verification ends in its time.
    let began = Instant::now();
    subscribe(&late);
    assert_eq!(get(address, "/reviews.json", &[]).status, 200);
    wait_until("the attempt has ended", || {
        listed(&named).is_some_and(|listed| listed.state.failures > 0)
    });
    let last = listed(&named).unwrap().state.last.unwrap();
    assert_eq!(last.answer.to_string(), "resolve");
    wait_until("nobody waits for the name", || {
        store().counts(now()).unwrap().requests == 0
    });
    assert!(
        began.elapsed() < Duration::from_secs(30),
        "{:?}",
        began.elapsed()
    );
    assert_eq!((delivered("/named"), listed(&late).is_some()), (0, false));
    data.write("reviews.json", &reviews_json(5, "2026-01-03T00:00:00Z"));
    wait_until("the other is told again", || delivered("/direct") == 2);

    server.set_silent(false);
    wait_until("what is owed", || delivered("/named") == 1);
    let newest = subscriber.deliveries();
    let newest = newest
        .iter()
        .rfind(|delivery| delivery.target == "/named")
        .unwrap();
    assert_eq!(newest.body, get(address, "/feed.xml", &[]).body);
    wait_until("it counts", || {
        listed(&named).is_some_and(|listed| listed.state.failures == 0)
    });
}

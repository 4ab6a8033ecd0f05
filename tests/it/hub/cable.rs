//! A cable that is cut in one direction, between a replica in a network namespace and its database: another replica
//! takes over, although the kernel repeats an answer that is never acknowledged for a quarter of an hour.

use std::process::{Command, id};

use super::postgres_shared::Shared;
use super::rig::{BASE, serve};
use crate::support::dataset::DataDir;
use crate::support::postgres::Postgres;
use crate::support::program::{LISTEN, Program, command};

/// The addresses of the two ends of the cable.
const DATABASE: &str = "10.213.7.1";
const REPLICA: &str = "10.213.7.2";

/// A network namespace with a cable to it; dropping it removes both.
struct Namespace {
    name: String,
    /// The end of the cable outside the namespace.
    link: String,
}

impl Namespace {
    /// Creates one; `None` if this system does not permit that.
    fn new() -> Option<Namespace> {
        let namespace = Namespace {
            name: format!("reviewd-{}", id()),
            link: format!("rvw{}", id()),
        };
        let Namespace { name, link } = &namespace;
        let inside = format!("{link}i");
        let steps = [
            format!("netns add {name}"),
            format!("link add {link} type veth peer name {inside} netns {name}"),
            format!("addr add {DATABASE}/24 dev {link}"),
            format!("link set {link} up"),
            format!("-n {name} addr add {REPLICA}/24 dev {inside}"),
            format!("-n {name} link set {inside} up"),
            format!("-n {name} link set lo up"),
        ];
        if steps.iter().all(|step| run_ip(step)) {
            return Some(namespace);
        }
        println!("SKIPPED: network namespaces need root and `ip` (Debian's package `iproute2`)");
        None
    }

    /// Loses from now on whatever is sent into the namespace: no device there has this hardware address.
    fn cut(&self) {
        let link = &self.link;
        let nowhere =
            format!("neigh replace {REPLICA} lladdr 02:00:00:00:00:99 dev {link} nud permanent");
        assert!(run_ip(&nowhere));
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        run_ip(&format!("link delete {}", self.link));
        run_ip(&format!("netns delete {}", self.name));
    }
}

/// Runs `ip` with these arguments; returns whether it succeeded.
fn run_ip(arguments: &str) -> bool {
    let status = Command::new("ip").args(arguments.split(' ')).status();
    status.is_ok_and(|status| status.success())
}

#[test]
fn a_replica_whose_answers_are_lost_is_replaced_within_a_minute() {
    let Some(namespace) = Namespace::new() else {
        return;
    };
    let addresses = format!("listen_addresses=127.0.0.1,{DATABASE}");
    let Some(postgres) = Postgres::start_with(&[&addresses]) else {
        return;
    };
    postgres.database("hub");
    let url = postgres.url("reviewd", "hub");
    let shared = Shared { postgres, url };
    let admitted = format!("host all all {REPLICA}/32 scram-sha-256");
    shared.query(&format!(
        "COPY (SELECT '{admitted}') TO PROGRAM 'cat >> pg_hba.conf'"
    ));
    shared.query("SELECT pg_reload_conf()");
    let data = DataDir::with_reviews(1, "2026-01-01T00:00:00Z");
    let far_url = shared.url.replace("127.0.0.1", DATABASE) + "?sslmode=disable";
    let mut far = Command::new("ip");
    far.args(["netns", "exec", &namespace.name]);
    far.arg(command().get_program());
    far.arg("serve").args(LISTEN).arg("--data").arg(data.path());
    far.args(["--base-url", BASE, "--store", &far_url]);
    let far = Program::spawn(far);
    far.wait_for_log("the hub delivers");
    let near = serve(&data, ["--store", &shared.url], &[]);
    namespace.cut();
    // The far replica polls, so the server soon has an answer that is never acknowledged.
    near.wait_for_log("the hub delivers");
}

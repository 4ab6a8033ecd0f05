//! The pause of deliveries while most callback hosts cannot be reached: what begins it, what ends it, who is told.

use std::time::Duration;

use super::rig::{Rig, subscribe_all};
use super::subscriber::{Reply, Subscriber};
use crate::support::program::command;
use crate::support::wait_until;

fn callback(host: &str, subscriber: &Subscriber) -> String {
    format!("https://{host}.sub.test:{}/cb", subscriber.port())
}

/// Whether `reviewd hub list` says that deliveries are paused, in JSON and to people.
fn is_listed_as_paused(rig: &Rig) -> bool {
    let run = |format: &str| {
        let state = rig.state_dir().to_str().unwrap();
        let list = ["hub", "list", "--state", state, "--format", format];
        let output = command().args(list).output().unwrap();
        assert!(output.status.success());
        output
    };
    let json: serde_json::Value = serde_json::from_slice(&run("json").stdout).unwrap();
    let paused = json["deliveries_paused"].as_bool().unwrap();
    let said = String::from_utf8(run("text").stderr).unwrap();
    assert_eq!(said.contains("deliveries are paused"), paused, "{said}");
    paused
}

#[test]
fn requests_with_dead_callback_hosts_never_pause_deliveries() {
    let rig = Rig::start();
    let good = Subscriber::good();
    subscribe_all(&rig, &[&good]);
    for number in 0..12 {
        let host = format!("dead{number}");
        rig.names.set(&format!("{host}.sub.test"), &[&[]]);
        rig.subscribe_with(&callback(&host, &good), &[]).unwrap();
    }
    rig.wait_verified();
    assert!(!rig.hub().health().paused);
    rig.change("2");
    good.wait_delivery(1);
    assert!(!is_listed_as_paused(&rig));
}

/// After a restart the hub has reached no host yet, and those that are due first cannot be reached.
#[test]
fn a_probe_asks_hosts_of_active_subscriptions_that_were_not_due() {
    let hour = Duration::from_secs(3600);
    let mut rig = Rig::start_with(|settings| settings.policy.retry_delays = vec![hour]);
    let good = Subscriber::good();
    let failing = Subscriber::delivering(|_| Reply::Answer(503, Vec::new()));
    for number in 0..4 {
        rig.subscribe(&callback(&format!("dead{number}"), &failing));
    }
    rig.subscribe(&callback("good", &good));
    rig.change("2");
    good.wait_delivery(1);
    failing.wait_delivery(4);
    rig.stop();
    for number in 0..4 {
        rig.names.set(&format!("dead{number}.sub.test"), &[&[]]);
    }
    rig.settings.policy.retry_delays = vec![Duration::from_millis(100)];
    rig.jump(2 * 3_600_000);
    rig.boot("2");
    // Each of them fails twice more, which it could not do during a pause.
    wait_until("removed", || rig.list().len() == 1);
    wait_until("they go on", || !rig.hub().health().paused);
}

#[test]
fn the_operator_is_told_while_deliveries_are_paused() {
    let rig = Rig::start();
    let good = Subscriber::good();
    let hosts: Vec<String> = (0..4).map(|number| format!("n{number}")).collect();
    for host in &hosts {
        rig.subscribe(&callback(host, &good));
        rig.names.set(&format!("{host}.sub.test"), &[&[]]);
    }
    rig.change("2");
    wait_until("the pause", || rig.hub().health().paused);
    wait_until("it is listed", || is_listed_as_paused(&rig));
    // Long enough for three attempts, had they been made.
    std::thread::sleep(Duration::from_secs(2));
    let listed = rig.list();
    assert_eq!(listed.len(), 4);
    assert!(
        listed.iter().all(|one| one.state.failures <= 1),
        "{listed:?}"
    );
    for host in &hosts {
        rig.names
            .set(&format!("{host}.sub.test"), &[&["127.0.0.1"]]);
    }
    good.wait_delivery(4);
    wait_until("it is over", || !is_listed_as_paused(&rig));
}

//! The pause of deliveries while most callback hosts cannot be reached: what begins it, what ends it, who is told.

use std::time::Duration;

use super::command::hub;
use super::rig::Rig;
use super::subscriber::{Reply, Subscriber};
use crate::support::wait_until;

const HOSTS: [&str; 4] = ["a.sub.test", "b.sub.test", "c.sub.test", "d.sub.test"];

/// Whether `reviewd hub list` says that deliveries are paused, in JSON and to people.
fn is_listed_as_paused(rig: &Rig) -> bool {
    let json = hub(rig, &["list", "--format", "json"]).1;
    let text = hub(rig, &["list"]).2;
    let paused = json.contains("\"deliveries_paused\":true");
    assert_eq!(text.contains("deliveries are paused"), paused, "{text}");
    paused
}

/// After a restart the hub has reached no host yet, and those that are due first cannot be reached.
#[test]
fn a_probe_asks_hosts_of_active_subscriptions_that_were_not_due() {
    let hour = Duration::from_secs(3600);
    let mut rig = Rig::start_with(|settings| settings.policy.retry_delays = vec![hour]);
    let good = Subscriber::good();
    let failing = Subscriber::delivering(|_| Reply::status(503));
    for host in HOSTS {
        rig.subscribe(&failing.callback_at(host, "/cb"));
    }
    rig.subscribe(&good.callback("/cb"));
    rig.change("2");
    good.wait_delivery(1);
    failing.wait_delivery(4);
    rig.stop();
    for host in HOSTS {
        rig.names.set(host, &[&[]]);
    }
    rig.settings.policy.retry_delays = vec![Duration::from_millis(100)];
    rig.jump(2 * 3_600_000);
    rig.boot("2");
    // Each of them fails twice more, which it could not do during a pause.
    wait_until("removed", || rig.list().len() == 1);
    wait_until("they go on", || !rig.hub().health().paused);
}

#[test]
fn hosts_of_subscriptions_pause_deliveries_those_of_requests_do_not_and_the_operator_is_told() {
    let (rig, good) = (Rig::start(), Subscriber::good());
    for host in HOSTS {
        rig.subscribe(&good.callback_at(host, "/cb"));
    }
    for host in ["e", "f", "g", "h", "i"].map(|name| format!("{name}.sub.test")) {
        rig.names.set(&host, &[&[]]);
        rig.subscribe_with(&good.callback_at(&host, "/cb"), &[])
            .unwrap();
    }
    rig.wait_verified();
    assert!(!is_listed_as_paused(&rig));
    for host in HOSTS {
        rig.names.set(host, &[&[]]);
    }
    rig.change("2");
    wait_until("the pause", || rig.hub().health().paused);
    wait_until("it is listed", || is_listed_as_paused(&rig));
    // Long enough for three attempts, had they been made.
    std::thread::sleep(Duration::from_secs(2));
    let listed = rig.list();
    assert_eq!(listed.len(), 4);
    let was_tried = listed.iter().all(|one| one.state.failures <= 1);
    assert!(was_tried, "{listed:?}");
    for host in HOSTS {
        rig.names.set(host, &[&["127.0.0.1"]]);
    }
    good.wait_delivery(4);
    wait_until("it is over", || !is_listed_as_paused(&rig));
}

//! If most callback hosts are unreachable, failed deliveries are not counted, and the hub reports that it is paused.

use reviewd::hub::subscription::RemovalReason;

use super::rig::Rig;
use super::subscriber::Subscriber;
use crate::support::wait_until;

const HOSTS: [&str; 4] = ["a.sub.test", "b.sub.test", "c.sub.test", "d.sub.test"];

#[test]
fn while_most_hosts_of_subscriptions_are_unreachable_none_is_removed() {
    let rig = Rig::start();
    let good = Subscriber::good();
    for host in HOSTS {
        rig.subscribe(&good.callback_at(host, "/cb"));
    }
    for host in ["e", "f", "g", "h", "i"].map(|name| format!("{name}.sub.test")) {
        rig.names.set(&host, &[&[]]);
        rig.subscribe_with(&good.callback_at(&host, "/cb"), &[])
            .unwrap();
    }
    rig.wait_verified();
    assert!(!rig.hub().health().paused);
    rig.change("2");
    rig.wait_settled();
    for host in HOSTS {
        rig.names.set(host, &[&[]]);
    }
    rig.change("3");
    wait_until("it is told", || rig.hub().health().paused);
    // More attempts than the three failures that would remove a subscription.
    wait_until("many attempts of each", || {
        rig.list().iter().all(|one| one.state.attempt > 6)
    });
    let listed = rig.list();
    assert_eq!(listed.len(), 4);
    let was_counted = listed.iter().filter(|one| one.state.failures > 0).count();
    assert_eq!(was_counted, 2, "before three had failed: {listed:?}");
    for host in HOSTS {
        rig.names.set(host, &[&["127.0.0.1"]]);
    }
    good.wait_delivery(8);
    wait_until("it is over", || !rig.hub().health().paused);
}

#[test]
fn hosts_that_never_acknowledged_a_delivery_do_not_pause_the_hub() {
    let rig = Rig::start();
    let good = Subscriber::good();
    for host in HOSTS {
        rig.subscribe(&good.callback_at(host, "/cb"));
    }
    for host in HOSTS {
        rig.names.set(host, &[&[]]);
    }
    rig.change("2");
    // Their failures count, so they are removed.
    rig.wait_removals(RemovalReason::Failures, 4);
    assert!(!rig.hub().health().paused);
}

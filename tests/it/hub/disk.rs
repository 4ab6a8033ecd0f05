//! A full disk under the hub; skipped if this machine cannot mount a file system for the test.

use super::rig::Rig;
use super::subscriber::Subscriber;
use crate::support::{Mount, wait_until};
use reviewd::hub::StoreLocation;

#[test]
fn with_a_full_disk_the_hub_refuses_requests_loses_nothing_and_recovers() {
    let Some(disk) = Mount::new() else { return };
    let place = StoreLocation::Directory(disk.path().to_owned());
    let rig = Rig::start_with(|settings| settings.place = place);
    let subscriber = Subscriber::good();
    rig.subscribe(&subscriber.callback("/cb"));
    disk.fill();
    // Pages already allocated to the write-ahead log are used up first.
    let refusal = (1_000..1_500).find_map(|lease_s: u32| {
        let lease = lease_s.to_string();
        let fields = [("hub.lease_seconds", lease.as_str())];
        let asked = rig.subscribe_with("https://127.0.0.1:1024/nobody", &fields);
        asked.err()
    });
    let refusal = refusal.expect("a full disk refuses sooner or later");
    assert_eq!(refusal.reason, "the hub cannot store requests at present");
    let error = || rig.hub().health().store_error.clone();
    let is_full = || error().is_some_and(|text| text.ends_with("the disk is full"));
    wait_until("the health says so", is_full);
    disk.make_room();
    wait_until("it recovers", || error().is_none());
    assert!(rig.listed(&subscriber.callback("/cb")).is_some());
    rig.change("2");
    assert_eq!(subscriber.wait_delivery(1).body, b"2");
}

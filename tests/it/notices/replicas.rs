//! Notices of replicas that share a database: the one with the delivery role sends, each change once.

use serde_json::Value;

use super::targets::{Site, target};
use crate::hub::postgres_shared::Shared;
use crate::hub::rig::serve;
use crate::hub::subscriber::Subscriber;
use crate::support::wait_until;

#[test]
fn of_two_replicas_one_sends_and_the_other_takes_over() {
    let Some(shared) = Shared::new() else { return };
    let receiver = Subscriber::good();
    let mut site = Site::new(5);
    site.write_targets(&[target("shop", &receiver)]);
    let store = ["--store", shared.url.as_str()];
    let first = serve(&site.data, store, &[]);
    first.wait_for_log("notices are sent of what changes from now on");
    let second = serve(&site.data, store, &[]);
    let waiting = || shared.query("SELECT count(*) FROM reviewd.notice");
    let told = || shared.query("SELECT told_dated FROM reviewd.meta");
    for number in 1..=3 {
        let before = told();
        site.edit("r00001", "text", Value::from(format!("Edit {number}.")));
        wait_until("recorded", || told() != before);
        wait_until("acknowledged", || waiting() == "0");
    }
    assert_eq!(receiver.deliveries().len(), 3);
    drop(first);
    second.wait_for_log("the hub delivers");
    site.edit("r00002", "text", Value::from("Edited."));
    let last: Value = serde_json::from_slice(&receiver.wait_delivery(4).body).expect("JSON");
    assert_eq!(last["data"]["id"], "r00002");
    wait_until("acknowledged", || waiting() == "0");
    assert_eq!(receiver.deliveries().len(), 4);
}

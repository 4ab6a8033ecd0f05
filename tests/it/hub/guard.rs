//! The hub never connects to a refused address, given as a literal or by a name that resolves to it.

use super::rig::Rig;
use super::subscriber::Subscriber;
use crate::support::wait_until;

#[test]
fn private_literals_and_names_are_refused_with_a_line_that_names_the_field() {
    let rig = Rig::start_with(|settings| settings.guard.allow_private = false);
    for callback in [
        "https://127.0.0.1:8443/",
        "https://169.254.169.254:8443/",
        "https://2130706433:8443/",
        "https://a.example:22/",
    ] {
        let refusal = rig.subscribe_with(callback, &[]).expect_err(callback);
        let names_field = refusal.reason.starts_with("hub.callback: ");
        assert!(names_field, "{callback}: {refusal}");
    }
    assert_eq!(rig.store_counts(), (0, 0));
}

#[test]
fn a_name_that_changes_to_a_refused_address_counts_as_a_failed_delivery_and_is_never_reached() {
    let mut rig = Rig::start();
    let subscriber = Subscriber::good();
    let answers = [&["127.0.0.1"][..], &["169.254.169.254"]];
    rig.names.set("rebinding.sub.test", &answers);
    let callback = subscriber.callback_at("rebinding.sub.test", "/cb");
    // The subscription becomes active: the hub connects to the checked address without a second lookup.
    rig.subscribe(&callback);
    let connections = subscriber.connections();
    rig.change("2");
    rig.wait_gone(&callback);
    rig.assert_removed("failures", "blocked");
    // The denial is not sent to a refused address either: the address is looked up for the verification, for each
    // delivery and for the denial, and the hub ends its attempts before it stops.
    let lookups = 2 + rig.settings.policy.failures_max as usize;
    wait_until("the denial", || rig.names.lookups() == lookups);
    rig.stop();
    assert_eq!(subscriber.connections(), connections);
}

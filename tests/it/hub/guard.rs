//! Addresses that the hub must not reach, however the callback is written and whatever its name resolves to.

use std::time::Duration;

use super::rig::Rig;
use super::subscriber::Subscriber;
use crate::support::wait_until;

#[test]
fn private_literals_and_names_are_refused_with_a_line_that_names_the_field() {
    let rig = Rig::start_with(|settings| settings.guard.allow_private = false);
    for callback in [
        "https://127.0.0.1:8443/",
        "https://[::1]:8443/",
        "https://[::ffff:127.0.0.1]:8443/",
        "https://10.0.0.1:8443/",
        "https://169.254.169.254:8443/",
        "https://localhost:8443/",
        "https://printer:8443/",
        "https://db.internal:8443/",
        "https://2130706433:8443/",
        "https://0x7f.1:8443/",
        "https://017700000001:8443/",
        "https://127.1:8443/",
        "https://localhost.:8443/",
        "https://user:pw@a.example:8443/",
        "https://a.example:22/",
        "https://[64:ff9b::7f00:1]:8443/",
        "http://a.example:8443/",
    ] {
        let refusal = rig.subscribe_with(callback, &[]).expect_err(callback);
        assert!(
            refusal.reason.starts_with("hub.callback: "),
            "{callback}: {refusal}"
        );
    }
    assert_eq!(rig.store_counts(), (0, 0));
}

#[test]
fn a_name_that_resolves_inward_is_not_connected_to() {
    let rig = Rig::start_with(|settings| settings.guard.allow_private = false);
    let subscriber = Subscriber::good();
    for (number, answer) in [
        &["127.0.0.1"][..],
        &["8.8.8.8", "127.0.0.1"],
        &["169.254.169.254"],
        &["::ffff:127.0.0.1"],
        &["64:ff9b::7f00:1"],
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("n{number}.callbacks.example");
        rig.names.set(&name, &[answer]);
        rig.subscribe_with(&format!("https://{name}:{}/cb", subscriber.port()), &[])
            .unwrap();
    }
    rig.wait_verified();
    assert_eq!(rig.store_counts(), (0, 0));
    assert_eq!(subscriber.connections(), 0);
}

#[test]
fn a_name_that_changes_to_a_refused_address_counts_as_a_failed_delivery_and_is_never_reached() {
    let rig = Rig::start();
    let subscriber = Subscriber::good();
    let callback = format!("https://rebinding.sub.test:{}/cb", subscriber.port());
    rig.names.set(
        "rebinding.sub.test",
        &[&["127.0.0.1"], &["169.254.169.254"]],
    );
    rig.subscribe(&callback);
    let connections = subscriber.connections();
    rig.change("2");
    rig.wait_gone(&callback);
    let stone = &rig.tombstones()[0];
    assert_eq!(
        (
            stone.removal.as_str(),
            stone.last.as_ref().unwrap().answer.to_string().as_str()
        ),
        ("failures", "blocked")
    );
    // The denial is not sent to a refused address either.
    std::thread::sleep(Duration::from_millis(700));
    assert_eq!(subscriber.connections(), connections);
}

#[test]
fn the_address_that_was_judged_is_the_one_connected_to() {
    let rig = Rig::start();
    let subscriber = Subscriber::good();
    // A second lookup would be answered with another address.
    rig.names
        .set("once.sub.test", &[&["127.0.0.1"], &["127.0.0.9"]]);
    let callback = format!("https://once.sub.test:{}/cb", subscriber.port());
    rig.subscribe_with(&callback, &[]).unwrap();
    wait_until("reached", || subscriber.connections() == 1);
    rig.wait_active(&callback);
}

#[test]
fn certificates_are_checked_against_the_name_and_not_the_address() {
    let rig = Rig::start();
    let subscriber = Subscriber::good();
    // The certificate is for *.sub.test; the address is the same.
    rig.names.set("sub.example", &[&["127.0.0.1"]]);
    rig.subscribe_with(
        &format!("https://sub.example:{}/cb", subscriber.port()),
        &[],
    )
    .unwrap();
    rig.wait_verified();
    assert_eq!(rig.store_counts(), (0, 0));
    assert_eq!(
        (subscriber.connections(), subscriber.received().len()),
        (1, 0)
    );
}

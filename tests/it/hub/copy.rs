//! `reviewd hub copy`: copies subscriptions and requests from a state directory into a database, each exactly once.

use oracle::hub::ask;
use reviewd::hub::Mode;
use serde_json::json;

use super::postgres_shared::Shared;
use super::rig::{BASE, FEED, Rig, now};
use super::subscriber::Subscriber;
use crate::support::Program;
use crate::support::program::run;

#[test]
fn subscriptions_move_into_a_database_and_nothing_is_lost_on_the_way() {
    let Some(shared) = Shared::new() else { return };
    let mut rig = Rig::start();
    let subscriber = Subscriber::good();
    let silent = Subscriber::good();
    let [signed, plain] = ["/a", "/b"].map(|path| subscriber.callback(path));
    let secret = [("hub.secret", "opensesame")];
    rig.subscribe_as(&signed, &secret);
    rig.subscribe(&plain);
    rig.wait_settled();
    let state = rig.state_dir().to_str().unwrap().to_owned();
    let copy = ["hub", "copy", "--store", &shared.url, "--state", &state];
    // The copy is refused while a hub delivers from the state directory.
    run(&copy).with(69);
    rig.stop();
    // A request that is accepted and not yet verified is copied too.
    let accept = ask(Mode::Subscribe, &silent.callback("/c"), FEED, None, 600);
    let quotas = rig.settings.quotas;
    let accepted = rig.store().accept(&[accept], &quotas, now());
    assert_eq!(accepted, Ok(vec![Ok(())]));
    for (copied, known, requests) in [(2, 0, 1), (0, 2, 0)] {
        let report = run(&[&copy[..], &["--format", "json"]].concat()).json(0);
        let expected = json!({"copied": copied, "known": known, "requests": requests});
        assert_eq!(report, expected);
    }
    let list = |place: [&str; 2]| {
        let mut list = run(&[&["hub", "list", "--format", "json"], &place[..]].concat()).json(0);
        for one in list["subscriptions"].as_array_mut().unwrap() {
            one.as_object_mut().unwrap().remove("id");
        }
        list
    };
    assert_eq!(list(["--store", &shared.url]), list(["--state", &state]));
    // A service that starts with the database warns about the file left in the state directory.
    let places = ["--store", &shared.url, "--state", &state];
    let program = Program::serve(&[&places[..], &["--base-url", BASE]].concat());
    let line = program.seen("hub.sqlite3");
    assert!(line.contains("\"WARN\""), "{line}");
    assert!(line.contains("reviewd hub copy"), "{line}");
}

#[test]
fn a_copy_needs_a_database() {
    let rig = Rig::start();
    let said = run(&["hub", "copy", "--state", rig.state_dir().to_str().unwrap()]).with(64);
    assert!(said.contains("--store"), "{said}");
}

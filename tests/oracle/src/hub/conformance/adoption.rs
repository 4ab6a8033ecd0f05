//! Subscriptions that come from another store.

use super::{activate, at, change, deliveries, topic};
use reviewd::websub::store::{Listed, Store};
use reviewd::websub::subscription::{Answer, Ended, Subscription};
use reviewd::websub::transfer::{ExportedSubscription, ImportDecision, parse_line, render_line};
use reviewd::websub::{Callback, Moment};

pub(super) fn moved_subscriptions_are_taken_over_once_and_owed_what_they_were_owed(
    store: &mut dyn Store,
) {
    activate(store, "one", "a");
    let [mut listed] = <[Listed; 1]>::try_from(store.list(0, 10, at(2)).expect("listed"))
        .expect("one subscription");
    let adopt = |store: &mut dyn Store, moved: &ExportedSubscription| {
        let answers = store.adopt(std::slice::from_ref(moved), at(3));
        answers.expect("adopted")
    };
    let mut moved = through_a_line(&listed);
    assert_eq!(adopt(store, &moved), [ImportDecision::Known]);
    // Another one, which has had the content of now, and one which has not.
    moved.callback = callback("two");
    assert_eq!(adopt(store, &moved), [ImportDecision::Added]);
    assert_eq!(adopt(store, &moved), [ImportDecision::Known]);
    moved.callback = callback("three");
    moved.state.digest = [9; 32];
    assert_eq!(adopt(store, &moved), [ImportDecision::Added]);
    let due = deliveries(store, 4);
    assert_eq!(due.len(), 1, "{due:?}");
    assert_eq!(due[0].callback, moved.callback);
    assert_eq!(due[0].secret, moved.state.secret);
    moved.topic = topic("elsewhere");
    assert_eq!(adopt(store, &moved), [ImportDecision::UnknownTopic]);
    moved.state.lease_end = at(3);
    assert_eq!(adopt(store, &moved), [ImportDecision::Expired]);
    // A renewal elsewhere comes along, under the id that is known here.
    listed.state.verified_at = at(50);
    listed.state.lease_end = Moment::from_unix_ms(listed.state.lease_end.unix_ms() + 50);
    assert_eq!(
        adopt(store, &through_a_line(&listed)),
        [ImportDecision::Updated]
    );
    let now = store.list(0, 1, at(5)).expect("listed");
    assert_eq!(now, [listed]);
    change(store, "a", 2, 6);
    assert_eq!(deliveries(store, 7).len(), 2, "the third is under way");
}

pub(super) fn lines_that_come_together_are_taken_over_as_one_after_the_other(
    store: &mut dyn Store,
) {
    activate(store, "one", "a");
    let [listed] = <[Listed; 1]>::try_from(store.list(0, 10, at(2)).expect("listed"))
        .expect("one subscription");
    let known = through_a_line(&listed);
    let named = |name: &str| ExportedSubscription {
        callback: callback(name),
        ..known.clone()
    };
    let mut later = named("two");
    later.state.verified_at = at(60);
    let mut told = named("three");
    told.state.last = Some(Ended {
        at: at(1),
        answer: Answer::Status(204),
    });
    let elsewhere = ExportedSubscription {
        topic: topic("elsewhere"),
        ..named("four")
    };
    let mut over = named("five");
    over.state.lease_end = at(3);
    let mut renewed = known.clone();
    renewed.state.verified_at = at(50);
    let all = [
        known.clone(),
        named("two"),
        later.clone(),
        named("two"),
        elsewhere,
        told.clone(),
        over,
        renewed.clone(),
    ];
    let answers = store.adopt(&all, at(3)).expect("adopted");
    assert_eq!(
        answers,
        [
            ImportDecision::Known,
            ImportDecision::Added,
            ImportDecision::Updated,
            ImportDecision::Known,
            ImportDecision::UnknownTopic,
            ImportDecision::Added,
            ImportDecision::Expired,
            ImportDecision::Updated,
        ]
    );
    let states: Vec<(Callback, Subscription)> = store
        .list(0, 10, at(4))
        .expect("listed")
        .into_iter()
        .map(|listed| (listed.callback, listed.state))
        .collect();
    let expected = [renewed, later, told].map(|moved| (moved.callback, moved.state));
    assert_eq!(states, expected, "in the order of the lines");
}

fn through_a_line(listed: &Listed) -> ExportedSubscription {
    let mut line = Vec::new();
    render_line(&mut line, listed, true);
    parse_line(&line).expect("a line of ours")
}

fn callback(name: &str) -> Callback {
    Callback::parse(&format!("https://{name}.example/")).expect("URL")
}

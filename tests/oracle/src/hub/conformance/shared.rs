//! What holds between two replicas that have the same store open.

use super::*;

type Check = fn(&mut Store, &mut Store);

/// Every check.
pub(super) const CHECKS: [Check; 3] = [
    two_that_claim_at_once_never_claim_the_same,
    a_change_is_published_once_however_many_notice_it,
    an_older_version_changes_nothing_and_is_not_delivered,
];

fn two_that_claim_at_once_never_claim_the_same(one: &mut Store, other: &mut Store) {
    let names: Vec<String> = (0..60).map(|number| format!("x/{number}")).collect();
    for name in &names {
        activate(one, name, "a");
    }
    change(one, "a", 2, 3);
    let mut ids = Vec::new();
    while ids.len() < names.len() {
        let before = ids.len();
        let few = |store: &mut Store| store.claim_deliveries(Lane::Slow, &claim(7), at(4));
        let (left, right) = std::thread::scope(|scope| {
            let left = scope.spawn(|| few(&mut *one));
            let right = scope.spawn(|| few(&mut *other));
            (left.join().expect("joined"), right.join().expect("joined"))
        });
        let claimed = [left.expect("claimed"), right.expect("claimed")].concat();
        assert!(claimed.iter().all(|delivery| delivery.attempt == 1));
        ids.extend(claimed.iter().map(|delivery| delivery.id));
        assert!(ids.len() > before, "nothing is claimed though much is due");
    }
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), names.len(), "each once");
    assert_eq!(deliveries(other, 4), []);
}

fn a_change_is_published_once_however_many_notice_it(one: &mut Store, other: &mut Store) {
    let versions = [version("a", 2, 10), version("b", 1, 10)];
    let (left, right) = std::thread::scope(|scope| {
        let left = scope.spawn(|| one.publish(&versions, at(1)));
        let right = scope.spawn(|| other.publish(&versions, at(1)));
        (left.join().expect("joined"), right.join().expect("joined"))
    });
    let (left, right) = (left.expect("published"), right.expect("published"));
    assert_eq!([left.changed, right.changed].concat(), [topic("a")]);
    assert!(left.older.is_empty() && right.older.is_empty());
}

fn an_older_version_changes_nothing_and_is_not_delivered(one: &mut Store, other: &mut Store) {
    activate(one, "x", "a");
    change(one, "a", 2, 10);
    let again = other
        .publish(&[version("a", 1, 9), version("c", 1, 9)], at(11))
        .expect("published");
    assert_eq!((again.changed, again.withdrawn), (vec![topic("c")], 0));
    assert_eq!(again.older, [topic("a")]);
    assert_eq!(deliveries(other, 12), [], "its content is behind");
    // With older files, in which there is no such topic.
    let fewer = other.publish(&[version("b", 1, -1)], at(12));
    assert_eq!(fewer.map(|published| published.withdrawn), Ok(0));
    assert_eq!(deliveries(other, 12), []);
    let sent = deliveries(one, 13);
    assert_eq!(sent[0].digest, [2; 32]);
}

use super::*;
use crate::Callback;
use crate::settings::HubSettings;
use crate::store::AttemptReport;
use crate::subscription::AttemptResult;

/// Items of one letter with a digest, and a notice of each change.
struct Letters {
    items: Vec<(char, u8)>,
    targets: Vec<NoticeTarget>,
    dated: i64,
    /// Notices about no item that are composed in addition.
    summaries: usize,
}

impl Letters {
    fn of(items: &[(char, u8)]) -> Letters {
        Letters {
            items: items.to_vec(),
            targets: vec![target("shop")],
            dated: 0,
            summaries: 0,
        }
    }
}

fn target(id: &str) -> NoticeTarget {
    NoticeTarget {
        id: id.to_owned(),
        callback: Callback::parse("https://x.example/hook").expect("a callback"),
        secret: None,
    }
}

fn notice(item: &str, body: &str) -> NewNotice {
    NewNotice {
        target: "shop".to_owned(),
        item: item.to_owned(),
        body: body.to_owned(),
    }
}

impl NoticeSource for Letters {
    fn dated(&self) -> Timestamp {
        Timestamp::from_unix(self.dated)
    }

    fn targets(&self) -> &[NoticeTarget] {
        &self.targets
    }

    fn items(&self) -> Vec<NoticeItem> {
        let items = self.items.iter().map(|(letter, digest)| NoticeItem {
            name: letter.to_string(),
            digest: [*digest; 32],
            facts: format!("facts of {letter}"),
        });
        items.collect()
    }

    fn compose(&self, changes: &NoticeChanges) -> Vec<NewNotice> {
        let mut notices = Vec::new();
        for (kind, names) in [("added", &changes.added), ("changed", &changes.changed)] {
            notices.extend(names.iter().map(|name| notice(name, kind)));
        }
        for item in &changes.removed {
            notices.push(notice(&item.name, &item.facts));
        }
        if let Some(days) = changes.days {
            let days = days.until.days() - days.after.days();
            notices.push(notice("days", &days.to_string()));
        }
        notices.extend((0..self.summaries).map(|_| notice("", "summary")));
        notices
    }
}

fn at(ms: i64) -> UnixMillis {
    UnixMillis::new(ms)
}

/// A store that has told of these items.
fn told(items: &[(char, u8)]) -> Store {
    let mut store = Store::in_memory().expect("a store");
    let report = store.tell(&Letters::of(items), at(0)).expect("told");
    assert!(report.is_first);
    store
}

/// Begins all notices that are due, and returns item and body of each.
fn begin(store: &mut Store, now: UnixMillis) -> Vec<BegunNotice> {
    let due = store
        .due_notices(&[target("shop")], 10_000, now)
        .expect("due");
    let ids = due.iter().map(|due| match due.id {
        AttemptId::Notice(id) => id,
        other => panic!("{other:?}"),
    });
    let mut begun = store
        .begin_notices(&ids.collect::<Vec<_>>())
        .expect("begun");
    begun.sort_by_key(|notice| notice.id);
    begun
}

fn bodies(begun: &[BegunNotice]) -> Vec<&str> {
    begun.iter().map(|notice| notice.body.as_str()).collect()
}

/// Ends an attempt with a status.
fn end(store: &mut Store, begun: &BegunNotice, status: u16, now: UnixMillis) -> ReportEffect {
    let guard = crate::guard::Guard {
        allow_private: false,
        ports: crate::guard::Ports::parse("443").expect("ports"),
    };
    let location = crate::StoreLocation::Directory(std::path::PathBuf::new());
    let settings = HubSettings::new(location, guard);
    let result = DeliveryResult {
        attempt: begun.attempt,
        result: Some(AttemptResult::Status(status)),
        retry_after: None,
        elapsed: std::time::Duration::ZERO,
        jitter: 0,
    };
    let report = AttemptReport::Notified {
        id: begun.id,
        result,
    };
    let effects = store.record(&[report], &settings.policy, &settings.quotas, now);
    effects.expect("recorded")[0]
}

#[test]
fn the_first_time_nothing_is_sent_and_then_each_change() {
    let mut store = told(&[('a', 1), ('b', 1), ('c', 1)]);
    assert_eq!(begin(&mut store, at(0)), []);
    let next = Letters::of(&[('a', 1), ('b', 2), ('d', 1)]);
    assert_eq!(store.tell(&next, at(1)).expect("told").stored, 3);
    let begun = begin(&mut store, at(1));
    assert_eq!(bodies(&begun), ["added", "changed", "facts of c"]);
    assert_eq!(store.tell(&next, at(2)).expect("told").stored, 0);
    let names: std::collections::HashSet<&str> =
        begun.iter().map(|notice| notice.name.as_str()).collect();
    assert_eq!(names.len(), 3);
}

#[test]
fn a_later_notice_about_an_item_waits_for_an_earlier_one() {
    let mut store = told(&[('a', 1), ('b', 1)]);
    store
        .tell(&Letters::of(&[('a', 2), ('b', 1)]), at(1))
        .expect("told");
    store
        .tell(&Letters::of(&[('a', 3), ('b', 2)]), at(2))
        .expect("told");
    let begun = begin(&mut store, at(2));
    // The first about `a`, and that about `b`.
    assert_eq!(begun.len(), 2);
    assert_eq!(begin(&mut store, at(3)), []);
    assert_eq!(
        end(&mut store, &begun[0], 500, at(3)),
        ReportEffect::Waiting
    );
    assert_eq!(begin(&mut store, at(60_002)), []);
    let again = begin(&mut store, at(60_003));
    assert_eq!(again[0].name, begun[0].name);
    assert_eq!(again[0].attempt, 2);
    assert_eq!(
        end(&mut store, &again[0], 204, at(60_004)),
        ReportEffect::Told
    );
    assert_eq!(begin(&mut store, at(60_004)).len(), 1);
}

#[test]
fn a_summary_goes_after_what_waits_and_before_what_follows() {
    let mut store = told(&[('a', 1)]);
    let changed = |digest, summaries| Letters {
        summaries,
        ..Letters::of(&[('a', digest)])
    };
    store.tell(&changed(2, 0), at(1)).expect("told");
    store.tell(&changed(2, 1), at(2)).expect("told");
    store.tell(&changed(3, 0), at(3)).expect("told");
    for expected in ["changed", "summary", "changed"] {
        let begun = begin(&mut store, at(4));
        assert_eq!(bodies(&begun), [expected]);
        end(&mut store, &begun[0], 200, at(4));
    }
}

#[test]
fn an_attempt_that_a_crash_ended_is_repeated_with_its_name() {
    let mut store = told(&[('a', 1)]);
    store.tell(&Letters::of(&[('a', 2)]), at(1)).expect("told");
    let begun = begin(&mut store, at(1));
    store.recover(at(2)).expect("recovered");
    let again = begin(&mut store, at(2));
    assert_eq!(again[0].name, begun[0].name);
    // The result of the attempt from before the crash does not count.
    assert_eq!(end(&mut store, &begun[0], 200, at(2)), ReportEffect::Stale);
    assert_eq!(end(&mut store, &again[0], 200, at(2)), ReportEffect::Told);
}

#[test]
fn at_most_1000_notices_wait_for_a_target_and_the_oldest_are_given_up() {
    let mut store = told(&[('a', 1)]);
    let many = |summaries| Letters {
        summaries,
        ..Letters::of(&[('a', 1)])
    };
    assert_eq!(store.tell(&many(1_000), at(1)).expect("told").given_up, 0);
    let sending = begin(&mut store, at(1));
    assert_eq!(sending.len(), 1);
    assert_eq!(store.tell(&many(2), at(2)).expect("told").given_up, 1);
    // The oldest is being sent, so it stays.
    assert_eq!(store.notice_counts().expect("counted").waiting, 1_001);
    assert_eq!(end(&mut store, &sending[0], 200, at(3)), ReportEffect::Told);
}

#[test]
fn what_waits_for_a_removed_target_is_given_up_and_without_targets_all_is_forgotten() {
    let mut store = told(&[('a', 1)]);
    store.tell(&Letters::of(&[('a', 2)]), at(1)).expect("told");
    let mut other = Letters::of(&[('a', 2)]);
    other.targets = vec![target("other")];
    assert_eq!(store.tell(&other, at(2)).expect("told").given_up, 1);
    let mut without = Letters::of(&[('a', 2)]);
    without.targets.clear();
    store.tell(&without, at(3)).expect("told");
    let again = store.tell(&Letters::of(&[('a', 9)]), at(4)).expect("told");
    assert!(again.is_first);
}

#[test]
fn days_that_have_begun_are_told_once() {
    let mut store = told(&[('a', 1)]);
    let letters = Letters::of(&[('a', 1)]);
    assert_eq!(
        store.tell(&letters, at(DAY_MS - 1)).expect("told").stored,
        0
    );
    assert_eq!(
        store.tell(&letters, at(3 * DAY_MS)).expect("told").stored,
        1
    );
    assert_eq!(bodies(&begin(&mut store, at(3 * DAY_MS))), ["3"]);
    assert_eq!(
        store.tell(&letters, at(3 * DAY_MS)).expect("told").stored,
        0
    );
    // A clock that is set back tells nothing again.
    assert_eq!(store.tell(&letters, at(0)).expect("told").stored, 0);
    assert_eq!(
        store.tell(&letters, at(3 * DAY_MS)).expect("told").stored,
        0
    );
}

//! How much is kept, on both sides of the bound.

use super::*;
use crate::hub::store::TOMBSTONES_MAX;

#[test]
fn the_newest_ten_thousand_tombstones_are_kept_and_the_oldest_is_dropped() {
    let (_temp, dir, mut store) = fresh();
    let put_up = |id: usize| {
        let file = rusqlite::Connection::open(dir.join(FILE_NAME)).expect("opened");
        let sql =
            "WITH RECURSIVE ids (id) AS (SELECT ?1 UNION ALL SELECT id + 1 FROM ids WHERE id < ?2)
             INSERT INTO tombstone (id, topic, host, removal, at, created_at)
             SELECT id, 't', 'h', 'unsubscribed', ?3 + id, 0 FROM ids";
        let first = if id == TOMBSTONES_MAX { 1 } else { id };
        let [first, last] = [first, id].map(|id| id as i64);
        file.execute(sql, [first, last, at(0).unix_ms()])
            .expect("put up");
    };
    let age = Duration::from_secs(3_600);
    for count in [TOMBSTONES_MAX, TOMBSTONES_MAX + 1] {
        put_up(count);
        store.sweep(age, at(20_000)).expect("swept");
    }
    let kept = store.tombstones(usize::MAX).expect("tombstones");
    assert_eq!(kept.len(), TOMBSTONES_MAX);
    let oldest = kept.iter().map(|stone| stone.at).min();
    assert_eq!(oldest, Some(at(2)), "the first is gone");
}

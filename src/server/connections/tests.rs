//! Both sides of the limits, and which connection is evicted.

use super::*;
use crate::limits::BudgetLimits;

fn table(max: u32, per_address_max: u32) -> Arc<Connections> {
    let limits = crate::server::config::ServerLimits {
        connections: max,
        connections_per_address: per_address_max,
        ..Default::default()
    };
    let proxies = Proxies {
        networks: vec!["10.0.0.0/8".parse().unwrap()],
    };
    Arc::new(Connections::new(&limits, proxies, budgets()))
}

fn budgets() -> Arc<Budgets> {
    Budgets::new(BudgetLimits {
        process_bytes: 1_000_000,
        client_bytes: 0,
    })
}

/// A time that no test reaches, counted from the creation of the table. A connection whose wait begins only then is too new to
/// be evicted, however slow the machine is.
const LATER: Duration = Duration::from_secs(86_400);

/// Admits a connection with a request in progress, which is not evicted.
fn busy(table: &Arc<Connections>, address: &str) -> Result<ConnectionPermit, LimitReached> {
    let permit = table.admit(address.parse().expect(address))?.permit;
    permit.note_busy(table.began + LATER, 0);
    Ok(permit)
}

#[test]
fn an_ipv6_client_is_its_64_and_a_48_has_the_shares_of_four() {
    let table = table(100, 1);
    let _first = busy(&table, "2001:db8::1").unwrap();
    let assert_refused = |address: &str| {
        let refused = busy(&table, address).unwrap_err();
        assert_eq!(refused, LimitReached::Address);
    };
    assert_refused("2001:db8::2");
    let others = [1, 2, 3]
        .map(|number| format!("2001:db8:0:{number}::1"))
        .map(|address| busy(&table, &address).unwrap());
    assert_refused("2001:db8:0:4::1");
    assert!(busy(&table, "2001:db8:1::1").is_ok());
    drop(others);
    assert!(busy(&table, "2001:db8:0:4::1").is_ok());
}

#[test]
fn a_proxy_may_have_all_places_and_no_more() {
    let table = table(3, 1);
    let held: Vec<_> = (0..3).map(|_| busy(&table, "10.1.2.3").unwrap()).collect();
    assert_eq!(busy(&table, "10.1.2.3").unwrap_err(), LimitReached::All);
    drop(held);
    assert_eq!(table.open(), 0);
}

#[test]
fn one_of_the_next_32_is_closed_and_the_next_sample_begins_after_them() {
    let table = table(SAMPLE as u32 * 2, 0);
    let held: Vec<_> = (0..SAMPLE as u64 * 2)
        .map(|number| {
            let permit = table.admit([192, 0, 2, 1].into()).unwrap().permit;
            // Every connection is new. A higher number has an earlier time, as if it had waited longer.
            let since = LATER - Duration::from_secs(number);
            permit.note_waiting(table.began + since);
            permit
        })
        .collect();
    let evicted = || -> Vec<usize> {
        let is_leaving = |at: &usize| held[*at].leave().is_some();
        (0..held.len()).filter(is_leaving).collect()
    };
    let _first = busy(&table, "192.0.2.2").unwrap();
    assert_eq!(evicted(), [SAMPLE - 1]);
    let _second = busy(&table, "192.0.2.2").unwrap();
    assert_eq!(evicted(), [SAMPLE - 1, SAMPLE * 2 - 1]);
}

#[test]
fn at_most_32_evicted_connections_are_open_beyond_the_limit() {
    let limit = CLOSING_MAX + 1;
    let table = table(limit, 0);
    let mut held: Vec<_> = (0..limit)
        .map(|_| table.admit([192, 0, 2, 1].into()).unwrap().permit)
        .collect();
    let new: Vec<_> = (0..CLOSING_MAX)
        .map(|_| busy(&table, "192.0.2.2").unwrap())
        .collect();
    assert_eq!(busy(&table, "192.0.2.2").unwrap_err(), LimitReached::All);
    let evicted = held.iter().position(|permit| permit.leave().is_some());
    drop(held.swap_remove(evicted.expect("one was evicted")));
    assert!(busy(&table, "192.0.2.2").is_ok());
    drop(new);
}

#[test]
fn nothing_is_remembered_of_who_has_gone() {
    let table = table(100, 1);
    for number in 0..50_u32 {
        drop(table.admit(IpAddr::V4(number.into())).unwrap());
    }
    assert!(table.lock().networks.is_empty());
    assert!(table.lock().entries.is_empty());
}

/// A connection that has been busy since the table was created, and has moved `bytes` bytes since.
fn moving(table: &Arc<Connections>, bytes: u64) -> ConnectionPermit {
    let permit = table.admit([192, 0, 2, 1].into()).unwrap().permit;
    permit.note_busy(table.began, 0);
    permit.note_busy(table.began, bytes);
    permit
}

/// Makes room for a new connection at `now`, in microseconds since the table was created; tells whether one was evicted.
fn evict_at(table: &Arc<Connections>, now: u64) -> bool {
    table.lock().evict(ALL, now).is_some()
}

#[test]
fn a_connection_below_the_minimum_rate_for_a_second_is_evicted() {
    let second = micros(GRACE);
    let table = table(1, 0);
    let slow = moving(&table, u64::from(RATE_MIN) - 1);
    assert!(!evict_at(&table, second - 1));
    assert!(evict_at(&table, second));
    assert_eq!(slow.leave(), Some(Leave::Aborted));
}

#[test]
fn a_connection_at_the_minimum_rate_keeps_its_place() {
    let table = table(1, 0);
    let reader = moving(&table, u64::from(RATE_MIN));
    assert!(!evict_at(&table, micros(GRACE)));
    assert_eq!(reader.leave(), None);
}

#[test]
fn the_least_progress_goes_first_after_idle_connections_and_before_new_ones() {
    let table = table(9, 0);
    let now = micros(PROGRESS_WINDOW);
    let slower = moving(&table, 100);
    let slow = moving(&table, 200);
    let idle = busy(&table, "192.0.2.1").unwrap();
    idle.note_waiting(table.began);
    let new = busy(&table, "192.0.2.1").unwrap();
    new.note_waiting(table.began + PROGRESS_WINDOW);
    for (permit, leave) in [
        (&idle, Leave::Evicted),
        (&slower, Leave::Aborted),
        (&slow, Leave::Aborted),
        (&new, Leave::Evicted),
    ] {
        assert_eq!(permit.leave(), None);
        assert!(evict_at(&table, now), "one has to go");
        assert_eq!(permit.leave(), Some(leave));
    }
}

#[test]
fn bytes_of_the_last_window_do_not_count_as_progress() {
    let table = table(1, 0);
    let permit = moving(&table, 1 << 30);
    permit.note_busy(table.began + PROGRESS_WINDOW, 1 << 30);
    let second_later = micros(PROGRESS_WINDOW + GRACE);
    assert!(evict_at(&table, second_later));
    assert_eq!(permit.leave(), Some(Leave::Aborted));
}

#[test]
fn what_the_socket_takes_before_it_blocks_is_no_progress() {
    let table = table(1, 0);
    let permit = moving(&table, 1 << 30);
    permit.note_blocked(table.began, 1 << 30);
    assert!(evict_at(&table, micros(GRACE)));
    assert_eq!(permit.leave(), Some(Leave::Aborted));
}

/// Returns which connections are closed at `now`, if each has moved `bytes` and holds `held` of a budget of 1,000,000 bytes,
/// of which 750,000 can be held without pressure.
fn closed(bytes: &[u64], held: &[u64], now: Duration) -> Vec<bool> {
    let table = table(9, 0);
    let mut permits = Vec::new();
    let mut shares = Vec::new();
    for (bytes, held) in bytes.iter().zip(held) {
        let permit = moving(&table, *bytes);
        shares.push(permit.peer().account.take(*held).unwrap());
        permits.push(permit);
    }
    table.close_heaviest_at(micros(now));
    let is_closed = |permit: &ConnectionPermit| permit.leave() == Some(Leave::Aborted);
    permits.iter().map(is_closed).collect()
}

#[test]
fn the_connection_that_would_hold_its_bytes_longest_is_closed_if_a_budget_is_short() {
    let held = [450_001, 300_000];
    for now in [HOLDING_GRACE, GRACE] {
        let without_pressure = closed(&[0, 0], &[450_000, 300_000], now);
        assert_eq!(without_pressure, [false, false]);
        assert_eq!(closed(&[0, 0], &held, now), [true, false]);
        assert_eq!(closed(&[9, 1], &held, now), [false, true]);
    }
    let early = HOLDING_GRACE - Duration::from_micros(1);
    assert_eq!(closed(&[0, 0], &held, early), [false, false]);
}

#[test]
fn a_connection_that_needs_less_than_a_minute_is_closed_only_if_the_budget_is_used_up() {
    // [`Progress::time_for`] counts one byte more than has moved. So with `held / 60 - 1` bytes in the first second a
    // connection needs exactly a minute, and with `held / 60` less.
    let held = 900_000;
    assert_eq!(closed(&[held / 60 - 1], &[held], GRACE), [true]);
    assert_eq!(closed(&[held / 60], &[held], GRACE), [false]);
    assert_eq!(
        closed(&[held / 60, 0], &[held, 99_999], GRACE),
        [false, true]
    );
    let used_up = closed(&[50_000], &[1_000_000], GRACE);
    assert_eq!(used_up, [true]);
}

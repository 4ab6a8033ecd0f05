//! Both sides of the limits, and which connection is evicted.

use super::*;
use crate::limits::BudgetLimits;

fn table(max: u32, per_address_max: u32) -> Arc<Connections> {
    let limits = crate::server::config::Limits {
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
        process_bytes: 1_000,
        client_bytes: 0,
    })
}

/// Admits a connection with a request in progress, which is never closed for another one.
fn busy(table: &Arc<Connections>, address: &str) -> Result<ConnectionPermit, LimitReached> {
    let (permit, _) = table.admit(address.parse().expect(address))?;
    permit.note_busy(table.began, 0);
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
    let others = [1, 2, 3].map(|number| format!("2001:db8:0:{number}::1"));
    let others = others.map(|address| busy(&table, &address).unwrap());
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
            let (permit, _) = table.admit([192, 0, 2, 1].into()).unwrap();
            // A connection with a higher number has waited longer.
            let since = Duration::from_secs(SAMPLE as u64 * 2 - number);
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
        .map(|_| table.admit([192, 0, 2, 1].into()).unwrap())
        .collect();
    let new: Vec<_> = (0..CLOSING_MAX)
        .map(|_| busy(&table, "192.0.2.2").unwrap())
        .collect();
    assert_eq!(busy(&table, "192.0.2.2").unwrap_err(), LimitReached::All);
    let evicted = held.iter().position(|(held, _)| held.leave().is_some());
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
    assert!(table.lock().networks.is_empty() && table.lock().entries.is_empty());
}

//! Both sides of each budget.

use super::*;

const MIB: u64 = 1 << 20;
const PROCESS: u64 = 1_000;
const CLIENT: u64 = 100;

fn budgets() -> Arc<Budgets> {
    Budgets::new(BudgetLimits {
        process_bytes: PROCESS,
        client_bytes: CLIENT,
    })
}

fn open(budgets: &Arc<Budgets>, client: &str) -> Account {
    budgets.account(Some(client.parse().expect(client)))
}

#[test]
fn a_client_may_hold_its_budget_and_not_a_byte_more() {
    let budgets = budgets();
    let account = open(&budgets, "192.0.2.1");
    let _first = account.take(CLIENT - 1).unwrap();
    assert_eq!(account.take(2).unwrap_err(), Shortage::Client);
    let _second = account.take(1).unwrap();
    assert_eq!(budgets.held(), CLIENT);
    assert_eq!(budgets.refused(), [("client", 1), ("process", 0)]);
}

#[test]
fn the_connections_of_a_client_share_its_budget_and_other_clients_do_not() {
    let budgets = budgets();
    let _held = open(&budgets, "192.0.2.1").take(CLIENT).unwrap();
    let again = open(&budgets, "::ffff:192.0.2.1").take(1);
    assert_eq!(again.unwrap_err(), Shortage::Client);
    assert!(open(&budgets, "192.0.2.2").take(CLIENT).is_ok());
}

#[test]
fn an_ipv6_client_is_its_64_and_a_48_has_the_budget_of_four() {
    let budgets = budgets();
    let _first = open(&budgets, "2001:db8::1").take(CLIENT).unwrap();
    let same = open(&budgets, "2001:db8::2").take(1);
    assert_eq!(same.unwrap_err(), Shortage::Client);
    let others = [1, 2, 3].map(|number| open(&budgets, &format!("2001:db8:0:{number}::1")));
    let shares = others.map(|other| other.take(CLIENT).unwrap());
    let fifth = open(&budgets, "2001:db8:0:4::1");
    assert_eq!(fifth.take(1).unwrap_err(), Shortage::Client);
    assert!(open(&budgets, "2001:db8:1::1").take(1).is_ok());
    drop(shares);
    assert!(fifth.take(CLIENT).is_ok());
}

#[test]
fn one_response_larger_than_the_budget_is_admitted_if_the_client_holds_no_other() {
    let budgets = budgets();
    let account = open(&budgets, "192.0.2.1");
    let small = account.take(1).unwrap();
    assert_eq!(account.take(CLIENT + 1).unwrap_err(), Shortage::Client);
    drop(small);
    let large = account.take(CLIENT + 1).unwrap();
    assert_eq!(account.take(1).unwrap_err(), Shortage::Client);
    drop(large);
    assert_eq!(budgets.held(), 0);
}

#[test]
fn the_process_admits_until_its_budget_is_held() {
    let budgets = budgets();
    let account = budgets.account(None);
    let _first = account.take(PROCESS - 1).unwrap();
    let last = account.take(2).unwrap();
    assert_eq!(account.take(1).unwrap_err(), Shortage::Process);
    drop(last);
    assert!(account.take(1).is_ok());
    assert_eq!(budgets.refused(), [("client", 0), ("process", 1)]);
}

#[test]
fn a_share_refused_by_the_process_does_not_count_for_the_client() {
    let budgets = budgets();
    let all = budgets.account(None).take(PROCESS).unwrap();
    let client = open(&budgets, "192.0.2.1");
    assert_eq!(client.take(CLIENT).unwrap_err(), Shortage::Process);
    drop(all);
    assert!(client.take(CLIENT).is_ok());
}

#[test]
fn bytes_that_cannot_be_refused_count_for_the_connection_and_the_process() {
    let budgets = budgets();
    let account = open(&budgets, "192.0.2.1");
    let stream = account.hold(CLIENT * 2, ShareKind::Stream);
    assert_eq!([account.held(), budgets.held()], [CLIENT * 2; 2]);
    let output = account.hold_output(CLIENT * 3);
    assert_eq!([account.held(), budgets.held()], [CLIENT * 5, CLIENT * 2]);
    assert_eq!(budgets.held_by_sockets(), CLIENT * 3);
    assert!(account.take(CLIENT).is_ok());
    drop(stream);
    drop(output);
    assert_eq!([account.held(), budgets.held()], [0; 2]);
    assert_eq!(budgets.held_by_sockets(), 0);
}

#[test]
fn a_proxys_requests_count_for_their_clients() {
    let budgets = budgets();
    let proxy = budgets.account(None);
    let client = |number| proxy.for_client([192, 0, 2, number].into());
    let _one = client(1).take(CLIENT).unwrap();
    assert_eq!(client(1).take(1).unwrap_err(), Shortage::Client);
    let _other = client(2).take(CLIENT).unwrap();
    assert_eq!(proxy.held(), CLIENT * 2);
}

#[test]
fn without_a_limit_a_client_may_hold_all_that_the_process_may() {
    let budgets = Budgets::new(BudgetLimits {
        process_bytes: PROCESS,
        client_bytes: 0,
    });
    let account = open(&budgets, "192.0.2.1");
    let _all = account.take(PROCESS).unwrap();
    assert_eq!(account.take(1).unwrap_err(), Shortage::Process);
}

#[test]
fn three_quarters_are_held_without_pressure() {
    for kind in [ShareKind::Made, ShareKind::Output] {
        let budgets = budgets();
        let account = budgets.account(None);
        let _quiet = account.hold(PROCESS / 4 * 3, kind);
        assert_eq!(budgets.excess(), 0);
        let _one = account.hold(1, kind);
        assert_eq!(budgets.excess(), 1);
        assert!(!budgets.is_used_up());
        let _rest = account.hold(PROCESS / 4 - 1, kind);
        assert_eq!(budgets.is_used_up(), kind == ShareKind::Made);
    }
}

#[test]
fn clients_that_have_gone_are_forgotten() {
    let budgets = budgets();
    let account = open(&budgets, "2001:db8::1");
    let share = account.take(1).unwrap();
    drop(account);
    assert_eq!(budgets.lock().len(), 2);
    drop(share);
    assert_eq!(budgets.lock().len(), 0);
}

#[test]
fn connections_take_a_quarter_of_the_memory_between_two_bounds() {
    for (memory_mib, expected) in [
        (0, 64),
        (16, 64),
        (17, 68),
        (512, 2_048),
        (2_499, 9_996),
        (2_500, 10_000),
        (64 << 10, 10_000),
    ] {
        let connections = connections_within(memory_mib * MIB, CONNECTION_BYTES);
        assert_eq!(connections, expected, "{memory_mib} MiB");
    }
}

#[test]
fn connections_with_tls_are_half_as_many() {
    assert_eq!(connections_within(512 * MIB, TLS_CONNECTION_BYTES), 1_024);
}

#[test]
fn what_all_clients_may_hold_is_the_sum_of_the_limits() {
    let clients = ClientMemory {
        in_flight_bytes: 64 * MIB,
        connections: 2_048,
        connection_bytes: CONNECTION_BYTES,
        threads: 2,
    };
    assert_eq!(clients.bytes_max(), (2 * 64 + 128 + 2 * 5 + 13) * MIB);
}

#[test]
fn by_default_clients_leave_half_of_the_memory_but_for_what_does_not_depend_on_it() {
    for memory_mib in [128, 256, 512, 1_024, 1 << 20] {
        for connection_bytes in [CONNECTION_BYTES, TLS_CONNECTION_BYTES] {
            let memory = memory_mib * MIB;
            let clients = ClientMemory {
                in_flight_bytes: memory / PROCESS_PART,
                connections: connections_within(memory, connection_bytes),
                connection_bytes,
                threads: 2,
            };
            let most = memory / 2 + 2 * THREAD_BYTES + TABLES_BYTES;
            assert!(clients.bytes_max() <= most, "{memory_mib} MiB");
        }
    }
}

//! Malicious clients over raw sockets, while other clients are still served.
//!
//! Each attack has a short form, which every `cargo test` runs against a server in this process with short timeouts:
//! all other clients are answered, and the server closes the attacker's connections. The long form is in [`measured`].

mod http1;
mod http2;
mod measured;
pub(crate) mod other_clients;

use std::io::{self, ErrorKind, Read};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::frames::{PREFACE, kind};
use crate::support::{Server, connect_from};
use http1::{READ, crowd};

/// Connections from one address of this machine, below the limit per client address.
const PER_ADDRESS: usize = 200;

/// Pause after each [`BATCH`] of connections of a crowd: 1,000 connections per second, because the cost of holding
/// them is measured, not that of serving their requests.
const PACE: Duration = Duration::from_millis(10);

/// Connections opened between two pauses; see [`PACE`].
const BATCH: usize = 10;

/// Write timeout of a flood: a connection from which the server reads nothing for this long is abandoned.
const PATIENCE: Duration = Duration::from_millis(200);

/// The target and the size of an attack.
struct Target {
    address: SocketAddr,
    /// Number of connections of an attack that needs many.
    crowd: usize,
    /// Pause between two writes on each of them.
    round: Duration,
    until: Instant,
}

/// Name and function of an attack, which runs until `Target::until`, and returns the connections that it still holds.
type Attack = (&'static str, fn(&Target) -> Vec<TcpStream>);

const ATTACKS: [Attack; 18] = [
    ("silent connections", |target| crowd(target, b"", b"")),
    ("kept connections, idle", |target| crowd(target, READ, b"")),
    ("slow heads", |target| crowd(target, &READ[..30], b"x")),
    ("slow bodies", http1::slow_bodies),
    ("readers that take nothing", http1::slow_readers),
    ("half-closed connections", http1::half_closed),
    ("pipelined requests, answers unread", |target| {
        http1::flood(target, || READ.repeat(1_000))
    }),
    ("heads, targets and bodies too large", http1::oversized),
    ("new connections without end", http1::reconnecting),
    ("HTTP/2: half a preface", |target| {
        crowd(target, &PREFACE[..12], b"")
    }),
    ("HTTP/2: rapid reset", http2::rapid_reset),
    ("HTTP/2: resets by the server", http2::made_resets),
    ("HTTP/2: endless CONTINUATION", http2::continuation),
    ("HTTP/2: windows that stay shut", http2::shut_windows),
    ("HTTP/2: flood of SETTINGS", |target| {
        http2::same(target, kind::SETTINGS, &[0, 1, 0, 0, 16, 0])
    }),
    ("HTTP/2: flood of PING, answers unread", |target| {
        http2::same(target, kind::PING, &[0; 8])
    }),
    ("HTTP/2: empty DATA without end", http2::empty_data),
    ("HTTP/2: block that unpacks to much", http2::unpacking),
];

impl Target {
    fn goes_on(&self) -> bool {
        Instant::now() < self.until
    }

    /// Opens connection `number` of a crowd, from an address that [`PER_ADDRESS`] connections share.
    fn connect(&self, number: usize) -> io::Result<TcpStream> {
        let host = u8::try_from(2 + number / PER_ADDRESS).expect("a crowd of at most 50,000");
        connect_from(IpAddr::from([127, 0, 1, host]), self.address)
    }

    /// Opens a crowd of connections, and calls `first` on each; a full server may close some, so errors are ignored.
    fn crowd(&self, first: impl Fn(usize, &mut TcpStream) -> io::Result<()>) -> Vec<TcpStream> {
        let mut held = Vec::new();
        for number in 0..self.crowd {
            let begun = self.connect(number).and_then(|mut connection| {
                first(number, &mut connection)?;
                Ok(connection)
            });
            held.extend(begun);
            if number % BATCH == 0 {
                thread::sleep(PACE);
            }
        }
        held
    }

    /// Holds the connections until the time of the attack is over.
    fn wait(&self) {
        thread::sleep(self.until.saturating_duration_since(Instant::now()));
    }

    /// Opens one connection after another, and calls `attack` on each until the server closes it or stops reading.
    fn flood(&self, mut attack: impl FnMut(TcpStream) -> io::Result<()>) -> Vec<TcpStream> {
        let mut held = Vec::new();
        let mut number = 0;
        while self.goes_on() {
            number += 1;
            let Ok(connection) = self.connect(number % self.crowd) else {
                continue;
            };
            let _limit = connection.set_write_timeout(Some(PATIENCE));
            held.extend(connection.try_clone());
            let _enough = attack(connection);
            if held.len() >= self.crowd / 10 {
                held.clear();
            }
        }
        held
    }
}

/// Tells whether the server has closed `connection`; discards the bytes that it has sent.
fn is_ended(connection: &mut TcpStream) -> bool {
    if connection.set_nonblocking(true).is_err() {
        return true;
    }
    let mut scrap = [0; 64 << 10];
    loop {
        match connection.read(&mut scrap) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() != ErrorKind::WouldBlock,
        }
    }
}

#[test]
fn other_clients_are_served_during_every_attack_and_the_attackers_are_closed() {
    // In parallel, because each attack mostly waits.
    thread::scope(|scope| {
        for attacks in ATTACKS.chunks(4) {
            scope.spawn(move || {
                for attack in attacks {
                    attack_shortly(attack);
                }
            });
        }
    });
}

fn attack_shortly((name, attack): &Attack) {
    let short = Duration::from_millis(300);
    let server = Server::start_with(|config| {
        config.limits.header_time = short;
        config.limits.idle_time = short;
        config.limits.stall_time = short * 4;
        config.limits.requests.body_time = short;
        config.limits.rate_time = short;
    });
    let target = Target {
        address: server.address(),
        crowd: 100,
        round: short / 10,
        until: Instant::now() + short * 2,
    };
    let (times, held) = other_clients::during(target.address, || attack(&target));
    assert!(!times.is_empty(), "{name}");
    // The server has closed all connections, although the attacker still holds its sockets.
    server.wait_for_open(0);
    drop(held);
    assert_eq!(server.get("/healthz").status, 200, "{name}");
}

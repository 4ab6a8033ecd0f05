//! Clients that mean harm, over raw sockets, while others go on being served.
//!
//! Each attack has a short form that every `cargo test` runs against a server in this process with short times: all
//! others are answered, and the server gets rid of the attacker by itself. The long form is in [`measured`].

mod http1;
mod http2;
mod measured;
mod other_clients;

use std::io::{self, ErrorKind, Read};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{Server, connect_from};

/// Connections from one address of this machine, below the limit for one client.
const PER_ADDRESS: usize = 200;

/// Pause after each [`BATCH`] of connections that a crowd opens: 1,000 a second come, as what is measured is what it
/// costs to hold them and not to serve their requests.
const PACE: Duration = Duration::from_millis(10);

/// See [`PACE`].
const BATCH: usize = 10;

/// How long a server may leave what a flood sends unread before that connection is given up.
const PATIENCE: Duration = Duration::from_millis(200);

/// What an attack is pointed at.
struct Target {
    address: SocketAddr,
    /// Connections of an attack that needs many.
    crowd: usize,
    /// Pause between two bytes of each of them.
    round: Duration,
    until: Instant,
}

/// One attack: it goes on until its time is over, and returns the connections that it still holds.
type Attack = (&'static str, fn(&Target) -> Vec<TcpStream>);

const ATTACKS: [Attack; 18] = [
    ("silent connections", http1::silence),
    ("kept connections, idle", http1::idle),
    ("slow heads", http1::slow_heads),
    ("slow bodies", http1::slow_bodies),
    ("readers that take nothing", http1::slow_readers),
    ("half-closed connections", http1::half_closed),
    ("pipelined requests, answers unread", http1::pipelining),
    ("heads, targets and bodies too large", http1::oversized),
    ("new connections without end", http1::reconnecting),
    ("HTTP/2: half a preface", http1::half_prefaces),
    ("HTTP/2: rapid reset", http2::rapid_reset),
    ("HTTP/2: resets by the server", http2::made_resets),
    ("HTTP/2: endless CONTINUATION", http2::continuation),
    ("HTTP/2: windows that stay shut", http2::shut_windows),
    ("HTTP/2: flood of SETTINGS", http2::settings),
    ("HTTP/2: flood of PING, answers unread", http2::pings),
    ("HTTP/2: empty DATA without end", http2::empty_data),
    ("HTTP/2: block that unpacks to much", http2::unpacking),
];

impl Target {
    fn goes_on(&self) -> bool {
        Instant::now() < self.until
    }

    /// Connects as number `number` of a crowd, whose addresses each have [`PER_ADDRESS`] connections.
    fn connect(&self, number: usize) -> io::Result<TcpStream> {
        let host = u8::try_from(2 + number / PER_ADDRESS).expect("a crowd of at most 50,000");
        connect_from(IpAddr::from([127, 0, 1, host]), self.address)
    }

    /// Opens a crowd, and has `first` begin each connection; the server may be full, and is right to close.
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

    /// Waits until the time is over.
    fn wait(&self) {
        while self.goes_on() {
            thread::sleep(PACE);
        }
    }

    /// Opens connection after connection, and has `attack` use each until the server has enough of it.
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

/// Tells whether the server has ended `connection`, throwing away what it has sent.
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
fn others_are_served_during_every_attack_and_the_server_gets_rid_of_each() {
    // Most of the time of each is waiting.
    thread::scope(|scope| {
        for attacks in ATTACKS.chunks(4) {
            scope.spawn(|| attacks.iter().for_each(attack_shortly));
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
    // Whatever the attacker still holds, the server has let go of it.
    server.wait_for_open(0);
    drop(held);
    assert_eq!(server.get("/healthz").status, 200, "{name}");
}

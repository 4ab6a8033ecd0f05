//! Clients that mean harm, over raw sockets, while others go on being served.
//!
//! Each attack has a short form that every `cargo test` runs against a server in this process with short times: all
//! others are answered, and the server gets rid of the attacker by itself. The long form is in [`measured`].

mod bystander;
mod http1;
mod http2;
mod measured;

use std::io::{self, ErrorKind, Read};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};

use crate::support::{Server, wait_until};

/// Connections from one address of this machine, below the limit for one client.
const PER_ADDRESS: usize = 200;

/// One attack: it goes on until its time is over, and returns the connections that it still holds.
struct Attack {
    name: &'static str,
    run: fn(&Target) -> Vec<TcpStream>,
}

/// What an attack is pointed at.
pub(crate) struct Target {
    address: SocketAddr,
    /// Connections of an attack that needs many.
    crowd: usize,
    /// Pause between two bytes of each of them.
    round: Duration,
    until: Instant,
}

const fn attack(name: &'static str, run: fn(&Target) -> Vec<TcpStream>) -> Attack {
    Attack { name, run }
}

const ATTACKS: &[Attack] = &[
    attack("silent connections", http1::silence),
    attack("kept connections, idle", http1::idle),
    attack("slow heads", http1::slow_heads),
    attack("slow bodies", http1::slow_bodies),
    attack("readers that take nothing", http1::slow_readers),
    attack("half-closed connections", http1::half_closed),
    attack("pipelined requests, answers unread", http1::pipelining),
    attack("heads, targets and bodies too large", http1::oversized),
    attack("new connections without end", http1::reconnecting),
    attack("half a TLS handshake", http1::half_handshakes),
    attack("HTTP/2: half a preface", http1::half_prefaces),
    attack("HTTP/2: rapid reset", http2::rapid_reset),
    attack(
        "HTTP/2: resets that we are made to send",
        http2::made_resets,
    ),
    attack("HTTP/2: endless CONTINUATION", http2::continuation),
    attack("HTTP/2: windows that stay shut", http2::shut_windows),
    attack("HTTP/2: flood of SETTINGS", http2::settings),
    attack("HTTP/2: flood of PING, answers unread", http2::pings),
    attack("HTTP/2: empty DATA without end", http2::empty_data),
    attack(
        "HTTP/2: header block that unpacks to much",
        http2::unpacking,
    ),
];

impl Target {
    fn goes_on(&self) -> bool {
        Instant::now() < self.until
    }

    /// Connects as number `number` of a crowd, whose addresses each have [`PER_ADDRESS`] connections.
    fn connect(&self, number: usize) -> io::Result<TcpStream> {
        let socket = self.socket(number)?;
        socket.connect(&self.address.into())?;
        Ok(socket.into())
    }

    /// Connects with so small a buffer that the server has to wait for us.
    fn connect_narrow(&self, number: usize) -> io::Result<TcpStream> {
        let socket = self.socket(number)?;
        socket.set_recv_buffer_size(4 << 10)?;
        socket.connect(&self.address.into())?;
        Ok(socket.into())
    }

    fn socket(&self, number: usize) -> io::Result<Socket> {
        let host = u8::try_from(2 + number / PER_ADDRESS).expect("a crowd of at most 50,000");
        let source = IpAddr::from([127, 0, 1, host]);
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        socket.bind(&SocketAddr::from((source, 0)).into())?;
        Ok(socket)
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

fn attack_shortly(attack: &Attack) {
    let short = Duration::from_millis(300);
    let server = Server::start_with(|config| {
        config.limits.header_time = short;
        config.limits.idle_time = short;
        config.limits.stall_time = short * 4;
        config.limits.body_time = short;
        config.limits.rate_time = short;
    });
    let target = Target {
        address: server.address(),
        crowd: 100,
        round: short / 10,
        until: Instant::now() + short * 2,
    };
    let others = bystander::begin(target.address);
    let held = (attack.run)(&target);
    let noticed = others.end();
    assert!(noticed.answers > 0, "{}", attack.name);
    // Whatever the attacker still holds, the server has let go of it.
    wait_until(attack.name, || server.running().open_connections() == 0);
    drop(held);
    assert_eq!(server.get("/healthz").status, 200, "{}", attack.name);
}

//! Clients that mean harm, over raw sockets, while others go on being served.
//!
//! Each attack has a short form that every `cargo test` runs against a server in this process with short times: all
//! others are answered, and the server gets rid of the attacker by itself. `REVIEWD_ATTACK_SECONDS` asks for the long
//! form: the program with its own limits and crowds of 10,000, and a table of what the others noticed and of memory.

mod bystander;
mod http1;
mod http2;

use std::fs;
use std::io::{self, ErrorKind, Read};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};

use crate::support::{Program, Server, wait_until};

/// How long each attack lasts in the long form, in seconds; without it there is no long form.
const SECONDS: &str = "REVIEWD_ATTACK_SECONDS";

/// A part of the names of the attacks that are made in the long form; without it all are.
const ONLY: &str = "REVIEWD_ATTACK_ONLY";

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

const ATTACKS: &[Attack] = &[
    Attack {
        name: "silent connections",
        run: http1::silence,
    },
    Attack {
        name: "kept connections, idle",
        run: http1::idle,
    },
    Attack {
        name: "slow heads",
        run: http1::slow_heads,
    },
    Attack {
        name: "slow bodies",
        run: http1::slow_bodies,
    },
    Attack {
        name: "readers that take nothing",
        run: http1::slow_readers,
    },
    Attack {
        name: "half-closed connections",
        run: http1::half_closed,
    },
    Attack {
        name: "pipelined requests, answers unread",
        run: http1::pipelining,
    },
    Attack {
        name: "heads, targets and bodies too large",
        run: http1::oversized,
    },
    Attack {
        name: "new connections without end",
        run: http1::reconnecting,
    },
    Attack {
        name: "half a TLS handshake",
        run: http1::half_handshakes,
    },
    Attack {
        name: "HTTP/2: half a preface",
        run: http1::half_prefaces,
    },
    Attack {
        name: "HTTP/2: rapid reset",
        run: http2::rapid_reset,
    },
    Attack {
        name: "HTTP/2: resets that we are made to send",
        run: http2::made_resets,
    },
    Attack {
        name: "HTTP/2: endless CONTINUATION",
        run: http2::continuation,
    },
    Attack {
        name: "HTTP/2: windows that stay shut",
        run: http2::shut_windows,
    },
    Attack {
        name: "HTTP/2: flood of SETTINGS",
        run: http2::settings,
    },
    Attack {
        name: "HTTP/2: flood of PING, answers unread",
        run: http2::pings,
    },
    Attack {
        name: "HTTP/2: empty DATA without end",
        run: http2::empty_data,
    },
    Attack {
        name: "HTTP/2: header block that unpacks to much",
        run: http2::unpacking,
    },
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

/// What the long form found of one attack.
struct Row {
    name: &'static str,
    held: usize,
    ended: usize,
    answers: usize,
    p99_before: Duration,
    p99_during: Duration,
    rss_before: u64,
    rss_peak: u64,
    rss_after: u64,
}

#[test]
fn the_long_form_prints_what_others_noticed_and_what_memory_did() {
    let Some(seconds) = std::env::var(SECONDS)
        .ok()
        .and_then(|text| text.parse().ok())
    else {
        return;
    };
    let program = Program::serve(&["--max-connections", "20000"]);
    let mut rows = Vec::new();
    println!(
        "| attack | connections, ended by us in time | others: p99 before, during | memory before, peak, after |"
    );
    println!("|---|---|---|---|");
    let only = std::env::var(ONLY).unwrap_or_default();
    for attack in ATTACKS.iter().filter(|attack| attack.name.contains(&only)) {
        let row = measure(&program, attack, Duration::from_secs(seconds));
        println!(
            "| {} | {}, {} | {:.2} ms, {:.2} ms of {} | {}, {}, {} MiB |",
            row.name,
            row.held,
            row.ended,
            row.p99_before.as_secs_f64() * 1e3,
            row.p99_during.as_secs_f64() * 1e3,
            row.answers,
            row.rss_before >> 20,
            row.rss_peak >> 20,
            row.rss_after >> 20,
        );
        rows.push(row);
    }
    for row in &rows {
        let allowed = (row.p99_before * 2).max(NOISE);
        assert!(row.p99_during < allowed, "{}: others wait", row.name);
    }
    // Of single attacks some is kept for a while; a leak would grow with every one.
    let (first, last) = (&rows[0], &rows[rows.len() - 1]);
    let grown = last.rss_after.saturating_sub(first.rss_before);
    assert!(grown < 4 * NOISE_BYTES, "{grown} bytes more than before");
}

fn measure(program: &Program, attack: &Attack, time: Duration) -> Row {
    let calm = bystander::begin(program.address());
    thread::sleep(time / 4);
    let calm = calm.end();
    let rss_before = rss(program);
    let target = Target {
        address: program.address(),
        crowd: 10_000,
        round: Duration::from_secs(1),
        until: Instant::now() + time,
    };
    let others = bystander::begin(program.address());
    let mut held = (attack.run)(&target);
    let noticed = others.end();
    let rss_peak = rss(program).max(rss_before);
    let ended = held
        .iter_mut()
        .filter_map(|connection| is_ended(connection).then_some(()))
        .count();
    let row = Row {
        name: attack.name,
        held: held.len(),
        ended,
        answers: noticed.answers,
        p99_before: calm.p99,
        p99_during: noticed.p99,
        rss_before,
        rss_peak,
        rss_after: 0,
    };
    drop(held);
    // Connections end, and the allocator gives back what it has, some time after.
    let began = Instant::now();
    while rss(program) > rss_before + NOISE_BYTES && began.elapsed() < SETTLED {
        // It does so while it works: on each of the threads that serve.
        bystander::begin(program.address()).end();
        thread::sleep(Duration::from_millis(200));
    }
    Row {
        rss_after: rss(program),
        ..row
    }
}

/// How long memory may take to return to where it was.
const SETTLED: Duration = Duration::from_secs(20);

/// What an allocator keeps now and gives back later, or the other way round.
const NOISE_BYTES: u64 = 16 << 20;

/// The attackers share the processors with the server and with the reader: below this nothing can be told apart.
const NOISE: Duration = Duration::from_millis(10);

/// Memory of the program in bytes.
fn rss(program: &Program) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", program.id())).expect("it runs");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .expect("Linux tells");
    let digits = line.trim().trim_end_matches(" kB");
    digits.parse::<u64>().expect("a number") << 10
}

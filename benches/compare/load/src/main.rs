//! Loads HTTP servers in turn, a round each, and compares their processor time per request.
//!
//!     load SECONDS ROUNDS NAME SERVER=PID@ADDRESS:PORT=FILE...
//!
//! FILE holds the request as it is sent. For each server a row of a table is printed: the name of the request, bytes of
//! the response's body, the server, microseconds of processor time per request, the ratio of the first server's time
//! to this server's, and requests per second; medians of the rounds. `CSV` in the environment names a file to which
//! each round is appended. http.sh and mcp.sh start the servers, write the requests, and compare the responses before.
//!
//! The client never sleeps. Waking a sleeping client costs the server processor time. An earlier client slept between
//! responses: it was woken by some servers for each response, and by others not, which changed the figures more than the
//! servers themselves.
//! A request whose first line ends with `HTTP/2` is sent over HTTP/2.

mod http1;
mod http2;

use std::error::Error;
use std::fs::{OpenOptions, read_to_string};
use std::io::Write;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Any error ends the program.
type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Connections that are kept open.
const CONNECTIONS: usize = 32;
/// Longest time without any response.
const PATIENCE: Duration = Duration::from_secs(10);
/// The unit of processor time in `/proc`: `USER_HZ` is 100 on every architecture that matters here.
const TICK: Duration = Duration::from_millis(10);

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [seconds, rounds, name, servers @ ..] = &arguments[..] else {
        return Err("see the top of main.rs for the arguments".into());
    };
    let time = Duration::from_secs(seconds.parse()?);
    let mut servers: Vec<Server> = servers.iter().map(|s| server(s)).collect::<Result<_>>()?;
    for server in &servers {
        // Fills caches and pools; not counted.
        server.round(time / 4)?;
    }
    for _ in 0..rounds.parse::<usize>()? {
        for server in &mut servers {
            let round = server.round(time)?;
            server.rounds.push(round);
        }
    }
    let cpu_us = |server: &Server| median(&server.rounds, |round| round.cpu_us);
    let first = servers.first().map_or(f64::NAN, cpu_us);
    for server in &servers {
        println!(
            "| {name} | {} | {} | {:.2} | {:.2} | {:.0} |",
            server.rounds.first().map_or(0, |round| round.body),
            server.name,
            cpu_us(server),
            first / cpu_us(server),
            median(&server.rounds, |round| round.per_second),
        );
        record(name, server)?;
    }
    Ok(())
}

/// A measured server, its request, and the results of its rounds.
struct Server {
    name: String,
    pid: u32,
    address: SocketAddr,
    /// The request in the form of HTTP/1.1.
    request: String,
    rounds: Vec<Round>,
}

/// One round's figures.
struct Round {
    /// Processor time of the server for each request, in microseconds.
    cpu_us: f64,
    /// Requests per second.
    per_second: f64,
    /// Bytes of a response's body.
    body: usize,
}

/// The time and the server's processor time when the measured part of a round began.
struct Beginning {
    time: Instant,
    cpu: Duration,
}

fn server(text: &str) -> Result<Server> {
    let parts: Vec<&str> = text.split(['=', '@']).collect();
    let [name, pid, address, file] = parts[..] else {
        return Err("a server is NAME=PID@ADDRESS:PORT=FILE".into());
    };
    let address: SocketAddr = address.parse()?;
    if !address.ip().is_loopback() {
        return Err(format!("{address} is not on this machine").into());
    }
    Ok(Server {
        name: name.to_owned(),
        pid: pid.parse()?,
        address,
        request: read_to_string(file)?,
        rounds: Vec::new(),
    })
}

impl Server {
    /// Sends the request again and again for `time`.
    ///
    /// # Errors
    /// If a response has another status or length than the first one, or if no response arrives for ten seconds.
    fn round(&self, time: Duration) -> Result<Round> {
        match self.request.lines().next() {
            Some(line) if line.ends_with(" HTTP/2") => http2::round(self, time),
            _ => http1::round(self, time),
        }
    }

    /// Begins the measured part of a round.
    fn begin(&self) -> Result<Beginning> {
        Ok(Beginning {
            time: Instant::now(),
            cpu: self.cpu()?,
        })
    }

    /// Ends the measured part of a round with so many responses, whose body has so many bytes.
    fn end(&self, beginning: &Beginning, responses: u32, body: usize) -> Result<Round> {
        let cpu = self.cpu()? - beginning.cpu;
        let wall = beginning.time.elapsed();
        Ok(Round {
            cpu_us: cpu.as_secs_f64() * 1e6 / f64::from(responses),
            per_second: f64::from(responses) / wall.as_secs_f64(),
            body,
        })
    }

    /// Processor time of all threads so far, in user and in kernel mode.
    fn cpu(&self) -> Result<Duration> {
        let stat = read_to_string(format!("/proc/{}/stat", self.pid))?;
        // The name of the program stands in parentheses and may hold anything; utime and stime are fields 14 and 15.
        let (_, fields) = stat.rsplit_once(')').ok_or("no name in stat")?;
        let mut ticks = 0;
        for field in fields.split_whitespace().skip(11).take(2) {
            ticks += field.parse::<u32>()?;
        }
        Ok(TICK * ticks)
    }
}

/// The median of one figure; if the number of rounds is even, the higher of the two middle ones.
fn median(rounds: &[Round], figure: impl Fn(&Round) -> f64) -> f64 {
    let mut figures: Vec<f64> = rounds.iter().map(figure).collect();
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Appends a server's rounds to the file that `CSV` names, as `benches/figures.py` reads them: requests per second of CPU.
fn record(name: &str, server: &Server) -> Result<()> {
    let Ok(path) = std::env::var("CSV") else {
        return Ok(());
    };
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    for (run, round) in (1..).zip(&server.rounds) {
        let rate = 1_000_000.0 / round.cpu_us;
        writeln!(file, "\"{name}\",{},{run},{rate:.0}", server.name)?;
    }
    Ok(())
}

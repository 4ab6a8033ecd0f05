//! Loads HTTP servers in turn, a round each, and compares their processor time per request.
//!
//!     load SECONDS ROUNDS NAME SERVER=PID@ADDRESS:PORT=FILE...
//!
//! FILE holds the request as it is sent. For each server a row of a table is printed: the name of the request, bytes of
//! the response's body, the server, microseconds of processor time per request, the ratio of the first server's time
//! to this server's, and requests per second; medians of the rounds. `CSV` in the environment names a file to which
//! each round is appended. http.sh and mcp.sh start the servers, write the requests, and compare the responses before.
//!
//! Each of 32 connections has one request in flight. The client never sleeps, so no server pays for waking it, and it
//! reads only the first response whole: later ones are checked by status and length, which takes two system calls. A
//! client that waited for one connection after another made some servers pay for waking it for every response, and
//! others not; this affected the figures more than the server did.

use std::error::Error;
use std::fs::{OpenOptions, read, read_to_string};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

/// Any error ends the program.
type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Connections that are kept open, each with one request in flight.
const CONNECTIONS: usize = 32;
/// Bytes of a response that are read into a buffer; the rest is only counted.
const BEGIN_BYTES: usize = 16 << 10;
/// Bytes of a response that hold its version and status.
const STATUS_BYTES: usize = 12;
/// Largest response.
const BYTES_MAX: usize = 4 << 20;
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
            Response::first(&mut server.connect()?)?.body,
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
    request: Vec<u8>,
    rounds: Vec<Round>,
}

/// One round's figures.
struct Round {
    /// Processor time of the server for each request, in microseconds.
    cpu_us: f64,
    /// Requests per second.
    per_second: f64,
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
        request: read(file)?,
        rounds: Vec::new(),
    })
}

impl Server {
    /// Opens a connection and sends the request.
    fn connect(&self) -> Result<TcpStream> {
        let mut stream = TcpStream::connect_timeout(&self.address, PATIENCE)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(&self.request)?;
        Ok(stream)
    }

    /// Sends the request again; the socket takes it whole, because the previous one was answered.
    fn send(&self, stream: &TcpStream) -> Result<()> {
        if send(stream, &self.request, SendFlags::NOSIGNAL)? == self.request.len() {
            Ok(())
        } else {
            Err("the socket took half of a request".into())
        }
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

    /// Keeps one request in flight on each connection for `time`.
    ///
    /// # Errors
    /// If a response has another status or length than the first one, or if no response arrives for ten seconds.
    fn round(&self, time: Duration) -> Result<Round> {
        let mut lanes = Vec::new();
        for _ in 0..CONNECTIONS {
            let mut stream = self.connect()?;
            let response = Response::first(&mut stream)?;
            stream.set_nonblocking(true)?;
            lanes.push((
                Lane {
                    stream,
                    received: 0,
                },
                response,
            ));
        }
        let expected = lanes[0].1;
        if lanes.iter().any(|(_, response)| *response != expected) {
            return Err("responses of several lengths".into());
        }
        let mut buffers = [vec![0; BEGIN_BYTES], vec![0; expected.length]];
        let start = Instant::now();
        let cpu = self.cpu()?;
        for (lane, _) in &lanes {
            self.send(&lane.stream)?;
        }
        let mut done = 0_u32;
        let mut under_way = lanes.len();
        let mut now = start;
        let mut latest = start;
        while under_way > 0 {
            let is_over = now >= start + time;
            let before = done;
            for (lane, _) in &mut lanes {
                if !lane.is_complete(&expected, &mut buffers)? {
                    continue;
                }
                done += 1;
                if is_over {
                    under_way -= 1
                } else {
                    self.send(&lane.stream)?
                }
            }
            now = Instant::now();
            if done > before {
                latest = now;
            } else if now > latest + PATIENCE {
                return Err("no response".into());
            }
        }
        let cpu = self.cpu()? - cpu;
        let wall = start.elapsed();
        Ok(Round {
            cpu_us: cpu.as_secs_f64() * 1e6 / f64::from(done),
            per_second: f64::from(done) / wall.as_secs_f64(),
        })
    }
}

/// The properties that all responses of a round must share.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Response {
    status: [u8; STATUS_BYTES],
    /// Bytes of head and body.
    length: usize,
    /// Bytes of the body.
    body: usize,
}

impl Response {
    /// Reads the first response of a connection, which has a length, or is 304.
    fn first(stream: &mut TcpStream) -> Result<Response> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte)?;
            head.extend(byte);
            if head.len() > BEGIN_BYTES {
                return Err("the head is too large".into());
            }
        }
        let text = String::from_utf8_lossy(&head).to_ascii_lowercase();
        let field = text.lines().find_map(|l| l.strip_prefix("content-length:"));
        let body = match text.get(..STATUS_BYTES) {
            Some("http/1.1 304") => 0,
            Some(_) => field.ok_or("no Content-Length")?.trim().parse()?,
            None => return Err(text.into()),
        };
        if body > BYTES_MAX {
            return Err("the response is too large".into());
        }
        stream.read_exact(&mut vec![0; body])?;
        Ok(Response {
            status: head[..STATUS_BYTES].try_into()?,
            length: head.len() + body,
            body,
        })
    }
}

/// A connection with a request in flight.
struct Lane {
    stream: TcpStream,
    /// Bytes of its response so far.
    received: usize,
}

impl Lane {
    /// Reads the available bytes, and tells whether the response is complete. The second buffer is never written: with
    /// `MSG_TRUNC` the kernel discards the bytes.
    fn is_complete(&mut self, expected: &Response, buffers: &mut [Vec<u8>; 2]) -> Result<bool> {
        let [begin, rest] = buffers;
        loop {
            let is_first = self.received == 0;
            let read = if is_first {
                recv(&self.stream, &mut begin[..], RecvFlags::empty())
            } else {
                recv(&self.stream, &mut rest[..], RecvFlags::TRUNC)
            };
            match read {
                Ok((0, _)) => return Err(std::io::Error::from(ErrorKind::UnexpectedEof).into()),
                Ok((read, _)) => {
                    let status = &begin[..read.min(STATUS_BYTES)];
                    if is_first && !expected.status.starts_with(status) {
                        return Err(String::from_utf8_lossy(status).into());
                    }
                    self.received += read;
                }
                Err(Errno::AGAIN) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
            if self.received > expected.length {
                return Err("more than was announced".into());
            }
            if self.received == expected.length {
                self.received = 0;
                return Ok(true);
            }
        }
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

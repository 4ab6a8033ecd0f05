//! A round: one request under way on each connection, asked for again as soon as it is answered.
//!
//! The client never sleeps, so no server pays for waking it, and what it does for an answer that is there is two calls
//! to the kernel: an answer is read whole once, and then known by its status and its length. A client that waited for one
//! connection after the other made a server that was slower than it wake it for every answer, and one that was faster
//! wait for it; which of both happened decided more about the figures than the server did.

use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use crate::{CONNECTIONS, Connection, Expected, Result, Round, Target};

/// What is read of an answer before the rest is counted only.
const BEGIN_BYTES: usize = 16 << 10;
/// Longest time without any answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes of an answer that nobody expected that the error tells.
const TOLD_BYTES: usize = 64;

/// A connection with a request under way.
struct Lane {
    stream: TcpStream,
    /// Bytes of its answer that have come.
    come: usize,
}

/// Keeps one request under way on each connection for `time`.
///
/// # Errors
/// Where an answer has another status or length than the others, or none comes for ten seconds.
pub fn load(target: &Target, request: &[u8], expected: Expected, time: Duration) -> Result<Round> {
    let mut lengths = Vec::new();
    let mut lanes = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut connection = Connection::new(target.address, expected);
        connection.send(request)?;
        lengths.push(connection.receive()?.length());
        let stream = connection.into_stream().ok_or("the server closes")?;
        stream.set_nonblocking(true)?;
        lanes.push(Lane { stream, come: 0 });
    }
    let length = lengths[0];
    if lengths.iter().any(|other| *other != length) {
        return Err(format!("answers of several lengths: {lengths:?}").into());
    }
    let mut answers = Answers::new(expected, length);
    let (start, cpu) = (Instant::now(), target.cpu()?);
    for lane in &lanes {
        send(&lane.stream, request)?;
    }
    let (mut done, mut under_way) = (0_u32, lanes.len());
    let (mut now, mut latest) = (start, start);
    while under_way > 0 {
        let is_over = now >= start + time;
        let before = done;
        for lane in &mut lanes {
            if !answers.has_come(lane)? {
                continue;
            }
            done += 1;
            match is_over {
                false => send(&lane.stream, request)?,
                true => under_way -= 1,
            }
        }
        now = Instant::now();
        if done > before {
            latest = now;
        } else if now > latest + PATIENCE {
            return Err("no answer".into());
        }
    }
    let (cpu, wall) = (target.cpu()? - cpu, start.elapsed());
    Ok(Round {
        cpu_us: cpu.as_secs_f64() * 1e6 / f64::from(done),
        per_second: f64::from(done) / wall.as_secs_f64(),
    })
}

/// Sends a request; a socket whose last one was answered takes it whole.
fn send(stream: &TcpStream, request: &[u8]) -> Result<()> {
    let sent = rustix::net::send(stream, request, rustix::net::SendFlags::NOSIGNAL)?;
    match sent == request.len() {
        true => Ok(()),
        false => Err("the socket took half of a request".into()),
    }
}

/// What every answer has to be.
struct Answers {
    /// How they begin.
    status: &'static [u8],
    length: usize,
    begin: Vec<u8>,
    /// Never written: the kernel throws away what is read into it.
    rest: Vec<u8>,
}

impl Answers {
    fn new(expected: Expected, length: usize) -> Answers {
        Answers {
            status: match expected {
                Expected::Ok => b"HTTP/1.1 200",
                Expected::NotModified => b"HTTP/1.1 304",
            },
            length,
            begin: vec![0; BEGIN_BYTES],
            rest: vec![0; length],
        }
    }

    /// Reads what has come, and tells whether the answer is complete.
    fn has_come(&mut self, lane: &mut Lane) -> Result<bool> {
        loop {
            let is_first = lane.come == 0;
            let read = match is_first {
                true => recv(&lane.stream, &mut self.begin[..], RecvFlags::empty()),
                false => recv(&lane.stream, &mut self.rest[..], RecvFlags::TRUNC),
            };
            match read {
                Ok((0, _)) => return Err(std::io::Error::from(ErrorKind::UnexpectedEof).into()),
                Ok((read, _)) => {
                    let begin = &self.begin[..read.min(TOLD_BYTES)];
                    let status = &begin[..begin.len().min(self.status.len())];
                    if is_first && !self.status.starts_with(status) {
                        return Err(String::from_utf8_lossy(begin).into());
                    }
                    lane.come += read;
                }
                Err(Errno::AGAIN) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
            if lane.come > self.length {
                return Err("more than was announced".into());
            }
            if lane.come == self.length {
                lane.come = 0;
                return Ok(true);
            }
        }
    }
}

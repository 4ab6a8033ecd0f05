//! What the comparisons over HTTP share: a client that costs little, a server's accounts, rounds and their medians.

mod connection;
mod process;

use std::error::Error;
use std::time::{Duration, Instant};

pub use connection::{Answer, Connection, Expected};
pub use process::Target;

/// What goes wrong ends the program.
pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Connections that are kept open, each with one request under way.
pub const CONNECTIONS: usize = 32;
/// Longest round.
pub const SECONDS_MAX: u64 = 60;
/// Most rounds.
pub const ROUNDS_MAX: usize = 100;

/// One round's figures.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// CPU of the server for each request, in microseconds.
    pub cpu_us: f64,
    /// Requests a second.
    pub per_second: f64,
}

/// Keeps one request under way on each connection for `time`.
pub fn load(target: &Target, request: &[u8], expected: Expected, time: Duration) -> Result<Round> {
    let mut connections: Vec<Connection> = (0..CONNECTIONS)
        .map(|_| Connection::new(target.address, expected))
        .collect();
    let (start, cpu) = (Instant::now(), target.cpu()?);
    for connection in &mut connections {
        connection.send(request)?;
    }
    let mut done = 0_u32;
    while start.elapsed() < time {
        for connection in &mut connections {
            connection.receive()?;
            connection.send(request)?;
            done += 1;
        }
    }
    for connection in &mut connections {
        connection.receive()?;
        done += 1;
    }
    let (cpu, wall) = (target.cpu()? - cpu, start.elapsed());
    Ok(Round {
        cpu_us: cpu.as_secs_f64() * 1e6 / f64::from(done),
        per_second: f64::from(done) / wall.as_secs_f64(),
    })
}

/// The median of one figure; of an even number of rounds, the mean of the two in the middle.
#[must_use]
pub fn median(rounds: &[Round], figure: impl Fn(&Round) -> f64) -> f64 {
    let mut figures: Vec<f64> = rounds.iter().map(figure).collect();
    figures.sort_by(f64::total_cmp);
    let middle = figures.len() / 2;
    match figures.len() % 2 {
        0 => (figures[middle - 1] + figures[middle]) / 2.0,
        _ => figures[middle],
    }
}

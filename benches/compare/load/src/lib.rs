//! What the comparisons over HTTP share: a client that costs little, a server's accounts, rounds and their medians.

mod connection;
mod process;
mod rounds;

use std::error::Error;

pub use connection::{Answer, Connection, Expected};
pub use process::Target;
pub use rounds::load;

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

//! Asks MCP servers for the same page of reviews and compares the CPU that they spend on it.
//!
//!     mcp-load compare SECONDS ROUNDS PID@ADDRESS:PORT PID@ADDRESS:PORT
//!     mcp-load sessions COUNT PID@ADDRESS:PORT
//!
//! `compare` first checks that both servers give the same answer, then loads them in turn, a round each, and prints
//! the medians of CPU per request and of requests a second, the first server's share of the second's CPU, and what the
//! call costs beside the same search of the first server's REST interface.
//! `sessions` opens sessions and prints the server's memory before and after. mcp.sh starts the servers for both.

mod calls;

use std::time::Duration;

use calls::{Call, answer, initialize};
use load::{
    CONNECTIONS, Connection, Expected, ROUNDS_MAX, Result, SECONDS_MAX, Target, load, median,
};

/// Most sessions that are opened at a time.
const SESSIONS_MAX: u64 = 1_000_000;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["compare", seconds, rounds, ours, theirs] => {
            let seconds = seconds.parse::<u64>()?.clamp(1, SECONDS_MAX);
            let rounds = rounds.parse::<usize>()?.clamp(1, ROUNDS_MAX);
            let targets = [ours.parse()?, theirs.parse()?];
            compare(Duration::from_secs(seconds), rounds, &targets)
        }
        ["sessions", count, target] => {
            let count = count.parse::<u64>()?.clamp(1, SESSIONS_MAX);
            sessions(count, &target.parse()?)
        }
        _ => Err("see the top of main.rs for the arguments".into()),
    }
}

/// Compares two servers, call by call.
fn compare(time: Duration, rounds: usize, targets: &[Target; 2]) -> Result<()> {
    println!(
        "{CONNECTIONS} connections, {rounds} rounds of {} s each, in turn; medians; CPU in us per request\n",
        time.as_secs()
    );
    println!(
        "| {:26} | {:>6} | {:>8} | {:>8} | {:>5} | {:>10} | {:>10} | {:>5} | {:>8} | {:>7} |",
        "call",
        "bytes",
        "CPU ours",
        "CPU peer",
        "ratio",
        "ours req/s",
        "peer req/s",
        "times",
        "CPU REST",
        "by REST"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for call in Call::all() {
        let bytes = agree(&call, targets)?;
        let mut taken = [Vec::new(), Vec::new()];
        for target in targets {
            // Fills caches and pools; not counted.
            load(target, &call.request(target), Expected::Ok, time / 4)?;
        }
        let rest = call.rest(&targets[0]);
        load(&targets[0], &rest, Expected::Ok, time / 4)?;
        let mut taken_by_rest = Vec::new();
        for _ in 0..rounds {
            for (target, taken) in targets.iter().zip(&mut taken) {
                taken.push(load(target, &call.request(target), Expected::Ok, time)?);
            }
            taken_by_rest.push(load(&targets[0], &rest, Expected::Ok, time)?);
        }
        let [ours, theirs] = [&taken[0], &taken[1]].map(|rounds| median(rounds, |r| r.cpu_us));
        let rest = median(&taken_by_rest, |r| r.cpu_us);
        let rates = [&taken[0], &taken[1]].map(|rounds| median(rounds, |r| r.per_second));
        println!(
            "| {:26} | {bytes:6} | {ours:8.1} | {theirs:8.1} | {:5.2} | {:10.0} | {:10.0} | {:5.1} | {rest:8.1} | {:7.2} |",
            call.name,
            ours / theirs,
            rates[0],
            rates[1],
            rates[0] / rates[1],
            ours / rest,
        );
    }
    Ok(())
}

/// Checks that both servers give the same answer, and returns its size: the JSON of one copy.
fn agree(call: &Call, targets: &[Target; 2]) -> Result<usize> {
    let mut answers = Vec::new();
    for target in targets {
        let mut connection = Connection::new(target.address, Expected::Ok);
        connection.send(&call.request(target))?;
        let body = connection.receive()?.body;
        answers.push(answer(body).map_err(|error| format!("{}: {error}", target.address))?);
    }
    if answers[0] != answers[1] {
        return Err(format!("{}: the servers answer differently", call.name).into());
    }
    Ok(answers[0].to_string().len())
}

/// Opens sessions twice over; what the first lot leaves are buffers, what the second adds would be sessions.
fn sessions(count: u64, target: &Target) -> Result<()> {
    let request = initialize(target);
    println!("resident memory at the start: {} KiB", target.memory()?);
    for lot in 1..=2 {
        let mut connection = Connection::new(target.address, Expected::Ok);
        for _ in 0..count {
            connection.send(&request)?;
            connection.receive()?;
        }
        println!(
            "after {} calls of initialize: {} KiB",
            lot * count,
            target.memory()?
        );
    }
    Ok(())
}

//! The long form of the attacks: the program with its own limits, crowds of 10,000, and a table of what the others
//! noticed and of what memory did.
//!
//! `REVIEWD_ATTACK_SECONDS` asks for it: how long each attack is made, in all its windows. A machine is not equally
//! fast all the time, so calm and attacked windows take turns, and the medians of their 99th percentiles are what is
//! compared. The attacker shares the processors with the server and the reader, which it would not do in life: so it
//! has a lower priority than both.

use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use super::{ATTACKS, Attack, Target, is_ended, other_clients};
use crate::support::Program;
use crate::support::program::{LISTEN, command};

/// Pairs of a calm window and an attacked one.
const ROUNDS: u32 = 5;

/// By how much the attacker's priority is lower, in the system's steps of a quarter.
const NICE: i32 = 10;

/// How long memory may take to return to where it was.
const SETTLED: Duration = Duration::from_secs(20);

/// How long it is waited for before it is looked at.
const SETTLING: Duration = Duration::from_millis(200);

/// What an allocator keeps now and gives back later, or the other way round.
const NOISE_BYTES: u64 = 16 << 20;

/// Below this nothing can be told apart on a machine that has other work.
const NOISE: Duration = Duration::from_millis(1);

#[test]
fn others_wait_no_more_than_twice_as_long_and_memory_returns() {
    let seconds = std::env::var("REVIEWD_ATTACK_SECONDS");
    let Some(seconds) = seconds.ok().and_then(|text| text.parse().ok()) else {
        return;
    };
    // Huge pages come and go by the 2 MB, in which ten thousand connections are hardly seen.
    let mut command = command();
    command.env("MIMALLOC_ALLOW_THP", "0").arg("serve");
    command.args(LISTEN).args(["--max-connections", "20000"]);
    let program = Program::spawn(command);
    println!(
        "| attack | connections, ended by us | p99 calm, attacked | ratio | memory before, peak, after |"
    );
    println!("|---|---|---|---|---|");
    let before = rss(&program);
    let mut slow = Vec::new();
    for attack in &ATTACKS {
        if !measure(&program, attack, Duration::from_secs(seconds) / ROUNDS) {
            slow.push(attack.0);
        }
    }
    assert!(slow.is_empty(), "others wait: {slow:?}");
    // Of single attacks some is kept for a while; a leak would grow with every one.
    let grown = rss(&program).saturating_sub(before);
    assert!(grown < 2 * NOISE_BYTES, "{grown} bytes more than before");
}

/// Makes an attack in [`ROUNDS`] windows, each behind a calm one of half its length, prints what was found, and returns
/// whether the others waited at most twice as long.
fn measure(program: &Program, attack: &Attack, window: Duration) -> bool {
    // What a first request brings into memory is no attack's doing.
    let address = program.address();
    other_clients::during(address, || thread::sleep(SETTLING));
    let before = rss(program);
    let (mut calm, mut attacked) = (Vec::new(), Vec::new());
    let (mut peak, mut ended, mut total) = (before, 0, 0);
    for _ in 0..ROUNDS {
        let (times, ()) = other_clients::during(address, || thread::sleep(window / 2));
        calm.push(p99(&times));
        let target = Target {
            address,
            crowd: 10_000,
            round: Duration::from_secs(1),
            until: Instant::now() + window,
        };
        let work = || run_with_low_priority(attack, &target);
        let (times, mut held) = other_clients::during(address, work);
        attacked.push(p99(&times));
        peak = peak.max(rss(program));
        total = held.len();
        ended = held.iter_mut().map(is_ended).filter(|ended| *ended).count();
        drop(held);
        settle(program, before);
    }
    let [calm, attacked] = [calm, attacked].map(median);
    let [calm_ms, attacked_ms] = [calm, attacked].map(|time| time.as_secs_f64() * 1e3);
    let [before, peak, after] = [before, peak, rss(program)].map(|bytes| bytes >> 20);
    println!(
        "| {} | {total}, {ended} | {calm_ms:.2} ms, {attacked_ms:.2} ms | {:.2} | {before}, {peak}, {after} MiB |",
        attack.0,
        attacked_ms / calm_ms
    );
    attacked < (calm * 2).max(NOISE)
}

/// Makes an attack on a thread with a lower priority, which those that it begins have, too.
fn run_with_low_priority(attack: &Attack, target: &Target) -> Vec<TcpStream> {
    thread::scope(|scope| {
        let attacker = scope.spawn(|| {
            rustix::process::nice(NICE).expect("a lower priority is permitted");
            attack.1(target)
        });
        attacker.join().expect("attacks end")
    })
}

/// Waits until memory is where it was, at most [`SETTLED`]: connections end, and the allocator gives back what it has,
/// some time after.
fn settle(program: &Program, before: u64) {
    let began = Instant::now();
    while rss(program) > before + NOISE_BYTES && began.elapsed() < SETTLED {
        // It does so while it works: on each of the threads that serve.
        other_clients::during(program.address(), || thread::sleep(SETTLING));
    }
}

fn p99(sorted: &[Duration]) -> Duration {
    sorted[sorted.len() * 99 / 100]
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Memory of the program in bytes.
fn rss(program: &Program) -> u64 {
    program.status("VmRSS").parse::<u64>().unwrap() << 10
}

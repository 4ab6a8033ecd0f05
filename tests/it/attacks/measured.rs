//! The long form of the attacks: the program with its default limits, crowds of 10,000, and a table of the latency of
//! other clients and the memory of the program.
//!
//! It runs if `REVIEWD_ATTACK_SECONDS` is set: the duration of each attack, over all its windows. The speed of a
//! machine varies, so calm and attacked windows alternate, and the medians of their 99th percentiles are compared. The
//! attacker shares the processors with the server and the reader, unlike in production, so it has a lower
//! priority than both.

use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use super::{ATTACKS, Attack, Target, is_ended, other_clients};
use crate::support::Program;
use crate::support::program::{LISTEN, command};

/// Pairs of a calm window and an attacked one.
const ROUNDS: u32 = 5;

/// Niceness of the attacker; each step reduces its share of the processor by about a fifth.
const NICE: i32 = 10;

/// Longest wait until memory has returned to its earlier size.
const SETTLED: Duration = Duration::from_secs(20);

/// Interval between two checks of memory, and length of the warm-up.
const SETTLING: Duration = Duration::from_millis(200);

/// Tolerance for memory, because an allocator returns memory late.
const NOISE_BYTES: u64 = 16 << 20;

/// Latencies below this are noise on a machine that has other work.
const NOISE: Duration = Duration::from_millis(1);

#[test]
fn attacks_at_most_double_the_latency_of_other_clients_and_memory_returns() {
    let seconds = std::env::var("REVIEWD_ATTACK_SECONDS");
    let Some(seconds) = seconds.ok().and_then(|text| text.parse().ok()) else {
        return;
    };
    // Without huge pages, whose 2 MB steps would hide the memory of 10,000 connections.
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
    // Some memory of single attacks is kept for a while; a leak would grow with every attack.
    let grown = rss(&program).saturating_sub(before);
    assert!(grown < 2 * NOISE_BYTES, "{grown} bytes more than before");
}

/// Runs an attack in [`ROUNDS`] windows, each after a calm window of half its length, prints the results, and returns
/// whether other clients waited at most twice as long.
fn measure(program: &Program, attack: &Attack, window: Duration) -> bool {
    // Warm-up: memory that the first requests allocate is not caused by the attack.
    let address = program.address();
    other_clients::during(address, || thread::sleep(SETTLING));
    let before = rss(program);
    let mut calm = Vec::new();
    let mut attacked = Vec::new();
    let mut peak = before;
    let mut ended = 0;
    let mut total = 0;
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

/// Runs an attack on a thread with a lower priority, which the threads that it starts inherit.
fn run_with_low_priority(attack: &Attack, target: &Target) -> Vec<TcpStream> {
    thread::scope(|scope| {
        let attacker = scope.spawn(|| {
            rustix::process::nice(NICE).expect("a lower priority is permitted");
            attack.1(target)
        });
        attacker.join().expect("attacks end")
    })
}

/// Waits at most [`SETTLED`] until memory has returned to its earlier size: connections close, and the allocator gives
/// memory back, with a delay.
fn settle(program: &Program, before: u64) {
    let began = Instant::now();
    while rss(program) > before + NOISE_BYTES && began.elapsed() < SETTLED {
        // An allocator gives memory back only while its thread works, so requests are sent.
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

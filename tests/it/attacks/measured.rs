//! The long form of the attacks: the program with its own limits, crowds of 10,000, and a table of what the others
//! noticed and of what memory did.
//!
//! `REVIEWD_ATTACK_SECONDS` asks for it. A machine is not equally fast all the time, so calm and attacked windows
//! take turns, and the medians of their 99th percentiles are what is compared. The attacker shares the processors
//! with the server and with the reader, which he would not in life: so he has a lower priority than both.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use super::{ATTACKS, Attack, Target, bystander, is_ended};
use crate::support::Program;
use crate::support::program::command;

/// How long each attack is made, in seconds, in all its windows; without it there is no long form.
const SECONDS: &str = "REVIEWD_ATTACK_SECONDS";

/// A part of the names of the attacks that are made; without it all are.
const ONLY: &str = "REVIEWD_ATTACK_ONLY";

/// Pairs of a calm window and an attacked one.
const ROUNDS: u32 = 5;

/// By how much the attacker's priority is lower, in the system's steps of a quarter.
const NICE: i32 = 10;

/// How long memory may take to return to where it was.
const SETTLED: Duration = Duration::from_secs(20);

/// What an allocator keeps now and gives back later, or the other way round.
const NOISE_BYTES: u64 = 16 << 20;

/// Below this nothing can be told apart on a machine that has other work.
const NOISE: Duration = Duration::from_millis(1);

/// What was found of one attack.
struct Row {
    name: &'static str,
    held: usize,
    ended: usize,
    answers: usize,
    /// 99th percentiles of the windows.
    calm: Vec<Duration>,
    attacked: Vec<Duration>,
    rss_before: u64,
    rss_peak: u64,
    rss_after: u64,
}

#[test]
fn others_wait_no_more_than_twice_as_long_and_memory_returns() {
    let seconds = std::env::var(SECONDS);
    let Some(seconds) = seconds.ok().and_then(|text| text.parse().ok()) else {
        return;
    };
    // Huge pages come and go by the 2 MB, in which ten thousand connections are hardly seen.
    let mut command = command();
    command
        .env("MIMALLOC_ALLOW_THP", "0")
        .args(["serve", "--listen", "127.0.0.1:0", "--log-format", "json"])
        .args(["--max-connections", "20000"]);
    let program = Program::spawn(command);
    println!(
        "| attack | connections of the last round, ended by us in time | others: p99 calm, attacked | ratio | memory \
         before, peak, after |"
    );
    println!("|---|---|---|---|---|");
    let only = std::env::var(ONLY).unwrap_or_default();
    let mut rows = Vec::new();
    for attack in ATTACKS.iter().filter(|attack| attack.name.contains(&only)) {
        let row = measure(&program, attack, Duration::from_secs(seconds) / ROUNDS);
        row.print();
        rows.push(row);
    }
    for row in &rows {
        let (calm, attacked) = (median(&row.calm), median(&row.attacked));
        assert!(
            attacked < (calm * 2).max(NOISE),
            "{}: others wait",
            row.name
        );
    }
    // Of single attacks some is kept for a while; a leak would grow with every one.
    let (first, last) = (&rows[0], &rows[rows.len() - 1]);
    let grown = last.rss_after.saturating_sub(first.rss_before);
    assert!(grown < 2 * NOISE_BYTES, "{grown} bytes more than before");
}

impl Row {
    fn print(&self) {
        let (calm, attacked) = (median(&self.calm), median(&self.attacked));
        println!(
            "| {} | {}, {} | {:.2} ms, {:.2} ms of {} | {:.2} | {}, {}, {} MiB |",
            self.name,
            self.held,
            self.ended,
            calm.as_secs_f64() * 1e3,
            attacked.as_secs_f64() * 1e3,
            self.answers,
            attacked.as_secs_f64() / calm.as_secs_f64().max(1e-9),
            self.rss_before >> 20,
            self.rss_peak >> 20,
            self.rss_after >> 20,
        );
    }
}

/// Makes `attack` in [`ROUNDS`] windows of `window`, each behind a calm one of half its length.
fn measure(program: &Program, attack: &Attack, window: Duration) -> Row {
    // What a first request brings into memory is no attack's doing.
    bystander::begin(program.address()).end();
    let rss_before = rss(program);
    let mut row = Row {
        name: attack.name,
        held: 0,
        ended: 0,
        answers: 0,
        calm: Vec::new(),
        attacked: Vec::new(),
        rss_before,
        rss_peak: rss_before,
        rss_after: rss_before,
    };
    for _ in 0..ROUNDS {
        let calm = bystander::begin(program.address());
        thread::sleep(window / 2);
        row.calm.push(calm.end().p99);
        let target = Target {
            address: program.address(),
            crowd: 10_000,
            round: Duration::from_secs(1),
            until: Instant::now() + window,
        };
        let others = bystander::begin(program.address());
        let mut held = run_with_low_priority(attack, &target);
        let noticed = others.end();
        row.attacked.push(noticed.p99);
        row.answers += noticed.answers;
        row.rss_peak = row.rss_peak.max(rss(program));
        row.held = held.len();
        row.ended = held.iter_mut().map(is_ended).filter(|ended| *ended).count();
        drop(held);
        row.rss_after = settle(program, rss_before);
    }
    row
}

fn run_with_low_priority(attack: &Attack, target: &Target) -> Vec<std::net::TcpStream> {
    thread::scope(|scope| {
        let attacker = scope.spawn(|| {
            // Linux lowers the priority of the thread that asks, and of those that it begins.
            rustix::process::nice(NICE).expect("a lower priority is nobody's loss");
            // Where the rest of us is before everybody else, on a machine that has other work, he is not.
            if let Some(thread) = thread_id() {
                let arguments = ["--other", "--pid", "0", &thread];
                let _not_there = Command::new("chrt").args(arguments).output();
            }
            (attack.run)(target)
        });
        attacker.join().expect("attacks end")
    })
}

/// Returns the number by which Linux knows this thread.
fn thread_id() -> Option<String> {
    let own = fs::read_link("/proc/thread-self").ok()?;
    Some(own.file_name()?.to_str()?.to_owned())
}

/// Waits until memory is where it was, at most [`SETTLED`], and returns what there is: connections end, and the
/// allocator gives back what it has, some time after.
fn settle(program: &Program, before: u64) -> u64 {
    let began = Instant::now();
    while rss(program) > before + NOISE_BYTES && began.elapsed() < SETTLED {
        // It does so while it works: on each of the threads that serve.
        bystander::begin(program.address()).end();
        thread::sleep(Duration::from_millis(200));
    }
    rss(program)
}

fn median(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    times[times.len() / 2]
}

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

//! What is measured around a change of content: the reader beside it, the processor time, and the row they make.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::Others;
use super::support::Connection;

/// What one change came to; times are since the change of the file.
pub(crate) struct Measured {
    pub(crate) sorted: Vec<Duration>,
    pub(crate) cpu_us: Option<u64>,
    /// The most memory that the service has had.
    pub(crate) memory_kib: Option<u64>,
    pub(crate) idle: Vec<Duration>,
    pub(crate) meanwhile: Vec<Duration>,
    pub(crate) body_bytes: usize,
}

impl Measured {
    /// Renders a row of the table.
    pub(crate) fn row(&self, count: usize, others: Others) -> String {
        let others = others.name();
        let (first, last) = (at(&self.sorted, 0), at(&self.sorted, 100));
        let deliveries = self.sorted.len();
        let rate = deliveries as f64 / (last - first).as_secs_f64();
        let cpu = self.cpu_us.map_or_else(
            || "?".to_owned(),
            |cpu_us| format!("{} µs", cpu_us / deliveries as u64),
        );
        let memory = self
            .memory_kib
            .map_or_else(|| "?".to_owned(), |kib| format!("{} MiB", kib / 1024));
        let read = |percent| {
            let time = |samples| 1e3 * at(samples, percent).as_secs_f64();
            let [idle, meanwhile] = [&self.idle, &self.meanwhile].map(|samples| time(samples));
            format!("{idle:.2} / {meanwhile:.2} ms")
        };
        let seconds = |time: Duration| format!("{:.2} s", time.as_secs_f64());
        format!(
            "| {count} | {others} | {} | {} | {} | {} | {} | {rate:.0} | {cpu} | {memory} | {} | {} |",
            self.body_bytes,
            seconds(first),
            seconds(at(&self.sorted, 50)),
            seconds(at(&self.sorted, 99)),
            seconds(last),
            read(50),
            read(99),
        )
    }
}

/// Reads `target` on one connection while `what` runs, and returns how long each reply took to its last byte, sorted.
pub(crate) fn read_while(address: SocketAddr, target: &str, what: impl FnOnce()) -> Vec<Duration> {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut connection = Connection::open(address);
            let mut times = Vec::new();
            while !over.load(Ordering::Relaxed) {
                let began = Instant::now();
                let response = connection.get(target);
                times.push(began.elapsed());
                assert_eq!(response.status, 200);
                // A connection serves a bounded number of requests.
                if response.field("connection") == Some("close") {
                    connection = Connection::open(address);
                }
                thread::sleep(READ_PAUSE);
            }
            times.sort();
            times
        });
        what();
        over.store(true, Ordering::Relaxed);
        reader.join().unwrap()
    })
}

/// The head of the table.
pub(crate) const HEAD: &str = "| subscribers | 5 % of them | bytes | first | median | p99 | last healthy | a second | CPU each | memory | GET median, idle / fan-out | GET p99, idle / fan-out |
|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|";

/// Returns the most resident memory that a process has had; `None` where the system does not say.
pub(crate) fn memory_kib(id: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

/// Returns the processor time that a process has taken so far; `None` where the system does not say.
pub(crate) fn cpu_us(id: u32) -> Option<u64> {
    let fields = stat(id)?;
    Some((field(&fields, USER)? + field(&fields, USER + 1)?) * TICK_US)
}

/// Returns the processor time that a process and its children have taken so far, those that have ended included; `None`
/// where the system does not say.
#[cfg(feature = "postgres")]
pub(crate) fn tree_cpu_us(id: u32) -> Option<u64> {
    let own = stat(id)?;
    let ended = field(&own, USER + 2)? + field(&own, USER + 3)?;
    let mut sum_us = cpu_us(id)? + ended * TICK_US;
    for entry in std::fs::read_dir("/proc").ok()?.flatten() {
        let Some(other) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        // It may have ended in this moment.
        let parent = stat(other).and_then(|fields| field(&fields, PARENT));
        if parent == Some(id.into()) {
            sum_us += cpu_us(other).unwrap_or_default();
        }
    }
    Some(sum_us)
}

/// Reads the fields of `/proc/PID/stat` from the third on: the name in parentheses before it may hold anything.
fn stat(id: u32) -> Option<Vec<String>> {
    let text = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(')')?;
    Some(rest.split_whitespace().map(str::to_owned).collect())
}

fn field(fields: &[String], index: usize) -> Option<u64> {
    fields.get(index)?.parse().ok()
}

/// Where those fields have the parent, and user and system time, its own and then that of children that have ended.
#[cfg(feature = "postgres")]
const PARENT: usize = 1;
const USER: usize = 11;

/// Returns the value that `percent` of all are not above; 0 for the first, 100 for the last.
pub(crate) fn at(sorted: &[Duration], percent: usize) -> Duration {
    sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)]
}

/// Pause of the reader between a reply and its next request: enough samples, and hardly a load.
const READ_PAUSE: Duration = Duration::from_millis(1);

/// Microseconds in a unit of `/proc/PID/stat`: Linux counts in hundredths of a second, whatever its timer does.
const TICK_US: u64 = 10_000;

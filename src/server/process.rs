//! What the system says of this process: memory, descriptors, time. On Linux; elsewhere it says nothing.

use std::fs;

/// A tick of the clock of `/proc`, which is a hundredth of a second on every Linux.
const TICK_NS: u64 = 10_000_000;

/// What the system says of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Process {
    /// Memory in use, in bytes.
    pub(super) resident_bytes: u64,
    /// Address space, in bytes.
    pub(super) virtual_bytes: u64,
    /// Processor time used, in nanoseconds.
    pub(super) cpu_ns: u64,
    /// Threads.
    pub(super) threads: u64,
    /// Open descriptors.
    pub(super) descriptors: u64,
    /// Most descriptors that may be open.
    pub(super) descriptors_max: u64,
}

/// Asks the system.
pub(super) fn look() -> Process {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let open = fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count() as u64);
    Process {
        // One of them is the directory that is being read.
        descriptors: open.saturating_sub(1),
        descriptors_max: limit.unwrap_or(u64::MAX),
        ..parse(&stat).unwrap_or_default()
    }
}

/// Reads a line of `/proc/PID/stat`. The name in it may hold anything, so what counts comes after its last bracket.
fn parse(stat: &str) -> Option<Process> {
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    // The manual counts from 1 and the state, first here, is its field 3.
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    Some(Process {
        cpu_ns: (field(14)? + field(15)?).saturating_mul(TICK_NS),
        threads: field(20)?,
        virtual_bytes: field(23)?,
        resident_bytes: field(24)?.saturating_mul(rustix::param::page_size() as u64),
        ..Process::default()
    })
}

#[cfg(test)]
mod tests {
    use super::{Process, look, parse};

    #[test]
    fn a_line_of_the_kernel_is_read_whatever_the_name() {
        let line = "12 (a ) b) S 1 12 12 0 -1 4194560 5 0 0 0 250 50 0 0 20 0 7 0 100 8192 3 18446744073709551615 1";
        let expected = Process {
            resident_bytes: 12_288,
            virtual_bytes: 8_192,
            cpu_ns: 3_000_000_000,
            threads: 7,
            ..Process::default()
        };
        assert_eq!(parse(line), Some(expected));
        assert_eq!(parse(""), None);
        assert_eq!(parse("1 (x) S 1"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_has_memory_and_descriptors() {
        let process = look();
        assert!(process.resident_bytes > 1 << 20 && process.threads > 0);
        assert!(process.descriptors >= 3 && process.descriptors <= process.descriptors_max);
    }
}

//! Linux: `/proc`, control groups, and options that other systems do not have.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use socket2::SockRef;

use super::Usage;

/// The unit of times in `/proc`: a hundredth of a second on every Linux.
const TICK_NS: u64 = 10_000_000;

pub(super) fn usage() -> Usage {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let open = fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count() as u64);
    Usage {
        // One of them is the descriptor of the directory that is being read.
        descriptors: open.saturating_sub(1),
        ..parse_stat(&stat).unwrap_or_default()
    }
}

/// Parses a line of `/proc/PID/stat`. The process name may contain any character, so the other fields begin after the
/// last bracket.
fn parse_stat(stat: &str) -> Option<Usage> {
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    // Numbers are those of proc(5), in which the state, the first field here, has number 3.
    let user_ticks: u64 = fields.get(14 - 3)?.parse().ok()?;
    let system_ticks: u64 = fields.get(15 - 3)?.parse().ok()?;
    let threads = fields.get(20 - 3)?.parse().ok()?;
    let resident_pages: u64 = fields.get(24 - 3)?.parse().ok()?;
    Some(Usage {
        cpu_ns: (user_ticks + system_ticks).saturating_mul(TICK_NS),
        threads,
        resident_bytes: resident_pages.saturating_mul(rustix::param::page_size() as u64),
        ..Usage::default()
    })
}

pub(super) fn memory() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo")
        .ok()
        .as_deref()
        .and_then(parse_meminfo);
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = cgroup_files(&groups).into_iter().filter_map(|path| {
        // "max" if there is no limit.
        fs::read_to_string(path).ok()?.trim().parse().ok()
    });
    limits.chain(machine).min()
}

/// Returns the files that may have the limit of memory, from `/proc/self/cgroup`: those of the process's group and of
/// each group above it, by version 2 (whose line begins with `0::`) and by version 1. In a container the path may be
/// that on the host, so the root of the mount is read, too.
fn cgroup_files(groups: &str) -> Vec<String> {
    let mut files = Vec::new();
    for line in groups.lines() {
        let fields: Vec<&str> = line.splitn(3, ':').collect();
        let &[_number, controllers, path] = &fields[..] else {
            continue;
        };
        let (root, name) = if controllers.is_empty() {
            ("/sys/fs/cgroup", "memory.max")
        } else if controllers.split(',').any(|name| name == "memory") {
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
        } else {
            continue;
        };
        for group in Path::new(path).ancestors() {
            let group = group.to_string_lossy();
            files.push(format!("{root}{}/{name}", group.trim_end_matches('/')));
        }
    }
    files
}

/// Returns the total of `/proc/meminfo`, in bytes.
fn parse_meminfo(text: &str) -> Option<u64> {
    let mut lines = text.lines();
    let total = lines.find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = total.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1_024)
}

pub(super) fn coarse_unix_s() -> Option<i64> {
    Some(clock_gettime(ClockId::RealtimeCoarse).tv_sec)
}

pub(super) fn disable_huge_pages() {
    // If the kernel refuses, the only cost is memory.
    let _refused = nix::sys::prctl::set_thp_disable(true);
}

pub(super) fn limit_unsent_bytes(socket: &SockRef<'_>, bytes: u32) -> io::Result<()> {
    socket.set_tcp_notsent_lowat(bytes)
}

pub(super) fn limit_unacknowledged_time(socket: &SockRef<'_>, time: Duration) -> io::Result<()> {
    socket.set_tcp_user_timeout(Some(time))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_kernel_is_read_whatever_the_name() {
        let line = "12 (a ) b) S 1 12 12 0 -1 4194560 5 0 0 0 250 50 0 0 20 0 7 0 100 8192 3 18446744073709551615 1";
        let expected = Usage {
            resident_bytes: 12_288,
            cpu_ns: 3_000_000_000,
            threads: 7,
            ..Usage::default()
        };
        assert_eq!(parse_stat(line), Some(expected));
        assert_eq!(parse_stat(""), None);
        assert_eq!(parse_stat("1 (x) S 1"), None);
    }

    #[test]
    fn the_limits_of_all_groups_above_are_read() {
        let groups = "4:memory:/a/b\n3:cpuset:/a\n0::/s.slice/r.service\n";
        let expected = [
            "/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes",
            "/sys/fs/cgroup/memory/a/memory.limit_in_bytes",
            "/sys/fs/cgroup/memory/memory.limit_in_bytes",
            "/sys/fs/cgroup/s.slice/r.service/memory.max",
            "/sys/fs/cgroup/s.slice/memory.max",
            "/sys/fs/cgroup/memory.max",
        ];
        assert_eq!(cgroup_files(groups), expected);
        assert_eq!(cgroup_files("\nx\n1:\n"), [""; 0]);
    }

    #[test]
    fn the_memory_of_the_machine_is_read() {
        let text = "MemTotal:       24614040 kB\nMemFree:        17000000 kB\n";
        assert_eq!(parse_meminfo(text), Some(24_614_040 * 1_024));
        assert_eq!(parse_meminfo("MemTotal: much kB\n"), None);
        assert!(memory().is_some_and(|bytes| bytes > 16 << 20));
    }
}

//! Other Unix systems: what POSIX has, or nothing.

use std::fs;
use std::io;
use std::time::Duration;

use socket2::SockRef;

use super::Usage;

pub(super) fn usage() -> Usage {
    let open = fs::read_dir("/dev/fd").map_or(0, |entries| entries.count() as u64);
    Usage {
        // One of them is the descriptor of the directory that is being read.
        descriptors: open.saturating_sub(1),
        ..Usage::default()
    }
}

pub(super) fn memory() -> Option<u64> {
    None
}

pub(super) fn coarse_unix_s() -> Option<i64> {
    None
}

pub(super) fn disable_huge_pages() {}

pub(super) fn limit_unsent_bytes(_: &SockRef<'_>, _: u32) -> io::Result<()> {
    Ok(())
}

pub(super) fn limit_unacknowledged_time(_: &SockRef<'_>, _: Duration) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn only_descriptors_are_told() {
        let usage = usage();
        // Standard streams at least.
        assert!(usage.descriptors >= 3, "{usage:?}");
        let rest = Usage {
            descriptors: 0,
            ..usage
        };
        assert_eq!(rest, Usage::default());
    }

    #[test]
    fn the_memory_is_unknown() {
        assert_eq!(memory(), None);
    }

    #[test]
    fn there_is_no_coarse_clock() {
        assert_eq!(coarse_unix_s(), None);
    }

    #[test]
    fn huge_pages_are_left_as_they_are() {
        // Only Linux has this file.
        let before = fs::read_to_string("/proc/self/status").unwrap_or_default();
        disable_huge_pages();
        let after = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = |status: &str| {
            let mut lines = status.lines();
            let found = lines.find(|line| line.starts_with("THP_enabled"));
            found.map(str::to_owned)
        };
        assert_eq!(line(&before), line(&after));
    }

    #[test]
    fn options_of_sockets_are_left_alone() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let socket = SockRef::from(&listener);
        limit_unsent_bytes(&socket, 1_000).expect("it does nothing");
        limit_unacknowledged_time(&socket, Duration::from_secs(1)).expect("it does nothing");
        #[cfg(target_os = "linux")]
        assert_eq!(socket.tcp_user_timeout().expect("the option"), None);
    }
}

//! How much memory the text index may take where the operator does not say.

use std::fs;

/// Bytes of index for each byte of text: the finest index takes 3.5 to 4.5.
const BYTES_PER_TEXT_BYTE: u64 = 5;

/// What a small dataset may take in any case, as short texts need more for each byte: 128 MiB.
const LEAST: u64 = 128 << 20;

/// The part of the memory that this process may have which is the index's at most: a reload holds two of them.
const PART: u64 = 4;

/// Returns the bytes that the index of `text_bytes` of review text may take, by the memory of this machine.
#[must_use]
pub fn search_memory(text_bytes: u64) -> u64 {
    within(text_bytes, available())
}

/// Five bytes for each byte of text, at least 128 MiB, at most a quarter of `available`.
fn within(text_bytes: u64, available: Option<u64>) -> u64 {
    let wanted = text_bytes.saturating_mul(BYTES_PER_TEXT_BYTE);
    // A machine that does not tell is taken for one that has enough.
    wanted
        .min(available.map_or(u64::MAX, |bytes| bytes / PART))
        .max(LEAST)
}

/// Returns the bytes of memory that the machine has, or those that its container or service may use.
fn available() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok();
    let machine = machine.as_deref().and_then(parse_meminfo);
    let own = fs::read_to_string("/proc/self/cgroup").ok();
    let own = own
        .as_deref()
        .and_then(|text| text.lines().find_map(|line| line.strip_prefix("0::")));
    let limits = [Some("/"), own].into_iter().flatten().filter_map(|group| {
        let path = format!("/sys/fs/cgroup{}/memory.max", group.trim_end_matches('/'));
        // "max" where there is no limit.
        fs::read_to_string(path).ok()?.trim().parse().ok()
    });
    limits.chain(machine).min()
}

/// Returns the total of `/proc/meminfo`, in bytes.
fn parse_meminfo(text: &str) -> Option<u64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1_024)
}

#[cfg(test)]
mod tests {
    use super::{available, parse_meminfo, within};

    const MIB: u64 = 1 << 20;

    #[test]
    fn the_rule_holds_on_both_sides_of_its_bounds() {
        for (texts, machine, expected) in [
            (0, Some(64 * 1024 * MIB), 128 * MIB),
            (25 * MIB, Some(64 * 1024 * MIB), 128 * MIB),
            (26 * MIB, Some(64 * 1024 * MIB), 130 * MIB),
            (395 * MIB, Some(64 * 1024 * MIB), 1_975 * MIB),
            (395 * MIB, Some(7_900 * MIB), 1_975 * MIB),
            (395 * MIB, Some(7_896 * MIB), 1_974 * MIB),
            (395 * MIB, Some(100 * MIB), 128 * MIB),
            (395 * MIB, None, 1_975 * MIB),
            (u64::MAX, Some(1_024 * MIB), 256 * MIB),
        ] {
            assert_eq!(within(texts, machine), expected, "{texts} {machine:?}");
        }
    }

    #[test]
    fn the_total_of_the_machine_is_read() {
        let text = "MemTotal:       24614040 kB\nMemFree:        17000000 kB\n";
        assert_eq!(parse_meminfo(text), Some(24_614_040 * 1_024));
        assert_eq!(parse_meminfo("MemTotal: much kB\n"), None);
        assert_eq!(parse_meminfo(""), None);
        assert!(available().is_none_or(|bytes| bytes > 16 * MIB));
    }
}

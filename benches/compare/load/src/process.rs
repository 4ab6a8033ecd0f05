//! A server's process, as Linux accounts for it.

use std::fs::read_to_string;
use std::net::SocketAddr;
use std::str::FromStr;
use std::time::Duration;

use crate::Result;

/// The unit of CPU time in `/proc`: `USER_HZ` is 100 on every architecture that matters here.
const TICK: Duration = Duration::from_millis(10);

/// A server that is measured.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    pid: u32,
    /// Where it listens.
    pub address: SocketAddr,
}

impl FromStr for Target {
    type Err = Box<dyn std::error::Error>;

    fn from_str(text: &str) -> Result<Target> {
        let (pid, address) = text.split_once('@').ok_or("a server is PID@ADDRESS:PORT")?;
        let address: SocketAddr = address.parse()?;
        if !address.ip().is_loopback() {
            return Err(format!("{address} is not on this machine").into());
        }
        let pid = pid.parse()?;
        Ok(Target { pid, address })
    }
}

impl Target {
    /// CPU time of all its threads so far, in user and in kernel mode.
    pub fn cpu(&self) -> Result<Duration> {
        let stat = read_to_string(format!("/proc/{}/stat", self.pid))?;
        // The name of the program stands in parentheses and may hold anything; utime and stime are fields 14 and 15.
        let (_, fields) = stat.rsplit_once(')').ok_or("no name in stat")?;
        let mut ticks = 0;
        for field in fields.split_whitespace().skip(11).take(2) {
            ticks += field.parse::<u32>()?;
        }
        Ok(TICK * ticks)
    }

    /// Resident memory in KiB.
    pub fn memory(&self) -> Result<u64> {
        let status = read_to_string(format!("/proc/{}/status", self.pid))?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .ok_or("no VmRSS in status")?;
        Ok(line.trim().trim_end_matches(" kB").parse()?)
    }
}

//! From the facts of a connection to its deadline: the rules of the table in [`state`](super).

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::{CLOSING, ConnectionState, NEVER, Protocol, Timeouts, millis};

/// How many times [`Timeouts::rate_time`] a peer can be ahead of the least rate. Our choice: clients that limit their own
/// rate read a megabyte at once and then nothing for minutes, and one that reads much may not keep its place for ever.
pub(super) const CREDIT_MAX: u64 = 5;

/// How a connection ends that has reached its deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::server) enum Ending {
    /// Nothing was under way: an orderly end.
    Idle,
    /// A head did not arrive in time: 408 where nothing else has been sent.
    HeadTimeout,
    /// The peer does not take what it asked for: a reset, so that the kernel lets go of the data as well.
    SlowReader,
    /// Nothing moves although something is under way: a reset.
    Stalled,
}

/// What a look at the facts says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::server) enum Verdict {
    /// All is well until this many milliseconds after acceptance.
    Wait(u64),
    /// The deadline has passed.
    End(Ending),
}

/// Turns the facts of a connection into its deadline.
#[derive(Debug)]
pub(in crate::server) struct DeadlinePolicy {
    timeouts: Timeouts,
    /// Output that is owed.
    owing: Option<Owing>,
}

/// Output that is owed since then, when the kernel had taken `written` bytes.
#[derive(Clone, Copy, Debug)]
struct Owing {
    since: u64,
    written: u64,
    settled: u32,
}

impl DeadlinePolicy {
    /// Begins to watch a connection.
    pub(in crate::server) fn new(timeouts: Timeouts) -> DeadlinePolicy {
        DeadlinePolicy {
            timeouts,
            owing: None,
        }
    }

    /// Looks at the facts as of the last [`ConnectionState::tick`].
    pub(in crate::server) fn review(&mut self, state: &ConnectionState) -> Verdict {
        let now = state.elapsed();
        let last_io = state.last_io.load(Relaxed);
        let owed = state.is_owing();
        if owed && self.timeouts.rate_min > 0 {
            return self.review_output(state, now);
        }
        self.owing = None;
        let (since, allowance, ending) = if owed || state.handling.load(Relaxed) > 0 {
            (last_io, self.timeouts.stall, Ending::Stalled)
        } else if state.is_closing() {
            let since = state.closing_since.load(Relaxed).max(last_io);
            (since, CLOSING, Ending::Stalled)
        } else if state.head_since.load(Relaxed) != NEVER {
            let since = state.head_since.load(Relaxed);
            (since, self.timeouts.head, Ending::HeadTimeout)
        } else if state.protocol() == Protocol::Http1 && !state.listening.load(Relaxed) {
            (last_io, self.timeouts.stall, Ending::Stalled)
        } else {
            (state.idle_since(), self.timeouts.idle, Ending::Idle)
        };
        verdict(now, since, allowance, ending)
    }

    /// Judges output that is owed: each byte that the kernel takes prolongs the time by what it may take at the least rate.
    /// A mean over a fixed time would not do: the kernel takes bytes in steps, over loopback of more than 100 KB.
    fn review_output(&mut self, state: &ConnectionState, now: u64) -> Verdict {
        let rate_time = millis(self.timeouts.rate_time);
        let written = state.written.load(Relaxed);
        let settled = state.settled.load(Relaxed);
        let mut owing = match self.owing {
            Some(owing) if owing.settled == settled => owing,
            _ => Owing {
                since: now,
                written,
                settled,
            },
        };
        let moved = written.saturating_sub(owing.written);
        let earned = moved.saturating_mul(1_000) / self.timeouts.rate_min;
        let ahead_max = rate_time.saturating_mul(CREDIT_MAX);
        let latest = now.saturating_add(ahead_max);
        let mut until = owing.since.saturating_add(rate_time).saturating_add(earned);
        if until > latest {
            until = latest;
            owing.since = latest.saturating_sub(rate_time);
            owing.written = written;
        }
        self.owing = Some(owing);
        if now >= until {
            return Verdict::End(Ending::SlowReader);
        }
        Verdict::Wait(until)
    }
}

/// Returns the end of `allowance` after `since`, or the ending where that has passed.
fn verdict(now: u64, since: u64, allowance: Duration, ending: Ending) -> Verdict {
    let until = since.saturating_add(millis(allowance));
    if now >= until {
        Verdict::End(ending)
    } else {
        Verdict::Wait(until)
    }
}

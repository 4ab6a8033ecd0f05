//! From the facts of a connection to its deadline: the rules of the table in [`activity`](super).

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::{Activity, Allowances, CLOSING, NEVER, Protocol, millis};

/// How many times [`Allowances::rate_time`] a peer can be ahead of the least rate. Our choice: clients that limit their own
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
pub(in crate::server) struct Watch {
    allowances: Allowances,
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

impl Watch {
    /// Begins to watch a connection.
    pub(in crate::server) fn new(allowances: Allowances) -> Watch {
        Watch {
            allowances,
            owing: None,
        }
    }

    /// Looks at the facts as of the last [`Activity::tick`].
    pub(in crate::server) fn review(&mut self, activity: &Activity) -> Verdict {
        let now = activity.elapsed();
        let last_io = activity.last_io.load(Relaxed);
        let owed = activity.is_owing();
        if owed && self.allowances.rate_min > 0 {
            return self.review_output(activity, now);
        }
        self.owing = None;
        let (since, allowance, ending) = if owed || activity.handling.load(Relaxed) > 0 {
            (last_io, self.allowances.stall, Ending::Stalled)
        } else if activity.is_closing() {
            let since = activity.closing_since.load(Relaxed).max(last_io);
            (since, CLOSING, Ending::Stalled)
        } else if activity.head_since.load(Relaxed) != NEVER {
            let since = activity.head_since.load(Relaxed);
            (since, self.allowances.head, Ending::HeadTimeout)
        } else if activity.protocol() == Protocol::Http1 && !activity.listening.load(Relaxed) {
            (last_io, self.allowances.stall, Ending::Stalled)
        } else {
            (activity.idle_since(), self.allowances.idle, Ending::Idle)
        };
        verdict(now, since, allowance, ending)
    }

    /// Judges output that is owed: each byte that the kernel takes prolongs the time by what it may take at the least rate.
    /// A mean over a fixed time would not do: the kernel takes bytes in steps, over loopback of more than 100 KB.
    fn review_output(&mut self, activity: &Activity, now: u64) -> Verdict {
        let rate_time = millis(self.allowances.rate_time);
        let written = activity.written.load(Relaxed);
        let settled = activity.settled.load(Relaxed);
        let mut owing = match self.owing {
            Some(owing) if owing.settled == settled => owing,
            _ => Owing {
                since: now,
                written,
                settled,
            },
        };
        let moved = written.saturating_sub(owing.written);
        let earned = moved.saturating_mul(1_000) / self.allowances.rate_min;
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

//! The scheduler: which of the due attempts start next, and how many run at a time. Pure: callers pass the time.
//!
//! An attempt is a delivery, a notice, a verification or a denial. The queue is ordered by [`Rank`]: what was not tried goes
//! before what has failed, and known subscribers before new ones. Within a rank, the addresses that asked and the
//! callback hosts take turns: the first attempt of each goes before the second of any.
//!
//! Two limits apply. `threads` is for all running attempts, because each has a thread until its deadline. `moving` is
//! for those that do work: an attempt that has made no progress for [`STALL_AFTER`] waits for its callback, and costs
//! nothing but its thread. So callbacks that hang delay others by that time only. While the threads themselves wait for
//! a core, a pause is no sign of a slow callback, and the time is [`STALL_AFTER_LAGGING`].
//!
//! Each rank but the first gets at most a quarter of both limits, so whatever new or failing subscribers do, a quarter is
//! left for the new content of known ones. A host, and an address that asked, gets at most half of what its rank leaves
//! free: its share shrinks while its attempts hang, and grows with what is finished.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long an attempt counts as moving without progress. Our choice: many times longer than most subscribers need, and
/// short enough that hundreds of hanging callbacks, 64 at a time, delay the others by about a second.
pub const STALL_AFTER: Duration = Duration::from_millis(250);

/// The same while our threads wait for a core. Our choice: four times as long, so that the handshakes that have started
/// are finished before more start.
pub const STALL_AFTER_LAGGING: Duration = Duration::from_secs(1);

/// Sufficient progress of an attempt, in bytes per second. Our choice: a third of the share of each of 64 deliveries on
/// a link of 50 Mbit/s; `delivery_timeout` assumes the same rate.
const PACE: f64 = 32.0 * 1024.0;

/// A rank other than the first gets at most each limit divided by this.
const LOWER_RANK_PART: usize = 4;

/// Entries that one call of [`Scheduler::start`] passes over because their host is at its limit. Our choice: more than
/// all hosts that can be at their limit, and few enough for a turn of some milliseconds.
const PASSED_OVER_MAX: usize = 4_096;

/// Our own machine is the bottleneck if attempts wait for a core for at least this part of their time.
const CPU_WAIT_PART: f64 = 0.25;

/// How long the last measured wait for a core says something about the present.
const CPU_WAIT_AGE: Duration = Duration::from_secs(2);

/// How often the work done is measured, and the factor by which it must have grown for a larger limit.
const EPOCH: Duration = Duration::from_secs(1);
const GAIN: f64 = 1.1;

/// A finished attempt counts as much work as this many bytes of a body.
const ATTEMPT_BYTES: u64 = 32 * 1024;

/// The precedence of an attempt, highest first.
///
/// A subscription is known once it has acknowledged a delivery, a request if it is for an active subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rank {
    /// New content for a known subscription; a renewal or unsubscription.
    KnownFirst,
    /// The first content for a new subscription; a request for a new subscription.
    NewFirst,
    /// Another attempt for a known one.
    KnownRetry,
    /// Another attempt for a new one; a denial.
    NewRetry,
}

impl Rank {
    const ALL: [Rank; 4] = [
        Rank::KnownFirst,
        Rank::NewFirst,
        Rank::KnownRetry,
        Rank::NewRetry,
    ];

    /// Returns the rank of an attempt.
    #[must_use]
    pub fn of(is_known: bool, is_retry: bool) -> Rank {
        match (is_known, is_retry) {
            (true, false) => Rank::KnownFirst,
            (false, false) => Rank::NewFirst,
            (true, true) => Rank::KnownRetry,
            (false, true) => Rank::NewRetry,
        }
    }
}

/// What an attempt is for; the number is an id in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AttemptId {
    /// A delivery to the subscription.
    Delivery(i64),
    /// The verification of the request.
    Verification(i64),
    /// The denial.
    Denial(i64),
    /// The notice.
    Notice(i64),
}

/// An attempt that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueAttempt {
    /// What it is for.
    pub id: AttemptId,
    /// Its precedence.
    pub rank: Rank,
    /// Host and port of the callback.
    pub authority: Arc<str>,
    /// The address that asked for it, as a number; `None` if addresses do not take turns.
    pub asker: Option<i64>,
}

/// An attempt that may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartedAttempt {
    /// Its number, for the other calls.
    pub number: u64,
    /// What it is for.
    pub id: AttemptId,
}

/// The limits of a scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptLimits {
    /// Running attempts.
    pub threads: usize,
    /// Running attempts that make progress, to begin with; grows while that increases the work done.
    pub moving: usize,
}

/// The queue of due attempts, and the running ones.
#[derive(Debug)]
pub struct Scheduler {
    limits: AttemptLimits,
    /// A queue for each rank, in turns.
    queues: [VecDeque<DueAttempt>; 4],
    running: HashMap<u64, RunningAttempt>,
    last_number: u64,
    throughput: Throughput,
    /// The part of their time for which finished attempts waited for a core: an average in which the last ones count most.
    cpu_wait_part: f64,
    /// When an attempt was last finished.
    cpu_wait_at: Instant,
}

#[derive(Debug)]
struct RunningAttempt {
    rank: Rank,
    authority: Arc<str>,
    asker: Option<i64>,
    /// Bytes of progress so far.
    bytes: u64,
    /// When the attempt last kept up with [`PACE`].
    moved_at: Instant,
    /// Its bytes until then.
    moved_bytes: u64,
}

impl Scheduler {
    /// Creates an empty scheduler at `now`.
    #[must_use]
    pub fn new(limits: AttemptLimits, now: Instant) -> Scheduler {
        Scheduler {
            limits,
            queues: Default::default(),
            running: HashMap::new(),
            last_number: 0,
            throughput: Throughput::new(limits, now),
            cpu_wait_part: 0.0,
            cpu_wait_at: now,
        }
    }

    /// Replaces the queue by what is due now, given in the order in which it became due. Running attempts must not be
    /// in it.
    pub fn set_queue(&mut self, mut due: Vec<DueAttempt>) {
        due.sort_by_key(|attempt| attempt.rank);
        // A host or address with running attempts has had as many turns.
        let mut turns = Holders::default();
        for running in self.running.values() {
            turns.add(&running.authority, running.asker);
        }
        let mut by_turn: Vec<(Rank, usize, DueAttempt)> = Vec::with_capacity(due.len());
        for attempt in due {
            let turn = turns.largest(&attempt.authority, attempt.asker);
            turns.add(&attempt.authority, attempt.asker);
            by_turn.push((attempt.rank, turn, attempt));
        }
        by_turn.sort_by_key(|(rank, turn, _)| (*rank, *turn));
        self.queues.iter_mut().for_each(VecDeque::clear);
        for (rank, _, attempt) in by_turn {
            self.queues[rank as usize].push_back(attempt);
        }
    }

    /// Moves attempts from the queue to the running ones, as many as the limits permit.
    pub fn start(&mut self, now: Instant) -> Vec<StartedAttempt> {
        self.throughput.measure(self.moving(now), now);
        let mut threads = ThreadUsage::new(self.limits.threads);
        let mut moving = ThreadUsage::new(self.throughput.limit);
        for running in self.running.values() {
            threads.add(running.rank, &running.authority, running.asker);
            if self.is_moving(running, now) {
                moving.add(running.rank, &running.authority, running.asker);
            }
        }
        let mut started = Vec::new();
        for rank in Rank::ALL {
            let mut passed_over = Vec::new();
            while passed_over.len() < PASSED_OVER_MAX
                && threads.free(rank).min(moving.free(rank)) > 0
                && let Some(attempt) = self.queues[rank as usize].pop_front()
            {
                let DueAttempt {
                    authority, asker, ..
                } = &attempt;
                if !threads.permits(rank, authority, *asker)
                    || !moving.permits(rank, authority, *asker)
                {
                    passed_over.push(attempt);
                    continue;
                }
                threads.add(rank, authority, *asker);
                moving.add(rank, authority, *asker);
                started.push(self.run(attempt, now));
            }
            for attempt in passed_over.into_iter().rev() {
                self.queues[rank as usize].push_front(attempt);
            }
        }
        started
    }

    fn run(&mut self, attempt: DueAttempt, now: Instant) -> StartedAttempt {
        self.last_number += 1;
        let running = RunningAttempt {
            rank: attempt.rank,
            authority: attempt.authority,
            asker: attempt.asker,
            bytes: 0,
            moved_at: now,
            moved_bytes: 0,
        };
        self.running.insert(self.last_number, running);
        StartedAttempt {
            number: self.last_number,
            id: attempt.id,
        }
    }

    /// Records that a running attempt has made progress of `bytes` so far.
    pub fn progress(&mut self, number: u64, bytes: u64, now: Instant) {
        let Some(running) = self.running.get_mut(&number) else {
            return;
        };
        self.throughput.add(bytes.saturating_sub(running.bytes));
        running.bytes = bytes;
        let elapsed = now.saturating_duration_since(running.moved_at);
        let moved = bytes.saturating_sub(running.moved_bytes);
        if moved > 0 && moved as f64 >= PACE * elapsed.as_secs_f64() {
            running.moved_at = now;
            running.moved_bytes = bytes;
        }
    }

    /// Ends a running attempt, which took `elapsed` and waited for a core for `cpu_wait` of that.
    pub fn finish(&mut self, number: u64, elapsed: Duration, cpu_wait: Duration, now: Instant) {
        if self.running.remove(&number).is_none() {
            return;
        }
        self.throughput.add(ATTEMPT_BYTES);
        let part = cpu_wait.as_secs_f64() / elapsed.as_secs_f64().max(0.001);
        self.cpu_wait_part = self.cpu_wait_part * 0.8 + part.min(1.0) * 0.2;
        self.cpu_wait_at = now;
    }

    /// Ends an attempt that was started, but is not due any more.
    pub fn cancel(&mut self, number: u64) {
        self.running.remove(&number);
    }

    /// Returns the number of running attempts.
    #[must_use]
    pub fn running(&self) -> usize {
        self.running.len()
    }

    /// Returns the number of attempts in the queue.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.queues.iter().map(VecDeque::len).sum()
    }

    /// Returns the time until a running attempt ceases to be moving, after which more may start.
    #[must_use]
    pub fn until_stall(&self, now: Instant) -> Option<Duration> {
        let moving = self.running.values().filter(|one| self.is_moving(one, now));
        let ages = moving.map(|one| now.saturating_duration_since(one.moved_at));
        let stall_after = self.stall_after(now);
        ages.max().map(|age| stall_after.saturating_sub(age))
    }

    /// Tells whether our own threads wait for a core so long that attempts are late because of it.
    #[must_use]
    pub fn is_cpu_bound(&self, now: Instant) -> bool {
        let age = now.saturating_duration_since(self.cpu_wait_at);
        self.cpu_wait_part >= CPU_WAIT_PART && age < CPU_WAIT_AGE
    }

    fn moving(&self, now: Instant) -> usize {
        let running = self.running.values();
        running.filter(|one| self.is_moving(one, now)).count()
    }

    fn is_moving(&self, running: &RunningAttempt, now: Instant) -> bool {
        now.saturating_duration_since(running.moved_at) < self.stall_after(now)
    }

    fn stall_after(&self, now: Instant) -> Duration {
        if self.is_cpu_bound(now) {
            STALL_AFTER_LAGGING
        } else {
            STALL_AFTER
        }
    }
}

/// A limit, and how much of it is in use.
struct ThreadUsage {
    limit: usize,
    total: usize,
    /// In use by each rank, and within it by each host and address.
    ranks: [(usize, Holders); 4],
}

impl ThreadUsage {
    fn new(limit: usize) -> ThreadUsage {
        ThreadUsage {
            limit,
            total: 0,
            ranks: Default::default(),
        }
    }

    fn add(&mut self, rank: Rank, authority: &Arc<str>, asker: Option<i64>) {
        let (count, holders) = &mut self.ranks[rank as usize];
        self.total += 1;
        *count += 1;
        holders.add(authority, asker);
    }

    /// Returns how many more attempts of this rank the limit permits.
    fn free(&self, rank: Rank) -> usize {
        let free = self.limit.saturating_sub(self.total);
        if rank == Rank::KnownFirst {
            return free;
        }
        let (count, _) = self.ranks[rank as usize];
        let part = self.limit.div_ceil(LOWER_RANK_PART);
        free.min(part.saturating_sub(count))
    }

    /// Tells whether an attempt may start: its host and the address that asked hold less than half of what its rank
    /// leaves free.
    fn permits(&self, rank: Rank, authority: &Arc<str>, asker: Option<i64>) -> bool {
        let (_, holders) = &self.ranks[rank as usize];
        holders.largest(authority, asker) < self.free(rank).div_ceil(2)
    }
}

/// Counts by callback host, and by address that asked.
#[derive(Default)]
struct Holders {
    hosts: HashMap<Arc<str>, usize>,
    askers: HashMap<i64, usize>,
}

impl Holders {
    fn add(&mut self, authority: &Arc<str>, asker: Option<i64>) {
        *self.hosts.entry(Arc::clone(authority)).or_default() += 1;
        if let Some(asker) = asker {
            *self.askers.entry(asker).or_default() += 1;
        }
    }

    /// Returns the larger of both counts.
    fn largest(&self, authority: &Arc<str>, asker: Option<i64>) -> usize {
        let of_host = self.hosts.get(authority).copied().unwrap_or_default();
        let of_asker = asker.and_then(|asker| self.askers.get(&asker).copied());
        of_host.max(of_asker.unwrap_or_default())
    }
}

/// The limit of moving attempts: grows while more of them do more work in all, so that the hub uses its link without
/// congesting it. If the subscribers' links are the bottleneck, more attempts do more work; if our link or our cores
/// are, they do not.
#[derive(Debug)]
struct Throughput {
    limits: AttemptLimits,
    /// The present limit of moving attempts.
    limit: usize,
    /// Work per second when the limit last grew; 0 while the first limit is enough.
    rate: f64,
    /// When the current measurement began.
    epoch_began: Instant,
    /// The bytes since then.
    epoch_bytes: u64,
    /// The largest number of moving attempts since then.
    most_moving: usize,
}

impl Throughput {
    fn new(limits: AttemptLimits, now: Instant) -> Throughput {
        Throughput {
            limits,
            limit: limits.moving,
            rate: 0.0,
            epoch_began: now,
            epoch_bytes: 0,
            most_moving: 0,
        }
    }

    fn add(&mut self, bytes: u64) {
        self.epoch_bytes += bytes;
    }

    /// Adapts the limit once an epoch, while `moving` attempts move.
    fn measure(&mut self, moving: usize, now: Instant) {
        self.most_moving = self.most_moving.max(moving);
        let elapsed = now.saturating_duration_since(self.epoch_began);
        if elapsed < EPOCH {
            return;
        }
        let rate = self.epoch_bytes as f64 / elapsed.as_secs_f64();
        if self.most_moving * 2 < self.limit {
            self.limit = self.limits.moving;
            self.rate = 0.0;
        } else if rate > self.rate * GAIN {
            self.limit = (self.limit + self.limit.div_ceil(2)).min(self.limits.threads);
            self.rate = rate;
        }
        self.epoch_began = now;
        self.epoch_bytes = 0;
        self.most_moving = moving;
    }
}

#[cfg(test)]
#[path = "scheduler/tests.rs"]
mod tests;

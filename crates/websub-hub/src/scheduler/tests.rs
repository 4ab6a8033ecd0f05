use super::*;

const LIMITS: AttemptLimits = AttemptLimits {
    threads: 64,
    moving: 16,
};

/// A scheduler with a clock.
struct Bench {
    scheduler: Scheduler,
    now: Instant,
    queue: Vec<DueAttempt>,
}

impl Bench {
    fn new(limits: AttemptLimits) -> Bench {
        let now = Instant::now();
        Bench {
            scheduler: Scheduler::new(limits, now),
            now,
            queue: Vec::new(),
        }
    }

    /// Adds `count` attempts to the queue of the next start.
    fn add(&mut self, count: i64, rank: Rank, authority: &str, asker: Option<i64>) {
        for _ in 0..count {
            self.queue.push(DueAttempt {
                id: AttemptId::Delivery(self.queue.len() as i64),
                rank,
                authority: authority.into(),
                asker,
            });
        }
    }

    /// Adds `count` attempts, each for a host of its own.
    fn add_hosts(&mut self, count: i64, rank: Rank) {
        for _ in 0..count {
            let authority = format!("h{}.example:443", self.queue.len());
            self.add(1, rank, &authority, None);
        }
    }

    /// Lets an [`EPOCH`] pass. Ten times in it, starts the jobs that may start; the queue is never empty.
    fn start_for_an_epoch(&mut self) {
        for _ in 0..10 {
            self.wait(EPOCH / 10);
            self.add_hosts(10, Rank::KnownFirst);
            self.start();
        }
    }

    /// Starts what may start, and returns it as it stood in the queue.
    fn start(&mut self) -> Vec<DueAttempt> {
        let queue = std::mem::take(&mut self.queue);
        self.scheduler.set_queue(queue.clone());
        let started = self.scheduler.start(self.now);
        let mut attempts = Vec::new();
        for one in started {
            let AttemptId::Delivery(id) = one.id else {
                panic!("{one:?}");
            };
            let index = usize::try_from(id).expect("an index");
            attempts.push(queue[index].clone());
        }
        attempts
    }

    fn wait(&mut self, time: Duration) {
        self.now += time;
    }
}

fn of_rank(attempts: &[DueAttempt], rank: Rank) -> usize {
    attempts.iter().filter(|one| one.rank == rank).count()
}

#[test]
fn first_tries_go_before_retries_and_known_subscribers_before_new_ones() {
    let mut bench = Bench::new(LIMITS);
    for rank in Rank::ALL.into_iter().rev() {
        bench.add_hosts(2, rank);
    }
    let started = bench.start();
    let ranks: Vec<Rank> = started.iter().map(|one| one.rank).collect();
    let expected = Rank::ALL.into_iter().flat_map(|rank| [rank, rank]);
    assert_eq!(ranks, expected.collect::<Vec<_>>());
}

#[test]
fn hosts_take_turns() {
    let mut bench = Bench::new(LIMITS);
    bench.add(20, Rank::KnownFirst, "many.example:443", None);
    bench.add(2, Rank::KnownFirst, "few.example:443", None);
    bench.add(1, Rank::KnownFirst, "one.example:443", None);
    let started = bench.start();
    let hosts: Vec<&str> = started.iter().map(|one| &*one.authority).collect();
    let turns = [
        "many.example:443",
        "few.example:443",
        "one.example:443",
        "many.example:443",
        "few.example:443",
        "many.example:443",
    ];
    assert_eq!(hosts[..6], turns);
}

#[test]
fn a_host_with_running_attempts_has_had_its_turns() {
    let mut bench = Bench::new(LIMITS);
    bench.add(1, Rank::KnownFirst, "first.example:443", None);
    bench.start();
    bench.add(1, Rank::KnownFirst, "first.example:443", None);
    bench.add(1, Rank::KnownFirst, "second.example:443", None);
    let started = bench.start();
    assert_eq!(&*started[0].authority, "second.example:443");
}

#[test]
fn addresses_that_ask_take_turns_whatever_the_hosts() {
    let mut bench = Bench::new(LIMITS);
    for number in 0..9 {
        let authority = format!("h{number}.example:443");
        bench.add(1, Rank::KnownFirst, &authority, Some(1));
    }
    bench.add(1, Rank::KnownFirst, "last.example:443", Some(2));
    let started = bench.start();
    assert_eq!(started[1].asker, Some(2));
}

#[test]
fn a_lower_rank_gets_a_quarter_of_the_threads_and_the_first_gets_all() {
    for (rank, most) in [
        (Rank::KnownFirst, 64),
        (Rank::NewFirst, 16),
        (Rank::KnownRetry, 16),
        (Rank::NewRetry, 16),
    ] {
        let mut bench = Bench::new(LIMITS);
        let mut started = 0;
        for _ in 0..40 {
            bench.add_hosts(100, rank);
            started += bench.start().len();
            bench.wait(STALL_AFTER);
        }
        assert_eq!(started, most, "{rank:?}");
    }
}

#[test]
fn whatever_hangs_in_the_lower_ranks_a_quarter_is_left_for_the_first() {
    let mut bench = Bench::new(LIMITS);
    for _ in 0..40 {
        for rank in [Rank::NewFirst, Rank::KnownRetry, Rank::NewRetry] {
            bench.add_hosts(100, rank);
        }
        bench.start();
        bench.wait(STALL_AFTER);
    }
    assert_eq!(bench.scheduler.running(), 48);
    bench.add_hosts(100, Rank::KnownFirst);
    assert_eq!(bench.start().len(), 16);
}

#[test]
fn retries_of_known_subscribers_do_not_wait_for_new_ones_that_hang() {
    let mut bench = Bench::new(LIMITS);
    for _ in 0..40 {
        bench.add_hosts(100, Rank::NewFirst);
        bench.start();
        bench.wait(STALL_AFTER);
    }
    bench.add_hosts(100, Rank::NewFirst);
    bench.add_hosts(1, Rank::KnownRetry);
    let started = bench.start();
    assert_eq!(of_rank(&started, Rank::KnownRetry), 1);
}

#[test]
fn an_attempt_that_stalls_does_not_count_as_moving() {
    let mut bench = Bench::new(LIMITS);
    bench.add_hosts(100, Rank::KnownFirst);
    assert_eq!(bench.start().len(), 16);
    bench.wait(STALL_AFTER - Duration::from_millis(1));
    bench.add_hosts(100, Rank::KnownFirst);
    assert_eq!(bench.start().len(), 0);
    let until_stall = bench.scheduler.until_stall(bench.now);
    assert_eq!(until_stall, Some(Duration::from_millis(1)));
    bench.wait(Duration::from_millis(1));
    bench.add_hosts(100, Rank::KnownFirst);
    assert_eq!(bench.start().len(), 16);
}

#[test]
fn an_attempt_moves_while_its_bytes_come_at_a_sufficient_rate() {
    // A quarter of 32 KiB in a quarter of a second.
    for (bytes, started) in [(8_192, 0), (8_182, 1)] {
        let limits = AttemptLimits {
            threads: 8,
            moving: 1,
        };
        let mut bench = Bench::new(limits);
        bench.add_hosts(1, Rank::KnownFirst);
        bench.start();
        // The last bytes came before the attempt is checked again.
        bench.wait(Duration::from_millis(250));
        bench.scheduler.progress(1, bytes, bench.now);
        bench.add_hosts(1, Rank::KnownFirst);
        assert_eq!(bench.start().len(), started, "{bytes}");
    }
}

#[test]
fn a_host_holds_at_most_half_of_what_its_rank_leaves_free() {
    let mut bench = Bench::new(LIMITS);
    for _ in 0..40 {
        bench.add(100, Rank::NewFirst, "hangs.example:443", None);
        bench.start();
        bench.wait(STALL_AFTER);
    }
    // A quarter of 64 is 16: with 5 in use, 11 are free, and with 6, 10.
    assert_eq!(bench.scheduler.running(), 6);
    // As soon as one is finished, another starts.
    bench.scheduler.cancel(1);
    bench.add(100, Rank::NewFirst, "hangs.example:443", None);
    assert_eq!(bench.start().len(), 1);
}

#[test]
fn an_address_that_asks_leaves_threads_for_others_whatever_the_hosts() {
    let mut bench = Bench::new(LIMITS);
    for _ in 0..40 {
        for number in 0..100 {
            let authority = format!("h{number}.example:443");
            bench.add(1, Rank::NewFirst, &authority, Some(7));
        }
        bench.start();
        bench.wait(STALL_AFTER);
    }
    assert_eq!(bench.scheduler.running(), 6);
    bench.add(1, Rank::NewFirst, "honest.example:443", Some(8));
    assert_eq!(bench.start().len(), 1);
}

#[test]
fn while_our_threads_wait_for_a_core_attempts_stall_later() {
    let mut bench = Bench::new(LIMITS);
    bench.add_hosts(16, Rank::KnownFirst);
    bench.start();
    let second = Duration::from_secs(1);
    for number in 1..=8 {
        bench.scheduler.finish(number, second, second, bench.now);
    }
    assert!(bench.scheduler.is_cpu_bound(bench.now));
    bench.wait(STALL_AFTER);
    bench.add_hosts(100, Rank::KnownFirst);
    assert_eq!(bench.start().len(), 8, "the other eight still move");
    bench.wait(STALL_AFTER_LAGGING);
    bench.add_hosts(100, Rank::KnownFirst);
    assert!(bench.start().len() >= 16, "all of them have stalled");
    bench.wait(CPU_WAIT_AGE);
    assert!(!bench.scheduler.is_cpu_bound(bench.now), "that is long ago");
}

#[test]
fn waits_for_a_core_count_by_a_mean_to_which_each_attempt_adds_a_fifth() {
    for (wait_ms, expected) in [(2_000, Some(2)), (1_000, Some(4)), (400, None)] {
        let mut bench = Bench::new(LIMITS);
        bench.add_hosts(10, Rank::KnownFirst);
        bench.start();
        let elapsed = Duration::from_secs(2);
        let wait = Duration::from_millis(wait_ms);
        let bound_after = (1..=10).find(|number| {
            bench.scheduler.finish(*number, elapsed, wait, bench.now);
            bench.scheduler.is_cpu_bound(bench.now)
        });
        assert_eq!(bound_after, expected, "{wait_ms}");
    }
}

#[test]
fn a_measured_wait_for_a_core_says_something_for_two_seconds() {
    let mut bench = Bench::new(LIMITS);
    bench.add_hosts(2, Rank::KnownFirst);
    bench.start();
    let second = Duration::from_secs(1);
    for number in 1..=2 {
        bench.scheduler.finish(number, second, second, bench.now);
    }
    for (wait_ms, expected) in [(0, true), (1_999, true), (1, false)] {
        bench.wait(Duration::from_millis(wait_ms));
        assert_eq!(bench.scheduler.is_cpu_bound(bench.now), expected);
    }
}

#[test]
fn more_attempts_move_while_that_increases_the_work_and_no_longer() {
    let limits = AttemptLimits {
        threads: 64,
        moving: 2,
    };
    let mut bench = Bench::new(limits);
    // Each second all together take so much; the link is full from the third on.
    for (bytes, limit) in [(200_000, 3), (300_000, 5), (500_000, 8), (510_000, 8)] {
        bench.add_hosts(100, Rank::KnownFirst);
        bench.start();
        let running = bench.scheduler.running() as u64;
        for _ in 0..10 {
            bench.wait(Duration::from_millis(100));
            for number in 1..=running {
                let taken = bench.scheduler.running[&number].bytes;
                let more = bytes / 10 / running;
                bench.scheduler.progress(number, taken + more, bench.now);
            }
            bench.start();
        }
        assert_eq!(bench.scheduler.throughput.limit, limit, "{bytes}");
    }
    for number in 1..=bench.scheduler.last_number {
        bench.scheduler.cancel(number);
    }
    bench.wait(EPOCH);
    bench.start();
    bench.wait(EPOCH);
    bench.start();
    assert_eq!(bench.scheduler.throughput.limit, 2, "few are enough");
}

#[test]
fn the_limit_rises_if_half_of_it_is_in_use() {
    for (attempts, limit) in [(3, 9), (2, 6)] {
        let mut bench = Bench::new(AttemptLimits {
            threads: 64,
            moving: 6,
        });
        bench.add_hosts(attempts, Rank::KnownFirst);
        bench.start();
        bench.start();
        bench.scheduler.progress(1, 20_000, bench.now);
        bench.wait(EPOCH);
        bench.start();
        assert_eq!(bench.scheduler.throughput.limit, limit, "{attempts}");
    }
}

#[test]
fn the_same_work_in_a_second_does_not_raise_the_limit_again() {
    let mut bench = Bench::new(AttemptLimits {
        threads: 64,
        moving: 2,
    });
    for (bytes, epochs, limit) in [(20_000, 1, 3), (40_000, 2, 3), (30_000, 1, 5)] {
        bench.add_hosts(10, Rank::KnownFirst);
        bench.start();
        bench.start();
        let newest = bench.scheduler.last_number;
        bench.scheduler.progress(newest, bytes, bench.now);
        bench.wait(EPOCH * epochs);
        bench.start();
        assert_eq!(bench.scheduler.throughput.limit, limit, "{bytes}");
    }
}

#[test]
fn a_finished_attempt_counts_as_much_work_as_32_kib() {
    let limits = AttemptLimits {
        threads: 64,
        moving: 2,
    };
    // The limit grows if the second epoch has a tenth more than these bytes.
    for (bytes, limit) in [(29_700, 5), (29_800, 3)] {
        let mut bench = Bench::new(limits);
        bench.add_hosts(100, Rank::KnownFirst);
        bench.start();
        bench.scheduler.progress(1, bytes, bench.now);
        bench.start_for_an_epoch();
        assert_eq!(bench.scheduler.throughput.limit, 3);
        let elapsed = Duration::from_secs(1);
        bench
            .scheduler
            .finish(1, elapsed, Duration::ZERO, bench.now);
        bench.start_for_an_epoch();
        assert_eq!(bench.scheduler.throughput.limit, limit, "{bytes}");
    }
}

#[test]
fn what_cannot_start_stays_in_the_queue_in_its_order() {
    let limits = AttemptLimits {
        threads: 8,
        moving: 8,
    };
    let mut bench = Bench::new(limits);
    bench.add(9, Rank::KnownFirst, "many.example:443", None);
    bench.add(1, Rank::NewRetry, "other.example:443", None);
    assert_eq!(bench.start().len(), 4, "three of one host, and the other");
    assert_eq!(bench.scheduler.queued(), 6);
    bench.scheduler.cancel(1);
    let next = bench.scheduler.start(bench.now);
    assert_eq!(next[0].id, AttemptId::Delivery(3));
}

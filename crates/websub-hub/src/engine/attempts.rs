//! The engine's attempts to reach callbacks: finds due ones in the store, starts those that the scheduler chooses on
//! threads of a pool, and records their results in the store and the log.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use tracing::{debug, error, info};

use super::time::{Now, ScanSchedule};
use super::{Engine, HubMessage, Storage, jitter};
use crate::Topic;
use crate::UnixMillis;
use crate::client::{Attempt, Client, Job};
use crate::cpu_wait::cpu_wait;
use crate::notice::NoticeTarget;
use crate::pool::ThreadPool;
use crate::scheduler::{AttemptId, AttemptLimits, DueAttempt, Scheduler};
use crate::settings::HubSettings;
use crate::store::{
    AttemptReport, DenialNotice, ReportEffect, Store, StoreError, StoredSubscription,
    WaitingRequest,
};
use crate::subscription::{AttemptFailure, AttemptResult, DeliveryResult};

/// The longest queue of deliveries and notices, and as much for verifications and denials. What is due beyond it waits in
/// the store. Our choice: the default limit of subscriptions; the queue then takes some ten megabytes.
const QUEUE_MAX: usize = 100_000;

/// The longest delay before an attempt that did not reach its host is repeated without counting a failure.
const REPEAT_DELAY_MAX: Duration = Duration::from_secs(60);

/// A timeout is our own fault if the attempt's thread waited at least this part of the time for a core.
const OWN_LAG_PART: f64 = 0.25;

/// An attempt that ended on its thread.
#[derive(Debug)]
pub(crate) struct EndedAttempt {
    number: u64,
    job: Arc<Job>,
    pub(super) attempt: Attempt,
    pub(super) elapsed: Duration,
    /// How long its thread waited for a core.
    cpu_wait: Duration,
}

impl EndedAttempt {
    /// Tells whether it timed out because this machine had no core for it.
    pub(super) fn is_own_lag(&self) -> bool {
        self.attempt.result == Some(AttemptResult::Failed(AttemptFailure::Timeout))
            && self.cpu_wait.as_secs_f64() >= self.elapsed.as_secs_f64() * OWN_LAG_PART
    }
}

/// The result of an attempt for the store, and its status for the log.
pub(super) struct AttemptRecord {
    pub(super) job: Arc<Job>,
    pub(super) report: AttemptReport,
    pub(super) status: String,
}

/// Running and queued attempts.
pub(super) struct Attempts {
    client: Client,
    pool: ThreadPool,
    sender: SyncSender<HubMessage>,
    deliveries: AttemptGroup,
    /// With denials.
    verifications: AttemptGroup,
}

/// Attempts with limits of their own.
struct AttemptGroup {
    scheduler: Scheduler,
    /// The bytes of each running attempt, by its number.
    progress: HashMap<u64, Arc<AtomicU64>>,
    scan: ScanSchedule,
}

impl AttemptGroup {
    fn new(limits: AttemptLimits, now: Instant) -> AttemptGroup {
        AttemptGroup {
            scheduler: Scheduler::new(limits, now),
            progress: HashMap::new(),
            scan: ScanSchedule::new(now),
        }
    }

    /// Replaces the queue by what `find` returns, if a scan is due, and starts as many attempts as may run. Returns the
    /// numbers of the started attempts.
    fn start(
        &mut self,
        storage: &mut Storage,
        find: impl FnOnce(&mut Store) -> Result<Vec<DueAttempt>, StoreError>,
        now: Instant,
    ) -> HashMap<AttemptId, u64> {
        if self.scan.is_due(now) {
            let began = Instant::now();
            let due = storage.read(find).unwrap_or_default();
            self.scheduler.set_queue(due);
            let took = began.elapsed();
            self.scan.record(now + took, took);
        }
        let started = self.scheduler.start(now);
        let numbers = started.iter().map(|started| (started.id, started.number));
        numbers.collect()
    }

    fn observe_progress(&mut self, now: Instant) {
        for (number, bytes) in &self.progress {
            self.scheduler.progress(*number, bytes.load(Relaxed), now);
        }
    }

    /// Returns the time until something may start without a message: a running attempt stalls, or a scan is due.
    fn until_change(&self, now: Instant) -> Duration {
        let until_scan = self.scan.until_due(now);
        if self.scheduler.queued() == 0 {
            return until_scan;
        }
        let until_stall = self.scheduler.until_stall(now);
        until_stall.map_or(until_scan, |until_stall| until_stall.min(until_scan))
    }
}

impl Attempts {
    pub(super) fn new(
        client: Client,
        sender: SyncSender<HubMessage>,
        settings: &HubSettings,
        now: Instant,
    ) -> Attempts {
        Attempts {
            client,
            pool: ThreadPool::new("hub-attempt", settings.sockets()),
            sender,
            deliveries: AttemptGroup::new(settings.deliveries, now),
            verifications: AttemptGroup::new(settings.verifications, now),
        }
    }

    /// Returns the number of running attempts.
    pub(super) fn running(&self) -> usize {
        self.deliveries.scheduler.running() + self.verifications.scheduler.running()
    }

    /// Cancels all running attempts; they end soon after.
    pub(super) fn cut(&mut self) {
        self.client.cut();
    }

    pub(super) fn scan_now(&mut self) {
        self.deliveries.scan.now();
        self.verifications.scan.now();
    }

    pub(super) fn scan_requests_soon(&mut self) {
        self.verifications.scan.soon();
    }

    pub(super) fn observe_progress(&mut self, now: Instant) {
        self.deliveries.observe_progress(now);
        self.verifications.observe_progress(now);
    }

    /// Returns the time until something may start without a message.
    pub(super) fn until_change(&self, now: Instant) -> Duration {
        let deliveries = self.deliveries.until_change(now);
        deliveries.min(self.verifications.until_change(now))
    }

    /// Starts due verifications and denials. Returns those for which there was no thread.
    pub(super) fn start_verifications(
        &mut self,
        storage: &mut Storage,
        now: Now,
    ) -> Vec<EndedAttempt> {
        let numbers = self.verifications.start(
            storage,
            |store| {
                let mut due = store.due_requests(QUEUE_MAX, now.unix)?;
                due.extend(store.due_denials(QUEUE_MAX - due.len(), now.unix)?);
                Ok(due)
            },
            now.instant,
        );
        let mut request_ids = Vec::new();
        let mut denial_ids = Vec::new();
        for id in numbers.keys() {
            match id {
                AttemptId::Verification(id) => request_ids.push(*id),
                AttemptId::Denial(id) => denial_ids.push(*id),
                AttemptId::Delivery(_) | AttemptId::Notice(_) => {}
            }
        }
        let mut jobs = Vec::with_capacity(numbers.len());
        let begun_requests = storage.write_if(!request_ids.is_empty(), |store| {
            store.begin_verifications(&request_ids)
        });
        for request in begun_requests {
            jobs.push((AttemptId::Verification(request.id), Job::Verify(request)));
        }
        let begun_denials = storage.write_if(!denial_ids.is_empty(), |store| {
            store.begin_denials(&denial_ids, now.unix)
        });
        for denial in begun_denials {
            jobs.push((AttemptId::Denial(denial.id), Job::Deny(denial)));
        }
        self.run_all(jobs, numbers)
    }

    /// Starts due deliveries of `contents`, and due notices to `targets`. Returns those for which there was no thread.
    pub(super) fn start_deliveries(
        &mut self,
        storage: &mut Storage,
        contents: &BTreeMap<String, Topic>,
        targets: &[NoticeTarget],
        now: Now,
    ) -> Vec<EndedAttempt> {
        let numbers = self.deliveries.start(
            storage,
            |store| {
                let mut due = store.due_notices(targets, QUEUE_MAX, now.unix)?;
                due.extend(store.due_deliveries(QUEUE_MAX - due.len(), now.unix)?);
                Ok(due)
            },
            now.instant,
        );
        let mut delivery_ids = Vec::new();
        let mut notice_ids = Vec::new();
        for id in numbers.keys() {
            match id {
                AttemptId::Delivery(id) => delivery_ids.push(*id),
                AttemptId::Notice(id) => notice_ids.push(*id),
                AttemptId::Verification(_) | AttemptId::Denial(_) => {}
            }
        }
        let begun_deliveries = storage.write_if(!delivery_ids.is_empty(), |store| {
            store.begin_deliveries(&delivery_ids, now.unix)
        });
        let mut jobs = Vec::with_capacity(begun_deliveries.len());
        for subscription in begun_deliveries {
            // `begin_deliveries` returns only subscriptions whose topic has the digest that this process published last, so
            // the content is in `contents`.
            if let Some(topic) = contents.get(&subscription.topic).cloned() {
                let id = AttemptId::Delivery(subscription.id);
                jobs.push((id, Job::Deliver(subscription, topic)));
            }
        }
        let begun_notices = storage.write_if(!notice_ids.is_empty(), |store| {
            store.begin_notices(&notice_ids)
        });
        for notice in begun_notices {
            let target = targets.iter().find(|target| target.id == notice.target);
            // `due_notices` returns only notices to these targets.
            if let Some(target) = target.cloned() {
                jobs.push((AttemptId::Notice(notice.id), Job::Notify(notice, target)));
            }
        }
        self.run_all(jobs, numbers)
    }

    /// Runs these jobs, and ends the attempts of `numbers` that have no job: another process has changed the store.
    fn run_all(
        &mut self,
        jobs: Vec<(AttemptId, Job)>,
        mut numbers: HashMap<AttemptId, u64>,
    ) -> Vec<EndedAttempt> {
        let mut not_run = Vec::new();
        for (id, job) in jobs {
            if let Some(number) = numbers.remove(&id) {
                not_run.extend(self.run(number, Arc::new(job)));
            }
        }
        for (id, number) in numbers {
            let group = match id {
                AttemptId::Delivery(_) | AttemptId::Notice(_) => &mut self.deliveries,
                AttemptId::Verification(_) | AttemptId::Denial(_) => &mut self.verifications,
            };
            group.scheduler.cancel(number);
        }
        not_run
    }

    /// Runs an attempt on a thread of the pool; returns it as ended if the system refuses one.
    fn run(&mut self, number: u64, job: Arc<Job>) -> Option<EndedAttempt> {
        let progress = Arc::default();
        let group = self.group(&job);
        group.progress.insert(number, Arc::clone(&progress));
        let client = self.client.clone();
        let sender = self.sender.clone();
        let task = Arc::clone(&job);
        let started = self.pool.run(move || {
            let began = Instant::now();
            let waited_before = cpu_wait();
            let attempt = client.run(&task, &progress);
            let ended = EndedAttempt {
                number,
                job: task,
                attempt,
                elapsed: began.elapsed(),
                cpu_wait: cpu_wait().saturating_sub(waited_before),
            };
            // After the hub's thread has ended, the result is not needed.
            let _gone = sender.send(HubMessage::Ended(ended));
        });
        if let Err(error) = started {
            error!("deliveries and verifications are deferred: {error}");
            return Some(EndedAttempt {
                number,
                job,
                attempt: Attempt::DEFERRED,
                elapsed: Duration::ZERO,
                cpu_wait: Duration::ZERO,
            });
        }
        None
    }

    fn finish(&mut self, ended: &EndedAttempt, now: Instant) {
        let number = ended.number;
        let group = self.group(&ended.job);
        if let Some(progress) = group.progress.remove(&number) {
            let bytes = progress.load(Relaxed);
            group.scheduler.progress(number, bytes, now);
        }
        group
            .scheduler
            .finish(number, ended.elapsed, ended.cpu_wait, now);
    }

    fn group(&mut self, job: &Job) -> &mut AttemptGroup {
        match job {
            Job::Deliver(..) | Job::Notify(..) => &mut self.deliveries,
            Job::Verify(_) | Job::Deny(_) => &mut self.verifications,
        }
    }
}

impl Engine {
    /// Processes the end of an attempt: ends a denial at once, and queues other results for the store.
    pub(super) fn end_attempt(&mut self, ended: EndedAttempt, now: Now) {
        self.attempts.finish(&ended, now.instant);
        let result = ended.attempt.result;
        // When this process loses the delivery role, it cancels the running attempts, which tells nothing of subscribers
        // or of the network. An attempt with a status had ended before.
        let has_status = matches!(result, Some(AttemptResult::Status(_)));
        if !self.storage.is_delivering() && !has_status {
            return;
        }
        let mut status = result.map_or("deferred".to_owned(), |result| result.to_string());
        if ended.is_own_lag() {
            self.lagged_at = Some(now.instant);
            status.push_str(": this machine was busy");
        }
        let report = match &*ended.job {
            Job::Deny(notice) => return self.end_denial(notice, result, &status),
            Job::Notify(notice, _) => self.notice_report(notice.id, notice.attempt, &ended, now),
            Job::Verify(request) => {
                let is_success = result.is_some_and(AttemptResult::is_success);
                if is_success && !ended.attempt.confirmed {
                    status.push_str(" without the challenge");
                }
                self.verification_report(request, &ended, now)
            }
            Job::Deliver(subscription, _) => self.delivery_report(subscription, &ended, now),
        };
        self.unrecorded.push(AttemptRecord {
            job: ended.job,
            report,
            status,
        });
    }

    /// Returns the report of a verification. One that was not sent, or that the network left without a response, is
    /// repeated.
    fn verification_report(
        &self,
        request: &WaitingRequest,
        ended: &EndedAttempt,
        now: Now,
    ) -> AttemptReport {
        match ended.attempt.result {
            Some(result) if !result.is_of_network() => AttemptReport::Verified {
                id: request.id,
                // The lease counts from the time when this attempt asked the callback.
                asked_at: now.unix.minus(ended.elapsed),
                confirmed: ended.attempt.confirmed,
                result,
            },
            result => AttemptReport::Unreached {
                id: request.id,
                result,
                delay: self.repeat_delay(),
            },
        }
    }

    /// Returns the report of a delivery. If this machine or its network is at fault, the delivery is repeated, and no
    /// failure of the subscriber is counted.
    fn delivery_report(
        &mut self,
        subscription: &StoredSubscription,
        ended: &EndedAttempt,
        now: Now,
    ) -> AttemptReport {
        let is_own_lag = ended.is_own_lag();
        let mut result = ended.attempt.result;
        if is_own_lag {
            result = None;
        }
        // If most hosts are unreachable, our own network is at fault.
        let mut is_own_network = false;
        if result.is_some() {
            is_own_network = self.breaker.record(
                &ended.job.authority(),
                subscription.state.is_evidence(now.unix),
                ended.attempt.is_reached,
                now.instant,
            );
        }
        if is_own_network {
            result = None;
        }
        self.shared.stats.count_end(result, ended.elapsed);
        let mut retry_after = ended.attempt.retry_after;
        if is_own_network || is_own_lag {
            retry_after = Some(self.repeat_delay());
        }
        AttemptReport::Delivered {
            id: subscription.id,
            result: DeliveryResult {
                attempt: subscription.state.attempt,
                result,
                retry_after,
                elapsed: ended.elapsed,
                jitter: jitter(),
            },
        }
    }

    /// Ends a denial, unless it was not sent, the network left it without a response, or a proxy answered for a server that
    /// is down (502 to 504).
    fn end_denial(&mut self, notice: &DenialNotice, result: Option<AttemptResult>, status: &str) {
        let is_told = result.is_some_and(|result| {
            !result.is_of_network() && !matches!(result, AttemptResult::Status(502..=504))
        });
        let topic = &notice.topic;
        let callback_host = notice.callback.host();
        debug!(topic, %callback_host, status, is_told, "a denial was sent");
        if is_told {
            self.storage.write(|store| store.end_denial(notice.id));
        }
    }

    /// Returns the delay before an attempt that did not reach its host is repeated without counting a failure: the
    /// delay after a first failure, but at most a minute.
    pub(super) fn repeat_delay(&self) -> Duration {
        let delay = self.settings.policy.delay(1, None, jitter());
        delay.min(REPEAT_DELAY_MAX)
    }

    /// Stores the results of attempts in one transaction. If that fails, they stay queued, and no new attempt starts.
    pub(super) fn record(&mut self, now: UnixMillis) {
        if self.unrecorded.is_empty() || !self.storage.is_open() {
            return;
        }
        let reports: Vec<AttemptReport> = self
            .unrecorded
            .iter()
            .map(|record| record.report.clone())
            .collect();
        let policy = self.settings.policy.clone();
        let quotas = self.settings.quotas;
        let effects = self
            .storage
            .write(|store| store.record(&reports, &policy, &quotas, now));
        let Some(effects) = effects else {
            return;
        };
        let recorded = std::mem::take(&mut self.unrecorded);
        for (record, effect) in recorded.into_iter().zip(effects) {
            self.scan_after(&record.job);
            self.log(&record, effect);
        }
    }

    /// Asks for a scan of what may have become due with the end of an attempt: another request of the same pair, or
    /// content that is newer than the one that was sent.
    fn scan_after(&mut self, job: &Job) {
        match job {
            Job::Deliver(subscription, sent) => {
                let current = self.contents.get(&subscription.topic);
                if current.is_some_and(|current| current.digest != sent.digest) {
                    self.attempts.deliveries.scan.soon();
                }
            }
            // A later notice about the same item waits for this one.
            Job::Notify(..) => self.attempts.deliveries.scan.soon(),
            Job::Verify(_) | Job::Deny(_) => self.attempts.verifications.scan.soon(),
        }
    }

    /// Counts and logs the effect of an attempt.
    fn log(&self, record: &AttemptRecord, effect: ReportEffect) {
        let stats = &self.shared.stats;
        let (request, subscription) = match record.report {
            AttemptReport::Notified { .. } => return self.log_notice(record, effect),
            AttemptReport::Delivered { id, .. } => (None, Some(id)),
            AttemptReport::Verified { id, .. } | AttemptReport::Unreached { id, .. } => {
                (Some(id), None)
            }
        };
        let (topic, callback_host) = record.job.pair();
        let status = &record.status;
        // Without a result nothing was sent, for a reason on our side.
        let is_sent_and_unreached = matches!(
            record.report,
            AttemptReport::Unreached {
                result: Some(_),
                ..
            }
        );
        let mut reason = None;
        let message = match effect {
            ReportEffect::Activated => "a subscription is active",
            ReportEffect::Renewed => "a subscription is renewed",
            ReportEffect::Leaving => {
                "a subscription is removed when its running delivery has ended"
            }
            ReportEffect::Rejected => "a request was not confirmed",
            ReportEffect::Removed(removal) => {
                stats.count_removals(removal, 1);
                reason = Some(removal.as_str());
                "a subscription is removed"
            }
            ReportEffect::Waiting if is_sent_and_unreached => {
                "a callback could not be reached for its verification, which is retried"
            }
            ReportEffect::Waiting
            | ReportEffect::Stale
            | ReportEffect::Kept
            | ReportEffect::Told
            | ReportEffect::GivenUp => {
                debug!(
                    subscription,
                    request, topic, callback_host, status, "a delivery or verification ended"
                );
                return;
            }
        };
        if effect == ReportEffect::Rejected {
            stats.rejected.fetch_add(1, Relaxed);
        } else if matches!(record.report, AttemptReport::Verified { .. }) {
            stats.confirmed.fetch_add(1, Relaxed);
        }
        info!(
            subscription,
            request, topic, callback_host, reason, status, "{message}"
        );
    }
}

//! The engine's notices: tells the operator's targets what has changed, and records what came of each attempt.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};

use tracing::{debug, info, warn};

use super::attempts::{AttemptRecord, EndedAttempt};
use super::time::Now;
use super::{Engine, jitter};
use crate::UnixMillis;
use crate::notice::{NoticeSource, NoticeTarget};
use crate::store::{AttemptReport, ReportEffect};
use crate::subscription::DeliveryResult;

/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;

/// What the operator's targets are told of, and whether they were.
#[derive(Default)]
pub(super) struct Notices {
    /// `None` if the server has no notices.
    source: Option<Arc<dyn NoticeSource>>,
    /// Whether the source may have changes that are not stored yet.
    pub(super) is_untold: bool,
    /// The day of the last comparison, in days since the epoch.
    day: i64,
}

impl Notices {
    pub(super) fn targets(&self) -> &[NoticeTarget] {
        self.source.as_ref().map_or(&[], |source| source.targets())
    }

    /// Tells whether the source is to be compared with the record: the source, the delivery role or the day is new.
    fn is_due(&self, now: UnixMillis) -> bool {
        self.is_untold || self.day != day(now)
    }
}

impl Engine {
    /// Takes the notices that the service has given since the last batch.
    pub(super) fn take_notices(&mut self) {
        let next = self
            .shared
            .next_notices
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(source) = next {
            self.notices.source = Some(source);
            self.notices.is_untold = true;
        }
    }

    /// Stores a notice of each change, if this process delivers; after a failure it is tried again later.
    pub(super) fn tell(&mut self, now: Now) {
        let Some(source) = self.notices.source.clone() else {
            return;
        };
        let may_tell = self.storage.is_delivering() && self.storage.may_try(now.instant);
        if !may_tell || !self.notices.is_due(now.unix) {
            return;
        }
        let told = self
            .storage
            .write(|store| store.tell(source.as_ref(), now.unix));
        let Some(report) = told else {
            return;
        };
        self.notices.is_untold = false;
        self.notices.day = day(now.unix);
        if report.is_first {
            info!("notices are sent of what changes from now on");
        }
        if report.stored > 0 {
            info!(notices = report.stored, "notices are to be sent");
        }
        if report.given_up > 0 {
            let stats = &self.shared.stats;
            stats.notices_given_up.fetch_add(report.given_up, Relaxed);
            warn!(
                notices = report.given_up,
                "notices are given up: too many wait for their target, or it was removed"
            );
        }
        self.attempts.scan_now();
    }

    /// Returns the report of an attempt to send a notice. If this machine or its network is at fault, no failure of the
    /// target is counted.
    pub(super) fn notice_report(
        &mut self,
        id: i64,
        attempt: u32,
        ended: &EndedAttempt,
        now: Now,
    ) -> AttemptReport {
        // Only deliveries feed the breaker: it judges by many hosts, and notices have few.
        let is_own_network = !ended.attempt.is_reached && self.breaker.is_open(now.instant);
        let mut result = ended.attempt.result;
        let mut retry_after = ended.attempt.retry_after;
        if is_own_network || ended.is_own_lag() {
            result = None;
            retry_after = Some(self.repeat_delay());
        }
        self.shared.stats.count_notice(result);
        AttemptReport::Notified {
            id,
            result: DeliveryResult {
                attempt,
                result,
                retry_after,
                elapsed: ended.elapsed,
                jitter: jitter(),
            },
        }
    }

    /// Counts and logs the effect of an attempt to send a notice, by the id of its target: addresses are secrets.
    pub(super) fn log_notice(&self, record: &AttemptRecord, effect: ReportEffect) {
        let target_id = record.job.target_id();
        let status = &record.status;
        match effect {
            ReportEffect::GivenUp => {
                self.shared.stats.notices_given_up.fetch_add(1, Relaxed);
                warn!(notice = target_id, status, "a notice is given up");
            }
            ReportEffect::Waiting => {
                info!(
                    notice = target_id,
                    status, "a notice was not accepted, and is sent again"
                );
            }
            _ => debug!(
                notice = target_id,
                status, "an attempt to send a notice ended"
            ),
        }
    }
}

fn day(now: UnixMillis) -> i64 {
    now.as_ms().div_euclid(DAY_MS)
}

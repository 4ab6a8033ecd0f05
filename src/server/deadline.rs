//! Per-connection timer: enforces the timeouts and observes shutdown.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use tokio::task::unconstrained;
use tokio::time::{Sleep, sleep_until};

use super::clock;
use super::connections::{ConnectionPermit, Leave};
use super::state::{ConnectionState, DeadlinePolicy, Ending, Protocol, Timeouts, millis};

/// What the deadline of a connection asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeadlineAction {
    /// Take no further request, and end after the current one; asked once.
    GracefulShutdown,
    /// End now.
    Abort(Ending),
}

/// Keeps a connection's deadline, and observes shutdown. Times are milliseconds after acceptance.
pub(super) struct ConnectionDeadline {
    pub(super) state: Arc<ConnectionState>,
    pub(super) permit: ConnectionPermit,
    policy: DeadlinePolicy,
    sleep: Pin<Box<Sleep>>,
    /// What the timer is set to.
    set: u64,
    /// The waker that the timer has, as it is set; no other task polls it.
    waker: Option<Waker>,
    /// [`DeadlineAction::GracefulShutdown`] has been given.
    is_finishing: bool,
    /// When an idle connection is closed because the server stops.
    drain_ends: Option<u64>,
    farewell: Duration,
}

impl ConnectionDeadline {
    pub(super) fn new(
        state: Arc<ConnectionState>,
        timeouts: Timeouts,
        permit: ConnectionPermit,
    ) -> ConnectionDeadline {
        ConnectionDeadline {
            permit,
            policy: DeadlinePolicy::new(timeouts),
            sleep: Box::pin(sleep_until(state.accepted() + timeouts.head)),
            set: millis(timeouts.head),
            waker: None,
            is_finishing: false,
            drain_ends: None,
            farewell: timeouts.farewell,
            state,
        }
    }

    /// Reads the clock for all that happens in this poll.
    pub(super) fn tick(&self) {
        self.state.tick(clock::instant());
    }

    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<DeadlineAction> {
        let waits_since = self.state.waits_since();
        self.permit.note_waiting(waits_since);
        let leave = self.permit.poll_leave(context);
        loop {
            let leave_at = match leave {
                Poll::Ready(leave) => self.leave_at(leave),
                // HTTP/1.1 closes by its own header; HTTP/2 has to be told.
                Poll::Pending => match self.state.protocol() {
                    Protocol::Http2 if self.state.is_closing() => 0,
                    _ => u64::MAX,
                },
            };
            if !self.is_finishing && leave_at <= self.state.elapsed() {
                return Poll::Ready(self.finish());
            }
            // Its place is another's already.
            if leave == Poll::Ready(Leave::Evicted) && waits_since.is_some() {
                return Poll::Ready(DeadlineAction::Abort(Ending::Idle));
            }
            let until = match self.policy.review(&self.state) {
                Err(Ending::Idle) if !self.is_finishing => return Poll::Ready(self.finish()),
                Err(ending) => return Poll::Ready(DeadlineAction::Abort(ending)),
                Ok(until) if self.is_finishing => until,
                Ok(until) => until.min(leave_at),
            };
            // A deadline that has moved away is left to the timer that is set: most connections move theirs with
            // each request, and setting the timer each time would cost more than waking once too early.
            if until < self.set {
                self.set_timer(until);
            }
            ready!(self.poll_sleep(context));
            self.tick();
            self.set_timer(until);
        }
    }

    /// Waits for the timer. The waker is registered once: with each request that would cost as much as the deadline's
    /// own rules.
    fn poll_sleep(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let waker = context.waker();
        let is_known = self
            .waker
            .as_ref()
            .is_some_and(|known| known.will_wake(waker));
        if is_known && !self.sleep.is_elapsed() {
            return Poll::Pending;
        }
        self.waker = Some(waker.clone());
        // Of a task that has used up its budget a timer takes no note.
        pin!(unconstrained(self.sleep.as_mut())).poll(context)
    }

    fn set_timer(&mut self, until: u64) {
        self.set = until;
        self.waker = None;
        let deadline = self.state.accepted() + Duration::from_millis(until);
        self.sleep.as_mut().reset(deadline);
    }

    /// Tells whether the next request is to be the last.
    pub(super) fn is_leaving(&self) -> bool {
        self.is_finishing || self.permit.leave().is_some()
    }

    /// Returns when a connection that is to leave is to be closed if no further request comes; from now on the next
    /// response is the last.
    fn leave_at(&mut self, leave: Leave) -> u64 {
        self.state.note_leaving();
        // HTTP/2 has its own way to tell which requests were taken (RFC 9113 §6.8).
        if leave == Leave::Evicted || self.state.protocol() == Protocol::Http2 {
            return 0;
        }
        let ends = self.state.elapsed().saturating_add(millis(self.farewell));
        *self.drain_ends.get_or_insert(ends)
    }

    fn finish(&mut self) -> DeadlineAction {
        self.is_finishing = true;
        self.state.note_closing();
        DeadlineAction::GracefulShutdown
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::task::consume_budget;
    use tokio::time::timeout;

    use super::*;
    use crate::http::{Proxies, ProxyField};
    use crate::server::config::Limits;
    use crate::server::connections::Connections;

    fn deadline(head: Duration) -> ConnectionDeadline {
        let proxies = Proxies {
            networks: Vec::new(),
            field: ProxyField::Forwarded,
        };
        let table = Arc::new(Connections::new(&Limits::default(), proxies));
        let (permit, _) = table.admit([127, 0, 0, 1].into()).expect("a place");
        let timeouts = Timeouts {
            head,
            idle: Duration::from_secs(60),
            stall: Duration::from_secs(60),
            rate_min: 0,
            rate_time: Duration::from_secs(60),
            farewell: Duration::from_secs(1),
        };
        let state = Arc::new(ConnectionState::new(Protocol::Http1, clock::instant()));
        ConnectionDeadline::new(state, timeouts, permit)
    }

    #[tokio::test]
    async fn a_deadline_comes_also_to_a_task_that_had_used_up_its_budget() {
        let mut deadline = deadline(Duration::from_millis(20));
        let mut polls = 0;
        let order = poll_fn(|context| {
            polls += 1;
            deadline.tick();
            while polls == 1 && pin!(consume_budget()).poll(context).is_ready() {}
            deadline.poll(context)
        });
        let order = timeout(Duration::from_secs(60), order).await;
        assert_eq!(order, Ok(DeadlineAction::Abort(Ending::HeadTimeout)));
    }

    #[tokio::test]
    async fn a_deadline_wakes_the_task_that_polled_last() {
        let mut deadline = deadline(Duration::from_millis(20));
        let mut idle = Context::from_waker(Waker::noop());
        assert!(deadline.poll(&mut idle).is_pending());
        let order = poll_fn(|context| {
            deadline.tick();
            deadline.poll(context)
        });
        let order = timeout(Duration::from_secs(60), order).await;
        assert_eq!(order, Ok(DeadlineAction::Abort(Ending::HeadTimeout)));
    }
}

//! What keeps a connection's deadline and hears of the drain, whoever speaks on it: the fast path or hyper.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

use super::activity::{Activity, Allowances, Ending, Protocol, Verdict, Watch, millis};
use super::clock;
use super::connections::Membership;

/// What the sentry of a connection asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Take no further request, and end after the current one; asked once.
    Finish,
    /// End now.
    Cut(Ending),
}

/// Keeps a connection's deadline, and hears of the drain.
pub(super) struct Sentry {
    pub(super) activity: Arc<Activity>,
    watch: Watch,
    pub(super) membership: Membership,
    pub(super) accepted: Instant,
    sleep: Pin<Box<Sleep>>,
    /// What the timer is set to, in milliseconds after acceptance.
    set: u64,
    /// [`Order::Finish`] has been given.
    finishing: bool,
}

impl Sentry {
    pub(super) fn new(
        activity: Arc<Activity>,
        allowances: Allowances,
        membership: Membership,
    ) -> Sentry {
        let accepted = activity.accepted();
        Sentry {
            activity,
            watch: Watch::new(allowances),
            membership,
            accepted,
            sleep: Box::pin(sleep_until(accepted + allowances.head)),
            set: millis(allowances.head),
            finishing: false,
        }
    }

    /// Reads the clock for all that happens in this poll.
    pub(super) fn tick(&self) {
        self.activity.tick(clock::instant());
    }

    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Order> {
        let drains = self.membership.poll_drain(context).is_ready();
        // HTTP/1.1 closes by its own header; HTTP/2 has to be told.
        let told = self.activity.protocol() == Protocol::Http2 && self.activity.is_closing();
        if (drains || told) && !self.finishing {
            return Poll::Ready(self.finish());
        }
        loop {
            let until = match self.watch.review(&self.activity) {
                Verdict::End(Ending::Idle) if !self.finishing => return Poll::Ready(self.finish()),
                Verdict::End(ending) => return Poll::Ready(Order::Cut(ending)),
                Verdict::Wait(until) => until,
            };
            // A deadline that has moved away is left to the timer that is set: most connections move theirs with
            // each request, and setting the timer each time would cost more than waking once too early.
            if until < self.set {
                self.set(until);
            }
            ready!(self.sleep.as_mut().poll(context));
            self.tick();
            self.set(until);
        }
    }

    /// Tells whether the connection is to take no further request.
    pub(super) fn is_finishing(&self) -> bool {
        self.finishing || self.membership.is_draining()
    }

    fn set(&mut self, until: u64) {
        self.set = until;
        let deadline = self.accepted + Duration::from_millis(until);
        self.sleep.as_mut().reset(deadline);
    }

    fn finish(&mut self) -> Order {
        self.finishing = true;
        self.activity.note_closing();
        Order::Finish
    }
}

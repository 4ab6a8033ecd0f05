//! Readiness of this process: whether it should get traffic, and the reasons that its operator should know.

use std::sync::Arc;

use arc_swap::ArcSwap;

/// A reason that `/readyz` reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// A stable word for programs, such as `reload_failed` or `draining`. At most one current reason has it.
    pub code: &'static str,
    /// One line for people.
    pub message: String,
    /// More lines, such as the problems of a dataset. The part that reports the reason limits their number.
    pub details: Vec<String>,
    /// One more line, shown only on the administrator's port: names or states of other machines.
    pub internal: Option<String>,
    /// True if traffic should go elsewhere: `/readyz` then answers 503.
    pub blocking: bool,
}

impl Reason {
    /// Returns a reason without details, which leaves the process ready.
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Reason {
        Reason {
            code,
            message: message.into(),
            details: Vec::new(),
            internal: None,
            blocking: false,
        }
    }

    /// Returns the reason with `blocking` set: traffic should go elsewhere.
    pub(crate) fn blocking(self) -> Reason {
        Reason {
            blocking: true,
            ..self
        }
    }
}

/// The current reasons, at most one per code: written rarely, read without a lock.
#[derive(Debug, Default)]
pub struct Readiness {
    reasons: ArcSwap<Vec<Reason>>,
}

impl Readiness {
    /// Adds `reason` as the newest, and removes an earlier one with the same code.
    pub fn report(&self, reason: &Reason) {
        self.reasons.rcu(|reasons| {
            let others = reasons.iter().filter(|other| other.code != reason.code);
            let mut next: Vec<Reason> = others.cloned().collect();
            next.push(reason.clone());
            next
        });
    }

    /// Removes the reason with this code, if there is one.
    pub fn withdraw(&self, code: &str) {
        self.reasons.rcu(|reasons| {
            let others = reasons.iter().filter(|reason| reason.code != code);
            others.cloned().collect::<Vec<_>>()
        });
    }

    /// Returns the current reasons, oldest first.
    #[must_use]
    pub fn reasons(&self) -> Arc<Vec<Reason>> {
        self.reasons.load_full()
    }
}

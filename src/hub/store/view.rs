//! What the operator sees of a store, and may order.

use super::super::callback::Callback;
use super::super::moment::Moment;
use super::super::request::Mode;
use super::super::subscription::{Answer, Ended, RemovalReason, Subscription};

/// How much is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Active subscriptions.
    pub subscriptions: u64,
    /// Requests waiting for verification.
    pub requests: u64,
    /// Subscriptions that are owed content, due or waiting for a retry.
    pub owed: u64,
    /// Those of them whose next attempt could begin now, or is under way.
    pub due: u64,
    /// The earliest moment for which one of those was set; [`Moment::ZERO`] where it was due at once.
    pub due_since: Option<Moment>,
}

/// A subscription as the operator sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its id.
    pub id: i64,
    /// The topic's URL.
    pub topic: String,
    /// The callback.
    pub callback: Callback,
    /// Whether the topic's current content is still owed.
    pub owed: bool,
    /// Its state.
    pub state: Subscription,
}

/// A request that waits for its verification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingRequest {
    /// Its id, which is not that of a subscription.
    pub id: i64,
    /// What is asked for.
    pub mode: Mode,
    /// The topic's URL.
    pub topic: String,
    /// The callback's host.
    pub host: String,
    /// When it was accepted.
    pub accepted_at: Moment,
    /// Verifications begun.
    pub attempts: u32,
    /// Why the last of them did not come about.
    pub last: Option<Answer>,
}

/// A subscription that ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tombstone {
    /// The id it had.
    pub id: i64,
    /// The topic's URL.
    pub topic: String,
    /// The callback's host.
    pub host: String,
    /// Why it ended.
    pub removal: RemovalReason,
    /// When it ended.
    pub at: Moment,
    /// How its last attempt ended.
    pub last: Option<Ended>,
    /// When it had begun.
    pub created_at: Moment,
}

/// What an operator can tell the hub about a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdminCommand {
    /// Remove it, with a denial.
    Remove,
    /// Send what is owed now.
    Retry,
}

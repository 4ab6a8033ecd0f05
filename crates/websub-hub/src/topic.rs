//! What a service publishes through the hub.

use bytes::Bytes;
use reviewd_wire::date::Timestamp;

/// The content of a topic: a document that the hub sends to its subscribers whenever it changes.
#[derive(Clone, Debug)]
pub struct Topic {
    /// The path below the public address.
    pub path: &'static str,
    /// The Content-Type of its notifications.
    pub media_type: &'static str,
    /// The full content; deliveries share it.
    pub body: Bytes,
    /// SHA-256 of `body`.
    pub digest: [u8; 32],
    /// When the content last changed; decides which of two contents is newer.
    pub updated_at: Timestamp,
}

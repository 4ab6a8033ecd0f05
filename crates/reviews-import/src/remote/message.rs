//! Requests to platforms and their answers, without a client.

/// A request to a platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteRequest {
    /// The whole address; it may have a token, so it is never shown.
    pub url: String,
    /// Names and values of header fields.
    pub fields: Vec<(&'static str, String)>,
    /// The body of a POST with its media type; `None` for a GET.
    pub body: Option<RemoteBody>,
}

/// The body of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteBody {
    /// Such as "application/json".
    pub media_type: &'static str,
    /// What is sent.
    pub text: String,
}

/// What the platform answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemoteResponse {
    /// The status, of any class.
    pub status: u16,
    /// `ETag` and `Last-Modified`.
    pub validators: SourceValidators,
    /// `Retry-After`, as received.
    pub retry_after: Option<String>,
    /// `X-WP-TotalPages`, as received.
    pub page_count: Option<String>,
    /// The whole body.
    pub body: Vec<u8>,
}

/// What tells whether a document has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceValidators {
    /// The entity-tag.
    pub etag: Option<String>,
    /// The date of the last change.
    pub last_modified: Option<String>,
}

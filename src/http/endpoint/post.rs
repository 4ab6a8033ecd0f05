//! The endpoints that read a body: `POST /api/websub/hub`, and `/mcp`, whose methods, origins and errors are defined by
//! its protocol. A request whose head is invalid is refused before a byte of its body is read.

use std::net::IpAddr;

use hyper::body::Incoming;
use hyper::header;
use hyper::{Method, Response};

use crate::http::app_state::AppState;
use crate::http::body::{self, Body, BodyLimits, CollectedBody};
use crate::http::error::HttpError;
use crate::http::head::RequestHead;
use crate::http::reply::{self, RETRY_AFTER_S};
use crate::hub::{RequestRefusal, request};
use crate::limits::{Account, Shortage};
use crate::mcp::{self, SingleField};

/// A request whose body is to be read.
pub(crate) struct BodyRequest<'r> {
    pub(crate) app: &'r AppState,
    pub(crate) head: &'r RequestHead,
    pub(crate) body: &'r mut Incoming,
    /// The account that the bytes of head and body count for while the body is read.
    pub(crate) account: &'r Account,
}

impl BodyRequest<'_> {
    /// Reads the body, of at most `bytes_max` bytes.
    async fn collect(&mut self, bytes_max: usize) -> Result<CollectedBody, HttpError> {
        let limits = BodyLimits {
            bytes_max,
            time_max: self.app.limits.body_time,
        };
        body::collect(self.body, limits, self.account, self.head.memory_bytes()).await
    }
}

/// The answer to a request whose body was to be read.
pub(crate) struct BodyAnswer<R> {
    pub(crate) reply: R,
    /// Whether the complete body was read; if not, what follows on the connection may be the rest of it.
    pub(crate) is_body_read: bool,
}

impl<R> BodyAnswer<R> {
    /// Answers without the complete body.
    fn unread(reply: R) -> BodyAnswer<R> {
        BodyAnswer {
            reply,
            is_body_read: false,
        }
    }
}

/// Reads the form and submits it to the hub for the address `client`: 202 once the request is on disk.
pub(crate) async fn hub(
    mut request: BodyRequest<'_>,
    client: IpAddr,
) -> BodyAnswer<Response<Body>> {
    let app = request.app;
    let head = request.head;
    if head.is_body_encoded() {
        let what = "must be absent or identity";
        let refusal = RequestRefusal::media_type("content-encoding", what);
        return BodyAnswer::unread(reply::render_hub(Err(refusal)));
    }
    // A missing or repeated field is not a media type.
    let media_type = match head.single(header::CONTENT_TYPE) {
        SingleField::One(media_type) => Some(media_type),
        SingleField::Absent | SingleField::Repeated => None,
    };
    if let Err(refusal) = request::check_media_type(media_type) {
        return BodyAnswer::unread(reply::render_hub(Err(refusal)));
    }
    let form = match request.collect(app.limits.hub_body_bytes).await {
        Ok(form) => form,
        Err(error) => return BodyAnswer::unread(reply::render_error_line(&error)),
    };
    let result = submit(app, media_type, &form.bytes, client).await;
    BodyAnswer {
        reply: reply::render_hub(result),
        is_body_read: true,
    }
}

/// Submits a form to the hub.
async fn submit(
    app: &AppState,
    media_type: Option<&[u8]>,
    form: &[u8],
    client: IpAddr,
) -> Result<(), RequestRefusal> {
    let Some(hub) = app.hub() else {
        let reason = "the hub is not running".to_owned();
        return Err(RequestRefusal::unavailable(reason, RETRY_AFTER_S));
    };
    let request = request::parse(media_type, form)?;
    hub.submit(request, client).await
}

/// Reads a message and answers it. `is_permitted` counts a request against the rate limit, and returns whether the limit
/// permits it. It is called once the origin is known to be allowed, so that a page of another origin cannot use up the quota
/// of its visitors; and again for each further message of a batch, between which other requests are served.
pub(crate) async fn mcp(
    mut request: BodyRequest<'_>,
    mut is_permitted: impl FnMut() -> bool,
) -> BodyAnswer<mcp::McpReply> {
    let app = request.app;
    let mcp_head = request.head.for_mcp();
    let origin = match app.mcp.check_origin(&mcp_head) {
        Ok(origin) => origin,
        Err(reply) => return BodyAnswer::unread(reply),
    };
    if let Some(reply) = refuse_mcp(&request, &mcp_head, is_permitted()) {
        return BodyAnswer::unread(mcp::McpReply { origin, ..reply });
    }
    let message = match request.collect(app.limits.mcp_body_bytes).await {
        Ok(message) => message,
        Err(error) => {
            let reply = mcp::McpReply::of_refusal(mcp_refusal(&error));
            return BodyAnswer::unread(mcp::McpReply { origin, ..reply });
        }
    };
    let served = app.served.load_full();
    let catalog = &served.catalog;
    let reply = match app.mcp.begin(catalog, &mcp_head, origin, &message.bytes) {
        mcp::Begun::Answered(reply) => reply,
        mcp::Begun::Batch(batch) => {
            let answered = answer_batch(
                batch,
                |batch, is_next_permitted| {
                    batch.answer_next(&app.mcp, catalog, Some(&mcp_head), is_next_permitted);
                },
                request.account,
                is_permitted,
            );
            match answered.await {
                Ok(batch) => batch.finish(),
                Err(_) => mcp::McpReply::of_refusal(mcp::McpRefusal::Busy),
            }
        }
    };
    BodyAnswer {
        reply: mcp::McpReply { origin, ..reply },
        is_body_read: true,
    }
}

/// Returns the reply to a request that is refused before its body is read; `None` if the body has to be read.
fn refuse_mcp(
    request: &BodyRequest<'_>,
    mcp_head: &mcp::Head<'_>,
    is_permitted: bool,
) -> Option<mcp::McpReply> {
    if !is_permitted {
        return Some(mcp::McpReply::of_refusal(mcp::McpRefusal::TooMany));
    }
    let head = request.head;
    if *head.method() == Method::POST && head.is_body_encoded() {
        return Some(mcp::McpReply::of_refusal(mcp::McpRefusal::Coding));
    }
    request.app.mcp.refuse_head(mcp_head)
}

/// Returns what the protocol answers if a body cannot be read because of `error`.
fn mcp_refusal(error: &HttpError) -> mcp::McpRefusal {
    match error {
        HttpError::BodyBytes(bytes_max) => mcp::McpRefusal::TooLarge(*bytes_max),
        HttpError::BodyTime(_) => mcp::McpRefusal::TooSlow,
        HttpError::Busy(_) => mcp::McpRefusal::Busy,
        _ => mcp::McpRefusal::BrokenBody,
    }
}

/// Answers the messages of a batch one by one with `answer_next`, and lets other requests be served in between. So many
/// batches may be in progress on a thread, and what each holds counts for `account` meanwhile.
///
/// # Errors
/// A budget has no room for the responses so far.
async fn answer_batch(
    mut batch: mcp::Batch,
    answer_next: impl Fn(&mut mcp::Batch, bool),
    account: &Account,
    mut is_permitted: impl FnMut() -> bool,
) -> Result<mcp::Batch, Shortage> {
    let mut counted_bytes = batch.held_bytes();
    let mut share = account.take(counted_bytes)?;
    // The first message was counted with its request.
    answer_next(&mut batch, true);
    while !batch.is_empty() {
        let held_bytes = batch.held_bytes();
        share.grow(held_bytes.saturating_sub(counted_bytes))?;
        counted_bytes = counted_bytes.max(held_bytes);
        tokio::task::yield_now().await;
        answer_next(&mut batch, is_permitted());
    }
    Ok(batch)
}

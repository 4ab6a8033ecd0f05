//! The endpoints that read a body: `POST /api/websub/hub`, and `/mcp`, whose methods, origins and errors are defined by
//! its protocol. Each also returns whether it has read the complete body; a request whose head is invalid is refused
//! before a byte of its body is read.

use std::net::IpAddr;

use hyper::body::Incoming;
use hyper::header;
use hyper::{Method, Response};

use crate::http::app_state::AppState;
use crate::http::body::{self, Body};
use crate::http::error::HttpError;
use crate::http::head::RequestHead;
use crate::http::reply::{self, RETRY_AFTER_S};
use crate::hub::{RequestRefusal, request};
use crate::limits::{Account, Shortage};
use crate::mcp::{self, SingleField};

/// Reads the form and submits it to the hub for the address `client`: 202 once the request is on disk.
pub(crate) async fn hub(
    app: &AppState,
    head: &RequestHead,
    body: &mut Incoming,
    account: &Account,
    client: IpAddr,
) -> (Response<Body>, bool) {
    if head.is_body_encoded() {
        let what = "must be absent or identity";
        return unread(RequestRefusal::media_type("content-encoding", what));
    }
    // A missing or repeated field is not a media type.
    let media_type = match head.single(header::CONTENT_TYPE) {
        SingleField::One(media_type) => Some(media_type),
        SingleField::Absent | SingleField::Repeated => None,
    };
    if let Err(refusal) = request::check_media_type(media_type) {
        return unread(refusal);
    }
    let bytes_max = app.limits.hub_body_bytes;
    let collected = body::collect(
        body,
        bytes_max,
        app.limits.body_time,
        account,
        head.memory_bytes(),
    );
    let form = match collected.await {
        Ok(form) => form,
        Err(error) => return (reply::render_error_line(&error), false),
    };
    let result = match (app.hub(), request::parse(media_type, &form.bytes)) {
        (None, _) => {
            let reason = "the hub is not running".to_owned();
            Err(RequestRefusal::unavailable(reason, RETRY_AFTER_S))
        }
        (Some(hub), Ok(request)) => hub.submit(request, client).await,
        (_, Err(refusal)) => Err(refusal),
    };
    (reply::render_hub(result), true)
}

/// Refuses a request whose body was not read.
fn unread(refusal: RequestRefusal) -> (Response<Body>, bool) {
    (reply::render_hub(Err(refusal)), false)
}

/// Reads a message and answers it. `exceeded` counts the request against its rate limit, if its origin is allowed: so a
/// page of another origin cannot use up the quota of its visitors. It is called again for each further message of a
/// batch, and other requests are served in between.
pub(crate) async fn mcp(
    app: &AppState,
    head: &RequestHead,
    body: &mut Incoming,
    account: &Account,
    mut exceeded: impl FnMut() -> Option<HttpError>,
) -> (mcp::McpReply, bool) {
    let mcp_head = head.for_mcp();
    let origin = match app.mcp.check_origin(&mcp_head) {
        Ok(origin) => origin,
        Err(reply) => return (reply, false),
    };
    let is_encoded = *head.method() == Method::POST && head.is_body_encoded();
    let refused = match exceeded() {
        Some(_) => Some(mcp::McpReply::of_refusal(mcp::McpRefusal::TooMany)),
        None if is_encoded => Some(mcp::McpReply::of_refusal(mcp::McpRefusal::Coding)),
        None => app.mcp.refuse_head(&mcp_head),
    };
    if let Some(reply) = refused {
        return (mcp::McpReply { origin, ..reply }, false);
    }
    let bytes_max = app.limits.mcp_body_bytes;
    let collected = body::collect(
        body,
        bytes_max,
        app.limits.body_time,
        account,
        head.memory_bytes(),
    )
    .await;
    let reply = match &collected {
        Ok(message) => {
            let served = app.served.load_full();
            match app
                .mcp
                .begin(&served.catalog, &mcp_head, origin, &message.bytes)
            {
                mcp::Begun::Answered(reply) => reply,
                mcp::Begun::Batch(batch) => {
                    let answered = answer_batch(
                        batch,
                        |batch, is_permitted| {
                            batch.answer_next(
                                &app.mcp,
                                &served.catalog,
                                Some(&mcp_head),
                                is_permitted,
                            );
                        },
                        account,
                        exceeded,
                    );
                    match answered.await {
                        Ok(batch) => batch.finish(),
                        Err(_) => mcp::McpReply::of_refusal(mcp::McpRefusal::Busy),
                    }
                }
            }
        }
        Err(error) => mcp::McpReply::of_refusal(match error {
            HttpError::BodyBytes(bytes_max) => mcp::McpRefusal::TooLarge(*bytes_max),
            HttpError::BodyTime(_) => mcp::McpRefusal::TooSlow,
            HttpError::Busy(_) => mcp::McpRefusal::Busy,
            _ => mcp::McpRefusal::BrokenBody,
        }),
    };
    (mcp::McpReply { origin, ..reply }, collected.is_ok())
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
    mut exceeded: impl FnMut() -> Option<HttpError>,
) -> Result<mcp::Batch, Shortage> {
    let mut counted = batch.held_bytes();
    let mut share = account.take(counted)?;
    answer_next(&mut batch, true);
    while !batch.is_empty() {
        let held = batch.held_bytes();
        share.grow(held.saturating_sub(counted))?;
        counted = counted.max(held);
        tokio::task::yield_now().await;
        answer_next(&mut batch, exceeded().is_none());
    }
    Ok(batch)
}

//! `POST /api/websub/hub`: subscribe and unsubscribe.
//!
//! 202 as soon as the request is on disk; everything else is plain text that says in one line what is wrong.

use std::sync::Arc;

use hyper::Response;
use hyper::body::{Body as _, Incoming};
use hyper::header;
use hyper::http::request::Parts;

use crate::http::app_state::AppState;
use crate::http::body::{self, Body};
use crate::http::reply::{self, Refusal, Reply};
use crate::http::respond::encode;
use crate::hub::Hub;
use crate::hub::{self, request};

/// Reads the form within its bounds, hands it to the hub, and answers.
pub(crate) async fn hub(app: Arc<AppState>, parts: Parts, body: Incoming) -> Response<Body> {
    if let Err(refusal) = check_head(&parts) {
        let is_unread = !body.is_end_stream() && parts.version < hyper::Version::HTTP_2;
        let mut response = reply::hub::render(Err(refusal), parts.headers);
        if is_unread {
            reply::close(&mut response);
        }
        return response;
    }
    let is_waiting = parts.headers.contains_key(header::EXPECT);
    if is_waiting && app.hub().is_none() {
        let is_unread = !body.is_end_stream();
        return encode(&app, parts, Reply::Refuse(NO_HUB), is_unread);
    }
    let form = match body::collect(body, app.limits.hub_body_bytes, app.limits.body_time).await {
        Ok(form) => form,
        Err(error) => {
            let mut response = reply::hub::render_unread(&Refusal::from(error), parts.headers);
            if parts.version < hyper::Version::HTTP_2 {
                reply::close(&mut response);
            }
            return response;
        }
    };
    let Some(hub) = app.hub() else {
        return encode(&app, parts, Reply::Refuse(NO_HUB), false);
    };
    let outcome = submit(hub, &parts, &form).await;
    reply::hub::render(outcome, parts.headers)
}

/// The answer where no hub is served.
const NO_HUB: Refusal = Refusal::Unavailable("the hub is not running");

/// Refuses a request before its body is read: a form in a content coding, and one whose client waits to hear whether to
/// send it (RFC 9110 §10.1.1) and has named another media type.
fn check_head(parts: &Parts) -> Result<(), hub::Refusal> {
    if body::is_encoded(&parts.headers) {
        return Err(hub::Refusal::content_coding());
    }
    match parts.headers.contains_key(header::EXPECT) {
        true => request::check_media_type(content_type(parts)),
        false => Ok(()),
    }
}

async fn submit(hub: &Hub, parts: &Parts, form: &[u8]) -> Result<(), hub::Refusal> {
    let request = request::parse(content_type(parts), form)?;
    hub.submit(request).await
}

/// Returns the media type of the form, if there is one.
fn content_type(parts: &Parts) -> Option<&[u8]> {
    let mut types = parts.headers.get_all(header::CONTENT_TYPE).iter();
    // Given twice it is a list, which is no media type.
    match (types.next(), types.next()) {
        (Some(only), None) => Some(only.as_bytes()),
        _ => None,
    }
}

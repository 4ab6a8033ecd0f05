//! `POST /api/websub/hub`: subscribe and unsubscribe.
//!
//! 202 as soon as the request is on disk; everything else is plain text that says in one line what is wrong.

use std::sync::Arc;

use hyper::Response;
use hyper::body::Incoming;
use hyper::header;
use hyper::http::request::Parts;

use crate::delivery::Hub;
use crate::http::app::App;
use crate::http::body::{self, Body};
use crate::http::reply::{self, Refusal, Reply};
use crate::http::service;
use crate::websub::{self, request};

/// Reads the form within its bounds, hands it to the hub, and answers.
pub(crate) async fn hub(app: Arc<App>, parts: Parts, body: Incoming) -> Response<Body> {
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
        let refusal = Refusal::Unavailable("the hub is not running");
        return service::finish(&app, parts, Reply::Refuse(refusal), false);
    };
    let outcome = submit(hub, &parts, &form).await;
    reply::hub::render(outcome, parts.headers)
}

async fn submit(hub: &Hub, parts: &Parts, form: &[u8]) -> Result<(), websub::Refusal> {
    let mut types = parts.headers.get_all(header::CONTENT_TYPE).iter();
    // Given twice it is a list, which is no media type.
    let content_type = match (types.next(), types.next()) {
        (Some(only), None) => Some(only.as_bytes()),
        _ => None,
    };
    let request = request::parse(content_type, form)?;
    hub.submit(request).await
}

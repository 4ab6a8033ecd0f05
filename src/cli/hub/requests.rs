//! `reviewd hub list --requests`: what waits for its verification, and why it still does.

use super::{Format, failure, line, time};
use crate::cli::exit::Failure;
use crate::websub::store::{Store, WaitingRequest};
use crate::wire::json::{Array, Object};

/// Lists the requests that wait, oldest first.
///
/// # Errors
/// What the store met.
pub(super) fn list(
    store: &mut dyn Store,
    format: Format,
    out: &mut Vec<u8>,
) -> Result<(), Failure> {
    let waiting = store
        .requests(usize::MAX)
        .map_err(|error| failure(&error))?;
    let last = |request: &WaitingRequest| request.last.map(|answer| answer.to_string());
    match format {
        Format::Json => {
            let mut object = Object::begin(out);
            let mut array = Array::begin(object.key("requests"));
            for request in &waiting {
                let mut item = Object::begin(array.item());
                item.i64("id", request.id)
                    .string("mode", request.mode.as_str())
                    .string("topic", &request.topic)
                    .string("host", &request.host)
                    .string("accepted_at", &time(request.accepted_at))
                    .u64("attempts", request.attempts.into())
                    .opt_string("last_status", last(request).as_deref());
                item.end();
            }
            array.end();
            object.end();
            out.push(b'\n');
        }
        Format::Text => {
            line(out, "id\tmode\thost\ttopic\taccepted\tattempts\tlast");
            for request in &waiting {
                let WaitingRequest {
                    id,
                    mode,
                    topic,
                    host,
                    accepted_at,
                    attempts,
                    ..
                } = request;
                let (mode, at) = (mode.as_str(), time(*accepted_at));
                let last = last(request).unwrap_or_else(|| "none".to_owned());
                line(
                    out,
                    &format!("{id}\t{mode}\t{host}\t{topic}\t{at}\t{attempts}\t{last}"),
                );
            }
        }
    }
    Ok(())
}

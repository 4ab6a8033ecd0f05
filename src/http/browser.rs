//! Errors as a browser shows them: a page with the status that a program gets with a body in JSON.

use super::reply::Reply;
use super::site::Site;
use crate::wire::negotiate::prefers_html;

/// Turns an error into a page of the same status for a client that would rather read HTML, as `accept` says: a browser.
pub(super) fn for_browser<'s, 'a, A: Iterator<Item = &'a [u8]>>(
    reply: Reply<'s>,
    site: &Site,
    accept: impl FnOnce() -> A,
) -> Reply<'s> {
    let Reply::Refuse(refusal) = reply else {
        return reply;
    };
    match refusal.page() {
        Some((heading, message)) if prefers_html(accept()) => {
            let page = site.pages().error(heading, &message);
            Reply::RefuseByPage(refusal, page.into())
        }
        _ => Reply::Refuse(refusal),
    }
}

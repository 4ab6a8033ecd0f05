//! Notices for any address: a JSON object with `type`, `timestamp` and `data`, as Standard Webhooks recommends.

use super::{ChangeKind, NoticeSite, ToldChange};
use crate::wire::json::{Object, push_strings};

/// Most ids in a summary. Our choice: no receiver would fetch more reviews one by one.
const SUMMARY_IDS_MAX: usize = 100;

/// Returns the body of a notice of one change. Of a removed review only id, rating and day are told.
pub(super) fn single(site: &NoticeSite<'_>, change: &ToldChange<'_>) -> String {
    render(site, change.event.event_type(), |data| {
        data.string("id", &change.id);
        data.string("url", &format!("{}/reviews/{}", site.base_url, change.id));
        if let Some(published) = &change.published {
            data.raw("review", published.json);
        } else {
            data.u64("rating", change.facts.rating.into());
            data.string("date", &change.facts.date);
        }
    })
}

/// Returns the body of a notice of many changes: their numbers, and the ids of the first.
pub(super) fn summary(site: &NoticeSite<'_>, changes: &[ToldChange<'_>]) -> String {
    let ids = changes.iter().take(SUMMARY_IDS_MAX);
    render(site, "reviews.summary", |data| {
        data.string("url", &format!("{}/", site.base_url));
        for (key, event) in [
            ("new", ChangeKind::New),
            ("changed", ChangeKind::Changed),
            ("removed", ChangeKind::Removed),
            ("unanswered", ChangeKind::Unanswered),
        ] {
            let of_event = changes.iter().filter(|change| change.event == event);
            data.u64(key, of_event.count() as u64);
        }
        push_strings(data.key("ids"), ids.map(|change| change.id.as_str()));
    })
}

/// Returns the body of a message that shows that notices arrive.
pub(super) fn test(site: &NoticeSite<'_>) -> String {
    render(site, "notice.test", |data| {
        data.string("url", &format!("{}/", site.base_url));
        data.string("business", site.business);
    })
}

/// Returns an event whose `data` has the members that `fill` writes. `timestamp` is the time of the last change of the
/// content, also for a reminder and for a test.
fn render(site: &NoticeSite<'_>, event_type: &str, fill: impl FnOnce(&mut Object<'_>)) -> String {
    let mut out = Vec::new();
    let mut event = Object::begin(&mut out);
    event.string("type", event_type);
    event.string("timestamp", &site.updated_at.to_string());
    let mut data = Object::begin(event.key("data"));
    fill(&mut data);
    data.end();
    event.end();
    String::from_utf8(out).expect("JSON is UTF-8")
}

//! The documents of a snapshot, rendered and hashed.

use std::num::NonZeroUsize;
use std::thread;

use bytes::Bytes;

use super::Resource;
use super::since::SinceTable;
use crate::dataset::publish::{self, Published};
use crate::model::Dataset;

/// What is rendered of a dataset.
pub(super) struct Documents {
    pub(super) reviews: Resource,
    pub(super) feed_json: Resource,
    pub(super) feed_xml: Resource,
    pub(super) offsets: Vec<u64>,
    pub(super) since: SinceTable,
}

impl Documents {
    /// Renders the documents, with `/reviews.json` in the empty `room`, and hashes that by two of `threads` at once:
    /// as a whole, and up to the end of each day.
    pub(super) fn build(
        dataset: &Dataset,
        base_url: &str,
        room: Vec<u8>,
        threads: NonZeroUsize,
    ) -> Documents {
        let Published {
            reviews_json,
            offsets,
            feed_json,
            feed_xml,
        } = publish::publish_in(dataset, base_url, room);
        let resource =
            |body: Bytes, media_type| Resource::new(body, media_type, dataset.updated_at);
        let reviews_json = Bytes::from(reviews_json);
        let since =
            || SinceTable::build(&dataset.reviews, &reviews_json, &offsets, &dataset.removed);
        let (reviews, since) = thread::scope(|scope| {
            let spawned =
                (threads.get() > 1).then(|| thread::Builder::new().spawn_scoped(scope, since));
            let reviews = resource(reviews_json.clone(), "application/json");
            let since = match spawned {
                Some(Ok(thread)) => thread.join().expect("hashing has no panic"),
                Some(Err(_)) | None => since(),
            };
            (reviews, since)
        });
        Documents {
            reviews,
            feed_json: resource(feed_json.into(), "application/json"),
            feed_xml: resource(feed_xml.into(), "application/atom+xml"),
            offsets,
            since,
        }
    }
}

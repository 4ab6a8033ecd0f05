//! The pictures of reviews: which are to be fetched, and their own paths once they are.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Merge, Slot, Version};
use crate::review::ReviewObject;
use reviewd_data::model::{MEDIA_PATH, photo_digest};

/// The files of a fetched picture: the SHA-256 of each in hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhotoFiles {
    /// The large picture.
    pub full: String,
    /// The small one.
    pub thumbnail: String,
}

/// The pictures that were fetched, by their addresses.
pub type PhotoTable = BTreeMap<String, PhotoFiles>;

impl Merge<'_> {
    /// Uses these pictures for the reviews of the sources that are read from now on.
    pub fn know_photos(&mut self, photos: PhotoTable) {
        self.photos = photos;
    }

    /// The addresses of pictures that are not fetched yet, each once. A review of this import counts unless its source hides
    /// it; another one counts if it is published.
    pub fn photo_urls(&self) -> Vec<String> {
        let superseded = self.superseded();
        let mut urls = Vec::new();
        for (id, slot) in &self.slots {
            if superseded.contains(id) || is_hidden(slot) {
                continue;
            }
            if let Some(review) = current_review(slot) {
                add_urls(&review, &mut urls);
            }
        }
        urls.sort_unstable();
        urls.dedup();
        urls
    }

    /// Replaces the addresses of these pictures by the paths of their files; returns how many reviews change.
    pub fn use_photos(&mut self, photos: &PhotoTable) -> u64 {
        let mut changed = 0;
        for slot in self.slots.values_mut() {
            if use_photos_of_slot(slot, photos) {
                changed += 1;
            }
        }
        self.photo_changes += changed;
        changed
    }

    /// The digests of the own pictures of the new file.
    pub fn photo_digests(&self) -> Vec<String> {
        let mut digests = Vec::new();
        for version in self.slots.values().filter_map(Slot::version) {
            let mut rest: &str = &version.json;
            while let Some(at) = rest.find(MEDIA_PATH) {
                let path = &rest[at..];
                let end = path.find('"').unwrap_or(path.len());
                digests.extend(photo_digest(&path[..end]).map(str::to_owned));
                rest = &path[MEDIA_PATH.len()..];
            }
        }
        digests.sort_unstable();
        digests.dedup();
        digests
    }
}

impl ReviewObject {
    /// Replaces the addresses of pictures in the table by the paths of their files.
    pub(super) fn use_photos(&mut self, photos: &PhotoTable) {
        if let Some(files) = photos.get(self.text("author_avatar_url")) {
            self.set("author_avatar_url", path_of(&files.thumbnail));
        }
        let Some(Value::Array(media)) = self.0.get_mut("media") else {
            return;
        };
        for medium in media {
            let url = medium["url"].as_str().unwrap_or_default().to_owned();
            let Some(files) = photos.get(&url) else {
                continue;
            };
            medium["url"] = path_of(&files.full).into();
            medium["type"] = "image/jpeg".into();
            medium["thumbnail_url"] = path_of(&files.thumbnail).into();
            medium["source_url"] = url.into();
        }
    }

    /// Keeps the stored picture of the author if the source has another address of it, which was not fetched.
    pub(super) fn keep_avatar(&mut self, stored: Option<&ReviewObject>) {
        let Some(stored) = stored else {
            return;
        };
        let stored_avatar = stored.text("author_avatar_url");
        let arrived_avatar = self.text("author_avatar_url");
        if arrived_avatar.is_empty() || photo_digest(arrived_avatar).is_some() {
            return;
        }
        if photo_digest(stored_avatar).is_some() {
            self.set("author_avatar_url", stored_avatar);
        }
    }
}

/// Returns the review of a slot as it would be written.
fn current_review(slot: &Slot<'_>) -> Option<ReviewObject> {
    ReviewObject::parse(&slot.version()?.json)
}

/// Replaces addresses in the version of a slot that would be written; returns whether it changes.
fn use_photos_of_slot(slot: &mut Slot<'_>, photos: &PhotoTable) -> bool {
    let Some(review) = current_review(slot) else {
        return false;
    };
    let mut replaced = review.clone();
    replaced.use_photos(photos);
    if replaced == review {
        return false;
    }
    let Some(date) = review.date() else {
        return false;
    };
    let version = Version::new(replaced.render(), date, &replaced);
    if let Some(arrived) = &mut slot.arrived
        && let Some(fresh) = &mut arrived.fresh
    {
        *fresh = version;
    } else {
        slot.stored = Some(version);
    }
    true
}

fn path_of(digest: &str) -> String {
    format!("{MEDIA_PATH}{digest}")
}

fn is_hidden(slot: &Slot<'_>) -> bool {
    match &slot.arrived {
        Some(arrived) => arrived.hidden,
        None => slot
            .stored
            .as_ref()
            .is_some_and(|stored| !stored.is_published),
    }
}

fn add_urls(review: &ReviewObject, urls: &mut Vec<String>) {
    let avatar = review.text("author_avatar_url");
    if avatar.starts_with("https://") {
        urls.push(avatar.to_owned());
    }
    let Some(Value::Array(media)) = review.0.get("media") else {
        return;
    };
    for medium in media {
        let is_image = medium["type"]
            .as_str()
            .is_some_and(|kind| kind.starts_with("image/"));
        let url = medium["url"].as_str().unwrap_or_default();
        if is_image && url.starts_with("https://") {
            urls.push(url.to_owned());
        }
    }
}

//! A review as `reviews.json` holds it, unpublished ones and keys that are left out included.

use serde_json::Value;

use super::candidate::Candidate;
use crate::dataset::publish::push_json;
use crate::model::{Media, OwnerReply, Rating, Review, Verification};
use crate::wire::date::parse_date;
use crate::wire::json::{push_string, push_strings};

/// A review of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) review: Review,
    /// Whether the file lists people and services, or leaves them to the taxonomy.
    lists: [bool; 2],
}

impl Stored {
    /// Reads a review of a file that has passed the check; `None` where it has not.
    pub(super) fn parse(json: &str) -> Option<Stored> {
        let value: Value = serde_json::from_str(json).ok()?;
        let text = |key: &str| value[key].as_str().map(str::to_owned);
        let names = |key: &str| -> Option<Vec<String>> {
            let list = value[key].as_array()?;
            list.iter()
                .map(|name| Some(name.as_str()?.to_owned()))
                .collect()
        };
        let reply = match &value["owner_reply"] {
            Value::Object(reply) => Some(OwnerReply {
                text: reply.get("text")?.as_str()?.to_owned(),
                date: parse_date(reply.get("date")?.as_str()?.as_bytes()).ok()?,
            }),
            _ => None,
        };
        let people = names("mentioned_technicians");
        let services = names("mentioned_services");
        Some(Stored {
            lists: [people.is_some(), services.is_some()],
            review: Review {
                id: text("id")?,
                author: text("author")?,
                author_avatar_url: text("author_avatar_url"),
                // The check takes 5.0 for 5.
                rating: Rating::new(value["rating"].as_f64()? as u8)?,
                date: parse_date(value["date"].as_str()?.as_bytes()).ok()?,
                text: text("text").unwrap_or_default(),
                source: text("source")?,
                source_url: text("source_url"),
                owner_reply: reply,
                verified: value["verified"].as_bool()?,
                mentioned_technicians: people.unwrap_or_default(),
                mentioned_services: services.unwrap_or_default(),
                verification: verification(&value["verification"]),
                language: text("language"),
                media: media(&value["media"]),
                translation: text("translation"),
            },
        })
    }

    /// Lays what a source says over what is there; what it does not speak of stays, or is empty where nothing was.
    pub(super) fn overlay(candidate: Candidate, kept: Option<&Stored>) -> Stored {
        let old = kept.map(|kept| &kept.review);
        let lists = kept.map_or([false; 2], |kept| kept.lists);
        let [people, services] = candidate.mentions;
        Stored {
            lists: [lists[0] || people.is_some(), lists[1] || services.is_some()],
            review: Review {
                id: candidate.id,
                author: candidate.author,
                author_avatar_url: candidate
                    .author_avatar_url
                    .unwrap_or_else(|| old.and_then(|old| old.author_avatar_url.clone())),
                rating: candidate.rating,
                date: candidate.date,
                text: candidate
                    .text
                    .or_else(|| old.map(|old| old.text.clone()))
                    .unwrap_or_default(),
                source: candidate.source,
                source_url: candidate
                    .source_url
                    .unwrap_or_else(|| old.and_then(|old| old.source_url.clone())),
                owner_reply: candidate
                    .owner_reply
                    .unwrap_or_else(|| old.and_then(|old| old.owner_reply.clone())),
                verified: candidate
                    .verified
                    .unwrap_or_else(|| old.is_some_and(|old| old.verified)),
                mentioned_technicians: people
                    .or_else(|| old.map(|old| old.mentioned_technicians.clone()))
                    .unwrap_or_default(),
                mentioned_services: services
                    .or_else(|| old.map(|old| old.mentioned_services.clone()))
                    .unwrap_or_default(),
                verification: candidate
                    .verification
                    .unwrap_or_else(|| old.and_then(|old| old.verification.clone())),
                language: candidate
                    .language
                    .unwrap_or_else(|| old.and_then(|old| old.language.clone())),
                media: candidate
                    .media
                    .or_else(|| old.map(|old| old.media.clone()))
                    .unwrap_or_default(),
                translation: candidate
                    .translation
                    .unwrap_or_else(|| old.and_then(|old| old.translation.clone())),
            },
        }
    }

    /// Renders the review with one key a line, as people edit it.
    pub(super) fn render(&self) -> String {
        let review = &self.review;
        let mut out = b"{".to_vec();
        let optional = |out: &mut Vec<u8>, text: Option<&str>| match text {
            Some(text) => push_string(out, text),
            None => out.extend_from_slice(b"null"),
        };
        push_string(key(&mut out, "id"), &review.id);
        push_string(key(&mut out, "author"), &review.author);
        optional(
            key(&mut out, "author_avatar_url"),
            review.author_avatar_url.as_deref(),
        );
        key(&mut out, "rating").push(b'0' + review.rating.stars());
        push_string(key(&mut out, "date"), &review.date.to_string());
        push_string(key(&mut out, "text"), &review.text);
        push_string(key(&mut out, "source"), &review.source);
        optional(key(&mut out, "source_url"), review.source_url.as_deref());
        match &review.owner_reply {
            None => key(&mut out, "owner_reply").extend_from_slice(b"null"),
            Some(reply) => {
                key(&mut out, "owner_reply").extend_from_slice(b"{ \"text\": ");
                push_string(&mut out, &reply.text);
                out.extend_from_slice(format!(", \"date\": \"{}\" }}", reply.date).as_bytes());
            }
        }
        key(&mut out, "verified").extend_from_slice(review.verified.to_string().as_bytes());
        if self.lists[0] {
            let names = review.mentioned_technicians.iter().map(String::as_str);
            push_strings(key(&mut out, "mentioned_technicians"), names);
        }
        if self.lists[1] {
            let names = review.mentioned_services.iter().map(String::as_str);
            push_strings(key(&mut out, "mentioned_services"), names);
        }
        // Optional keys, left out where they would say nothing.
        if let Some(verification) = &review.verification {
            push_json(key(&mut out, "verification"), verification);
        }
        if let Some(language) = &review.language {
            push_string(key(&mut out, "language"), language);
        }
        if !review.media.is_empty() {
            push_json(key(&mut out, "media"), &review.media);
        }
        if let Some(translation) = &review.translation {
            push_string(key(&mut out, "translation"), translation);
        }
        out.extend_from_slice(b"\n    }");
        // What was written is UTF-8, being made of strings; were it not, the check of the file would say so.
        String::from_utf8_lossy(&out).into_owned()
    }
}

/// Reads `verification` of a checked review.
pub(super) fn verification(value: &Value) -> Option<Verification> {
    Some(Verification {
        by: value["by"].as_str()?.to_owned(),
        method: value["method"].as_str().map(str::to_owned),
    })
}

/// Reads `media` of a checked review.
pub(super) fn media(value: &Value) -> Vec<Media> {
    let text = |each: &Value, key: &str| each[key].as_str().map(str::to_owned);
    let read = |each: &Value| {
        Some(Media {
            url: text(each, "url")?,
            alt: text(each, "alt")?,
            media_type: text(each, "type")?,
        })
    };
    let list = value.as_array().into_iter().flatten();
    list.filter_map(read).collect()
}

/// Begins the line of a key.
fn key<'o>(out: &'o mut Vec<u8>, key: &str) -> &'o mut Vec<u8> {
    if out.len() > 1 {
        out.push(b',');
    }
    out.extend_from_slice(b"\n      \"");
    out.extend_from_slice(key.as_bytes());
    out.extend_from_slice(b"\": ");
    out
}

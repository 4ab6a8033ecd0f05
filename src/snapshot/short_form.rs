//! The short form of each review, as the answers of MCP's tools hold it: what a model reads and quotes, in few tokens.
//!
//! Kept are id, author, rating, date, text, source, the owner's reply, the mentions and the language, each of the last
//! four only where there is one. Pictures, links and what is the same for every review are left out, as is the rest of
//! what is very long. A short form consists of runs of the review's stored bytes, found once and written without a look
//! at them: some 16 bytes of memory a review.

use memchr::memmem::Finder;

/// The runs of every review.
#[derive(Debug)]
pub(super) struct ShortForms {
    /// How many bytes of a review are left out, and how many after them are kept; at last [`SHORTENED`] where a part was
    /// too long.
    runs: Vec<[u16; 2]>,
    /// Where the runs of each review end; those of the first begin behind the 0 in front.
    ends: Vec<u32>,
}

impl ShortForms {
    /// Finds the runs of `reviews`, each the JSON object that the documents hold: about a microsecond for each.
    pub(super) fn of<'a>(reviews: impl ExactSizeIterator<Item = &'a [u8]>) -> ShortForms {
        let finders = MEMBERS.map(Finder::new);
        let mut ends = Vec::with_capacity(reviews.len() + 1);
        ends.push(0);
        let mut forms = ShortForms {
            runs: Vec::with_capacity(4 * reviews.len()),
            ends,
        };
        for review in reviews {
            forms.add(review, &finders);
            forms.ends.push(forms.runs.len() as u32);
        }
        forms.runs.shrink_to_fit();
        forms
    }

    /// Appends the short form of the review in `row`, whose stored bytes are `review`.
    pub(super) fn push(&self, out: &mut Vec<u8>, row: usize, review: &[u8]) {
        let runs = &self.runs[self.ends[row] as usize..self.ends[row + 1] as usize];
        let mut at = 0;
        for [skipped, kept] in runs {
            let start = at + usize::from(*skipped);
            at = start + usize::from(*kept);
            out.extend_from_slice(&review[start..at]);
        }
        if runs.last() == Some(&SHORTENED) {
            out.extend_from_slice(b",\"text_truncated\":true");
        }
        out.push(b'}');
    }

    fn add(&mut self, review: &[u8], finders: &[Finder<'_>; MEMBERS.len()]) {
        // Inside a string each quotation mark follows a backslash, so only members begin like these.
        let mut from = 0;
        let starts = finders.each_ref().map(|finder| {
            from += finder.find(&review[from..]).unwrap_or_default();
            from
        });
        let [
            avatar,
            rating,
            text,
            source,
            source_url,
            reply,
            verified,
            people,
            services,
            verification,
            language,
            media,
        ] = starts;
        let mut end = 0;
        let mut keep = |from: usize, to: usize| {
            let (mut skipped, mut kept) = (from - end, to - from);
            end = to;
            while skipped > 0 || kept > 0 {
                let run = [skipped, if skipped > LONGEST { 0 } else { kept }];
                let run = run.map(|length| length.min(LONGEST));
                skipped -= run[0];
                kept -= run[1];
                self.runs.push(run.map(|length| length as u16));
            }
        };
        keep(0, avatar);
        let text_start = text + TEXT.len() + 1;
        let cut = cut_at(&review[text_start..source - 1]);
        match cut {
            None => keep(rating, source_url),
            Some(length) => {
                keep(rating, text_start + length);
                keep(source - 1, source_url);
            }
        }
        let mut is_cut = cut.is_some();
        for (start, end) in [
            (reply, verified),
            (people, services),
            (services, verification),
            (language, media),
        ] {
            let member = &review[start..end];
            let is_empty = [&b":null"[..], b":[]"]
                .iter()
                .any(|value| member.ends_with(value));
            let is_long = member.len() > BYTES_MAX;
            is_cut |= is_long;
            if !is_empty && !is_long {
                keep(start, end);
            }
        }
        if is_cut {
            self.runs.push(SHORTENED);
        }
    }
}

/// Returns where an escaped text is cut so that it stands for at most [`BYTES_MAX`] bytes, between two characters; `None`
/// where it is short enough.
fn cut_at(escaped: &[u8]) -> Option<usize> {
    if escaped.len() <= BYTES_MAX {
        return None;
    }
    let (mut at, mut character) = (0, 0);
    for _ in 0..=BYTES_MAX {
        let is_first_byte = escaped.get(at)? & 0xc0 != 0x80;
        if is_first_byte {
            character = at;
        }
        at += match escaped[at..] {
            [b'\\', b'u', ..] => 6,
            [b'\\', ..] => 2,
            _ => 1,
        };
    }
    Some(character)
}

const TEXT: &[u8] = b",\"text\":";
/// The beginnings of a review's members in the order of `model::Review`, but for those that follow another anyway.
const MEMBERS: [&[u8]; 12] = [
    b",\"author_avatar_url\":",
    b",\"rating\":",
    TEXT,
    b",\"source\":",
    b",\"source_url\":",
    b",\"owner_reply\":",
    b",\"verified\":",
    b",\"mentioned_technicians\":",
    b",\"mentioned_services\":",
    b",\"verification\":",
    b",\"language\":",
    b",\"media\":",
];
/// Says that something was too long: no run is empty.
const SHORTENED: [u16; 2] = [0, 0];
/// What one number of a run holds; a longer one becomes several.
const LONGEST: usize = u16::MAX as usize;
/// Bytes of a text, and of another member as it is written, that are kept at most.
const BYTES_MAX: usize = 2_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::publish::push_json;
    use crate::dataset::publish::tests::tiny;
    use crate::model::Review;
    use serde_json::{Value, json};

    /// The short forms of reviews, each made of one of the tiny dataset by `change`.
    fn short(changes: &[fn(&mut Review)]) -> Vec<Value> {
        let stored = changes.iter().map(|change| {
            let mut review = tiny().reviews.swap_remove(0);
            change(&mut review);
            let mut json = Vec::new();
            push_json(&mut json, &review);
            json
        });
        let stored: Vec<Vec<u8>> = stored.collect();
        let forms = ShortForms::of(stored.iter().map(Vec::as_slice));
        let read = |(row, review): (usize, &Vec<u8>)| {
            let mut out = Vec::new();
            forms.push(&mut out, row, review);
            serde_json::from_slice(&out).expect("JSON")
        };
        stored.iter().enumerate().map(read).collect()
    }

    #[test]
    fn what_is_absent_or_the_same_for_all_is_left_out() {
        let plain = json!({"id": "b", "author": "Bo", "rating": 2, "date": "2026-01-02", "text": "", "source": "site"});
        let forms = short(&[
            |_| {},
            |review| {
                review.author = r#"A "B",\"text\":\"#.to_owned();
                review.language = Some("de".to_owned());
                review.mentioned_services = vec!["],\"language\":".to_owned()];
                review.author_avatar_url =
                    Some(format!("https://a.example/{}", "x".repeat(70_000)));
            },
        ]);
        assert_eq!(forms[0], plain);
        let mut full = plain;
        full["author"] = json!(r#"A "B",\"text\":\"#);
        full["language"] = json!("de");
        full["mentioned_services"] = json!(["],\"language\":"]);
        assert_eq!(forms[1], full);
    }

    #[test]
    fn a_text_is_cut_after_2000_bytes_between_two_characters() {
        let forms = short(&[
            |review| review.text = "x".repeat(2_000),
            |review| review.text = "x".repeat(2_001),
            |review| review.text = "\n".repeat(2_000),
            |review| review.text = format!("{}\u{1}\"{}", "\\".repeat(1_999), "y".repeat(200_000)),
            |review| review.text = format!("x{}", "😀".repeat(600)),
        ]);
        let lengths: Vec<(usize, bool)> = forms
            .iter()
            .map(|form| {
                assert_eq!(form["source"], "site");
                (
                    form["text"].as_str().map_or(0, str::len),
                    form["text_truncated"] == true,
                )
            })
            .collect();
        assert_eq!(
            lengths,
            [
                (2_000, false),
                (2_000, true),
                (2_000, false),
                (2_000, true),
                (1_997, true)
            ]
        );
    }

    #[test]
    fn long_lists_are_left_to_get_review() {
        let forms = short(&[|review| review.mentioned_technicians = vec!["n".repeat(100); 20]]);
        assert!(forms[0].get("mentioned_technicians").is_none());
        assert_eq!(forms[0]["text_truncated"], true);
    }
}

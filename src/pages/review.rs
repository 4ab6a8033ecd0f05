//! A review for a template, parsed from its bytes in the snapshot, with highlighted parts of its text: matches of a
//! search, and the evidence of the insights.

use std::collections::HashMap;
use std::ops::Range;

use super::messages::{Language, Messages};
use super::text::{encoded, link, newest, service_label};
use crate::model::{MEDIA_PATH, METHOD_ACCOUNT, Row, platform};
use crate::search::filter::Term;
use crate::search::fold::find_folded;
use crate::snapshot::{JsonText, Snapshot, StoredMedia, StoredRating, StoredReview};
use crate::wire::date::{Date, parse_date};
use crate::wire::sentence::sentences;

/// Most characters of a text that are shown before a visitor asks for its rest.
const SHOWN_CHARS_MAX: usize = 320;
/// The least number of characters that a cut hides; a text with a shorter rest is shown whole.
const HIDDEN_CHARS_MIN: usize = 60;

/// Most photos in a card; the page of the review has all.
const CARD_PHOTOS_MAX: usize = 3;

/// Number of tints of avatars.
const TINTS: u32 = 8;

/// Largest number of highlights of one term in one text; limits the size of a page.
const MARKS_MAX: usize = 64;

/// Most bytes of all texts of a page that are searched for matches to highlight. A hundred texts may have megabytes;
/// this limits the time of a page to milliseconds.
const HIGHLIGHT_BYTES_MAX: usize = 128 << 10;

/// One review, ready for a template.
#[derive(Debug, Default)]
pub(super) struct ReviewView {
    pub(super) id: String,
    pub(super) author: String,
    pub(super) rating: u64,
    /// `YYYY-MM-DD`.
    pub(super) date: String,
    /// `month`, `year` or `unknown`, if the day is not known.
    pub(super) date_precision: Option<String>,
    rating_original: Option<StoredRating>,
    translation: Option<String>,
    pub(super) text: Highlighted,
    pub(super) source: String,
    pub(super) source_url: Option<String>,
    pub(super) language: Option<String>,
    pub(super) owner_reply: Option<OwnerReplyView>,
    is_verified: bool,
    verification: Option<ReviewVerification>,
    /// The people and services that the review mentions, each with a search link.
    pub(super) mentions: Vec<MentionLink>,
    /// The pictures that this service has itself, so that no other site is asked for them.
    pub(super) photos: Vec<Photo>,
    /// Links to pictures, films and recordings elsewhere.
    pub(super) links: Vec<AttachmentLink>,
    /// The author's picture, if this service has it.
    pub(super) avatar: Option<String>,
    /// The byte at which the text is cut until a visitor asks for its rest; its length if it is not cut.
    cut: usize,
}

#[derive(Debug)]
pub(super) struct OwnerReplyView {
    pub(super) text: String,
    pub(super) date: String,
}

#[derive(Debug)]
struct ReviewVerification {
    by: String,
    method: Option<String>,
}

/// A picture of a review.
#[derive(Debug)]
pub(super) struct Photo {
    pub(super) url: String,
    pub(super) thumbnail: String,
    /// The owner's description; may be empty.
    pub(super) alt: String,
}

/// A link to an attachment on another site.
#[derive(Debug)]
pub(super) struct AttachmentLink {
    pub(super) url: String,
    /// The owner's description; may be empty.
    pub(super) alt: String,
}

/// A person or service that a review mentions.
#[derive(Debug)]
pub(super) struct MentionLink {
    pub(super) kind: MentionKind,
    /// The name of the person, or the id of the service.
    pub(super) value: String,
    pub(super) label: String,
    pub(super) href: String,
}

/// What a review mentions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MentionKind {
    Person,
    Service,
}

/// Who confirmed that the author of a review is a customer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum VerificationLevel<'r> {
    Business,
    /// A platform or another verifier, with its method.
    Other(&'r str, Option<&'r str>),
    /// Published with an account, and not verified.
    Account,
}

/// Reads the reviews of `rows`, and marks in their texts the matches of `terms` and the ranges of `evidence`, which are
/// code points by the id of the review.
///
/// For `terms` every text gets an equal share of [`HIGHLIGHT_BYTES_MAX`]; unused bytes are divided among the next
/// texts.
pub(super) fn read_all(
    snapshot: &Snapshot,
    rows: &[Row],
    terms: &[Term<'_>],
    evidence: &HashMap<&str, Vec<Range<u32>>>,
) -> Vec<ReviewView> {
    let mut bytes_left = HIGHLIGHT_BYTES_MAX;
    let mut reviews = Vec::with_capacity(rows.len());
    for (at, row) in rows.iter().enumerate() {
        let mut review = ReviewView::read(snapshot, *row);
        let text = &review.text.text;
        let bytes_max = bytes_left / (rows.len() - at);
        bytes_left -= text.len().min(bytes_max);
        let mut marks: Vec<Range<usize>> = Vec::new();
        for points in evidence.get(review.id.as_str()).into_iter().flatten() {
            marks.push(bytes_of_points(text, points.clone()));
        }
        if !terms.is_empty() {
            marks.extend(find_folded(text, terms, bytes_max, MARKS_MAX));
        }
        review.text.mark(marks);
        reviews.push(review);
    }
    reviews
}

/// Reads the newest reviews, at most `count_max`.
pub(super) fn read_newest(snapshot: &Snapshot, count_max: u32) -> Vec<ReviewView> {
    let rows = newest(snapshot, count_max);
    rows.map(|row| ReviewView::read(snapshot, row)).collect()
}

impl ReviewView {
    /// Parses the review of `row`, without highlights.
    pub(super) fn read(snapshot: &Snapshot, row: Row) -> ReviewView {
        let stored = snapshot.stored_review(row);
        let text = stored.text.to_text();
        let avatar = stored.author_avatar_url.and_then(|url| {
            let url = url.decode();
            own_file(&url, &snapshot.base_url).map(str::to_owned)
        });
        let mut review = ReviewView {
            id: stored.id.to_owned(),
            author: stored.author.to_text(),
            rating: u64::from(stored.rating),
            date: stored.date.to_owned(),
            date_precision: stored.date_precision.map(str::to_owned),
            translation: stored.translation.map(JsonText::to_text),
            cut: cut_of(&text),
            text: text.into(),
            source: stored.source.to_text(),
            source_url: stored.source_url.map(JsonText::to_text),
            language: stored.language.map(str::to_owned),
            owner_reply: stored.owner_reply.as_ref().map(|reply| OwnerReplyView {
                text: reply.text.to_text(),
                date: reply.date.to_owned(),
            }),
            is_verified: stored.verified,
            verification: stored
                .verification
                .as_ref()
                .map(|verification| ReviewVerification {
                    by: verification.by.to_text(),
                    method: verification.method.map(JsonText::to_text),
                }),
            mentions: mentions(snapshot, &stored),
            photos: Vec::new(),
            links: Vec::new(),
            avatar,
            rating_original: stored.rating_original,
        };
        for attachment in &stored.media {
            review.add_attachment(attachment, &snapshot.base_url);
        }
        review
    }

    /// Adds a picture that this service has itself to the photos, and any other attachment to the links.
    fn add_attachment(&mut self, attachment: &StoredMedia<'_>, base_url: &str) {
        let url = attachment.url.decode();
        if attachment.media_type.starts_with("image/")
            && let Some(own) = own_file(&url, base_url)
        {
            let thumbnail_url = attachment.thumbnail_url.map(JsonText::to_text);
            let thumbnail = thumbnail_url
                .as_deref()
                .and_then(|url| own_file(url, base_url));
            self.photos.push(Photo {
                url: own.to_owned(),
                thumbnail: thumbnail.unwrap_or(own).to_owned(),
                alt: attachment.alt.to_text(),
            });
        } else if link(&url).is_some() {
            self.links.push(AttachmentLink {
                url: url.to_string(),
                alt: attachment.alt.to_text(),
            });
        }
    }

    /// The letters that are shown instead of the author's picture.
    pub(super) fn initials(&self) -> String {
        initials(&self.author)
    }

    /// The number of the author's tint; the same name has the same tint everywhere.
    pub(super) fn tint(&self) -> u32 {
        tint(&self.author)
    }

    /// The date, as exactly as it is known, with the short name of the month.
    pub(super) fn day(&self, t: &Messages) -> String {
        self.dated(t, Messages::short_day)
    }

    /// The date, as exactly as it is known, with the full name of the month.
    pub(super) fn long_day(&self, t: &Messages) -> String {
        self.dated(t, Messages::long_day)
    }

    fn dated(&self, t: &Messages, day: fn(&Messages, Date) -> String) -> String {
        let Ok(date) = parse_date(self.date.as_bytes()) else {
            return self.date.clone();
        };
        match self.date_precision.as_deref() {
            None | Some("day") => day(t, date),
            Some("month") => t.month(date),
            Some("year") => date.year().to_string(),
            Some(_) => t.date_unknown.clone(),
        }
    }

    /// Whether the day is known, so that a script may show how long ago it was.
    pub(super) fn is_dated(&self) -> bool {
        matches!(self.date_precision.as_deref(), None | Some("day"))
    }

    /// The value of `datetime`, as exactly as it is known; "" if it is not.
    pub(super) fn machine_date(&self) -> &str {
        let length = match self.date_precision.as_deref() {
            None | Some("day") => self.date.len(),
            Some("month") => 7,
            Some("year") => 4,
            Some(_) => 0,
        };
        self.date.get(..length).unwrap_or_default()
    }

    /// The label of the stars.
    pub(super) fn stars_label(&self, t: &Messages) -> String {
        t.stars_of_5.fill(&[("stars", &self.rating.to_string())])
    }

    /// The rating on the scale of the source, where that is not five stars: "9 of 10 on Booking.com".
    pub(super) fn original_rating(&self, t: &Messages) -> Option<String> {
        let original = self.rating_original.as_ref()?;
        let source = self.source_name(t);
        Some(t.rated_at_source.fill(&[
            ("value", &t.decimal_number(&original.value)),
            ("best", &t.decimal_number(&original.best)),
            ("source", &source),
        ]))
    }

    /// The English translation, for readers of pages in another language than that of the text.
    pub(super) fn translation(&self, t: &Messages) -> Option<&str> {
        let translation = self.translation.as_deref()?;
        if let Some(tag) = &self.language
            && let Some(language) = Language::of_tag(tag.as_bytes())
            && language.code() == t.code
        {
            // The reader of the page can read the text itself.
            return None;
        }
        Some(translation)
    }

    /// The name of the platform, or of another source, with its first letter in upper case.
    pub(super) fn publisher(&self) -> String {
        publisher(&self.source)
    }

    /// The name of the source for readers.
    pub(super) fn source_name(&self, t: &Messages) -> String {
        source_name(&self.source, t)
    }

    /// The symbol of the kind of source.
    pub(super) fn icon(&self) -> &'static str {
        source_icon(&self.source)
    }

    /// The URL of the review on the platform, if `text::link` allows it.
    pub(super) fn link(&self) -> Option<&str> {
        self.source_url.as_deref().and_then(link)
    }

    /// Who confirmed that the author is a customer.
    pub(super) fn verification_level(&self) -> VerificationLevel<'_> {
        let Some(verification) = &self.verification else {
            return VerificationLevel::Business;
        };
        if !self.is_verified && verification.method.as_deref() == Some(METHOD_ACCOUNT) {
            return VerificationLevel::Account;
        }
        let by = platform(&verification.by).unwrap_or(&verification.by);
        VerificationLevel::Other(by, verification.method.as_deref())
    }

    /// The label of the button that enlarges a photo.
    pub(super) fn photo_label(&self, photo: &Photo, t: &Messages) -> String {
        let alt = self.photo_alt(photo, t);
        t.enlarge.fill(&[("name", &alt)])
    }

    /// The owner's description of a photo, or whose it is.
    pub(super) fn photo_alt(&self, photo: &Photo, t: &Messages) -> String {
        if photo.alt.is_empty() {
            return self.photo_by(t);
        }
        photo.alt.clone()
    }

    /// The photos of a card.
    pub(super) fn first_photos(&self) -> &[Photo] {
        &self.photos[..self.photos.len().min(CARD_PHOTOS_MAX)]
    }

    /// The label of the link to the page with all photos.
    pub(super) fn all_photos(&self, t: &Messages) -> String {
        t.counted(&t.all_photos, self.photos.len() as u64)
    }

    /// A description of a photo that names the author.
    pub(super) fn photo_by(&self, t: &Messages) -> String {
        t.photo_by.fill(&[("name", &self.author)])
    }

    /// The verification in words; `who` is the word for the people whom the business serves.
    pub(super) fn verification_text(&self, t: &Messages, who: &str, business_name: &str) -> String {
        let name = match self.verification_level() {
            VerificationLevel::Business => business_name,
            VerificationLevel::Other(by, _) => by,
            VerificationLevel::Account => {
                let source = self.source_name(t);
                return t.as_published.fill(&[("source", &source)]);
            }
        };
        t.verified_by.fill(&[("who", who), ("name", name)])
    }

    /// Whether the review is verified.
    pub(super) fn is_confirmed(&self) -> bool {
        self.verification_level() != VerificationLevel::Account
    }

    /// The text that is shown at first.
    pub(super) fn head(&self) -> impl Iterator<Item = Stretch<'_>> {
        self.text.stretches_of(0..self.cut)
    }

    /// The rest of the text; nothing if it is not cut.
    pub(super) fn rest(&self) -> impl Iterator<Item = Stretch<'_>> {
        self.text.stretches_of(self.cut..self.text.text.len())
    }

    /// Whether the text is cut.
    pub(super) fn has_rest(&self) -> bool {
        self.cut < self.text.text.len()
    }

    /// The first words, for places with one or two lines.
    pub(super) fn excerpt(&self, chars_max: usize) -> String {
        excerpt(&self.text.text, chars_max)
    }
}

/// Returns the people and services that a review mentions.
fn mentions(snapshot: &Snapshot, review: &StoredReview<'_>) -> Vec<MentionLink> {
    let mut mentions = Vec::new();
    for name in &review.mentioned_technicians {
        let name = name.decode();
        mentions.push(MentionLink::new(MentionKind::Person, &name, &name));
    }
    for id in &review.mentioned_services {
        let id = id.decode();
        let label = service_label(snapshot, &id);
        mentions.push(MentionLink::new(MentionKind::Service, &id, label));
    }
    mentions
}

impl MentionLink {
    fn new(kind: MentionKind, value: &str, label: &str) -> MentionLink {
        let parameter = match kind {
            MentionKind::Person => "mentions_technician",
            MentionKind::Service => "mentions_service",
        };
        MentionLink {
            kind,
            value: value.to_owned(),
            label: label.to_owned(),
            href: encoded(&format!("/?{parameter}="), value),
        }
    }
}

impl OwnerReplyView {
    /// The date, with the short name of the month.
    pub(super) fn day(&self, t: &Messages) -> String {
        let date = parse_date(self.date.as_bytes());
        date.map_or_else(|_| self.date.clone(), |date| t.short_day(date))
    }
}

/// The name of the platform that `source` means, or `source` with its first letter in upper case.
pub(super) fn publisher(source: &str) -> String {
    if let Some(label) = platform(source) {
        return label.to_owned();
    }
    let mut name = String::with_capacity(source.len());
    for (at, character) in source.chars().enumerate() {
        if at == 0 {
            name.extend(character.to_uppercase());
        } else {
            name.push(character);
        }
    }
    name
}

/// The name of a source for readers.
pub(super) fn source_name(source: &str, t: &Messages) -> String {
    if source.eq_ignore_ascii_case("website") {
        return t.own_website.clone();
    }
    publisher(source)
}

/// The symbol of the kind of source. The symbols are neutral ones of our own, as the logos belong to others.
pub(super) fn source_icon(source: &str) -> &'static str {
    match source.to_ascii_lowercase().as_str() {
        "google" | "tripadvisor" => "i-map",
        "facebook" | "reddit" | "nextdoor" => "i-board",
        "website" | "form" => "i-own",
        "other" | "file" | "import" => "i-page",
        _ => "i-list",
    }
}

/// Returns the path of a picture that this service has itself, by the picture's path or URL.
fn own_file<'u>(url: &'u str, base_url: &str) -> Option<&'u str> {
    let path = url.strip_prefix(base_url).unwrap_or(url);
    if !path.starts_with(MEDIA_PATH) {
        return None;
    }
    Some(path)
}

/// Returns the byte at which a text is cut: after the last sentence that ends within [`SHOWN_CHARS_MAX`], or before a
/// word if that would show less than half as much.
fn cut_of(text: &str) -> usize {
    if text.chars().count() < SHOWN_CHARS_MAX + HIDDEN_CHARS_MIN {
        return text.len();
    }
    let limit = byte_of_point(text, SHOWN_CHARS_MAX as u32);
    let ends = sentences(text).map(|sentence| sentence.end);
    let last_end = ends.take_while(|end| *end <= limit).last().unwrap_or(0);
    if last_end >= limit / 2 {
        return last_end;
    }
    text[..limit].rfind(char::is_whitespace).unwrap_or(limit)
}

/// Returns the first words of `text` on one line, with an ellipsis if some are left out.
pub(super) fn excerpt(text: &str, chars_max: usize) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let Some((limit, _)) = text.char_indices().nth(chars_max) else {
        return text;
    };
    let end = text[..limit].rfind(' ').unwrap_or(limit);
    format!("{} …", text[..end].trim_end_matches([',', ';', ':', '.']))
}

/// Returns the first letters of the first and the last word of a name, in upper case; of a name in another script than
/// Latin only the first one, because its letters may join or be syllables.
pub(super) fn initials(name: &str) -> String {
    let mut letters: Vec<char> = Vec::new();
    for word in name.split_whitespace() {
        // A word that begins with a digit, as in "Client since 2024", is no part of a name.
        if let Some(letter) = word.chars().find(|letter| letter.is_alphanumeric())
            && letter.is_alphabetic()
        {
            letters.push(letter);
        }
    }
    let shown = match letters[..] {
        [] => return String::new(),
        [first, .., last] if is_latin(first) && is_latin(last) => vec![first, last],
        [first, ..] => vec![first],
    };
    shown.into_iter().flat_map(char::to_uppercase).collect()
}

/// Returns whether a letter is of the Latin script, as far as its blocks reach without a gap.
fn is_latin(letter: char) -> bool {
    letter < '\u{250}'
}

/// Returns the tint of a name, by its FNV-1a hash.
pub(super) fn tint(name: &str) -> u32 {
    let mut hash: u32 = 0x811c_9dc5;
    for byte in name.bytes() {
        hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    }
    hash % TINTS
}

/// A part of a text, and whether it is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch<'t> {
    pub(super) text: &'t str,
    pub(super) is_marked: bool,
}

/// A text with highlighted ranges: ascending, disjoint, on character boundaries.
#[derive(Clone, Debug, Default)]
pub(super) struct Highlighted {
    pub(super) text: String,
    marks: Vec<Range<usize>>,
}

impl From<String> for Highlighted {
    fn from(text: String) -> Highlighted {
        let marks = Vec::new();
        Highlighted { text, marks }
    }
}

impl Highlighted {
    /// Marks these ranges: overlapping or adjacent ones are merged, those outside of the text dropped.
    fn mark(&mut self, mut marks: Vec<Range<usize>>) {
        marks.retain(|mark| mark.start < mark.end && self.text.get(mark.clone()).is_some());
        marks.sort_unstable_by_key(|mark| mark.start);
        for mark in marks {
            match self.marks.last_mut() {
                Some(last) if mark.start <= last.end => last.end = last.end.max(mark.end),
                _ => self.marks.push(mark),
            }
        }
    }

    /// Returns the text of `range`, which lies on character boundaries, in parts that are marked or not.
    pub(super) fn stretches_of(&self, range: Range<usize>) -> impl Iterator<Item = Stretch<'_>> {
        let mut at = range.start;
        let within = range.clone();
        let marks = self.marks.iter().map(move |mark| {
            let start = mark.start.clamp(within.start, within.end);
            start..mark.end.clamp(start, within.end)
        });
        // An empty mark at the end, before which the rest of the text stands.
        let end = std::iter::once(range.end..range.end);
        let stretches = marks.chain(end).flat_map(move |mark| {
            let before = Stretch {
                text: &self.text[at..mark.start],
                is_marked: false,
            };
            at = mark.end;
            let marked = Stretch {
                text: &self.text[mark],
                is_marked: true,
            };
            [before, marked]
        });
        stretches.filter(|stretch| !stretch.text.is_empty())
    }
}

/// Returns the byte range of the code points `points` of `text`, cut at its end.
fn bytes_of_points(text: &str, points: Range<u32>) -> Range<usize> {
    if text.is_ascii() {
        return text.len().min(points.start as usize)..text.len().min(points.end as usize);
    }
    byte_of_point(text, points.start)..byte_of_point(text, points.end)
}

/// Returns where the code point with this number begins in `text`; its end if it has fewer.
fn byte_of_point(text: &str, number: u32) -> usize {
    match text.char_indices().nth(number as usize) {
        Some((at, _)) => at,
        None => text.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, marks: &[Range<usize>]) -> String {
        let mut marked = Highlighted::from(text.to_owned());
        marked.mark(marks.to_vec());
        let mut shown = String::new();
        for Stretch { text, is_marked } in marked.stretches_of(0..text.len()) {
            if is_marked {
                shown.push_str(&format!("[{text}]"));
            } else {
                shown.push_str(text);
            }
        }
        shown
    }

    #[test]
    fn a_long_text_is_cut_after_a_sentence_and_a_mark_may_cross_the_cut() {
        let sentence = "Twenty characters ok. ";
        let long = sentence.repeat(20);
        let cut = cut_of(&long);
        assert!((160..=320).contains(&cut), "{cut}");
        assert!(long[..cut].ends_with("ok."));
        let mut text = Highlighted::from(long.clone());
        let across = cut - 3..cut + 3;
        text.mark(vec![across]);
        let head: String = text.stretches_of(0..cut).map(|one| one.text).collect();
        let rest: String = text
            .stretches_of(cut..long.len())
            .map(|one| one.text)
            .collect();
        assert_eq!(head + &rest, long);
        assert!(
            text.stretches_of(cut..long.len())
                .next()
                .is_some_and(|one| one.is_marked)
        );
    }

    #[test]
    fn a_text_is_not_cut_for_a_few_words() {
        let text = "a".repeat(379);
        assert_eq!(cut_of(&text), text.len());
        assert_eq!(cut_of(&"é".repeat(380)), 2 * 320);
    }

    #[test]
    fn names_have_one_or_two_initials() {
        let names = [
            ("Giulia Santacroce-Hale", "GS"),
            ("Mary Ann O'Dowd", "MO"),
            ("zoë", "Z"),
            ("ليلى حدّاد", "ل"),
            ("王 小明", "王"),
            ("\"Bo\" (2)", "B"),
            ("Client since 2024", "CS"),
            ("…", ""),
        ];
        for (name, expected) in names {
            assert_eq!(initials(name), expected, "{name}");
        }
        assert_eq!(tint("Zoë"), tint("Zoë"));
    }

    #[test]
    #[allow(
        clippy::single_range_in_vec_init,
        reason = "one mark is a list of one range"
    )]
    fn marks_are_joined_and_the_text_stays_whole() {
        assert_eq!(shown("abcdef", &[]), "abcdef");
        assert_eq!(shown("abcdef", &[0..6]), "[abcdef]");
        assert_eq!(shown("abcdef", &[4..5, 1..3, 2..4]), "a[bcde]f");
        assert_eq!(shown("abcdef", &[1..2, 4..6]), "a[b]cd[ef]");
        assert_eq!(shown("", &[0..0]), "");
    }

    #[test]
    fn code_points_become_bytes() {
        assert_eq!(bytes_of_points("abc", 1..2), 1..2);
        assert_eq!(bytes_of_points("éabc", 1..2), 2..3);
        assert_eq!(bytes_of_points("é", 0..9), 0..2);
        assert_eq!(bytes_of_points("abc", 5..9), 3..3);
    }
}

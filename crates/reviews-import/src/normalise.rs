//! Converts a record into a candidate: all values by the same rules for every source, all errors in one message.

use std::net::IpAddr;

use serde_json::{Value, json};

use super::formats::{ANONYMOUS, CHANNELS, SHOWN};
use super::record::{Field, Record};
use super::review::StoredReview;
use super::source::ImportSource;
use super::text::{is_listed, normal};
use super::{date, identity, rating, text};
use reviewd_data::dataset::{
    NAME_BYTES_MAX, PROSE_BYTES_MAX, URL_BYTES_MAX, check_review, is_absolute_url, is_language_tag,
    is_review_id,
};
use reviewd_data::model::{Rating, platform as known_platform};
use reviewd_wire::date::Date;
use reviewd_wire::text::quote;

/// Longest text with markup, in bytes: four times the limit of published texts.
const MARKED_UP_BYTES_MAX: usize = 4 * PROSE_BYTES_MAX;

/// A review of a source, with valid values.
pub(super) struct Candidate {
    pub(super) id: String,
    pub(super) date: Date,
    /// Whether the source hides the review; then it is not published here either.
    pub(super) hidden: bool,
    /// When the source last changed the review, in seconds since 1970; `None` if unknown.
    pub(super) updated: Option<i64>,
    /// The keys that the source has; the others keep the values of the stored review.
    pub(super) says: StoredReview,
}

/// Checks and cleans the values of one record.
pub(super) fn normalise(record: &Record, source: &ImportSource<'_>) -> Result<Candidate, String> {
    let mut wrong = record.unread.clone();
    let author = note(clean(record, Field::Author), &mut wrong).flatten();
    let author = published_name(&author.unwrap_or_default(), source);
    if author.is_empty() && wrong.is_empty() {
        wrong.push("author: is missing".to_owned());
    }
    let stated = note(clean(record, Field::Source), &mut wrong).flatten();
    let platform = platform_of(record, stated, source);
    let stars = note(stars(record, source), &mut wrong);
    let date = note(day(record, Field::Date, source), &mut wrong).flatten();
    if record.filled(Field::Date).is_none() {
        wrong.push("date: is missing".to_owned());
    }
    let words = note(words(record), &mut wrong).flatten();
    let reply = note(reply(record, date, source), &mut wrong).flatten();
    let mut verified = note(verified(record), &mut wrong).flatten();
    let (Some(rating), Some(date), true) = (stars, date, wrong.is_empty()) else {
        return Err(wrong.join("; "));
    };
    let content = words.as_deref().unwrap_or_default();
    let by_content = || identity::of_content(&platform, &author, date, content);
    let id = id(record, &platform).unwrap_or_else(by_content);
    let mut says = StoredReview(record.extra.clone());
    says.set("id", id.as_str());
    // Without a value for `verified`, a stored verification stays. The operator's own tables are no verifier.
    let is_platform = !record.is_ours && known_platform(&platform).is_some();
    if let Some(is_verified) = verified.filter(|_| is_platform) {
        let by = is_verified.then(|| json!({"by": platform, "method": null}));
        says.set("verification", by);
    }
    // A new text without a translation removes a stored one, except in exports of reviewd, which have it in a key.
    if let Some(given) = record.value(Field::Text).filter(|_| !record.is_ours) {
        let translation = text::translation(given);
        says.set(
            "translation",
            translation.filter(|text| text.len() <= PROSE_BYTES_MAX),
        );
    }
    let hidden = is_hidden(record, source);
    if hidden {
        verified = Some(false);
    }
    says.set_stated("language", stated_language(record));
    says.set_stated("author_avatar_url", url(record, Field::AuthorAvatarUrl));
    says.set_stated("source_url", url(record, Field::SourceUrl));
    says.set_stated("text", words);
    says.set_stated("owner_reply", reply);
    says.set_stated("verified", verified);
    says.set("author", author);
    says.set("rating", rating.stars());
    says.set("date", date.to_string());
    says.set("source", platform);
    if !record.extra.is_empty() {
        // Keys that only exports of reviewd have are checked by the decoder of `reviews.json`.
        let problems = check_review(&says.clone().over(None).render());
        if let Some(problem) = problems.kept.first() {
            let value = problem.value.as_ref().map(|value| format!("{value} "));
            let (path, value) = (&problem.path, value.unwrap_or_default());
            return Err(format!("{path}: {value}{}", problem.message));
        }
    }
    let updated = record.filled(Field::Updated);
    let updated = updated.and_then(|given| date::moment(given, source.order));
    Ok(Candidate {
        id,
        date,
        hidden,
        updated,
        says,
    })
}

/// Returns the value, or adds the error to `wrong`.
fn note<T>(result: Result<T, String>, wrong: &mut Vec<String>) -> Option<T> {
    result.map_err(|reason| wrong.push(reason)).ok()
}

/// Returns the id of a record that has one, even if the record is refused.
pub(super) fn known_id(record: &Record, source: &ImportSource<'_>) -> Option<String> {
    let stated = record.filled(Field::Source).map(text::line);
    id(record, &platform_of(record, stated, source))
}

fn id(record: &Record, platform: &str) -> Option<String> {
    let own = record.filled(Field::Id)?;
    match record.is_ours && is_review_id(own) {
        true => Some(own.to_owned()),
        false => Some(identity::of_own(platform, own)),
    }
}

/// Returns a text without markup, or a name in one line; `None` if the source has no column for it. Texts exported from
/// a reviewd are not changed.
fn clean(record: &Record, field: Field) -> Result<Option<String>, String> {
    let Some(given) = record.value(field) else {
        return Ok(None);
    };
    // Checked before the markup is parsed.
    if given.len() > MARKED_UP_BYTES_MAX {
        return Err(format!(
            "{field}: is longer than {MARKED_UP_BYTES_MAX} bytes with its markup"
        ));
    }
    let clean = match field {
        Field::OwnerReply if given.trim().is_empty() => String::new(),
        Field::Text | Field::OwnerReply if record.is_ours => given.to_owned(),
        Field::Text | Field::OwnerReply => text::prose(given),
        _ if record.is_ours && !given.contains(char::is_control) => given.trim().to_owned(),
        _ => text::line(given),
    };
    let bytes_max = match field {
        Field::Author | Field::Source => NAME_BYTES_MAX,
        _ => PROSE_BYTES_MAX,
    };
    match clean.len() <= bytes_max {
        true => Ok(Some(clean)),
        false => Err(format!("{field}: is longer than {bytes_max} bytes")),
    }
}

/// Returns the name to publish, without e-mail and IP addresses.
fn published_name(named: &str, source: &ImportSource<'_>) -> String {
    let is_address = |word: &&str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        let mail = word.split_once('@');
        mail.is_some_and(|(own, host)| !own.is_empty() && host.contains('.'))
            || word.parse::<IpAddr>().is_ok()
    };
    let words = named.split_whitespace().filter(|word| !is_address(word));
    match words.collect::<Vec<_>>().join(" ") {
        rest if !rest.is_empty() => rest,
        _ if named.is_empty() => source.format.anonymous.clone(),
        _ => ANONYMOUS[2].to_owned(),
    }
}

/// Returns the platform of the review, as set by the operator, the source (first in exports of reviewd), or the format.
fn platform_of(record: &Record, stated: Option<String>, source: &ImportSource<'_>) -> String {
    let is_channel = |name: &str| !record.is_ours && is_listed(CHANNELS, &normal(name));
    let stated = stated.filter(|name| !name.is_empty() && !is_channel(name));
    let asked = source.options.source.clone();
    let found = match record.is_ours {
        true => stated.or(asked),
        false => asked.or(stated),
    };
    found.unwrap_or_else(|| source.format.source.clone())
}

/// Returns the stars, which the format may express in words.
fn stars(record: &Record, source: &ImportSource<'_>) -> Result<Rating, String> {
    let words = &source.format.ratings;
    if let Some(given) = record.filled(Field::Rating) {
        let stars = words.get(&given.to_lowercase());
        return rating::parse(
            stars.map_or(given, String::as_str),
            record.filled(Field::BestRating),
        );
    }
    if words.is_empty() {
        return Err("rating: is missing".to_owned());
    }
    let words = words
        .iter()
        .map(|(word, stars)| format!("{word} for {stars}"));
    let words = words.collect::<Vec<_>>().join(", ");
    let remedy = "as in a recommendation; --map rating=recommendation_type takes";
    Err(format!("rating: is missing, {remedy} {words}"))
}

/// Whether the source hides the review: its status is not among those that the format, or [`SHOWN`], lists.
fn is_hidden(record: &Record, source: &ImportSource<'_>) -> bool {
    let Some(status) = record.value(Field::Status).map(normal) else {
        return false;
    };
    match source.format.published.as_str() {
        "" => !status.is_empty() && !is_listed(SHOWN, &status),
        published => !is_listed(published, &status),
    }
}

/// Returns the language if it is a tag; a name such as "English" is not a tag, although it has the form of one.
fn stated_language(record: &Record) -> Option<Option<String>> {
    let tag = record.value(Field::Language)?.trim().replace('_', "-");
    let primary = tag.split('-').next().unwrap_or_default();
    Some((primary.len() <= 3 && is_language_tag(&tag)).then_some(tag))
}

fn day(record: &Record, field: Field, source: &ImportSource<'_>) -> Result<Option<Date>, String> {
    let Some(given) = record.filled(field) else {
        return Ok(None);
    };
    let date = date::parse(given, source.order, &field.to_string())?;
    // In some time zone it is already tomorrow.
    match date.days() > source.options.today.days() + 1 {
        true => Err(format!("{field}: {date} is in the future")),
        false => Ok(Some(date)),
    }
}

/// Returns the text, preceded by the title unless the text begins with it.
fn words(record: &Record) -> Result<Option<String>, String> {
    let title = clean(record, Field::Title)?.filter(|title| !title.is_empty());
    let words = clean(record, Field::Text)?;
    let (Some(title), Some(words)) = (&title, &words) else {
        return Ok(words.or(title));
    };
    // Some sources use the first words of the text as title.
    let shown = title.trim_end_matches(['.', '…', ' ']);
    let whole = match words.as_str() {
        "" => title.clone(),
        words if text::line(words).starts_with(shown) => words.to_owned(),
        words => format!("{title}\n\n{words}"),
    };
    match whole.len() {
        0..=PROSE_BYTES_MAX => Ok(Some(whole)),
        _ => Err(format!("text: is longer than {PROSE_BYTES_MAX} bytes")),
    }
}

/// Returns the owner's reply, null if it is empty; without a date it gets the earliest possible one, the review's.
fn reply(
    record: &Record,
    review: Option<Date>,
    source: &ImportSource<'_>,
) -> Result<Option<Value>, String> {
    let Some(text) = clean(record, Field::OwnerReply)? else {
        return Ok(None);
    };
    if text.is_empty() {
        return Ok(Some(Value::Null));
    }
    let date = day(record, Field::OwnerReplyDate, source)?.or(review);
    // Without any date the record is already refused.
    Ok(date.map(|date| json!({"text": text, "date": date.to_string()})))
}

fn verified(record: &Record) -> Result<Option<bool>, String> {
    let Some(given) = record.filled(Field::Verified) else {
        return Ok(None);
    };
    match given.to_lowercase().replace(' ', "") {
        yes if is_listed("true yes y 1 verified ja oui sí si x ✓", &yes) => Ok(Some(true)),
        no if is_listed("false no n 0 unverified notverified nein non", &no) => Ok(Some(false)),
        _ => Err(format!(
            "verified: {} is neither true nor false",
            quote(given)
        )),
    }
}

/// Returns remarks on invalid URLs, which are left out: they are no reason to refuse a review.
pub(super) fn unusable(record: &Record) -> impl Iterator<Item = String> {
    let fields = [Field::AuthorAvatarUrl, Field::SourceUrl].into_iter();
    let fields = fields.filter(|field| url(record, *field) == Some(None));
    fields.filter_map(|field| {
        let given = quote(record.filled(field)?);
        let why = format!("is not an http or https URL of at most {URL_BYTES_MAX} bytes");
        Some(format!("{field}: {given} {why}, and was omitted"))
    })
}

/// Returns the URL of a field; `Some(None)` if it is invalid.
fn url(record: &Record, field: Field) -> Option<Option<String>> {
    let given = record.value(field)?.trim();
    let url = match given.strip_prefix("//") {
        Some(rest) => format!("https://{rest}"),
        None => given.to_owned(),
    };
    Some((url.len() <= URL_BYTES_MAX && is_absolute_url(&url)).then_some(url))
}

//! Converts a record into a candidate: all values by the same rules for every source, all errors in one message.

use std::net::IpAddr;

use serde_json::{Value, json};
use thiserror::Error;

use super::date::ImportDateError;
use super::formats::{ANONYMOUS, CHANNELS};
use super::media::media;
use super::rating::{RatingError, Scale, Stars};
use super::record::{Field, Record};
use super::relative::ApproximateDate;
use super::review::ReviewObject;
use super::source::ImportSource;
use super::text::{is_listed, normal};
use super::{date, identity, rating, relative, text};
use reviewd_data::dataset::{
    NAME_BYTES_MAX, PROSE_BYTES_MAX, URL_BYTES_MAX, check_review, is_absolute_url, is_language_tag,
    is_review_id,
};
use reviewd_data::model::{
    DatePrecision, METHOD_ACCOUNT, platform as known_platform, typed_platform,
};
use reviewd_wire::date::Date;
use reviewd_wire::text::quote;

/// Longest text with markup, in bytes: four times the limit of published texts.
const MARKED_UP_BYTES_MAX: usize = 4 * PROSE_BYTES_MAX;

/// Values of columns about verification that mean yes, and no, without spaces.
const VERIFIED: &str = "true yes y 1 verified ja oui sí si sì sim tak x ✓ wahr vrai verdadero vero verdadeiro waar prawda buyer verifiedbuyer verified-buyer verifiedpurchase \
    verified-purchase verifiedpurchaser verifiedreviewer purchase customer";
const UNVERIFIED: &str = "false no n 0 unverified notverified not-verified nein non não nao nee nie falsch faux falso onwaar fałsz \
    nothing none unverifiedbuyer anonymous email";

/// Sources of texts that a web site shows before it has reviews.
const INVENTED: &str = "fictive fictional fictif fake sample demo placeholder example test dummy mock invented \
    beispiel exemple ejemplo esempio";

/// First cells of rows with sums and means, without punctuation.
const SUMMARIES: &str = "average averagerating avg mean total totals sum count overall durchschnitt gesamt summe mittelwert \
    moyenne promedio media totale gemiddelde totaal média średnia suma";

/// Why a record is refused. Each sentence begins with the field, except for a record that is no review.
#[derive(Debug, Error)]
pub(super) enum RecordError {
    #[error("is a summary of the rows above, not a review")]
    Summary,
    #[error("{0}: is missing")]
    Missing(Field),
    #[error("rating: is missing, as in a recommendation; --map rating={column} takes {words}")]
    MissingRecommendation { column: String, words: String },
    #[error("date: is missing; --undated takes such reviews")]
    MissingDate,
    #[error("{field}: is longer than {bytes_max} bytes")]
    Long { field: Field, bytes_max: usize },
    #[error("{0}: is longer than {MARKED_UP_BYTES_MAX} bytes with its markup")]
    LongMarkup(Field),
    #[error("rating: {} {error}", quote(.text))]
    Rating { text: String, error: RatingError },
    #[error("{field}: {} {error}", quote(.text.trim()))]
    Date {
        field: Field,
        text: String,
        error: ImportDateError,
    },
    #[error(
        "date: {} is relative to the day on which the source was collected: set it with --as-of YYYY-MM-DD",
        quote(.0)
    )]
    RelativeDate(String),
    #[error("{field}: {date} is in the future")]
    Future { field: Field, date: Date },
    #[error("verified: {} is neither true nor false", quote(.0))]
    Verified(String),
    #[error(
        "source: {} is not a known platform; reviews of another one need a file of their own, and --source NAME",
        quote(.0)
    )]
    NoPlatform(String),
    /// What the reader or the decoder of `reviews.json` says about the record.
    #[error("{0}")]
    Invalid(String),
    #[error(
        "id: is that of the existing review by {} from {}",
        quote(.author),
        quote(.source_name)
    )]
    OtherReview { author: String, source_name: String },
    #[error("{}", join(.0))]
    Several(Vec<RecordError>),
}

fn join(errors: &[RecordError]) -> String {
    let sentences: Vec<String> = errors.iter().map(ToString::to_string).collect();
    sentences.join("; ")
}

/// A review of a source, with valid values.
pub(super) struct Candidate {
    pub(super) id: String,
    pub(super) date: Date,
    /// How exact the date is; `None` for a day.
    pub(super) precision: Option<DatePrecision>,
    /// The verification of a review that its platform published, if it is not verified.
    pub(super) account: Option<Value>,
    /// Why the reply has the day of the review instead of its own; `None` if it has its own, or there is no reply.
    pub(super) reply_day: Option<ReplyDayFault>,
    /// Whether the source hides the review; then it is not published here either.
    pub(super) hidden: bool,
    /// When the source last changed the review, in seconds since 1970; `None` if unknown.
    pub(super) updated: Option<i64>,
    /// The keys that the source has; the others keep the values of the stored review.
    pub(super) says: ReviewObject,
}

/// Why the day of a reply cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(super) enum ReplyDayFault {
    #[error("owner_reply_date: is missing")]
    Missing,
    #[error("owner_reply_date: {0} is before the review")]
    Early(Date),
}

/// The owner's reply, and what is wrong with its day.
struct CandidateReply {
    /// Text and day, or null if there is no reply.
    value: Value,
    day_fault: Option<ReplyDayFault>,
}

/// Checks and cleans the values of one record. The error names everything that is wrong with it.
pub(super) fn normalize(
    record: &Record,
    source: &ImportSource<'_>,
) -> Result<Candidate, RecordError> {
    if is_summary(record) {
        return Err(RecordError::Summary);
    }
    let values = RecordValues::of(record, source)?;
    let id = match own_id(record, &values.platform) {
        Some(own) => own,
        None => values.derived_id(record, source),
    };
    let account = account(record, &values.platform, source)?;
    let is_hidden = record.is_hidden || is_invented(record);
    let ApproximateDate { date, precision } = values.date;
    let reply_day = values.reply.as_ref().and_then(|reply| reply.day_fault);
    let says = values.says(&id, is_hidden, record, source);
    if !record.extra.is_empty() {
        check_extra(&says)?;
    }
    let updated = record.filled(Field::Updated);
    Ok(Candidate {
        id,
        date,
        precision,
        account,
        reply_day,
        hidden: is_hidden,
        updated: updated.and_then(|text| date::unix_time(text, source.order)),
        says,
    })
}

/// The values of a record that can be wrong, once they are right.
struct RecordValues {
    author: String,
    platform: String,
    stars: Stars,
    date: ApproximateDate,
    /// The text of the review; `None` if the source has no column for it.
    words: Option<String>,
    /// `None` if the source has no column for it.
    reply: Option<CandidateReply>,
    verified: Option<bool>,
}

impl RecordValues {
    fn of(record: &Record, source: &ImportSource<'_>) -> Result<RecordValues, RecordError> {
        let mut wrong: Vec<RecordError> = Vec::new();
        for sentence in &record.unread {
            wrong.push(RecordError::Invalid(sentence.clone()));
        }
        let named = note(clean_field(record, Field::Author), &mut wrong).flatten();
        let author = published_name(&named.unwrap_or_default(), source);
        if author.is_empty() && wrong.is_empty() {
            wrong.push(RecordError::Missing(Field::Author));
        }
        let stated = note(clean_field(record, Field::Source), &mut wrong).flatten();
        let platform = platform_of(record, stated, source);
        let stars = note(stars(record, source), &mut wrong);
        let date = note(dated(record, source), &mut wrong);
        let day = date.map(|dated| dated.date);
        let words = note(review_text(record), &mut wrong).flatten();
        let reply = note(reply(record, day, source), &mut wrong).flatten();
        let verified = note(verified(record), &mut wrong).flatten();
        match (stars, date) {
            (Some(stars), Some(date)) if wrong.is_empty() => Ok(RecordValues {
                author,
                platform,
                stars,
                date,
                words,
                reply,
                verified,
            }),
            _ => Err(RecordError::Several(without_hint(wrong))),
        }
    }

    /// The text, or "".
    fn text(&self) -> &str {
        self.words.as_deref().unwrap_or_default()
    }

    /// The id of a record whose source gives none.
    fn derived_id(&self, record: &Record, source: &ImportSource<'_>) -> String {
        let platform = &self.platform;
        let author = &self.author;
        match self.date.precision {
            None => identity::id_of_content(platform, author, self.date.date, self.text()),
            Some(DatePrecision::Unknown) => {
                let below = source.count - record.number.min(source.count);
                identity::id_of_undated(platform, author, self.text(), below)
            }
            Some(_) => identity::id_of_approximate(platform, author, self.text()),
        }
    }

    /// The keys of the review that the source has.
    fn says(
        self,
        id: &str,
        is_hidden: bool,
        record: &Record,
        source: &ImportSource<'_>,
    ) -> ReviewObject {
        let mut says = ReviewObject(record.extra.clone());
        says.set("id", id);
        if !record.is_ours {
            // Without a value for `verified`, a stored verification stays. The operator's own tables are no verifier.
            if let Some(is_verified) = self.verified
                && known_platform(&self.platform).is_some()
            {
                says.set("verification", verification(&self.platform, is_verified));
            }
            // A new text without a translation removes a stored one. Exports of reviewd have it in a key.
            if record.value(Field::Text).is_some() {
                let translation = translation(record, self.text());
                says.set(
                    "translation",
                    translation.filter(|text| text.len() <= PROSE_BYTES_MAX),
                );
            }
            says.set("rating_original", self.stars.original);
            let precision = self.date.precision;
            says.set(
                "date_precision",
                precision.map(|precision| json!(precision)),
            );
        }
        if let Some(values) = &record.media {
            says.set("media", media(values));
        }
        let verified = if is_hidden {
            Some(false)
        } else {
            self.verified
        };
        says.set_stated("location", location(record, source));
        says.set_stated("language", stated_language(record));
        says.set_stated("author_avatar_url", url(record, Field::AuthorAvatarUrl));
        says.set_stated("source_url", url(record, Field::SourceUrl));
        says.set_stated("text", self.words);
        says.set_stated("owner_reply", self.reply.map(|reply| reply.value));
        says.set_stated("verified", verified);
        says.set("author", self.author);
        says.set("rating", self.stars.rating.stars());
        says.set("date", self.date.date.to_string());
        says.set("source", self.platform);
        says
    }
}

/// The verification of a review that a platform says it has verified; null if it says that it has not.
fn verification(platform: &str, is_verified: bool) -> Value {
    if !is_verified {
        return Value::Null;
    }
    json!({"by": platform, "method": null})
}

/// Leaves out the flag for records without a date if they have other faults, too.
fn without_hint(mut wrong: Vec<RecordError>) -> Vec<RecordError> {
    if wrong.len() < 2 {
        return wrong;
    }
    for error in &mut wrong {
        if matches!(error, RecordError::MissingDate) {
            *error = RecordError::Missing(Field::Date);
        }
    }
    wrong
}

/// Whether the source is named as that of invented texts.
fn is_invented(record: &Record) -> bool {
    let name = record.filled(Field::Source).map(normal);
    !record.is_ours && name.is_some_and(|name| is_listed(INVENTED, &name))
}

/// Lets the decoder of `reviews.json` check the keys that only exports of reviewd have.
fn check_extra(says: &ReviewObject) -> Result<(), RecordError> {
    let problems = check_review(&says.clone().over(None).render());
    let Some(problem) = problems.listed.first() else {
        return Ok(());
    };
    let path = &problem.path;
    let message = &problem.message;
    Err(RecordError::Invalid(match &problem.value {
        Some(value) => format!("{path}: {value} {message}"),
        None => format!("{path}: {message}"),
    }))
}

/// Whether a record is a row of sums below a table, rather than a review.
fn is_summary(record: &Record) -> bool {
    let is_empty = record.filled(Field::Text).is_none() && record.filled(Field::Date).is_none();
    let author = record.filled(Field::Author).map(normal);
    is_empty && author.is_some_and(|author| is_listed(SUMMARIES, &author))
}

/// Returns the value, or adds the error to `wrong`.
fn note<T>(result: Result<T, RecordError>, wrong: &mut Vec<RecordError>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(error) => {
            wrong.push(error);
            None
        }
    }
}

/// Returns the id of a record that has one, even if the record is refused.
pub(super) fn id_of(record: &Record, source: &ImportSource<'_>) -> Option<String> {
    let stated = record.filled(Field::Source).map(text::line);
    own_id(record, &platform_of(record, stated, source))
}

/// The id of a record whose source gives one.
fn own_id(record: &Record, platform: &str) -> Option<String> {
    let own = record.filled(Field::Id)?;
    if record.is_ours && is_review_id(own) {
        return Some(own.to_owned());
    }
    Some(identity::id_of_own(platform, own))
}

/// Returns a text without markup, or a name in one line; `None` if the source has no column for it. Texts exported from
/// a reviewd are not changed.
fn clean_field(record: &Record, field: Field) -> Result<Option<String>, RecordError> {
    let Some(text) = record.value(field) else {
        return Ok(None);
    };
    // Checked before the markup is parsed.
    if text.len() > MARKED_UP_BYTES_MAX {
        return Err(RecordError::LongMarkup(field));
    }
    let clean = match field {
        Field::OwnerReply if text.trim().is_empty() => String::new(),
        Field::Text | Field::OwnerReply if record.is_ours => text.to_owned(),
        Field::Text | Field::OwnerReply | Field::Pros | Field::Cons => text::prose(text),
        _ if record.is_ours && !text.contains(char::is_control) => text.trim().to_owned(),
        _ => text::line(text),
    };
    let bytes_max = match field {
        Field::Author | Field::Source => NAME_BYTES_MAX,
        _ => PROSE_BYTES_MAX,
    };
    if clean.len() > bytes_max {
        return Err(RecordError::Long { field, bytes_max });
    }
    Ok(Some(clean))
}

/// Returns the name to publish, without e-mail and IP addresses.
fn published_name(named: &str, source: &ImportSource<'_>) -> String {
    if named.is_empty() {
        return source.format.anonymous.clone();
    }
    let words: Vec<&str> = named
        .split_whitespace()
        .filter(|word| !is_address(word))
        .collect();
    if words.is_empty() {
        return ANONYMOUS[2].to_owned();
    }
    words.join(" ")
}

/// Whether a word is an e-mail or IP address.
fn is_address(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    if word.parse::<IpAddr>().is_ok() {
        return true;
    }
    match word.split_once('@') {
        Some((own, host)) => !own.is_empty() && host.contains('.'),
        None => false,
    }
}

/// Returns the platform of the review, as set by the operator, the source (first in exports of reviewd), or the format.
fn platform_of(record: &Record, stated: Option<String>, source: &ImportSource<'_>) -> String {
    let of_format = &source.format.source;
    let asked = source.options.source.clone();
    let stated = stated.filter(|name| !name.is_empty());
    if record.is_ours {
        return stated.or(asked).unwrap_or_else(|| of_format.clone());
    }
    if let Some(asked) = asked {
        return asked;
    }
    match stated {
        // A channel, such as "email", is no platform.
        Some(name) if !is_listed(CHANNELS, &normal(&name)) => platform_in(name, of_format),
        _ => of_format.clone(),
    }
}

/// Returns the platform of a stated source: `trustpilot_review_search`, a kind of result of an API, names Trustpilot, and
/// the platform of the format is written as there.
fn platform_in(stated: String, of_format: &str) -> String {
    if normal(&stated) == normal(of_format) {
        return of_format.to_owned();
    }
    match stated.split_once('_') {
        Some((name, _)) if known_platform(name).is_some() => name.to_owned(),
        _ => stated,
    }
}

/// Returns the stars, which the format may express in words.
fn stars(record: &Record, source: &ImportSource<'_>) -> Result<Stars, RecordError> {
    let stars_of_words = &source.format.ratings;
    if let Some(value) = record.filled(Field::Rating) {
        let listed = stars_of_words.get(&value.to_lowercase());
        let text = listed.map_or(value, String::as_str);
        let best_of_format = source.format.best.as_str();
        let mut best = record.filled(Field::BestRating);
        if best.is_none() && !best_of_format.is_empty() {
            best = Some(best_of_format);
        }
        let scale = Scale {
            named: source.options.scale,
            best,
        };
        return rating::parse(text, scale).map_err(|error| RecordError::Rating {
            text: text.trim().to_owned(),
            error,
        });
    }
    if stars_of_words.is_empty() {
        return Err(RecordError::Missing(Field::Rating));
    }
    let words: Vec<String> = stars_of_words
        .iter()
        .map(|(word, stars)| format!("{word} for {stars}"))
        .collect();
    Err(RecordError::MissingRecommendation {
        column: source.format.words_column.clone(),
        words: words.join(", "),
    })
}

/// Returns the English translation: that of a column, or the one that Google adds to a text.
fn translation(record: &Record, own: &str) -> Option<String> {
    let stated = record.filled(Field::Translation).map(text::prose);
    let language = record.filled(Field::TranslationLanguage);
    let is_english = language.is_none_or(|tag| tag.to_lowercase().starts_with("en"));
    if let Some(stated) = stated
        && is_english
        && stated != own
        && !own.is_empty()
    {
        return Some(stated);
    }
    text::translation(record.value(Field::Text)?)
}

/// Returns the verification of a review that its platform publishes, if the operator asked for such reviews.
fn account(
    record: &Record,
    platform: &str,
    source: &ImportSource<'_>,
) -> Result<Option<Value>, RecordError> {
    if !source.options.is_from_platform || record.is_ours {
        return Ok(None);
    }
    // A column has all kinds of names; one that is not known counts only if the operator has typed it.
    let name = if source.options.source.is_some() {
        typed_platform(platform)
    } else {
        known_platform(platform)
    };
    match name {
        Some(name) => Ok(Some(json!({"by": name, "method": METHOD_ACCOUNT}))),
        None => Err(RecordError::NoPlatform(platform.to_owned())),
    }
}

/// Returns the id of the location: that of the flag, or the name in the source in the form of an id.
fn location(record: &Record, source: &ImportSource<'_>) -> Option<Value> {
    if let Some(asked) = &source.options.location {
        return Some(asked.as_str().into());
    }
    let name = record.filled(Field::Location)?.to_lowercase();
    let words: Vec<&str> = name
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let id = words.join("-");
    if id.is_empty() || id.len() > NAME_BYTES_MAX {
        return None;
    }
    Some(id.into())
}

/// Returns the language of a field; `Some(None)` if it is not a tag. A name such as "English" is not a tag, although it
/// has the form of one.
fn stated_language(record: &Record) -> Option<Option<String>> {
    let tag = record.value(Field::Language)?.trim().replace('_', "-");
    let primary = tag.split('-').next().unwrap_or_default();
    let is_tag = primary.len() <= 3 && is_language_tag(&tag);
    if !is_tag {
        return Some(None);
    }
    Some(Some(tag))
}

/// Returns the date of the review: a day, a time relative to the collection, a month, or a year; without any date the day
/// of the collection, if the operator asked for it.
fn dated(record: &Record, source: &ImportSource<'_>) -> Result<ApproximateDate, RecordError> {
    let collected = collected(record, source);
    let Some(text) = record.filled(Field::Date) else {
        if !source.options.is_undated {
            return Err(RecordError::MissingDate);
        }
        return Ok(ApproximateDate {
            date: collected.unwrap_or(source.options.today),
            precision: Some(DatePrecision::Unknown),
        });
    };
    let approximate = if relative::is_relative(text) {
        let Some(collected) = collected else {
            return Err(RecordError::RelativeDate(text.to_owned()));
        };
        relative::parse(text, collected)
    } else {
        date::month_or_year(text)
    };
    let dated = match approximate {
        Some(dated) => dated,
        None => ApproximateDate {
            date: parse_date(text, Field::Date, source)?,
            precision: None,
        },
    };
    check_past(dated.date, Field::Date, source)?;
    Ok(dated)
}

fn parse_date(text: &str, field: Field, source: &ImportSource<'_>) -> Result<Date, RecordError> {
    date::parse(text, source.order).map_err(|error| RecordError::Date {
        field,
        text: text.to_owned(),
        error,
    })
}

/// The day on which a record was collected.
fn collected(record: &Record, source: &ImportSource<'_>) -> Option<Date> {
    if source.options.as_of.is_some() {
        return source.options.as_of;
    }
    if let Some(text) = record.filled(Field::Collected)
        && let Ok(day) = date::parse(text, source.order)
    {
        return Some(day);
    }
    source.collected
}

/// Returns the day of another field than the review's own date.
fn day(
    record: &Record,
    field: Field,
    source: &ImportSource<'_>,
) -> Result<Option<Date>, RecordError> {
    let Some(text) = record.filled(field) else {
        return Ok(None);
    };
    let relative = collected(record, source).and_then(|day| relative::parse(text, day));
    // A month or a year stands for its first day.
    let approximate = relative.or_else(|| date::month_or_year(text));
    let date = match approximate {
        Some(approximate) => approximate.date,
        None => parse_date(text, field, source)?,
    };
    check_past(date, field, source)?;
    Ok(Some(date))
}

fn check_past(date: Date, field: Field, source: &ImportSource<'_>) -> Result<(), RecordError> {
    // In some time zone it is already tomorrow.
    if date.days() > source.options.today.days() + 1 {
        return Err(RecordError::Future { field, date });
    }
    Ok(())
}

/// Returns the text, preceded by the title unless the text begins with it, and followed by what the author liked or not.
fn review_text(record: &Record) -> Result<Option<String>, RecordError> {
    // Amazon's title begins with the stars, or is nothing else.
    let title = clean_field(record, Field::Title)?
        .filter(|title| !title.is_empty() && !rating::states_scale(title));
    let Some(body) = body(record)? else {
        return Ok(title);
    };
    let Some(title) = title else {
        return Ok(Some(body));
    };
    if body.is_empty() {
        return Ok(Some(title));
    }
    // Some sources use the first words of the text as title.
    let shown = title.trim_end_matches(['.', '…', ' ']);
    if text::line(&body).starts_with(shown) {
        return Ok(Some(body));
    }
    let whole = format!("{title}\n\n{body}");
    check_length(&whole)?;
    Ok(Some(whole))
}

/// Returns the text and what the author liked or not, in paragraphs; `None` if the source has no column for any of them.
fn body(record: &Record) -> Result<Option<String>, RecordError> {
    let mut paragraphs = Vec::new();
    let mut is_there = false;
    for field in [Field::Text, Field::Pros, Field::Cons] {
        let paragraph = clean_field(record, field)?;
        is_there |= paragraph.is_some();
        paragraphs.extend(paragraph.filter(|paragraph| !paragraph.is_empty()));
    }
    if !is_there {
        return Ok(None);
    }
    let body = paragraphs.join("\n\n");
    check_length(&body)?;
    Ok(Some(body))
}

/// Checks the length of a text that was joined of several.
fn check_length(text: &str) -> Result<(), RecordError> {
    if text.len() > PROSE_BYTES_MAX {
        return Err(RecordError::Long {
            field: Field::Text,
            bytes_max: PROSE_BYTES_MAX,
        });
    }
    Ok(())
}

/// Returns the owner's reply; without a day of its own it gets the earliest possible one, the review's.
fn reply(
    record: &Record,
    review: Option<Date>,
    source: &ImportSource<'_>,
) -> Result<Option<CandidateReply>, RecordError> {
    let Some(text) = clean_field(record, Field::OwnerReply)? else {
        return Ok(None);
    };
    if text.is_empty() && source.has_several_replies() {
        return Ok(None);
    }
    if text.is_empty() {
        return Ok(Some(CandidateReply {
            value: Value::Null,
            day_fault: None,
        }));
    }
    let stated = day(record, Field::OwnerReplyDate, source)?;
    // A month may begin before the review, but no reply does. If only one of both dates is known, it is that one.
    let date = stated.max(review);
    // Without any date the record is already refused.
    Ok(date.map(|date| CandidateReply {
        value: json!({"text": text, "date": date.to_string()}),
        day_fault: reply_day_fault(record, stated, date),
    }))
}

/// What is wrong with the stated day of a reply that is published with the day `shown`.
fn reply_day_fault(record: &Record, stated: Option<Date>, shown: Date) -> Option<ReplyDayFault> {
    let Some(stated) = stated else {
        return Some(ReplyDayFault::Missing);
    };
    let text = record.filled(Field::OwnerReplyDate).unwrap_or_default();
    let is_exact = !relative::is_relative(text) && date::month_or_year(text).is_none();
    if stated < shown && is_exact {
        return Some(ReplyDayFault::Early(stated));
    }
    None
}

fn verified(record: &Record) -> Result<Option<bool>, RecordError> {
    let Some(text) = record.filled(Field::Verified) else {
        return Ok(None);
    };
    let word = text.to_lowercase().replace([' ', '_'], "");
    if is_listed(VERIFIED, &word) {
        return Ok(Some(true));
    }
    if is_listed(UNVERIFIED, &word) {
        return Ok(Some(false));
    }
    Err(RecordError::Verified(text.to_owned()))
}

/// Returns remarks on invalid URLs, which are left out: they are no reason to refuse a review.
pub(super) fn unusable(record: &Record) -> impl Iterator<Item = String> {
    let fields = [Field::AuthorAvatarUrl, Field::SourceUrl].into_iter();
    fields.filter_map(|field| {
        if url(record, field) != Some(None) {
            return None;
        }
        let quoted = quote(record.filled(field)?);
        let why = format!("is not an http or https URL of at most {URL_BYTES_MAX} bytes");
        Some(format!("{field}: {quoted} {why}, and was omitted"))
    })
}

/// Returns the URL of a field; `Some(None)` if it is invalid.
fn url(record: &Record, field: Field) -> Option<Option<String>> {
    let written = record.value(field)?.trim();
    let url = match written.strip_prefix("//") {
        Some(rest) => format!("https://{rest}"),
        None => written.to_owned(),
    };
    let is_valid = url.len() <= URL_BYTES_MAX && is_absolute_url(&url);
    if !is_valid {
        return Some(None);
    }
    Some(Some(url))
}

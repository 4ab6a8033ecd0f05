//! Converts a record into a candidate: all values by the same rules for every source, all errors in one message.

use std::net::IpAddr;

use serde_json::{Value, json};

use super::formats::{ANONYMOUS, CHANNELS};
use super::media::media;
use super::rating::{Scale, Stars};
use super::record::{Field, Record};
use super::relative::Approximate;
use super::review::StoredReview;
use super::source::ImportSource;
use super::text::{is_listed, normal};
use super::{date, identity, rating, relative, text};
use reviewd_data::dataset::{
    NAME_BYTES_MAX, PROSE_BYTES_MAX, URL_BYTES_MAX, check_review, is_absolute_url, is_language_tag,
    is_review_id,
};
use reviewd_data::model::{DatePrecision, METHOD_ACCOUNT, platform as known_platform};
use reviewd_wire::date::Date;
use reviewd_wire::text::quote;

/// Longest text with markup, in bytes: four times the limit of published texts.
const MARKED_UP_BYTES_MAX: usize = 4 * PROSE_BYTES_MAX;

/// Values of columns about verification that mean yes, and no, without spaces.
const VERIFIED: &str = "true yes y 1 verified ja oui sí si x ✓ buyer verifiedbuyer verified-buyer verifiedpurchase \
    verified-purchase verifiedpurchaser verifiedreviewer purchase customer";
const UNVERIFIED: &str = "false no n 0 unverified notverified not-verified nein non nothing none unverifiedbuyer anonymous email";

/// Sources of texts that a web site shows before it has reviews.
const INVENTED: &str = "fictive fictional fictif fake sample demo placeholder example test dummy mock invented \
    beispiel exemple ejemplo esempio";

/// First cells of rows with sums and means, without punctuation.
const SUMMARIES: &str = "average averagerating avg mean total totals sum count overall durchschnitt gesamt summe mittelwert \
    moyenne promedio media totale gemiddelde totaal média średnia suma";

/// A review of a source, with valid values.
pub(super) struct Candidate {
    pub(super) id: String,
    pub(super) date: Date,
    /// How exact the date is; `None` for a day.
    pub(super) precision: Option<DatePrecision>,
    /// The verification of a review that its platform published, if it is not verified.
    pub(super) account: Option<Value>,
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
    if is_summary(record) {
        return Err("is a summary of the rows above, not a review".to_owned());
    }
    let author = note(clean(record, Field::Author), &mut wrong).flatten();
    let author = published_name(&author.unwrap_or_default(), source);
    if author.is_empty() && wrong.is_empty() {
        wrong.push("author: is missing".to_owned());
    }
    let stated = note(clean(record, Field::Source), &mut wrong).flatten();
    let platform = platform_of(record, stated, source);
    let stars = note(stars(record, source), &mut wrong);
    let date = note(dated(record, source), &mut wrong);
    let day = date.map(|dated| dated.date);
    let words = note(words(record), &mut wrong).flatten();
    let reply = note(reply(record, day, source), &mut wrong).flatten();
    let mut verified = note(verified(record), &mut wrong).flatten();
    let (Some(stars), Some(dated), true) = (stars, date, wrong.is_empty()) else {
        return Err(wrong.join("; "));
    };
    let Approximate { date, precision } = dated;
    let content = words.as_deref().unwrap_or_default();
    let own_id = id(record, &platform);
    let id = own_id.unwrap_or_else(|| match precision {
        None => identity::of_content(&platform, &author, date, content),
        Some(DatePrecision::Unknown) => identity::of_undated(
            &platform,
            &author,
            content,
            source.count - record.number.min(source.count),
        ),
        Some(_) => identity::of_about(&platform, &author, content),
    });
    let mut says = StoredReview(record.extra.clone());
    says.set("id", id.as_str());
    // Without a value for `verified`, a stored verification stays. The operator's own tables are no verifier.
    let is_platform = !record.is_ours && known_platform(&platform).is_some();
    if let Some(is_verified) = verified.filter(|_| is_platform) {
        let by = is_verified.then(|| json!({"by": platform, "method": null}));
        says.set("verification", by);
    }
    // A new text without a translation removes a stored one, except in exports of reviewd, which have it in a key.
    if record.value(Field::Text).is_some() && !record.is_ours {
        let translation = translation(record, content);
        says.set(
            "translation",
            translation.filter(|text| text.len() <= PROSE_BYTES_MAX),
        );
    }
    let account = account(record, &platform, source)?;
    let is_invented = record
        .filled(Field::Source)
        .is_some_and(|name| is_listed(INVENTED, &normal(name)));
    let hidden = record.is_hidden || (is_invented && !record.is_ours);
    if hidden {
        verified = Some(false);
    }
    if let Some(values) = &record.media {
        says.set("media", media(values));
    }
    if !record.is_ours {
        says.set("rating_original", stars.original);
        says.set(
            "date_precision",
            precision.map(|precision| json!(precision)),
        );
    }
    says.set_stated("location", location(record, source));
    says.set_stated("language", stated_language(record));
    says.set_stated("author_avatar_url", url(record, Field::AuthorAvatarUrl));
    says.set_stated("source_url", url(record, Field::SourceUrl));
    says.set_stated("text", words);
    says.set_stated("owner_reply", reply);
    says.set_stated("verified", verified);
    says.set("author", author);
    says.set("rating", stars.rating.stars());
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
        precision,
        account,
        hidden,
        updated,
        says,
    })
}

/// Whether a record is a row of sums below a table, rather than a review.
fn is_summary(record: &Record) -> bool {
    let is_empty = record.filled(Field::Text).is_none() && record.filled(Field::Date).is_none();
    let author = record.filled(Field::Author).map(normal);
    is_empty && author.is_some_and(|author| is_listed(SUMMARIES, &author))
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
        Field::Text | Field::OwnerReply | Field::Pros | Field::Cons => text::prose(given),
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
    let stated = stated.map(|name| platform_in(name, record.is_ours, &source.format.source));
    let found = match record.is_ours {
        true => stated.or(asked),
        false => asked.or(stated),
    };
    found.unwrap_or_else(|| source.format.source.clone())
}

/// Returns the platform of a stated source: `trustpilot_review_search`, a kind of result of an API, names Trustpilot, and
/// the platform of the format is written as there.
fn platform_in(stated: String, is_ours: bool, of_format: &str) -> String {
    if is_ours {
        return stated;
    }
    if normal(&stated) == normal(of_format) {
        return of_format.to_owned();
    }
    match stated.split_once('_') {
        Some((name, _)) if known_platform(name).is_some() => name.to_owned(),
        _ => stated,
    }
}

/// Returns the stars, which the format may express in words.
fn stars(record: &Record, source: &ImportSource<'_>) -> Result<Stars, String> {
    let words = &source.format.ratings;
    if let Some(given) = record.filled(Field::Rating) {
        let stars = words.get(&given.to_lowercase());
        let of_format = Some(source.format.best.as_str()).filter(|best| !best.is_empty());
        let scale = Scale {
            named: source.options.scale,
            best: record.filled(Field::BestRating).or(of_format),
        };
        return rating::parse(stars.map_or(given, String::as_str), scale);
    }
    if words.is_empty() {
        return Err("rating: is missing".to_owned());
    }
    let words = words
        .iter()
        .map(|(word, stars)| format!("{word} for {stars}"));
    let words = words.collect::<Vec<_>>().join(", ");
    let column = &source.format.words_column;
    Err(format!(
        "rating: is missing, as in a recommendation; --map rating={column} takes {words}"
    ))
}

/// Returns the English translation: that of a column, or the one that Google adds to a text.
fn translation(record: &Record, own: &str) -> Option<String> {
    let stated = record.filled(Field::Translation).map(text::prose);
    let language = record.filled(Field::TranslationLanguage);
    let is_english = language.is_none_or(|tag| tag.to_lowercase().starts_with("en"));
    let stated = stated.filter(|text| is_english && text != own && !own.is_empty());
    stated.or_else(|| text::translation(record.value(Field::Text)?))
}

/// Returns the verification of a review that its platform publishes, if the operator asked for such reviews.
fn account(
    record: &Record,
    platform: &str,
    source: &ImportSource<'_>,
) -> Result<Option<Value>, String> {
    if !source.options.is_from_platform || record.is_ours {
        return Ok(None);
    }
    match known_platform(platform) {
        Some(name) => Ok(Some(json!({"by": name, "method": METHOD_ACCOUNT}))),
        None => Err(format!(
            "source: {} is not a platform that publishes reviews, as --from-platform says: name it with --source, such as \
             --source google",
            quote(platform)
        )),
    }
}

/// Returns the id of the location: that of the flag, or the name in the source in the form of an id.
fn location(record: &Record, source: &ImportSource<'_>) -> Option<Value> {
    if let Some(asked) = &source.options.location {
        return Some(asked.as_str().into());
    }
    let mut id = String::new();
    for letter in record.filled(Field::Location)?.to_lowercase().chars() {
        match letter.is_alphanumeric() {
            true => id.push(letter),
            false if id.ends_with('-') || id.is_empty() => {}
            false => id.push('-'),
        }
    }
    let id = id.trim_end_matches('-');
    (!id.is_empty() && id.len() <= NAME_BYTES_MAX).then(|| id.into())
}

/// Returns the language if it is a tag; a name such as "English" is not a tag, although it has the form of one.
fn stated_language(record: &Record) -> Option<Option<String>> {
    let tag = record.value(Field::Language)?.trim().replace('_', "-");
    let primary = tag.split('-').next().unwrap_or_default();
    Some((primary.len() <= 3 && is_language_tag(&tag)).then_some(tag))
}

/// Returns the date of the review: a day, a time relative to the collection, a month, or a year; without any date the day
/// of the collection, if the operator asked for it.
fn dated(record: &Record, source: &ImportSource<'_>) -> Result<Approximate, String> {
    let collected = collected(record, source);
    let Some(given) = record.filled(Field::Date) else {
        if !source.options.is_undated {
            return Err("date: is missing; --undated takes such reviews".to_owned());
        }
        return Ok(Approximate {
            date: collected.unwrap_or(source.options.today),
            precision: Some(DatePrecision::Unknown),
        });
    };
    let approximate = match (relative::is_relative(given), collected) {
        (true, None) => {
            let quoted = quote(given);
            return Err(format!(
                "date: {quoted} is relative to the day on which the source was collected: set it with --as-of YYYY-MM-DD"
            ));
        }
        (true, Some(collected)) => relative::parse(given, collected),
        (false, _) => date::month_or_year(given),
    };
    let dated = match approximate {
        Some(dated) => dated,
        None => Approximate {
            date: date::parse(given, source.order, "date")?,
            precision: None,
        },
    };
    check_past(dated.date, Field::Date, source)?;
    Ok(dated)
}

/// The day on which a record was collected.
fn collected(record: &Record, source: &ImportSource<'_>) -> Option<Date> {
    if source.options.as_of.is_some() {
        return source.options.as_of;
    }
    let own = record.filled(Field::Collected);
    let own = own.and_then(|text| date::parse(text, source.order, "").ok());
    own.or(source.collected)
}

fn day(record: &Record, field: Field, source: &ImportSource<'_>) -> Result<Option<Date>, String> {
    let Some(given) = record.filled(field) else {
        return Ok(None);
    };
    let relative = collected(record, source).and_then(|day| relative::parse(given, day));
    // A month or a year stands for its first day.
    let approximate = relative.or_else(|| date::month_or_year(given));
    let date = match approximate {
        Some(approximate) => approximate.date,
        None => date::parse(given, source.order, &field.to_string())?,
    };
    check_past(date, field, source)?;
    Ok(Some(date))
}

fn check_past(date: Date, field: Field, source: &ImportSource<'_>) -> Result<(), String> {
    // In some time zone it is already tomorrow.
    if date.days() > source.options.today.days() + 1 {
        return Err(format!("{field}: {date} is in the future"));
    }
    Ok(())
}

/// Returns the text, preceded by the title unless the text begins with it, and followed by what the author liked or not.
fn words(record: &Record) -> Result<Option<String>, String> {
    // Amazon's title begins with the stars, or is nothing else.
    let title = clean(record, Field::Title)?;
    let title = title.filter(|title| !title.is_empty() && !rating::states_scale(title));
    let text = clean(record, Field::Text)?;
    let pros = clean(record, Field::Pros)?;
    let cons = clean(record, Field::Cons)?;
    let has_any = text.is_some() || pros.is_some() || cons.is_some();
    let parts = [text, pros, cons].into_iter().flatten();
    let parts: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
    let words = has_any.then(|| parts.join("\n\n"));
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
    let stated = day(record, Field::OwnerReplyDate, source)?;
    // A month may begin before the review, but no reply does.
    let date = stated.max(review).or(stated);
    // Without any date the record is already refused.
    Ok(date.map(|date| json!({"text": text, "date": date.to_string()})))
}

fn verified(record: &Record) -> Result<Option<bool>, String> {
    let Some(given) = record.filled(Field::Verified) else {
        return Ok(None);
    };
    match given.to_lowercase().replace(' ', "") {
        yes if is_listed(VERIFIED, &yes) => Ok(Some(true)),
        no if is_listed(UNVERIFIED, &no) => Ok(Some(false)),
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

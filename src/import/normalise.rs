//! A record into a candidate: every value by the same rules, whatever the source; all that is wrong in one reason.

use super::candidate::Candidate;
use super::date::{self, Order};
use super::formats::SourceFormat;
use super::platform::{
    is_hidden, source, stars, stated_language, stated_verification, without_addresses,
};
use super::record::{Extra, Field, Record};
use super::{identity, text};
use crate::dataset::{
    LIST_MAX, MEDIA_MAX, NAME_BYTES_MAX, PROSE_BYTES_MAX, URL_BYTES_MAX, is_absolute_url,
    is_language_tag, is_media_type,
};
use crate::model::{Media, OwnerReply, Verification};
use crate::wire::date::Date;

/// A text with its markup, four times of what is published.
const MARKED_UP_BYTES_MAX: usize = 4 * PROSE_BYTES_MAX;

/// What values depend on beside the record.
#[derive(Clone, Debug)]
pub struct Rules {
    /// What wrote the source.
    pub format: &'static SourceFormat,
    /// Where reviews were left, where the operator said it; that of a reviewd says it for each.
    pub source: Option<String>,
    /// What the operator vouches for where the source does not speak.
    pub vouched: Vouched,
    /// Whether a review is taken for the one that is there with the same source, author and text.
    pub merges_same_text: bool,
    /// How dates of numbers are read.
    pub order: Option<Order>,
    /// The day; a review cannot be from the day after tomorrow, whatever the zone.
    pub today: Date,
}

/// The reviews for which the operator vouches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vouched {
    /// None.
    Nothing,
    /// Those that are new.
    New,
    /// Those that are there, too.
    All,
}

/// Checks and cleans what a source says of one review.
///
/// # Errors
/// All that is wrong with it, as one line.
pub fn normalise(record: &Record, rules: &Rules) -> Result<Candidate, String> {
    let mut wrong: Vec<String> = record.unread().collect();
    let named = short(record, Field::Author, &mut wrong).unwrap_or_default();
    let author = match without_addresses(&named) {
        Some(rest) if !record.is_ours => rest,
        _ if named.is_empty() => rules.format.anonymous.to_owned(),
        _ => named,
    };
    if author.is_empty() && wrong.is_empty() {
        wrong.push("author: is missing".to_owned());
    }
    let named = short(record, Field::Source, &mut wrong);
    let source = source(record, named, rules);
    let stars = note(stars(record, rules), &mut wrong);
    let day = match record.filled(Field::Date) {
        Some(given) => note(day(given, "date", rules), &mut wrong),
        None => note(Err("date: is missing".to_owned()), &mut wrong),
    };
    let words = note(words(record), &mut wrong).flatten();
    let owner_reply = note(reply(record, day, rules), &mut wrong).flatten();
    let verified = note(verified(record), &mut wrong).flatten();
    let hidden = is_hidden(record, rules);
    note(mentions(record), &mut wrong);
    note(extra(record), &mut wrong);
    let (Some(rating), Some(date), true) = (stars, day, wrong.is_empty()) else {
        return Err(wrong.join("; "));
    };
    let id = id(record, &source).unwrap_or_else(|| {
        identity::of_content(&source, &author, date, words.as_deref().unwrap_or_default())
    });
    let Extra {
        verification,
        language,
        media,
        translation,
    } = record.extra.clone();
    let translation = translation.or_else(|| translated(record));
    let language = language.or_else(|| stated_language(record));
    let verification = verification.or_else(|| stated_verification(record, verified, &source));
    Ok(Candidate {
        id,
        author,
        author_avatar_url: url(record, Field::Avatar),
        rating,
        date,
        text: words,
        source,
        source_url: url(record, Field::SourceUrl),
        owner_reply,
        verified: if hidden { Some(false) } else { verified },
        hidden,
        mentions: record.mentions.clone(),
        verification,
        language,
        media,
        translation,
        updated: record
            .filled(Field::Updated)
            .and_then(|given| date::moment(given, rules.order)),
    })
}

/// The id of a record that names its own, even where the rest of it is refused.
pub fn known_id(record: &Record, rules: &Rules) -> Option<String> {
    let stated = record.filled(Field::Source).map(text::line);
    id(record, &source(record, stated, rules))
}

fn id(record: &Record, source: &str) -> Option<String> {
    let own = record.filled(Field::Id)?;
    let kept = record.is_ours && identity::is_ours(own);
    Some(if kept {
        own.to_owned()
    } else {
        identity::of_own(source, own)
    })
}

/// Notes what is wrong, and goes on.
fn note<T>(outcome: Result<T, String>, wrong: &mut Vec<String>) -> Option<T> {
    outcome.map_err(|reason| wrong.push(reason)).ok()
}

/// A name of one line; `None` where the source has no place for it.
fn short(record: &Record, field: Field, wrong: &mut Vec<String>) -> Option<String> {
    let given = record.value(field)?;
    if let Err(reason) = bounded(given, field) {
        wrong.push(reason);
        return None;
    }
    let line = match record.is_ours && !given.contains(char::is_control) {
        true => given.trim().to_owned(),
        false => text::line(given),
    };
    if line.len() > NAME_BYTES_MAX {
        wrong.push(format!("{field}: is longer than {NAME_BYTES_MAX} bytes"));
    }
    Some(line)
}

/// Refuses a text that is far too long before its markup is looked at.
fn bounded(given: &str, field: Field) -> Result<(), String> {
    match given.len() {
        0..=MARKED_UP_BYTES_MAX => Ok(()),
        _ => Err(format!(
            "{field}: is longer than {MARKED_UP_BYTES_MAX} bytes with its markup"
        )),
    }
}

fn day(given: &str, field: &str, rules: &Rules) -> Result<Date, String> {
    let date = date::parse(given, rules.order, field)?;
    // Somewhere it is tomorrow already.
    if date.days() > rules.today.days() + 1 {
        return Err(format!("{field}: {date} lies in the future"));
    }
    Ok(date)
}

/// The headline, where there is one that the words do not begin with, and the words.
fn words(record: &Record) -> Result<Option<String>, String> {
    for field in [Field::Title, Field::Text] {
        bounded(record.value(field).unwrap_or_default(), field)?;
    }
    let title = record.filled(Field::Title).map(text::line);
    let Some(given) = record.value(Field::Text) else {
        return Ok(title);
    };
    if record.is_ours && given.len() <= PROSE_BYTES_MAX {
        return Ok(Some(given.to_owned()));
    }
    let mut words = text::prose(given);
    if let Some(title) = title.filter(|title| !title.is_empty()) {
        // Some sources make the headline of the first words.
        let shown = title.trim_end_matches(['.', '…', ' ']);
        if words.is_empty() {
            words = title;
        } else if !text::line(&words).starts_with(shown) {
            words = format!("{title}\n\n{words}");
        }
    }
    if words.len() > PROSE_BYTES_MAX {
        return Err(format!("text: is longer than {PROSE_BYTES_MAX} bytes"));
    }
    Ok(Some(words))
}

/// The English translation that the text holds besides the original; unless the source is a reviewd, a text without one
/// has none.
fn translated(record: &Record) -> Option<Option<String>> {
    let given = record.value(Field::Text).filter(|_| !record.is_ours)?;
    Some(text::translation(given).filter(|text| text.len() <= PROSE_BYTES_MAX))
}

/// The owner's answer; one without a day of its own gets that of the review, the earliest it can have.
fn reply(
    record: &Record,
    review: Option<Date>,
    rules: &Rules,
) -> Result<Option<Option<OwnerReply>>, String> {
    let Some(given) = record.value(Field::Reply) else {
        return Ok(None);
    };
    bounded(given, Field::Reply)?;
    let text = match record.is_ours {
        true if given.trim().is_empty() => String::new(),
        true => given.to_owned(),
        false => text::prose(given),
    };
    if text.is_empty() {
        return Ok(Some(None));
    }
    if text.len() > PROSE_BYTES_MAX {
        return Err(format!(
            "owner_reply: is longer than {PROSE_BYTES_MAX} bytes"
        ));
    }
    let date = match record.filled(Field::ReplyDate) {
        Some(given) => Some(day(given, "owner_reply_date", rules)?),
        None => review,
    };
    // Without a day the review is refused for that already.
    Ok(Some(date.map(|date| OwnerReply { text, date })))
}

fn verified(record: &Record) -> Result<Option<bool>, String> {
    let Some(given) = record.filled(Field::Verified) else {
        return Ok(None);
    };
    match given.to_lowercase().as_str() {
        "true" | "yes" | "y" | "1" | "verified" | "ja" | "oui" | "sí" | "si" | "x" | "✓" => {
            Ok(Some(true))
        }
        "false" | "no" | "n" | "0" | "unverified" | "not verified" | "nein" | "non" => {
            Ok(Some(false))
        }
        _ => Err(format!(
            "verified: {} is neither true nor false",
            text::quote(given)
        )),
    }
}

fn mentions(record: &Record) -> Result<(), String> {
    for names in record.mentions.iter().flatten() {
        let fits = |name: &String| {
            !name.trim().is_empty()
                && name.len() <= NAME_BYTES_MAX
                && !name.contains(char::is_control)
        };
        if names.len() > LIST_MAX || !names.iter().all(fits) {
            return Err(
                "mentions: hold a name that is empty, too long or of several lines".to_owned(),
            );
        }
    }
    Ok(())
}

/// Refuses what only another reviewd says where it could not be published.
fn extra(record: &Record) -> Result<(), String> {
    let is_name = |name: &String| {
        !name.trim().is_empty() && name.len() <= NAME_BYTES_MAX && !name.contains(char::is_control)
    };
    let Extra {
        verification,
        language,
        media,
        translation,
    } = &record.extra;
    if matches!(translation, Some(Some(text)) if text.len() > PROSE_BYTES_MAX) {
        return Err(format!(
            "translation: is longer than {PROSE_BYTES_MAX} bytes"
        ));
    }
    if let Some(Some(Verification { by, method })) = verification
        && !(is_name(by) && method.iter().all(is_name))
    {
        return Err(
            "verification: holds a text that is empty, too long or of several lines".into(),
        );
    }
    if let Some(Some(tag)) = language
        && !is_language_tag(tag)
    {
        return Err(format!("language: {} is no language tag", text::quote(tag)));
    }
    let is_whole = |each: &Media| {
        is_absolute_url(&each.url)
            && each.url.len() <= URL_BYTES_MAX
            && each.alt.len() <= NAME_BYTES_MAX
            && !each.alt.contains(char::is_control)
            && is_media_type(&each.media_type)
    };
    match media {
        Some(media) if media.len() > MEDIA_MAX || !media.iter().all(is_whole) => {
            Err("media: holds more than can be published, or something else".into())
        }
        _ => Ok(()),
    }
}

/// What is left out of a record that is taken: addresses that cannot be published are no reason to lose a review.
pub fn unusable(record: &Record) -> impl Iterator<Item = String> {
    [Field::Avatar, Field::SourceUrl]
        .into_iter()
        .filter_map(|field| {
            let given = record.filled(field)?;
            let is_left_out = url(record, field) == Some(None);
            is_left_out.then(|| {
                format!(
                    "{field}: {} is no http or https address of at most {URL_BYTES_MAX} bytes, and left out",
                    text::quote(given)
                )
            })
        })
}

/// An address, or nothing.
fn url(record: &Record, field: Field) -> Option<Option<String>> {
    let given = record.value(field)?.trim();
    let url = match given.strip_prefix("//") {
        Some(rest) => format!("https://{rest}"),
        None => given.to_owned(),
    };
    Some((url.len() <= URL_BYTES_MAX && is_absolute_url(&url)).then_some(url))
}

//! `notices.json`: where notices of changed reviews go. No message quotes an address or a key.

use super::json::{self, JsonItem, JsonObject, TextRule, is_id};
use super::{NOTICES, Problems};
use crate::model::Rating;
use crate::model::notices::{HiddenText, NoticeEvent, NoticeFilter, NoticeKind, NoticeSetting};

/// Addresses in the file. Our choice: several for each of some teams.
pub const NOTICE_TARGETS_MAX: usize = 100;

/// Days after which a missing reply is told: at most a year.
pub const UNANSWERED_DAYS_MAX: u16 = 366;

/// Checks of values by the part of the program that uses them.
#[derive(Clone, Copy, Debug)]
pub struct NoticeValues {
    /// Tells whether a text is an address that notices can be sent to.
    pub is_url: fn(&str) -> bool,
    /// Tells whether a text is a key of signatures.
    pub is_secret: fn(&str) -> bool,
}

/// Reads the file; without one there are no addresses.
///
/// # Errors
/// Every problem of the file.
pub fn read_notices(
    bytes: &Option<Vec<u8>>,
    values: NoticeValues,
) -> Result<Vec<NoticeSetting>, Problems> {
    let mut problems = Problems::default();
    let settings = json::read_file(NOTICES, bytes, &mut problems, |item| {
        item.object(|keys| targets(keys.key("notices"), values))
    });
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(settings.unwrap_or_default())
}

fn targets(item: JsonItem<'_>, values: NoticeValues) -> Vec<NoticeSetting> {
    let targets = item.items(NOTICE_TARGETS_MAX, |item| {
        let setting = item.object(|keys| NoticeSetting {
            id: id(keys.key("id")),
            kind: kind(keys.key("kind")),
            url: url(keys.key("url"), values),
            secret: keys.non_null_key("secret").map(|item| secret(item, values)),
            chat_id: keys.non_null_key("chat_id").map(chat_id),
            filter: keys.non_null_key("filter").map(filter).unwrap_or_default(),
        });
        let names_chat = setting.chat_id.is_some() || setting.url.reveal().contains("chat_id=");
        if setting.kind == NoticeKind::Telegram && !names_chat {
            item.push_hidden_problem("has no chat_id, and its url does not name one");
        }
        setting
    });
    item.push_duplicates("id", targets.iter().map(|target| &target.id));
    targets
}

fn id(item: JsonItem<'_>) -> String {
    let wanted = "an id: 1 to 64 characters of A-Z, a-z, 0-9, _ and -";
    let id = item.permitted_string(wanted, is_id);
    id.unwrap_or_default()
}

fn kind(item: JsonItem<'_>) -> NoticeKind {
    let words = NoticeKind::ALL.map(NoticeKind::word).join(", ");
    let kind = item.parsed_string(format_args!("one of {words}"), |word| {
        let mut kinds = NoticeKind::ALL.into_iter();
        kinds.find(|kind| kind.word() == word)
    });
    kind.unwrap_or(NoticeKind::Webhook)
}

fn url(item: JsonItem<'_>, values: NoticeValues) -> HiddenText {
    let wanted = "is not an https URL of at most 2048 bytes, without credentials and fragment";
    HiddenText::new(item.hidden_string(wanted, values.is_url))
}

fn secret(item: JsonItem<'_>, values: NoticeValues) -> HiddenText {
    let wanted = "is not \"whsec_\" and 24 to 64 bytes in base64";
    HiddenText::new(item.hidden_string(wanted, values.is_secret))
}

fn chat_id(item: JsonItem<'_>) -> String {
    let wanted = "a chat such as \"-1001234567890\" or \"@channel\"";
    let id = item.permitted_string(wanted, is_chat);
    id.unwrap_or_default()
}

/// Tells whether Telegram may take a text for a chat: a number, or the name of a channel.
fn is_chat(text: &str) -> bool {
    let name = text.strip_prefix(['-', '@']).unwrap_or(text);
    is_id(name)
}

fn filter(item: JsonItem<'_>) -> NoticeFilter {
    item.object(|keys| NoticeFilter {
        min_rating: rating(keys, "min_rating"),
        max_rating: rating(keys, "max_rating"),
        language: keys
            .non_null_key("language")
            .map(|item| item.string(TextRule::Name)),
        location: keys
            .non_null_key("location")
            .map(|item| item.string(TextRule::Name)),
        unanswered_days: keys.non_null_key("unanswered_days").map(days),
        events: keys.non_null_key("events").map(events),
    })
}

fn rating(keys: &mut JsonObject<'_>, key: &'static str) -> Option<Rating> {
    Some(keys.non_null_key(key)?.rating())
}

fn days(item: JsonItem<'_>) -> u16 {
    let number = item.number(1.0..=f64::from(UNANSWERED_DAYS_MAX));
    let whole = number
        .as_u64()
        .and_then(|number| u16::try_from(number).ok());
    whole.unwrap_or_else(|| {
        item.push_problem("is not a whole number of days");
        1
    })
}

fn events(item: JsonItem<'_>) -> Vec<NoticeEvent> {
    let words = NoticeEvent::ALL.map(NoticeEvent::word).join(", ");
    let events = item.items(NoticeEvent::ALL.len(), |item| {
        item.parsed_string(format_args!("one of {words}"), |word| {
            let mut events = NoticeEvent::ALL.into_iter();
            events.find(|event| event.word() == word)
        })
    });
    events.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUES: NoticeValues = NoticeValues {
        is_url: |text| text.starts_with("https://"),
        is_secret: |text| text.starts_with("whsec_"),
    };

    /// Returns the problems of a file with this text.
    fn problems(file: &str) -> String {
        let read = read_notices(&Some(file.as_bytes().to_vec()), VALUES);
        let problems = read.err().unwrap_or_default();
        let lines: Vec<String> = problems.listed.iter().map(ToString::to_string).collect();
        lines.join("\n")
    }

    fn target(members: &str) -> String {
        format!(
            r#"{{"notices": [{{"id": "a", "kind": "webhook", "url": "https://x.example/SECRET"{members}}}]}}"#
        )
    }

    #[test]
    fn a_complete_target_is_read() {
        let file = target(
            r#", "secret": "whsec_KEY", "filter": {"min_rating": 1, "max_rating": 3, "language": "de", "location": "x",
                "unanswered_days": 3, "events": ["new", "removed"]}"#,
        );
        let read = read_notices(&Some(file.into_bytes()), VALUES).expect("valid");
        let filter = NoticeFilter {
            min_rating: Rating::new(1),
            max_rating: Rating::new(3),
            language: Some("de".to_owned()),
            location: Some("x".to_owned()),
            unanswered_days: Some(3),
            events: Some(vec![NoticeEvent::New, NoticeEvent::Removed]),
        };
        assert_eq!(read[0].filter, filter);
        assert_eq!(read[0].url.reveal(), "https://x.example/SECRET");
        assert!(!format!("{read:?}").contains("SECRET"), "{read:?}");
    }

    #[test]
    fn without_a_file_there_are_no_targets() {
        assert_eq!(read_notices(&None, VALUES).expect("valid"), []);
    }

    #[test]
    fn each_wrong_value_is_named() {
        for (file, expected) in [
            ("{}".to_owned(), "notices: is missing"),
            (
                target(r#", "colour": 1"#),
                "notices[0].colour: is not a known key",
            ),
            (
                target(r#", "filter": {"stars": 1}"#),
                "notices[0].filter.stars: is not a known key",
            ),
            (
                target(r#", "filter": {"max_rating": 6}"#),
                "notices[0].filter.max_rating: 6 is not a whole number from 1 to 5",
            ),
            (
                target(r#", "filter": {"unanswered_days": 0}"#),
                "unanswered_days: 0 is not a number from 1 to 366",
            ),
            (
                target(r#", "filter": {"unanswered_days": 367}"#),
                "unanswered_days: 367 is not a number from 1 to 366",
            ),
            (
                target(r#", "filter": {"unanswered_days": 1.5}"#),
                "unanswered_days: 1.5 is not a whole number of days",
            ),
            (
                target(r#", "filter": {"events": ["old"]}"#),
                "events[0]: \"old\" is not one of new, changed, removed",
            ),
            (
                target("").replace("webhook", "pigeon"),
                "notices[0].kind: \"pigeon\" is not one of webhook, slack, discord, teams, telegram, google_chat",
            ),
            (
                target("").replace("\"a\"", "\"a b\""),
                "notices[0].id: \"a b\" is not an id",
            ),
        ] {
            let problems = problems(&file);
            assert!(problems.contains(expected), "{file}: {problems}");
        }
    }

    #[test]
    fn telegram_needs_a_chat_in_the_address_or_beside_it() {
        let bare = target("").replace("webhook", "telegram");
        let found = problems(&bare);
        assert!(found.contains("notices[0]: has no chat_id"), "{found}");
        assert!(!found.contains("SECRET"), "{found}");
        assert_eq!(problems(&bare.replace("SECRET", "SECRET?chat_id=1")), "");
        for (chat, is_chat) in [("-1001", true), ("@shop", true), ("a b", false)] {
            let file = target(&format!(r#", "chat_id": "{chat}""#)).replace("webhook", "telegram");
            assert_eq!(problems(&file).is_empty(), is_chat, "{chat}");
        }
    }

    #[test]
    fn no_message_quotes_an_address_or_a_key() {
        let address = target("").replace("https", "http");
        let key = target(r#", "secret": "SECRET""#);
        for (file, expected) in [
            (address, "notices[0].url: is not an https URL"),
            (
                key,
                "notices[0].secret: is not \"whsec_\" and 24 to 64 bytes",
            ),
        ] {
            let problems = problems(&file);
            assert!(problems.contains(expected), "{problems}");
            assert!(!problems.contains("SECRET"), "{problems}");
        }
    }

    #[test]
    fn at_most_100_targets_with_unique_ids_are_read() {
        let one = |id: usize| {
            format!(r#"{{"id": "n{id}", "kind": "webhook", "url": "https://x.example/"}}"#)
        };
        let file = |ids: &mut dyn Iterator<Item = usize>| {
            let all: Vec<String> = ids.map(one).collect();
            format!(r#"{{"notices": [{}]}}"#, all.join(","))
        };
        assert_eq!(problems(&file(&mut (0..100))), "");
        assert!(problems(&file(&mut (0..101))).contains("has 101 entries, more than 100"));
        assert!(problems(&file(&mut [1, 1].into_iter())).contains("is also the id of entry 0"));
    }
}

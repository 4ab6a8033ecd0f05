//! The forms in which chats take messages, by their documentation. Nothing that a review says becomes a link with a label,
//! a mention of a user, bold, a quote or a list.
//!
//! - Slack: <https://docs.slack.dev/messaging/formatting-message-text>; a section has at most 3,000 characters. Only the type
//!   `plain_text` has no styles (<https://docs.slack.dev/reference/block-kit/composition-objects/text-object>).
//! - Discord: <https://discord.com/developers/docs/resources/webhook#execute-webhook>; a title has at most 256 characters,
//!   and a description 4,096.
//! - Microsoft Teams: an adaptive card for the workflow "when a Teams webhook request is received"; at most 28 KB.
//! - Telegram: <https://core.telegram.org/bots/api#sendmessage>; at most 4,096 characters.
//! - Google Chat: <https://developers.google.com/workspace/chat/quickstart/webhooks>; at most 32,000 bytes. Of its two
//!   syntaxes (<https://developers.google.com/workspace/chat/format-messages>) only Markdown has escapes.

use serde_json::{Value, json};

use super::message::NoticeMessage;

/// Characters that Discord reads as markup.
const DISCORD_MARKS: &str = "\\*_~`>|#[]()-.:@<";

/// Returns the body for Slack.
pub(super) fn slack(message: &NoticeMessage) -> Value {
    let title = escape_slack(&message.title);
    let stars = message.star_line();
    let heading = lines(&[&format!("*{title}*"), &stars]);
    let mut blocks = vec![slack_section(&heading)];
    if !message.text.is_empty() {
        blocks.push(slack_plain_section(&message.text));
    }
    let link = format!("<{}|{}>", message.link, escape_slack(&message.link_label));
    let business = escape_slack(&message.business);
    blocks.push(slack_section(&format!("{link} · {business}")));
    // `text` is shown where there is no room for blocks, such as in notifications of a phone.
    json!({"text": lines(&[&title, &stars]), "blocks": blocks})
}

fn slack_section(text: &str) -> Value {
    // In verbatim text, names of people and channels are no mentions.
    json!({"type": "section", "text": {"type": "mrkdwn", "text": text, "verbatim": true}})
}

/// Returns a section without styles. Escapes would not do for a whole text: Slack has none for its styles and lists, and reads
/// an escaped `>` at the beginning of a line as a quote.
fn slack_plain_section(text: &str) -> Value {
    let text = escape_slack_marks(text);
    json!({"type": "section", "text": {"type": "plain_text", "text": text, "emoji": false}})
}

/// Replaces the characters of Slack's styles, and escapes all others that it reads as markup.
fn escape_slack(text: &str) -> String {
    escape_slack_marks(&without_styles(text))
}

/// Escapes the three characters of Slack's links, mentions and escapes.
fn escape_slack_marks(text: &str) -> String {
    let text = text.replace('&', "&amp;");
    text.replace('<', "&lt;").replace('>', "&gt;")
}

/// Replaces the characters that Slack reads as bold, italic, struck or code within a line by others that look like them. Within
/// a word, such as an address, they are no style.
fn without_styles(text: &str) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut is_in_word = false;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let is_within = is_in_word && characters.peek().is_some_and(|next| next.is_alphanumeric());
        replaced.push(match character {
            '`' => '\u{2cb}',
            kept if is_within => kept,
            '*' => '\u{2217}',
            '_' => '\u{2cd}',
            '~' => '\u{223c}',
            other => other,
        });
        is_in_word = character.is_alphanumeric();
    }
    replaced
}

/// Returns the body for Discord.
pub(super) fn discord(message: &NoticeMessage) -> Value {
    let description = lines(&[&message.star_line(), &escape_discord(&message.text)]);
    json!({
        "embeds": [{
            "title": escape_discord(&message.title),
            "url": message.link,
            "description": description,
            "footer": {"text": message.business},
        }],
        "allowed_mentions": {"parse": []},
    })
}

/// Puts a backslash before each character of Discord's markup.
fn escape_discord(text: &str) -> String {
    with_backslashes(text, |character| DISCORD_MARKS.contains(character))
}

/// Puts a backslash before each character that `is_mark` accepts.
fn with_backslashes(text: &str, is_mark: impl Fn(char) -> bool) -> String {
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_mark(character) {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

/// Returns the body for a workflow of Microsoft Teams. All texts are text runs, which have no markup.
pub(super) fn teams(message: &NoticeMessage) -> Value {
    let mut body = vec![teams_text(
        json!({"text": message.title, "weight": "Bolder"}),
    )];
    let stars = message.star_line();
    for text in [&stars, &message.text] {
        if !text.is_empty() {
            body.push(teams_text(json!({"text": text})));
        }
    }
    body.push(teams_text(
        json!({"text": message.business, "isSubtle": true}),
    ));
    let card = json!({
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": body,
        "actions": [{"type": "Action.OpenUrl", "title": message.link_label, "url": message.link}],
    });
    json!({
        "type": "message",
        "attachments": [{
            "contentType": "application/vnd.microsoft.card.adaptive",
            "contentUrl": null,
            "content": card,
        }],
    })
}

/// Returns a block with one text run, which has the members of `run`.
fn teams_text(mut run: Value) -> Value {
    run["type"] = Value::from("TextRun");
    json!({"type": "RichTextBlock", "inlines": [run]})
}

/// Returns the body for Telegram's `sendMessage`. Without `parse_mode` its text has no markup, but `@` begins a mention
/// unless a zero-width space follows it.
pub(super) fn telegram(message: &NoticeMessage, chat_id: Option<&str>) -> Value {
    let heading = lines(&[&message.title, &message.star_line()]);
    let link = format!("{}: {}", message.link_label, message.link);
    let text = paragraphs(&[&heading, &message.text, &lines(&[&link, &message.business])]);
    let text = text.replace('@', "@\u{200b}");
    let mut body = json!({"text": text, "link_preview_options": {"is_disabled": true}});
    if let Some(chat_id) = chat_id {
        body["chat_id"] = Value::from(chat_id);
    }
    body
}

/// Returns the body for Google Chat.
pub(super) fn google_chat(message: &NoticeMessage) -> Value {
    let heading = lines(&[&escape_google_chat(&message.title), &message.star_line()]);
    let label = escape_google_chat(&message.link_label);
    let link = format!("[{label}]({})", message.link);
    let foot = lines(&[&link, &escape_google_chat(&message.business)]);
    let text = paragraphs(&[&heading, &escape_google_chat(&message.text), &foot]);
    // Without two spaces before it, the end of a line is a space (CommonMark 0.31.2, §6.7).
    let text = text.replace('\n', "  \n");
    json!({"text": text, "markupSyntax": "MARKUP_SYNTAX_MARKDOWN"})
}

/// Puts a backslash before all ASCII punctuation (CommonMark 0.31.2, §2.4). `<` begins mentions, which are no part of
/// CommonMark, unless a zero-width space follows it.
fn escape_google_chat(text: &str) -> String {
    // A carriage return ends a line, too (CommonMark 0.31.2, §2.1).
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut escaped = Vec::new();
    for line in text.lines() {
        // A line that is indented by four spaces would be code.
        let line = with_backslashes(line.trim_start(), |character| {
            character.is_ascii_punctuation()
        });
        escaped.push(line);
    }
    escaped.join("\n").replace('<', "<\u{200b}")
}

/// Joins the texts that are not empty, with a blank line between them.
fn paragraphs(texts: &[&str]) -> String {
    joined(texts, "\n\n")
}

/// Joins the texts that are not empty as lines.
fn lines(texts: &[&str]) -> String {
    joined(texts, "\n")
}

/// Joins the texts that are not empty.
fn joined(texts: &[&str], separator: &str) -> String {
    let mut filled = texts.to_vec();
    filled.retain(|text| !text.is_empty());
    filled.join(separator)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notices::message::{EXCERPT_CHARS_MAX, TITLE_CHARS_MAX, shorten};

    /// A message whose texts repeat one character, as long as they can be.
    fn longest(character: char) -> NoticeMessage {
        let endless = character.to_string().repeat(70_000);
        NoticeMessage {
            title: shorten(&endless, TITLE_CHARS_MAX),
            stars: Some(2),
            text: shorten(&endless, EXCERPT_CHARS_MAX),
            link: format!("https://reviews.example/reviews/{}", "x".repeat(64)),
            link_label: "Read the review".to_owned(),
            business: shorten(&endless, TITLE_CHARS_MAX),
        }
    }

    /// A message with links, mentions and markup of the chats in its texts.
    fn hostile() -> NoticeMessage {
        NoticeMessage {
            title: "New review from <!channel> & [x](https://evil.example)".to_owned(),
            text: "<users/all> @everyone **bold** <https://evil.example|click>".to_owned(),
            ..longest('x')
        }
    }

    fn chars(value: &Value) -> usize {
        value.as_str().expect("a text").chars().count()
    }

    /// Characters whose escaped or encoded forms are longest.
    const LONG: [char; 5] = ['&', '<', '*', '\u{1f600}', 'x'];

    #[test]
    fn a_text_of_more_than_500_characters_is_cut_to_499_and_an_ellipsis() {
        let text = "é".repeat(500);
        assert_eq!(shorten(&text, EXCERPT_CHARS_MAX), text);
        let longer = shorten(&(text + "é"), EXCERPT_CHARS_MAX);
        assert_eq!(longer.chars().count(), 500);
        assert!(longer.ends_with("é…"), "{longer}");
    }

    #[test]
    fn the_longest_messages_are_within_the_limits_of_each_chat() {
        for character in LONG {
            let message = longest(character);
            let slack = slack(&message);
            for block in slack["blocks"].as_array().expect("blocks") {
                assert!(chars(&block["text"]["text"]) <= 3_000, "{character}");
            }
            let embed = &discord(&message)["embeds"][0];
            assert!(chars(&embed["title"]) <= 256, "{character}");
            assert!(chars(&embed["description"]) <= 4_096, "{character}");
            assert!(chars(&embed["footer"]["text"]) <= 2_048, "{character}");
            assert!(teams(&message).to_string().len() <= 28_000, "{character}");
            let telegram = telegram(&message, None);
            // Not fewer than its characters, whichever of both Telegram counts.
            let units = telegram["text"].as_str().expect("a text").encode_utf16();
            assert!(units.count() <= 4_096, "{character}");
            assert!(
                google_chat(&message).to_string().len() <= 32_000,
                "{character}"
            );
        }
    }

    #[test]
    fn slack_gets_no_link_or_mention_from_a_review() {
        let body = slack(&hostile());
        let expected = "*New review from &lt;!channel&gt; &amp; [x](https://evil.example)*\n★★☆☆☆";
        assert_eq!(body["blocks"][0]["text"]["text"], expected);
        let text = body["blocks"][1]["text"]["text"].as_str().expect("a text");
        assert!(!text.contains('<'), "{text}");
        let foot = body["blocks"][2]["text"]["text"].as_str().expect("a text");
        assert!(
            foot.starts_with("<https://reviews.example/reviews/x"),
            "{foot}"
        );
    }

    #[test]
    fn discord_gets_no_markup_or_mention_from_a_review() {
        let body = discord(&hostile());
        assert_eq!(body["allowed_mentions"], json!({"parse": []}));
        let description = body["embeds"][0]["description"].as_str().expect("a text");
        assert!(
            description.contains("\\@everyone \\*\\*bold\\*\\*"),
            "{description}"
        );
        let title = body["embeds"][0]["title"].as_str().expect("a text");
        assert!(title.contains("\\[x\\]\\(https\\:"), "{title}");
    }

    #[test]
    fn teams_gets_an_adaptive_card_of_plain_text_with_a_link() {
        let body = teams(&hostile());
        let attachment = &body["attachments"][0];
        let kind = "application/vnd.microsoft.card.adaptive";
        assert_eq!(attachment["contentType"], kind);
        let card = &attachment["content"];
        assert_eq!(card["type"], "AdaptiveCard");
        for block in card["body"].as_array().expect("blocks") {
            assert_eq!(block["type"], "RichTextBlock");
            assert_eq!(block["inlines"][0]["type"], "TextRun");
        }
        assert_eq!(card["actions"][0]["url"], hostile().link.as_str());
    }

    #[test]
    fn telegram_gets_plain_text_without_mentions_for_a_chat() {
        let body = telegram(&hostile(), Some("-1001"));
        assert_eq!(body["chat_id"], "-1001");
        assert_eq!(body.get("parse_mode"), None);
        let text = body["text"].as_str().expect("a text");
        assert!(
            text.contains("★★☆☆☆\n\n<users/all> @\u{200b}everyone"),
            "{text}"
        );
        assert_eq!(telegram(&hostile(), None).get("chat_id"), None);
    }

    #[test]
    fn google_chat_gets_no_mention_or_link_with_a_label_from_a_review() {
        let body = google_chat(&hostile());
        let text = body["text"].as_str().expect("a text");
        assert!(text.contains("\\<\u{200b}users\\/all\\>"), "{text}");
        assert!(
            text.contains("\\[x\\]\\(https\\:\\/\\/evil\\.example\\)"),
            "{text}"
        );
    }

    /// A text with each style of the chats.
    const STYLED: &str = "*bold* _italic_ ~struck~ `code` x.example/a_b\n> quote\n- item\n* item\n1. first\n\n    code\n# big";

    /// A message with styles in all its texts.
    fn styled() -> NoticeMessage {
        NoticeMessage {
            title: "*bold* _italic_ ~struck~ `code` a_b".to_owned(),
            text: STYLED.to_owned(),
            link: "https://reviews.example/reviews/a_b".to_owned(),
            business: "*Bold* & Co.".to_owned(),
            ..longest('x')
        }
    }

    #[test]
    fn slack_gets_no_style_from_a_review() {
        let body = slack(&styled());
        let title = "\u{2217}bold\u{2217} \u{2cd}italic\u{2cd} \u{223c}struck\u{223c} \u{2cb}code\u{2cb} a_b";
        let heading = body["blocks"][0]["text"]["text"].as_str().expect("a text");
        assert_eq!(heading, format!("*{title}*\n★★☆☆☆"));
        assert_eq!(body["text"], format!("{title}\n★★☆☆☆"));
        let text = STYLED.replace('>', "&gt;");
        let plain = json!({"type": "plain_text", "text": text, "emoji": false});
        assert_eq!(body["blocks"][1]["text"], plain);
        let foot = "<https://reviews.example/reviews/a_b|Read the review> · \u{2217}Bold\u{2217} &amp; Co.";
        assert_eq!(body["blocks"][2]["text"]["text"], foot);
    }

    #[test]
    fn google_chat_gets_no_style_from_a_review() {
        let mut message = styled();
        message.text.push_str("\r    indented");
        let body = google_chat(&message);
        assert_eq!(body["markupSyntax"], "MARKUP_SYNTAX_MARKDOWN");
        let expected = [
            r"\*bold\* \_italic\_ \~struck\~ \`code\` a\_b",
            "★★☆☆☆",
            "",
            r"\*bold\* \_italic\_ \~struck\~ \`code\` x\.example\/a\_b",
            r"\> quote",
            r"\- item",
            r"\* item",
            r"1\. first",
            "",
            "code",
            r"\# big",
            "indented",
            "",
            "[Read the review](https://reviews.example/reviews/a_b)",
            r"\*Bold\* \& Co\.",
        ];
        assert_eq!(body["text"], expected.join("  \n"));
    }

    #[test]
    fn discord_gets_no_style_from_a_review() {
        let body = discord(&styled());
        let expected = r"★★☆☆☆
\*bold\* \_italic\_ \~struck\~ \`code\` x\.example/a\_b
\> quote
\- item
\* item
1\. first

    code
\# big";
        assert_eq!(body["embeds"][0]["description"], expected);
    }
}

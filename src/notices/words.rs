//! The words of notices: a message file for each language of the pages, in the form of theirs.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::pages::{Forms, Language, Pattern};

static WORDS: LazyLock<Vec<NoticeWords>> = LazyLock::new(|| {
    let mut all = Vec::new();
    for language in Language::all() {
        let words = serde_json::from_str(language.notice_file());
        all.push(words.expect("a test reads every file"));
    }
    all
});

/// One message file; the keys of the file are the field names.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NoticeWords {
    pub(super) new: Pattern,
    pub(super) changed: Pattern,
    pub(super) removed: String,
    pub(super) unanswered: Forms,
    pub(super) removed_review: Pattern,
    pub(super) summary: Forms,
    pub(super) count_new: Forms,
    pub(super) count_changed: Forms,
    pub(super) count_removed: Forms,
    pub(super) count_unanswered: Forms,
    pub(super) read: String,
    pub(super) read_all: String,
    pub(super) test: Pattern,
}

/// Returns the words of a language.
pub(super) fn words(language: Language) -> &'static NoticeWords {
    &WORDS[usize::from(language.number())]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;

    /// The placeholders of a text.
    fn placeholders(text: &str) -> BTreeSet<&str> {
        let parts = text.split('{').skip(1);
        parts.filter_map(|part| part.split('}').next()).collect()
    }

    /// The texts of a message: one, or one for each plural form.
    fn texts(message: &Value) -> Vec<&str> {
        match message {
            Value::Object(forms) => forms.values().filter_map(Value::as_str).collect(),
            one => one.as_str().into_iter().collect(),
        }
    }

    #[test]
    fn every_language_of_the_pages_has_words() {
        assert_eq!(WORDS.len(), Language::all().count());
    }

    #[test]
    fn every_message_has_the_placeholders_of_the_english_one() {
        let english: Value = serde_json::from_str(Language::DEFAULT.notice_file()).expect("JSON");
        for language in Language::all() {
            let messages: Value = serde_json::from_str(language.notice_file()).expect("JSON");
            for (key, message) in messages.as_object().expect("an object") {
                let expected = texts(&english[key])[0];
                for text in texts(message) {
                    let mut found = placeholders(text);
                    let mut expected = placeholders(expected);
                    // A plural form may have the number as a word.
                    found.remove("count");
                    expected.remove("count");
                    assert_eq!(found, expected, "{key}: {text}");
                }
            }
        }
    }

    #[test]
    fn every_message_has_the_plural_forms_of_the_pages() {
        for language in Language::all() {
            let pages = language.form_names();
            let messages: Value = serde_json::from_str(language.notice_file()).expect("JSON");
            for (key, message) in messages.as_object().expect("an object") {
                let Some(forms) = message.as_object() else {
                    continue;
                };
                let mut found: Vec<&str> = forms.keys().map(String::as_str).collect();
                found.sort_unstable();
                assert_eq!(found, pages, "{}: {key}", language.code());
            }
        }
    }
}

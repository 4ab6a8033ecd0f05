//! Linguistic data of each language: stems, function words, determiners.

use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};
use whatlang::Lang;

use super::keys::{KeyMap, key};
use crate::wire::text::LANGUAGES;

/// The stemmer of a language, if there is one.
pub(super) fn stemmer(lang: Lang) -> Option<Stemmer> {
    // Both crates name languages in English.
    let name = match lang {
        Lang::Nob => "Norwegian",
        other => other.eng_name(),
    };
    let algorithm: Algorithm = serde_json::from_value(name.into()).ok()?;
    Some(Stemmer::create(algorithm))
}

/// Whether `word`, in lower case, is a number, an article, a pronoun, a preposition, an auxiliary or the like.
pub(super) fn is_function_word(lang: Lang, word: &str) -> bool {
    word.parse::<u64>().is_ok() || WordList::named(lang.code()).has(key(word))
}

/// A list of words in `languages.txt`: the function words of a language, by its code; "determiner", words that may precede
/// a noun phrase and are not part of it; or "homonym", words that share a stem with a word of another meaning, as Spanish
/// "como" with "comida".
#[derive(Clone, Copy, Debug)]
pub(super) struct WordList {
    /// The bit of the list in [`WORDS`]; 0 if there is no such list.
    bit: u16,
}

impl WordList {
    pub(super) fn named(name: &str) -> WordList {
        let place = LIST_NAMES.iter().position(|listed| *listed == name);
        WordList {
            bit: place.map_or(0, |place| 1 << place),
        }
    }

    /// Whether it has the word of this key, in lower case.
    pub(super) fn has(self, key: u64) -> bool {
        WORDS.get(&key).is_some_and(|lists| lists & self.bit != 0)
    }
}

/// Whether any list has the word of this key.
pub(super) fn is_listed(key: u64) -> bool {
    WORDS.contains_key(&key)
}

/// The name of each line of the file. Lists are named for each sentence, so the long lines are split once.
static LIST_NAMES: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let names = LANGUAGES.lines().filter_map(|line| line.split(' ').next());
    names.collect()
});

/// A language as its code, for serde.
pub(super) mod code {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};
    use whatlang::Lang;

    pub(in crate::insights) fn serialize<S: Serializer>(
        lang: &Lang,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(lang.code())
    }

    pub(in crate::insights) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Lang, D::Error> {
        let code = <&str>::deserialize(deserializer)?;
        Lang::from_code(code).ok_or_else(|| D::Error::custom("unknown language"))
    }
}

/// The lists of each word, a bit for each line of the file.
static WORDS: LazyLock<KeyMap<u64, u16>> = LazyLock::new(|| {
    let mut lists: KeyMap<u64, u16> = KeyMap::default();
    for (name, line) in LIST_NAMES.iter().zip(LANGUAGES.lines()) {
        let list = WordList::named(name);
        for word in line.split(' ').skip(2) {
            *lists.entry(key(word)).or_default() |= list.bit;
        }
    }
    lists
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eighteen_languages_have_a_stemmer() {
        let with_stemmer = Lang::all().iter().filter(|lang| stemmer(**lang).is_some());
        assert_eq!(with_stemmer.count(), 18);
    }
}

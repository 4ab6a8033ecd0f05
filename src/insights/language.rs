//! Whether a text is in English, the only language that the lexicon and the model speak.
//!
//! A simple rule that errs on the side of silence: a text counts as English if it holds at least as many of the
//! small words of English as of other languages, and at least one of them or a word of the lexicon; and if at most a
//! tenth of its letters belong to another script. "Super Anwalt" passes by its "super", and that is the price of
//! a rule that fits on a page.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::lexicon::LEXICON;

/// What the small words of a text speak for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    /// Scored.
    English,
    /// Another language, or too little to tell: counted as unscored.
    Other,
}

impl Language {
    /// The language of `text`; reads at most its first [`LOOK_BYTES_MAX`] bytes or so.
    pub(super) fn of(text: &str) -> Language {
        let (mut english, mut other, mut listed) = (0u32, 0u32, false);
        let (mut latin, mut foreign) = (0u32, 0u32);
        let mut lower = String::new();
        let mut end = text.len().min(LOOK_BYTES_MAX);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        for word in text[..end]
            .split(|letter: char| !letter.is_alphanumeric() && letter != '\'' && letter != '’')
        {
            if word.is_empty() {
                continue;
            }
            lower.clear();
            for letter in word.chars() {
                if letter.is_alphabetic() {
                    let count = if letter < '\u{250}' {
                        &mut latin
                    } else {
                        &mut foreign
                    };
                    *count += 1;
                }
                lower.extend(letter.to_lowercase());
            }
            match SMALL_WORDS.get(lower.as_str()) {
                Some(true) => english += 1,
                Some(false) => other += 1,
                None => listed |= LEXICON.entry(&lower).valence.is_some(),
            }
        }
        let spoken = english > 0 || (listed && other == 0);
        match spoken && english >= other && foreign * 9 <= latin {
            true => Language::English,
            false => Language::Other,
        }
    }
}

/// Bytes of a text that decide about its language.
const LOOK_BYTES_MAX: usize = 4_000;

/// Small words and whether they are English; a word that English shares with another language is in neither list.
static SMALL_WORDS: LazyLock<HashMap<&'static str, bool>> = LazyLock::new(|| {
    let english = ENGLISH.split_ascii_whitespace().map(|word| (word, true));
    let other = OTHER.split_ascii_whitespace().map(|word| (word, false));
    english.chain(other).collect()
});

const ENGLISH: &str = "the and of to is it was for that with you this have my they are be not at what from by or when we there can \
your which their if would who about been were our i i'm i've she her his him them these those has had how than \
then very just got get never every any because after before could did didn't don't it's always nothing does \
doing out up too us into all an only over where while why will without again";

const OTHER: &str = "el los las del y que por para con una uno muy pero más fue mi mis su sus como cuando este esta todo todos nos \
lo al yo porque siempre nunca también ser estar tiene gracias les le la et je nous vous est pas une dans avec \
très tout tous mais ont sont être cette ces qui aux du des il elle und der das ist nicht ich wir sie mit ein \
eine einen auf für von zu sehr auch aber wie bei sind haben nur wurde uma não é foi muito ele ela você meu \
minha nosso nas ao che sono è molto anche gli della nel questo het een niet ik en dat wij zijn voor maar ook \
heel zeer bij naar de nie się jest że bardzo och att det som är inte jag på af ikke og jeg til bir çok için \
gern gerne wieder weg niemals danke leute anwalt anwältin merci avocat avocate grazie avvocato obrigado \
obrigada polecam prawnik bedankt takk dziękuję teşekkürler";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn english_is_told_from_others() {
        for text in [
            "I would recommend this law firm to anyone.",
            "great communication, clear fees, done",
            "Mi abuela says the lawyer is the best and she would know.",
            "so grateful ❤️",
        ] {
            assert_eq!(Language::of(text), Language::English, "{text}");
        }
        for text in [
            "",
            "👩‍👧‍👦💪",
            "Me atendieron con mucha paciencia. El licenciado habla claro.",
            "Sehr gute Beratung, und das für wenig Geld.",
            "Très bon avocat, je recommande.",
            "Отличный адвокат, спасибо",
            "とても良い弁護士でした",
            "Excelente atención",
            "Brave Leute, gern wieder",
            "Super avocate, service excellent",
            "Super prawnik, polecam",
            // Too little to tell.
            "Professional.",
        ] {
            assert_eq!(Language::of(text), Language::Other, "{text}");
        }
    }
}

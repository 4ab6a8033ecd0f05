//! Detects the language of the reviews that state none.
//!
//! The first words of a text are looked up in lists of function words ("and", "und"), which is quick and decides most
//! texts of nine languages, also short ones. Trigrams (whatlang) decide the others, if they are reliable. What is left is
//! given to one of the languages of at least a twentieth of the other reviews: the one with most function words in the
//! text or, in a tie, the most frequent one, which is the owner's own language in most datasets.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::LazyLock;

use reviewd_wire::text::{LANGUAGES, truncate};
use whatlang::Lang;

use super::chunks::over_chunks;
use crate::model::{LanguageSource, Review};

/// Bytes of a text that are read.
const HEAD_BYTES: usize = 600;
/// Words of a text that are looked up.
const WORDS_MAX: usize = 60;
/// Fewest function words that decide.
const WORDS_MIN: usize = 2;
/// Fewest bytes of a text whose trigrams are reliable.
const TRIGRAM_BYTES_MIN: usize = 20;
/// Tags of the languages that have a list of function words in `languages.txt`.
const LISTED: [&str; 8] = ["en", "es", "de", "fr", "it", "pt", "nl", "pl"];
/// The tags (BCP 47) of the languages that whatlang knows, with its codes.
const TAGS: &str = "epo=eo eng=en rus=ru cmn=zh spa=es por=pt ita=it ben=bn fra=fr deu=de ukr=uk kat=ka ara=ar hin=hi \
jpn=ja heb=he yid=yi pol=pl amh=am jav=jv kor=ko nob=nb dan=da swe=sv fin=fi tur=tr nld=nl hun=hu ces=cs ell=el bul=bg \
bel=be mar=mr kan=kn ron=ro slv=sl hrv=hr srp=sr mkd=mk lit=lt lav=lv est=et tam=ta vie=vi urd=ur tha=th guj=gu uzb=uz \
pan=pa aze=az ind=id tel=te pes=fa mal=ml ori=or mya=my nep=ne sin=si khm=km tuk=tk aka=ak zul=zu sna=sn afr=af lat=la \
slk=sk cat=ca tgl=tl hye=hy";

/// Sets the language of each of `reviews` that states none and has text in which it can be detected.
///
/// Takes some 5 µs per review in one of the listed languages, some 200 µs in another one. The result does not depend on
/// the number of `threads`.
pub fn detect_languages(reviews: &mut [Review], threads: NonZeroUsize) {
    let parts = over_chunks(reviews.len(), threads, |rows| {
        let reviews = reviews[rows].iter();
        reviews.map(of_review).collect::<Vec<_>>()
    });
    let mut found: Vec<Option<&str>> = parts.concat();
    let usual = usual_languages(&found);
    for (tag, review) in found.iter_mut().zip(reviews.iter()) {
        if tag.is_none() {
            *tag = guess(&review.text, &usual);
        }
    }
    for (tag, review) in found.into_iter().zip(reviews) {
        if review.language.is_none() && tag.is_some() {
            review.language = tag.map(str::to_owned);
            review.language_source = Some(LanguageSource::Detected);
        }
    }
}

/// The whatlang language of a tag; the tag's region and script are ignored.
#[must_use]
pub fn language_of_tag(tag: &str) -> Option<Lang> {
    let primary = tag.split('-').next().unwrap_or_default();
    let code = TAG_PAIRS
        .iter()
        .find(|(_, name)| name.eq_ignore_ascii_case(primary));
    Lang::from_code(code?.0)
}

/// The tag (BCP 47) of a language.
#[must_use]
pub fn tag_of_language(lang: Lang) -> &'static str {
    let pair = TAG_PAIRS.iter().find(|(code, _)| *code == lang.code());
    pair.map_or("und", |(_, tag)| tag)
}

/// The stated language as a known tag, or the detected one.
fn of_review(review: &Review) -> Option<&'static str> {
    match &review.language {
        Some(tag) => language_of_tag(tag).map(tag_of_language),
        None => of_text(&review.text),
    }
}

/// The language of `text`, if its function words or its trigrams are clear.
fn of_text(text: &str) -> Option<&'static str> {
    let head = truncate(text, HEAD_BYTES);
    let counts = FunctionWords::of(head);
    if let Some(tag) = counts.clear_language() {
        return Some(tag);
    }
    if text.len() < TRIGRAM_BYTES_MIN {
        return None;
    }
    let info = whatlang::detect(head).filter(whatlang::Info::is_reliable)?;
    Some(tag_of_language(info.lang()))
}

/// The languages of at least a twentieth of the reviews, the most frequent last; of equally frequent ones the order of
/// their tags decides.
fn usual_languages(found: &[Option<&'static str>]) -> Vec<&'static str> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for tag in found.iter().flatten() {
        *counts.entry(tag).or_default() += 1;
    }
    let told: usize = counts.values().sum();
    let mut usual: Vec<&str> = counts.keys().copied().collect();
    usual.retain(|tag| counts[tag] * 20 >= told);
    usual.sort_by_key(|tag| (counts[tag], std::cmp::Reverse(*tag)));
    usual
}

/// Guesses the language of a short text: the one of `usual` with most function words, or else the last of them.
fn guess(text: &str, usual: &[&'static str]) -> Option<&'static str> {
    if !text.contains(char::is_alphabetic) {
        return None;
    }
    let head = truncate(text, HEAD_BYTES);
    let counts = FunctionWords::of(head);
    let best = usual.iter().copied().max_by_key(|tag| counts.of_tag(tag));
    best.or_else(|| whatlang::detect_lang(head).map(tag_of_language))
}

/// Numbers of function words of a text.
#[derive(Default)]
struct FunctionWords {
    /// By language, in the order of [`LISTED`].
    by_language: [usize; LISTED.len()],
    /// Number of all words.
    all: usize,
}

impl FunctionWords {
    fn of(text: &str) -> FunctionWords {
        let mut counts = FunctionWords::default();
        let lower = text.to_lowercase();
        let words =
            lower.split(|character: char| !character.is_alphabetic() && !"'’".contains(character));
        for word in words.filter(|word| !word.is_empty()).take(WORDS_MAX) {
            counts.all += 1;
            let languages = LANGUAGES_OF_WORD.get(word).copied().unwrap_or_default();
            for (at, count) in counts.by_language.iter_mut().enumerate() {
                *count += usize::from(languages >> at & 1);
            }
        }
        counts
    }

    fn of_tag(&self, tag: &str) -> usize {
        let at = LISTED.iter().position(|listed| *listed == tag);
        at.map_or(0, |at| self.by_language[at])
    }

    /// The language with at least twice as many function words as any other, if they are a usual part of the text. In
    /// languages other than English more are required, as their lists have words of languages without a list.
    fn clear_language(&self) -> Option<&'static str> {
        let (best, count) = self
            .by_language
            .iter()
            .enumerate()
            .max_by_key(|(_, count)| **count)?;
        let others = self
            .by_language
            .iter()
            .enumerate()
            .filter(|(at, _)| *at != best);
        let second = others.map(|(_, count)| *count).max().unwrap_or_default();
        let (least, percent) = match LISTED[best] {
            "en" => (WORDS_MIN, 25),
            "nl" => (WORDS_MIN + 1, 40),
            _ => (WORDS_MIN + 1, 30),
        };
        let is_clear = *count >= least && count * 100 >= self.all * percent && *count >= 2 * second;
        if is_clear { Some(LISTED[best]) } else { None }
    }
}

/// The languages whose list has a word, as bits in the order of [`LISTED`].
static LANGUAGES_OF_WORD: LazyLock<HashMap<&str, u16>> = LazyLock::new(|| {
    let mut languages: HashMap<&str, u16> = HashMap::new();
    for line in LANGUAGES.lines() {
        let mut words = line.split(' ').skip(1);
        let tag = words.next().unwrap_or_default();
        if let Some(at) = LISTED.iter().position(|listed| *listed == tag) {
            for word in words {
                *languages.entry(word).or_default() |= 1 << at;
            }
        }
    }
    languages
});

static TAG_PAIRS: LazyLock<Vec<(&str, &str)>> = LazyLock::new(|| {
    TAGS.split(' ')
        .filter_map(|pair| pair.split_once('='))
        .collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_of_whatlang_has_a_tag() {
        for lang in Lang::all() {
            assert_eq!(language_of_tag(tag_of_language(*lang)), Some(*lang));
        }
    }

    #[test]
    fn short_and_long_texts_have_their_language() {
        for (tag, text) in [
            ("en", "Mr. Reyes is my criminal defense attorney."),
            ("en", "They dried out the water damage in two days."),
            (
                "es",
                "La comida es muy buena y el trato fue excelente con los niños.",
            ),
            (
                "de",
                "Der Termin wurde pünktlich eingehalten und die Mitarbeiter waren freundlich.",
            ),
            (
                "fr",
                "L’accueil est parfait mais l'attente est interminable dans ce cabinet.",
            ),
            (
                "it",
                "Il personale è stato molto gentile e la camera era pulita.",
            ),
            (
                "pt",
                "O atendimento foi muito bom e não tive de esperar pela consulta.",
            ),
            (
                "nl",
                "De medewerkers waren heel vriendelijk en het was binnen een dag klaar.",
            ),
            (
                "pl",
                "Bardzo polecam, obsługa była miła i wszystko zostało zrobione na czas.",
            ),
            (
                "ja",
                "スタッフの対応がとても丁寧で、安心して任せることができました。",
            ),
            (
                "ar",
                "الخدمة ممتازة والموظفون لطفاء جدا وأنصح بالتعامل معهم.",
            ),
            (
                "sv",
                "Vi är mycket nöjda med arbetet och kan varmt rekommendera dem till alla.",
            ),
        ] {
            assert_eq!(of_text(text), Some(tag), "{text}");
        }
    }

    #[test]
    fn an_unclear_text_has_the_usual_language_of_the_others() {
        assert_eq!(guess("Prima!", &["en", "de"]), Some("de"));
        assert_eq!(guess("Super, and thanks", &["en", "de"]), Some("en"));
        assert_eq!(guess("👍", &["en", "de"]), None);
    }

    #[test]
    fn usual_languages_are_those_of_a_twentieth_of_the_reviews() {
        let mut found = vec![Some("de"); 60];
        found.extend([Some("en"); 36]);
        found.extend([Some("fr"); 4]);
        found.push(None);
        assert_eq!(usual_languages(&found), ["en", "de"]);
    }
}

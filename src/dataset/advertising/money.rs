//! Amounts of money as the result of a matter.

use super::{list, listed, sentences, words};

/// How many words after "won" its "over" may stand, as in "won me over".
const OVER_WORDS_MAX: usize = 3;

/// The first sentence with an amount of money and a word of success.
pub(super) fn result(text: &str) -> Option<&str> {
    sentences(text).find(|sentence| {
        names_money(sentence)
            && (has_stem(sentence, "results")
                || is_payout(sentence)
                || (has_stem(sentence, "gains") || is_won(sentence))
                    && !has_stem(sentence, "expenses"))
    })
}

/// Whether a word of `sentence` begins with one of `stems`, without regard to case; at most four letters may follow.
fn has_stem(sentence: &str, stems: &str) -> bool {
    let fits = |word: &str, stem: &str| {
        let start = word.get(..stem.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(stem)) && word.len() <= stem.len() + 4
    };
    words(sentence).any(|word| list(stems).iter().any(|stem| fits(word, stem)))
}

/// Whether another party paid: "paid out", "we were paid".
fn is_payout(sentence: &str) -> bool {
    words(sentence)
        .zip(words(sentence).skip(1))
        .any(|(first, second)| {
            let pair = format!("{first} {second}").to_ascii_lowercase();
            listed("payouts", &pair)
        })
}

/// Whether something was won: in "won me over" and "award-winning" nothing was.
fn is_won(sentence: &str) -> bool {
    let words: Vec<&str> = words(sentence).collect();
    let is = |at: usize, word: &str| words[at].eq_ignore_ascii_case(word);
    let mut won = (0..words.len()).filter(|at| is(*at, "won"));
    won.any(|at| {
        let mut near = (at + 1..words.len()).take(OVER_WORDS_MAX);
        // "Won over $9,000" is a result.
        near.find(|at| is(*at, "over")).is_none_or(|over| {
            let next = words.get(over + 1);
            next.is_some_and(|next| next.starts_with(|c: char| c.is_ascii_digit()))
        })
    })
}

/// Whether `text` holds a currency sign beside a digit, a number beside the name of a currency, one such as `30k`, or a
/// number of figures.
pub(super) fn names_money(text: &str) -> bool {
    let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    let mut signs = text.match_indices(['$', '€', '£', '¥']);
    signs.any(|(at, sign)| {
        is_digit(text[at + sign.len()..].trim_start().chars().next())
            || is_digit(text[..at].trim_end().chars().next_back())
    }) || names_currency(text)
}

fn names_currency(text: &str) -> bool {
    let mut is_after_number = false;
    let mut before = String::new();
    for word in text.split(|c: char| !c.is_alphanumeric() && c != ',' && c != '.') {
        let word = word.trim_matches([',', '.']).to_ascii_lowercase();
        let is_number = word.starts_with(|c: char| c.is_ascii_digit());
        if (is_number && listed("codes", &before))
            || (is_after_number && listed("currencies", &word))
            || (listed("figures", &before) && matches!(word.as_str(), "figure" | "figures"))
            || is_amount(&word)
        {
            return true;
        }
        // "5 thousand dollars" and "5k dollars" are amounts as well.
        is_after_number = is_number
            || (is_after_number && matches!(word.as_str(), "thousand" | "million" | "hundred"));
        before = word;
    }
    false
}

/// Whether the word, in lower case, is an amount by itself: `30k`, `2.5m` or `usd5,000`; "401k" is the name of a pension.
fn is_amount(word: &str) -> bool {
    let is_number = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_digit())
            && word
                .bytes()
                .all(|byte| byte.is_ascii_digit() || b",.".contains(&byte))
    };
    let mut codes = list("codes").iter();
    (word != "401k" && word.strip_suffix(['k', 'm']).is_some_and(is_number))
        || codes.any(|code| word.strip_prefix(*code).is_some_and(is_number))
}

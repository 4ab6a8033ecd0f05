//! Amounts of money as the result of a matter.

use super::lists::{CODES, CURRENCIES, EXPENSES, FIGURES, GAINS, PAYOUTS, RESULTS};
use super::{listed, sentences, words};

/// How many words after "won" its "over" may stand, as in "won me over".
const OVER_WORDS_MAX: usize = 3;

/// The first sentence with an amount of money and a word of success.
pub(super) fn result_with_money(text: &str) -> Option<&str> {
    let begins = |sentence: &str, stems: &str| {
        let fits = |word: &str, stem: &str| starts_with(word, stem) && word.len() <= stem.len() + 4;
        words(sentence).any(|word| stems.split(' ').any(|stem| fits(word, stem)))
    };
    sentences(text).find(|sentence| {
        names_money(sentence)
            && (begins(sentence, RESULTS)
                || is_payout(sentence)
                || (begins(sentence, GAINS) || is_won(sentence)) && !begins(sentence, EXPENSES))
    })
}

/// Whether somebody else paid: "paid out", "we were paid".
fn is_payout(sentence: &str) -> bool {
    let pair = |first: &str, second: &str| {
        PAYOUTS
            .split(',')
            .any(|payout| payout.split_once(' ') == Some((first, second)))
    };
    let mut before = String::new();
    words(sentence).any(|word| {
        let word = word.to_ascii_lowercase();
        let found = pair(&before, &word);
        before = word;
        found
    })
}

/// Whether something was won; nobody was "won over", and "award-winning" is no result.
fn is_won(sentence: &str) -> bool {
    let mut rest = words(sentence);
    while let Some(word) = rest.next() {
        if !word.eq_ignore_ascii_case("won") {
            continue;
        }
        let mut near = rest.clone();
        let is_over = |word: &str| word.eq_ignore_ascii_case("over");
        let is_won_over = near.by_ref().take(OVER_WORDS_MAX).any(is_over)
            // "Won over $9,000" is a result.
            && !near.next().is_some_and(|next| next.starts_with(|c: char| c.is_ascii_digit()));
        if !is_won_over {
            return true;
        }
    }
    false
}

/// Whether `word` begins with the ASCII letters of `stem`, without regard to case.
fn starts_with(word: &str, stem: &str) -> bool {
    word.get(..stem.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(stem))
}

/// Whether `text` holds a currency sign beside a digit, a number beside the name of a currency, one such as `30k`, or a
/// number of figures.
pub(super) fn names_money(text: &str) -> bool {
    let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    let signed = text
        .char_indices()
        .filter(|(_, c)| matches!(c, '$' | '€' | '£' | '¥'))
        .any(|(at, sign)| {
            let after = text[at + sign.len_utf8()..].trim_start().chars().next();
            let before = text[..at].trim_end().chars().next_back();
            digit(after) || digit(before)
        });
    signed || names_currency(text)
}

fn names_currency(text: &str) -> bool {
    let mut number = false;
    let mut code = false;
    let mut size = false;
    for word in text.split(|c: char| !c.is_alphanumeric() && c != ',' && c != '.') {
        let word = word.trim_matches([',', '.']);
        let is_number = word.starts_with(|c: char| c.is_ascii_digit());
        let lower = word.to_ascii_lowercase();
        if (code && is_number)
            || (number && listed(CURRENCIES, &lower))
            || (size && listed("figure figures", &lower))
            || is_thousands(&lower)
            || is_joined(&lower)
        {
            return true;
        }
        // "5 thousand dollars" and "5k dollars" are amounts as well.
        let scale = listed("thousand million hundred", &lower);
        number = is_number || (scale && number);
        code = listed(CODES, &lower);
        size = listed(FIGURES, &lower);
    }
    false
}

/// Whether the word, in lower case, is a number with "k" or "m" after it; "401k" is the name of a pension.
fn is_thousands(word: &str) -> bool {
    let number = word.strip_suffix(['k', 'm']).unwrap_or_default();
    word != "401k" && is_number(number)
}

/// Whether the word, in lower case, is a code and a number without a blank, as "usd5,000".
fn is_joined(word: &str) -> bool {
    let mut codes = CODES.split(' ');
    codes.any(|code| word.strip_prefix(code).is_some_and(is_number))
}

fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
        && word
            .bytes()
            .all(|byte| byte.is_ascii_digit() || b",.".contains(&byte))
}

//! Names of months and weekdays in the languages of exports.

/// The twelve months, each with the beginnings that mean it: a longer word counts if it begins so.
///
/// English, German, French, Spanish, Italian, Portuguese and Dutch. Each beginning fits one month only.
const MONTHS: [&[&str]; 12] = [
    &["jan", "jän", "ene", "gen"],
    &["feb", "fév", "fev"],
    &["mar", "mär", "maa", "mrt", "mrz"],
    &["apr", "avr", "abr"],
    &["may", "mai", "mei", "mag"],
    &["jun", "juin", "giu"],
    &["jul", "juil", "lug"],
    &["aug", "aoû", "aou", "ago"],
    &["sep", "set"],
    &["oct", "okt", "out", "ott"],
    &["nov"],
    &["dec", "dez", "déc", "dic"],
];

/// The longest name of a month has ten letters ("septiembre"); a longer word is none.
const NAME_MAX: usize = 10;

/// The number of the month that `word` names, whole or shortened, from 1.
pub(super) fn month(word: &str) -> Option<u32> {
    let word = word.to_lowercase();
    if word.chars().count() > NAME_MAX {
        return None;
    }
    // Spanish and Portuguese say "mayo" and "maio", which begin as no other month does.
    if matches!(word.as_str(), "mayo" | "maio" | "maggio") {
        return Some(5);
    }
    let begins = |names: &[&str]| names.iter().any(|name| word.starts_with(name));
    let at = MONTHS.iter().position(|names| begins(names))?;
    u32::try_from(at + 1).ok()
}

/// Whether `word` names a day of the week, whole or shortened.
pub(super) fn is_weekday(word: &str) -> bool {
    let word = word.to_lowercase();
    let known = [
        "mon", "tue", "wed", "thu", "fri", "sat", "sun", "mo", "di", "mi", "do", "fr", "sa", "so",
        "lun", "mar", "mer", "jeu", "ven", "sam", "dim",
    ];
    known.contains(&word.as_str())
        || word.ends_with("day")
        || (word.ends_with("tag") && word.len() > 4)
        || word == "mittwoch"
        || word.ends_with("di")
        || word == "dimanche"
}

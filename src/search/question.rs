//! Words of a question that say how reviews should be ordered, rather than what they should be about, in four languages.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Folded words that ask for reviews rather than describe what they say.
const ASKING: &str = "\
review reviews reviewer reviewers customer customers client clients people mention mentions mentioned opinion opinions
experience experiences complaint complaints complain complains complained complaining
bewertung bewertungen rezension rezensionen kunde kunden patienten meinung meinungen erfahrung erfahrungen beschwerde
beschwerden beschwert beschweren
resena resenas opinion opiniones cliente clientes experiencia experiencias queja quejas quejan
avis clients plainte plaintes";

/// Folded words that negate.
const NEGATING: &str = "\
never nobody nothing none not no without cannot
nie niemals niemand nichts nicht kein keine ohne
nunca nadie nada sin
jamais personne rien sans";

/// Folded words that judge without saying what, and ask for few stars.
const BAD: &str = "\
bad badly worst worse terrible awful horrible poor poorly problem problems issue issues negative
schlecht schlechte schlechter schlimm
problema problemas malo mala mal peor
probleme problemes mauvais mauvaise pire";

/// Folded words that judge without saying what, and ask for many stars.
const GOOD: &str = "\
best great good well nice excellent recommend recommended praise favorite favourite happy positive
beste bester besten gut gute guter super empfehlen empfehlung lob
mejor bueno buena bien excelente recomendar recomiendan
meilleur meilleure bon bonne bien recommander";

/// Other folded words that ask for few stars.
const COMPLAINING: &str = "\
complaint complaints complain complains complained complaining never nobody refuse refused refuses wrong rude rudest
unfriendly dishonest scam disappointed disappointing unhappy overcharged overpriced misled lied cheated ignored
careless sloppy unprofessional incompetent
beschwerde beschwerden beschweren beschwert nie niemals niemand unfreundlich falsch falsche falscher abzocke gelogen
unprofessionell uberteuert enttauscht
queja quejas nunca nadie estafa mintieron ignoraron grosero groseros
plainte plaintes jamais arnaque impoli decu";

/// What a word of a question asks for, besides reviews with the word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct QuestionWord {
    /// Only reviews, whatever they say.
    pub(super) asks: bool,
    /// The opposite of the next words.
    pub(super) negates: bool,
    /// Reviews that judge: it does not say what, so it counts half.
    pub(super) judges: bool,
    /// Few stars.
    pub(super) complains: bool,
    /// Many stars.
    pub(super) praises: bool,
}

static QUESTION_WORDS: LazyLock<HashMap<&str, QuestionWord>> = LazyLock::new(|| {
    let mut words: HashMap<&str, QuestionWord> = HashMap::new();
    for word in ASKING.split_whitespace() {
        words.entry(word).or_default().asks = true;
    }
    for word in NEGATING.split_whitespace() {
        words.entry(word).or_default().negates = true;
    }
    for word in BAD.split_whitespace() {
        let known = words.entry(word).or_default();
        known.judges = true;
        known.complains = true;
    }
    for word in GOOD.split_whitespace() {
        let known = words.entry(word).or_default();
        known.judges = true;
        known.praises = true;
    }
    for word in COMPLAINING.split_whitespace() {
        words.entry(word).or_default().complains = true;
    }
    words
});

/// Returns what the folded `word` asks for.
pub(super) fn question_word(word: &str) -> QuestionWord {
    QUESTION_WORDS.get(word).copied().unwrap_or_default()
}

/// Tells whether the folded `word` negates, such as "never" and "didn't".
pub fn is_negation(word: &str) -> bool {
    question_word(word).negates || word.ends_with("n't")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::fold::fold;

    #[test]
    fn each_word_of_a_list_is_folded_like_those_of_a_question() {
        for word in QUESTION_WORDS.keys() {
            assert_eq!(fold(word), *word);
        }
    }

    #[test]
    fn a_word_may_ask_for_several_things() {
        let never = question_word("never");
        assert!(never.negates);
        assert!(never.complains);
        assert!(!never.judges);
        assert_eq!(question_word("lawyer"), QuestionWord::default());
        assert!(is_negation("didn't"));
    }
}

//! Recognizes the headings of the owner's answers by their words: `Antwort der Praxis`, `Unsere Antwort`, `Owner's reply`.
//!
//! What is taken is published, and much beside a review is private: `Reply-To`, `Kommentar an die Praxis`. So a heading is
//! known only if it says that the owner answered. Of others with a word for an answer (`Antwort Dr. Weber`) the report asks.

use super::text::is_listed;

/// Words for an answer.
const ANSWERS: &str = "antwort antworten stellungnahme erwiderung reply response respuesta respuestas réponse réponses reponse \
    risposta risposte resposta respostas antwoord odpowiedź odpowiedzi odpowiedz svar";

/// Words for an answer, or for what a customer says.
const FEEDBACK: &str = "rückmeldung reactie";

/// Words for a question. Beside a column of these, an answer may be the customer's.
const QUESTIONS: &str = "frage fragen question questions pregunta preguntas domanda domande pergunta perguntas vraag vragen pytanie";

/// Words for having answered, beside which a day stands.
const ANSWERED: &str = "beantwortet geantwortet answered replied responded respondido répondu risposto beantwoord odpowiedziano";

/// Words for the owner.
const OWNERS: &str = "inhaber inhabers inhaberin eigentümer eigentümers praxis arzt arztes ärztin zahnarzt zahnarztes kanzlei \
    anwalt anwalts anwältin hotel hotels haus hauses restaurant restaurants betrieb betriebs betriebes firma unternehmen \
    unternehmens geschäft geschäfts anbieter anbieters betreiber betreibers wirt wirts werkstatt händler händlers verkäufer \
    verkäufers studio studios salon salons leitung management team teams unternehmer \
    owner owners business company merchant seller host practice manager \
    propietario propietaria dueño dueña empresa negocio clínica \
    propriétaire entreprise établissement gérant cabinet praticien \
    proprietario proprietaria titolare azienda struttura gestore \
    proprietário proprietária dono dona \
    eigenaar bedrijf praktijk właściciela firmy";

/// Words for "our". "Your" is no such word: in a form it addresses the customer.
const OURS: &str = "unsere unser our nuestra notre nostra nossa onze ons nasza";

/// Words between an answer and its owner. None is a word for "to" or "on".
const OF: &str =
    "der des die vom von of from by the de del de la el l du d della dell dal do da dos van het";

/// Words for a day.
const DAYS: &str = "datum tag zeitpunkt date day fecha día data giorno dia dato";

/// Words beside a day.
const BESIDE_DAYS: &str = "am on at op el le il em";

/// Words of a value without a mark at its end that are no name.
const WORDS_MIN: usize = 6;

/// Largest number of characters of an abbreviation at the end of a name, with its full stop: `Anna B.`, `Weber jun.`.
const LETTERS_ABBREVIATED: usize = 4;

/// What a heading says about the owner's answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplyHeading {
    /// It is that of the answers.
    Reply,
    /// It is that of their days.
    Day,
    /// It has a word for an answer beside others, or one for an answer or what a customer says.
    Likely,
    /// It is about something else.
    Other,
}

/// Tells what the name of a column says about the owner's answers.
pub(super) fn reply_heading(name: &str) -> ReplyHeading {
    let lower = name.to_lowercase();
    let mut words = Vec::new();
    // In `Owner's` the last letter is no word.
    let written = lower.split(|c: char| !c.is_alphanumeric());
    for word in written.filter(|word| !word.is_empty() && *word != "s") {
        words.extend(parts_of(word));
    }
    if name.contains('?') {
        ReplyHeading::Other
    } else if is_of_owner(&words) {
        ReplyHeading::Reply
    } else if is_of_day(&words) {
        ReplyHeading::Day
    } else if words.iter().any(|word| is_answer(word)) {
        ReplyHeading::Likely
    } else {
        ReplyHeading::Other
    }
}

/// Whether words say that an answer is the owner's: `Stellungnahme`, `Unsere Antwort`, `Antwort der Praxis`.
fn is_of_owner(words: &[&str]) -> bool {
    match words {
        ["stellungnahme" | "erwiderung"] => true,
        [our, answer] if is_listed(OURS, our) => is_answer(answer),
        [owner, answer] if is_listed(OWNERS, owner) => is_listed(ANSWERS, answer),
        [answer, between @ .., owner] if is_answer(answer) && !between.is_empty() => {
            is_listed(OWNERS, owner) && between.iter().all(|word| is_listed(OF, word))
        }
        _ => false,
    }
}

/// Tells whether the name of a column says that it has questions to the customer.
pub(super) fn is_question(name: &str) -> bool {
    let lower = name.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphanumeric());
    words.any(|word| is_listed(QUESTIONS, word))
}

/// Whether words say the day of an answer: `Antwort vom`, `Datum der Antwort`, `Replied on`.
fn is_of_day(words: &[&str]) -> bool {
    let known = [
        ANSWERS,
        FEEDBACK,
        ANSWERED,
        OWNERS,
        OURS,
        OF,
        DAYS,
        BESIDE_DAYS,
    ];
    let is_known = |word: &&str| known.iter().any(|list| is_listed(list, word));
    if !words.iter().all(is_known) {
        return false;
    }
    if words.iter().any(|word| is_listed(ANSWERED, word)) {
        return true;
    }
    let has_answer = words.iter().any(|word| is_answer(word));
    has_answer && (words.iter().any(|word| is_listed(DAYS, word)) || words.ends_with(&["vom"]))
}

fn is_answer(word: &str) -> bool {
    is_listed(ANSWERS, word) || is_listed(FEEDBACK, word)
}

/// The parts of a word that is composed with an answer, as in German and Dutch: `Praxisantwort`, `Antwortdatum`.
fn parts_of(word: &str) -> Vec<&str> {
    let answers = ANSWERS.split_whitespace();
    for answer in answers.chain(FEEDBACK.split_whitespace()) {
        if let Some(owner) = word.strip_suffix(answer)
            && is_listed(OWNERS, owner)
        {
            return vec![owner, answer];
        }
        if let Some(rest) = word.strip_prefix(answer)
            && (is_listed(DAYS, rest) || rest == "text")
        {
            return vec![answer, rest];
        }
    }
    vec![word]
}

/// Whether a value ends as a sentence does, or has as many words as one: not a name, an address, a number or a flag.
pub(super) fn is_sentence(text: &str) -> bool {
    let mut words = text
        .split_whitespace()
        .filter(|word| word.contains(char::is_alphabetic));
    let Some(last) = words.clone().next_back() else {
        return false;
    };
    // The names of a person or of a business are shorter, and end with no mark but that of an abbreviation.
    let is_ended = last.ends_with(['.', '!', '…']) && last.chars().count() > LETTERS_ABBREVIATED;
    let has_words = words.any(|word| !word.contains('@'));
    has_words && (is_ended || words.count() + 1 >= WORDS_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_of_answers_and_their_days_are_known_in_several_languages() {
        let replies = "Antwort der Praxis|Unsere Antwort|Antwort des Arztes|Antwort vom Inhaber|Antwort des Inhabers|\
            Stellungnahme|Praxisantwort|Inhaberantwort|Rückmeldung der Praxis|Respuesta del propietario|\
            Nuestra respuesta|Réponse du propriétaire|Réponse de l'établissement|Risposta del proprietario|\
            Resposta da empresa|Reactie van de eigenaar|Ons antwoord|Owner's reply|Response from the owner";
        for name in replies.split('|') {
            assert_eq!(reply_heading(name), ReplyHeading::Reply, "{name}");
        }
        let days = "Antwortdatum|Datum der Antwort|Antwort am Datum|Antwort vom|Beantwortet am|Fecha de respuesta|\
            Date de réponse|Data della risposta|Data da resposta|Datum van antwoord|Reactiedatum|Data odpowiedzi|\
            Reply date|Replied on";
        for name in days.split('|') {
            assert_eq!(reply_heading(name), ReplyHeading::Day, "{name}");
        }
        let likely = "Antwort Dr. Weber|Antwort 2|Antwort Praxis|Réponse courte|Reply-To|Your response|Su respuesta|\
            Ihre Antwort|Antwort an die Praxis|Antwort von|Rückmeldung|Reactie|Response time|Antworttext|Hotel-Rückmeldung|Hotel reactie";
        for name in likely.split('|') {
            assert_eq!(reply_heading(name), ReplyHeading::Likely, "{name}");
        }
        let others = "Kommentar|Text|Datum|Ihre Bewertung|Comment|Beantwortet von Anna|Kommentar an die Praxis|\
            Comment to the owner|Comment on business|Ihre Antwort auf: Was gefiel Ihnen?|Unsere Antwort?";
        for name in others.split('|') {
            assert_eq!(reply_heading(name), ReplyHeading::Other, "{name}");
        }
    }

    #[test]
    fn a_sentence_is_no_name_address_or_number() {
        for text in [
            "Danke!",
            "Vielen Dank! 😊",
            "Sorry! Please write to help@shop.example.",
            "Wir freuen uns auf Ihren Besuch",
        ] {
            assert!(is_sentence(text), "{text}");
        }
        let others = "|Anna Weber|Dr. Weber|Anna B.|Anna Weber jun.|Ja.|12|089 12 34 56 78 90|a@b.example|\
            Ann Lee <ann@b.example>|https://a.example/1";
        for text in others.split('|') {
            assert!(!is_sentence(text), "{text}");
        }
    }
}

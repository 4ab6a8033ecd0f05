//! Recognizes the headings of the owner's answers by their words: `Antwort der Praxis`, `Ihre Antwort`,
//! `Fecha de respuesta`.
//!
//! A heading is that of the answers, or of their day, if all of its words are known here. Of any other heading with a word
//! for an answer (`Antwort Dr. Weber`) the report only says that it may be one.

use super::text::is_listed;

/// Words for an answer.
const ANSWERS: &str = "antwort antworten stellungnahme erwiderung rückmeldung reply response respuesta respuestas réponse \
    réponses reponse risposta risposte resposta respostas antwoord reactie odpowiedź odpowiedzi odpowiedz svar";

/// Words for a comment, which is an answer only beside a word for the owner.
const COMMENTS: &str = "kommentar kommentierung comment comentario commentaire commento comentário opmerking komentarz";

/// Words for having answered, beside which a day stands.
const ANSWERED: &str = "beantwortet geantwortet kommentiert answered replied responded respondido répondu risposto beantwoord \
    odpowiedziano";

/// Words for the owner.
const OWNERS: &str = "inhaber inhabers inhaberin eigentümer eigentümers praxis arzt arztes ärztin zahnarzt zahnarztes kanzlei \
    anwalt anwalts anwältin hotel hotels haus hauses restaurant restaurants betrieb betriebs betriebes firma unternehmen \
    unternehmens geschäft geschäfts anbieter anbieters betreiber betreibers wirt wirts werkstatt händler händlers verkäufer \
    verkäufers studio studios salon salons leitung management team teams unternehmer unsere unser uns ihre ihr eigene \
    owner owners our your business company merchant seller host practice manager \
    propietario propietaria dueño dueña empresa negocio clínica nuestra vuestra su \
    propriétaire entreprise établissement gérant cabinet praticien notre votre \
    proprietario proprietaria titolare azienda struttura nostra vostra gestore \
    proprietário proprietária dono dona nossa sua \
    eigenaar bedrijf praktijk onze ons uw \
    właściciela właściciel firmy nasza";

/// Words for a day.
const DAYS: &str = "datum tag zeit zeitpunkt date day time fecha día data giorno dia dato";

/// Words without a meaning of their own here.
const FILLERS: &str = "der des die das dem den vom von am an auf zur zum the of from by to on at s de del la le les el l du \
    d della dell dal do da dos van het op na od text texte texto testo tekst öffentliche public publique pública pubblica \
    lautet";

/// What a heading says about the owner's answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplyHeading {
    /// It is that of the answers; of their days, if the values are days (`Antwort vom`).
    Reply,
    /// It is that of their days.
    Day,
    /// It has a word for an answer beside words that are not known.
    Likely,
    /// It is about something else.
    Other,
}

/// Tells what the name of a column says about the owner's answers.
pub(super) fn reply_heading(name: &str) -> ReplyHeading {
    let lower = name.to_lowercase();
    let mut parts = Vec::new();
    for word in lower.split(|c: char| !c.is_alphanumeric()) {
        if !word.is_empty() {
            parts.extend(parts_of(word));
        }
    }
    let has = |list: &str| parts.iter().any(|part| is_listed(list, part));
    let has_comment_of_owner = has(COMMENTS) && has(OWNERS);
    let is_answered = has(ANSWERED);
    if !has(ANSWERS) && !has_comment_of_owner && !is_answered {
        return ReplyHeading::Other;
    }
    let known = [ANSWERS, COMMENTS, ANSWERED, OWNERS, DAYS, FILLERS];
    let is_known = |part: &&str| known.iter().any(|list| is_listed(list, part));
    if !parts.iter().all(is_known) {
        return if is_answered {
            ReplyHeading::Other
        } else {
            ReplyHeading::Likely
        };
    }
    if is_answered || has(DAYS) {
        return ReplyHeading::Day;
    }
    ReplyHeading::Reply
}

/// The parts of a word that is composed with an answer, as in German and Dutch: `Praxisantwort`, `Antwortdatum`.
fn parts_of(word: &str) -> Vec<&str> {
    for answer in ANSWERS.split_whitespace() {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_of_answers_and_their_days_are_known_in_several_languages() {
        let replies = "Antwort der Praxis|Ihre Antwort|Unsere Antwort|Antwort des Arztes|Antwort vom Inhaber|Stellungnahme|\
            Praxisantwort|Inhaberantwort|Kommentar des Inhabers|Antworttext|Respuesta del propietario|Nuestra respuesta|\
            Réponse du propriétaire|Réponse de l'établissement|Risposta del proprietario|Resposta da empresa|\
            Reactie van de eigenaar|Ons antwoord|Odpowiedź właściciela|Owner's reply|Response from the owner|Antwort vom";
        for name in replies.split('|') {
            assert_eq!(reply_heading(name), ReplyHeading::Reply, "{name}");
        }
        let days = "Antwortdatum|Datum der Antwort|Antwort am Datum|Beantwortet am|Fecha de respuesta|Date de réponse|\
            Data della risposta|Data da resposta|Datum van antwoord|Reactiedatum|Data odpowiedzi|Reply date|Replied on";
        for name in days.split('|') {
            assert_eq!(reply_heading(name), ReplyHeading::Day, "{name}");
        }
        for name in ["Antwort Dr. Weber", "Antwort 2", "Réponse courte"] {
            assert_eq!(reply_heading(name), ReplyHeading::Likely, "{name}");
        }
        for name in [
            "Kommentar",
            "Text",
            "Datum",
            "Ihre Bewertung",
            "Comment",
            "Beantwortet von Anna",
        ] {
            assert_eq!(reply_heading(name), ReplyHeading::Other, "{name}");
        }
    }
}

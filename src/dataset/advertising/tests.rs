use super::money::names_money;
use super::*;
use crate::dataset::{decode, embedded};
use crate::model::{OwnerReply, Rating};
use crate::wire::date::Timestamp;

fn sample() -> Dataset {
    let decoded = decode(embedded(), Timestamp::from_unix(4_000_000_000));
    decoded.expect("the sample is valid").dataset
}

/// The codes of what is found in a review of `stars` and its reply, whose author is Ann Lee.
fn codes(stars: u8, text: &str, reply: &str) -> Vec<&'static str> {
    let mut dataset = sample();
    dataset.reviews.truncate(1);
    let review = &mut dataset.reviews[0];
    review.author = "Ann Lee".to_owned();
    review.text = text.to_owned();
    review.rating = Rating::new(stars).expect("stars");
    review.owner_reply = Some(OwnerReply {
        text: reply.to_owned(),
        date: review.date,
    });
    let findings = findings(&dataset, NonZeroUsize::MIN);
    findings.iter().map(|finding| finding.rule.code).collect()
}

#[test]
fn results_with_an_amount_of_money_are_found() {
    for text in [
        "They settled it for $40,000.",
        "Great! He got me 12 thousand dollars. Thanks",
        "Ms. Okafor recovered 5.000 € for us",
        "I won £300 in damages",
        "The insurer paid 20 grand",
        "They secured $250,000 for my family!",
        "Outcome: $2 million.",
        "They secured USD 5,000 for me and won.",
        "They recovered 30k for me",
        "As a result I was awarded 1.5M",
        "I walked away with 75,000 dollars",
        "My claim paid out $90,000.",
        "They negotiated $30,000 for me",
        "He saved me $10,000 in back taxes",
        "I ended up with $200,000 from the insurance",
        "Reduced my debt by $40,000",
        "We were paid $45,000 by the insurance company",
        "A six-figure settlement!",
        "She won ¥5,000,000 for us",
        "They won CHF 20'000",
        "Won over £9,000",
    ] {
        assert_eq!(codes(5, text, ""), ["money"], "{text}");
    }
    for text in [
        "The flat fee was $1,200, as agreed.",
        "I got a bill for 300 dollars",
        "We won. The fee was $900.",
        "They settled it in 2024, on day 40,000 or so it felt.",
        "We got a grand office tour",
        "received 5 stars",
        "The security deposit was $900.",
        "As a result the bill was $400.",
        "They settled who gets the 401k.",
        "The result came after a 30km drive.",
        "I won't pay $400 an hour elsewhere.",
        "I wonder how it only cost $300.",
        "The $200 consultation won me over.",
        "Award-winning team, flat fee $900.",
        "They reduced their fee to $500.",
    ] {
        assert_eq!(codes(5, text, ""), [""; 0], "{text}");
    }
    let settled = "They settled for $40 and I was furious";
    assert_eq!(codes(3, settled, ""), ["money"]);
    assert_eq!(codes(2, settled, ""), [""; 0], "a complaint");
    assert_eq!(codes(2, "", "We recovered $9,000 for others"), ["money"]);
}

#[test]
fn promises_of_an_outcome_are_found() {
    for text in [
        "Great results guaranteed every time!",
        "They never lose a case.",
        "He promised me we would win and he was right",
        "Call them, they will win your case",
        "I guarantee you a good outcome",
        "Garantizan ganar el caso",
        "I'm not kidding: results guaranteed!",
        "I'm not kidding, results guaranteed!",
        "No doubt - success guaranteed",
        "Not that I knew anybody there, success is guaranteed",
        "You will win with them",
        "He assured me I would win",
        "They promised we’d win and we did",
        "They win 99% of cases",
    ] {
        assert_eq!(codes(5, text, ""), ["promise"], "{text}");
        assert_eq!(codes(1, "", text), ["promise"], "{text}");
    }
    for text in [
        "She could not guarantee a result, and said so.",
        "Past results don’t guarantee a similar outcome.",
        "No guarantee of success was given.",
        "I guarantee you that they answer the phone.",
        "They never lose their patience.",
        "He didn't promise. We won on all three counts.",
        "No garantizan ganar",
        "This is not a promise or guarantee of any result.",
        "We are not in a position to guarantee a result.",
        "No lawyer can guarantee that you win.",
        "Guaranteed to answer in case you call.",
        "Nobody promises that you will win.",
    ] {
        assert_eq!(codes(5, text, ""), [""; 0], "{text}");
    }
}

#[test]
fn names_of_others_in_a_reply_are_found() {
    for reply in [
        "Mr. Smith should not have done that.",
        "We are sorry about your husband Peter.",
        "Judge Alvarez was fair, we agree.",
        "Lee v. Harmon was a hard one.",
        "Please greet your daughter, Maya!",
        "We hope Peter Harmon is well.",
        "Thanks, Peter Harmon",
        "We hope Peter J. Harmon's family is well.",
        "Thank you! And — please — greet Peter\nHarmon and Maya Singh-Cole.",
    ] {
        assert_eq!(codes(5, "", reply), ["reply_name"], "{reply}");
    }
    for reply in [
        "Thank you, Ms. Lee.",
        "Mr. O’Dowd and Ms. Thornquist send their best, Mrs. Lee’s letter is framed.",
        "Talk to your son. We can wait.",
        "Please bring your mother, I will make tea.",
        "Don't judge us. Please call (970) 555-0142.",
        "Thornquist & Okafor thank you.",
        "Ask for Daniel Reyes or Marisol Reyes, of Criminal Defense, on Granary Street in Vane Creek.",
        "We thank Ann Lee. Peter can tell. Harmon is a street.",
        "Thanks, and Happy New Year to the Bellwick County Bar Association from Us All!",
        "We told Peter. Harmon knows, says Peter, Harmon does not.",
        "PLEASE CALL US, and ask for Peter (Harmon is out).",
        "We are glad, with best regards, Peter Harmon",
    ] {
        assert_eq!(codes(5, "", reply), [""; 0], "{reply}");
    }
}

#[test]
fn numbers_of_cases_in_a_reply_are_found() {
    for reply in [
        "See case no. 12345.",
        "Docket number: 21-4455",
        "Your file #20391 is closed.",
        "2021-CV-00123 was filed",
        "(3:21-cr-0045)",
        "Expediente núm. 4456",
        "In this case 24-480 is the number",
        "Re your matter 345/21",
    ] {
        assert_eq!(codes(5, "", reply), ["reply_case_number"], "{reply}");
    }
    for reply in [
        "In this case 48 hours is too long.",
        "A file should never take nine days, the standard is 2.",
        "Call (970) 555-0142 or 970-555-0142.",
        "We moved to 12-14 Main St, 2021-11-20.",
        "No case no. 5 jokes",
        "In this case 24-48 hours is too long.",
        "In this case 24/7 is not enough.",
    ] {
        assert_eq!(codes(5, "", reply), [""; 0], "{reply}");
    }
}

#[test]
fn what_a_matter_was_is_found_in_a_reply_and_not_in_a_review() {
    for reply in [
        "Your divorce was hard.",
        "We wish you well after your recent accident, Ann.",
        "Le deseamos lo mejor con su divorcio",
        "Your mother's estate took long.",
    ] {
        assert_eq!(codes(5, reply, reply), ["reply_matter"], "{reply}");
    }
    for reply in [
        "Thank you for your kind words, divorce is hard.",
        "We are sorry about your hearing aid.",
        "Urgent calls about an arrest are answered at once.",
        "We enjoyed working on your case.",
    ] {
        assert_eq!(codes(5, "", reply), [""; 0], "{reply}");
    }
}

#[test]
fn own_words_are_held_to_the_same_with_their_place() {
    let mut dataset = sample();
    dataset.reviews.clear();
    dataset.editorial.summary = Some("Results guaranteed.".to_owned());
    dataset.editorial.faq[1].answer = "We recovered $5,000 for one.".to_owned();
    let findings = findings(&dataset, NonZeroUsize::MIN);
    let places: Vec<(&str, &str)> = findings
        .iter()
        .map(|finding| (finding.rule.code, finding.path.as_str()))
        .collect();
    assert_eq!(places, [("promise", "summary"), ("money", "faq[1].answer")]);
}

#[test]
fn other_kinds_of_business_are_not_held_to_the_rules_of_the_bar() {
    let mut dataset = sample();
    dataset.editorial.summary = Some("Results guaranteed.".to_owned());
    assert!(!findings(&dataset, NonZeroUsize::MIN).is_empty());
    for kind in [
        "attorney",
        " NOTARY",
        "https://schema.org/LegalService",
        "HTTP://schema.org/legalservice",
    ] {
        dataset.business.kind = kind.to_owned();
        assert!(!findings(&dataset, NonZeroUsize::MIN).is_empty(), "{kind}");
    }
    for kind in [
        "Restaurant",
        "",
        "https://schema.org/",
        "https://other.example/LegalService",
    ] {
        dataset.business.kind = kind.to_owned();
        assert!(findings(&dataset, NonZeroUsize::MIN).is_empty(), "{kind}");
    }
}

#[test]
fn amounts_of_money_are_recognised() {
    for text in [
        "$5,000",
        "got $ 12",
        "5000$",
        "1.200 €",
        "£3",
        "won 40,000 dollars",
        "50 thousand Dollars",
        "12 USD.",
        "ten and 5 bucks",
        "20 grand",
        "USD 5,000",
        "usd5000",
        "30k",
        "(2.5M)",
        "¥5,000",
        "CHF 20'000",
        "seven figures",
        "a 6-figure sum",
    ] {
        assert!(names_money(text), "{text}");
    }
    for text in [
        "",
        "$",
        "dollars",
        "a grand office",
        "5 stars",
        "in 2024, we paid in euros",
        "cash$",
        "USD",
        "5, and USD for a start",
        "the 401k",
        "a 30km drive",
        "k m 5th",
        "100 %",
        "a figure of speech",
        "six people",
    ] {
        assert!(!names_money(text), "{text}");
    }
}

#[test]
fn whatever_is_found_in_a_review_holds_a_hint() {
    let lists = ["currencies", "codes", "promises", "guarantees"].map(list);
    for phrase in lists.concat().into_iter().chain(["30k", "2.5m"]) {
        let hinted = list("hints").iter().any(|hint| phrase.contains(hint));
        assert!(hinted, "{phrase}");
    }
}

#[test]
fn several_threads_find_the_same_in_the_same_order() {
    let mut dataset = sample();
    for (at, review) in dataset.reviews.iter_mut().enumerate() {
        if at % 3 == 0 {
            review.text = format!("They won ${at},000 for me.");
            review.rating = Rating::MAX;
        }
    }
    let found_by = |threads| {
        let findings = findings(&dataset, threads).into_iter();
        let found = findings.map(|finding| (finding.rule.code, finding.review, finding.words));
        found.collect::<Vec<_>>()
    };
    let one = found_by(NonZeroUsize::MIN);
    assert!(one.len() > 10);
    for threads in [2, 3, 1_000] {
        let threads = NonZeroUsize::new(threads).expect("threads");
        assert_eq!(found_by(threads), one);
    }
}

use super::*;
use crate::dataset::sample;
use crate::model::{OwnerReply, Rating};

/// The codes of the findings in a review with `stars` and in its reply.
fn codes(stars: u8, text: &str, reply: &str) -> Vec<&'static str> {
    let mut dataset = sample();
    dataset.reviews.truncate(1);
    let review = &mut dataset.reviews[0];
    review.text = text.to_owned();
    review.rating = Rating::new(stars).expect("stars");
    review.owner_reply = Some(OwnerReply {
        text: reply.to_owned(),
        date: review.date,
    });
    let findings = findings(&dataset);
    findings.iter().map(|one| &*one.rule.code).collect()
}

/// Texts that each rule finds, one per line, and, after a minus, texts that it does not find.
const CASES: [(&str, &str); 4] = [
    (
        "money",
        "They settled it for $40,000.
They secured USD 5,000 for me and won.
He saved me $10,000 in back taxes
A six-figure settlement!
Won over £9,000
-We won. The fee was $900.
-They settled it in 2024, on day 40,000 or so it felt.
-They settled who gets the 401k.
-The result came after a 30km drive.
-The $200 consultation won me over.",
    ),
    (
        "promise",
        "Great results guaranteed every time!
They never lose a case.
Garantizan ganar el caso
I'm not kidding, results guaranteed!
You will win with them
They win 99% of cases
-She could not guarantee a result, and said so.
-Past results don’t guarantee a similar outcome.
-I guarantee you that they answer the phone.
-They never lose their patience.
-He didn't promise. We won on all three counts.
-This is not a promise or guarantee of any result.
-Guaranteed to answer in case you call.",
    ),
    (
        "reply_case_number",
        "See case no. 12345.
Your file #20391 is closed.
2021-CV-00123 was filed
(3:21-cr-0045)
Expediente núm. 4456
Re your matter 345/21
-In this case 48 hours is too long.
-Call (970) 555-0142 or 970-555-0142.
-We moved to 12-14 Main St, 2021-11-20.
-In this case 24-48 hours is too long.",
    ),
    (
        "reply_matter",
        "Your divorce was hard.
Le deseamos lo mejor con su divorcio
Your mother's estate took long.
-Thank you for your kind words, divorce is hard.
-We are sorry about your hearing aid.",
    ),
];

#[test]
fn each_rule_finds_what_it_is_for_and_nothing_harmless() {
    for (code, cases) in CASES {
        for case in cases.lines() {
            let (text, found) = match case.strip_prefix('-') {
                Some(text) => (text, &[][..]),
                None => (case, &[code][..]),
            };
            assert_eq!(codes(1, "", text), found, "{text}");
            let is_of_replies = code.starts_with("reply");
            let in_review = if is_of_replies { &[] } else { found };
            assert_eq!(codes(5, text, ""), in_review, "{text}");
        }
    }
    let settled = "They settled for $40 and I was furious";
    assert_eq!(codes(3, settled, ""), ["money"]);
    assert_eq!(codes(2, settled, ""), [""; 0], "a complaint");
}

#[test]
fn own_words_are_held_to_the_same_with_their_place_and_only_those_of_a_practice() {
    let mut dataset = sample();
    dataset.reviews.clear();
    dataset.editorial.summary = Some("Results guaranteed.".to_owned());
    dataset.editorial.faq[1].answer = "We recovered $5,000 for one.".to_owned();
    let found = findings(&dataset);
    let places: Vec<(&str, &str)> = found
        .iter()
        .map(|found| (&*found.rule.code, &*found.path))
        .collect();
    assert_eq!(places, [("promise", "summary"), ("money", "faq[1].answer")]);
    dataset.business.kind = "Restaurant".to_owned();
    assert!(findings(&dataset).is_empty());
}

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::*;
use crate::dataset::chunks::CHUNK_ROWS;
use crate::dataset::sample;
use crate::dataset::{Files, decode, detect_languages};
use crate::model::insights::Polarity;
use crate::model::{Concept, Rating, Review};
use crate::wire::date::{Date, Timestamp};

fn derived(dataset: &Dataset, threads: usize) -> Document {
    let threads = NonZeroUsize::new(threads).expect("not zero");
    let dataset = &with_languages(dataset);
    document(dataset, threads, &|| false).expect("nothing cancels it")
}

/// The dataset with the languages that are detected when its files are read.
fn with_languages(dataset: &Dataset) -> Dataset {
    let mut dataset = dataset.clone();
    detect_languages(&mut dataset.reviews, NonZeroUsize::MIN);
    dataset
}

fn parsed(dataset: &Dataset) -> Value {
    serde_json::from_slice(&derived(dataset, 1).bytes).expect("JSON")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("an array")
}

fn count(value: &Value) -> u64 {
    value.as_u64().expect("a count")
}

fn aspect<'v>(value: &'v Value, id: &str) -> &'v Value {
    let mut aspects = list(&value["aspects"]).iter();
    aspects.find(|one| one["id"] == id).expect("listed")
}

/// The sample's business with these reviews; their ids are `r0`, `r1` and so on.
fn dataset_of<T: AsRef<str>>(reviews: &[(u8, T)]) -> Dataset {
    let mut dataset = sample();
    let review = |(id, (stars, text)): (usize, &(u8, T))| Review {
        id: format!("r{id}"),
        rating: Rating::new(*stars).expect("1 to 5"),
        text: text.as_ref().to_owned(),
        mentioned_technicians: Vec::new(),
        mentioned_services: Vec::new(),
        language: None,
        translation: None,
        language_source: None,
        location: None,
        date_precision: None,
        rating_original: None,
        added_at: None,
        changed_at: None,
        ..dataset.reviews[0].clone()
    };
    dataset.reviews = reviews.iter().enumerate().map(review).collect();
    dataset.editorial.summary = None;
    dataset
}

fn concept(id: &str, phrases: &[&str]) -> Concept {
    Concept {
        id: id.to_owned(),
        label: id.to_owned(),
        phrases: phrases.iter().map(|phrase| (*phrase).to_owned()).collect(),
        not_phrases: Vec::new(),
    }
}

/// Checks the invariants of every document: sums, shares, intervals, and no score with too few mentions.
fn check(dataset: &Dataset, value: &Value) {
    let coverage = &value["coverage"];
    let mut mentions = 0;
    for aspect in list(&value["aspects"]) {
        let all = count(&aspect["mention_count"]);
        mentions += all;
        assert_eq!(aspect["score"].is_null(), all < totals::SCORED_MIN);
        assert_eq!(aspect["interval"].is_null(), aspect["score"].is_null());
        if let Some(share) = aspect["positive_pct"].as_f64() {
            let positive = count(&aspect["positive_count"]) as f64;
            assert!((share - 100.0 * positive / all as f64).abs() <= 0.05 + 1e-9);
            let [low, high] = [0, 1].map(|at| aspect["interval"][at].as_f64().expect("a bound"));
            assert!(low * 100.0 <= share);
            assert!(share <= high * 100.0);
            assert!(high > low);
            let [low_pct, high_pct] = [0, 1].map(|at| {
                aspect["positive_pct_interval"][at]
                    .as_f64()
                    .expect("per cent")
            });
            assert!((low_pct - low * 100.0).abs() <= 0.05 + 1e-9);
            assert!((high_pct - high * 100.0).abs() <= 0.05 + 1e-9);
        }
    }
    assert_eq!(count(&coverage["mentions"]), mentions);
    // A review without text is scored by its stars.
    let scored = dataset.reviews.len() as u64;
    assert_eq!(count(&coverage["scored"]), scored);
    let languages = list(&coverage["languages"]).iter();
    let of_languages: u64 = languages.map(|one| count(&one["reviews"])).sum();
    assert_eq!(count(&coverage["with_text"]), of_languages);
    let per_review = value["per_review"].as_object().expect("an object");
    let reviews = || per_review.values();
    let named = reviews().filter(|one| one["aspects"] != json!([]));
    assert_eq!(count(&coverage["with_aspect"]), named.count() as u64);
    for sign in ["positive", "neutral", "negative"] {
        let of_sign = reviews().filter(|one| one["sentiment"] == sign);
        let share = value["overall_sentiment"][format!("{sign}_pct")].as_f64();
        let expected = 100.0 * of_sign.count() as f64 / scored as f64;
        assert!(scored == 0 || (share.expect("a share") - expected).abs() <= 0.05 + 1e-9);
    }
    let months = list(&value["temporal"]["monthly"]).iter();
    let of_months: u64 = months.map(|month| count(&month["review_count"])).sum();
    assert_eq!(of_months, scored);
}

#[test]
fn the_sample_adds_up_with_praise_and_complaint() {
    let mut dataset = sample();
    let value = parsed(&dataset);
    check(&dataset, &value);
    let fees = aspect(&value, "fees");
    assert!(count(&fees["positive_count"]) > 1);
    assert!(count(&fees["negative_count"]) > 1);
    assert!((4..=6).contains(&list(&fees["example_review_ids"]).len()));
    assert_eq!(value["method"]["summary"], "editorial");
    dataset.editorial.summary = None;
    let value = parsed(&dataset);
    assert_eq!(value["method"]["summary"], "derived");
    let summary = value["summary"].as_str().expect("a summary");
    let start = format!(
        "{} reviews from February 11, 2019 to ",
        dataset.reviews.len()
    );
    assert!(summary.starts_with(&start));
    assert!(summary.contains("Criticized most often: "));
}

#[test]
fn the_rules_of_the_method_name_the_constants_of_the_code() {
    let method = &parsed(&sample())["method"];
    let rules = method.as_object().expect("an object").iter();
    for (name, rule) in rules.filter_map(|(name, rule)| Some((name, rule.as_str()?))) {
        assert!(!rule.contains('{'), "{name}: {rule}");
    }
    for (name, part) in [
        ("formula", "own stars 0.500, at one star 0.719;"),
        ("formula", "0.750 for a complaint if a sentence"),
        ("formula", "repetition, 1.000 for neutral instead"),
        ("trend_rule", "rejects chance at 0.002 divided"),
        ("interval_rule", "standard error is 0.5 times"),
    ] {
        let rule = method[name].as_str().expect("a rule");
        assert!(rule.contains(part), "{name}: {rule}");
    }
    let page = include_str!("../../docs/design/insights.md");
    let is_present = page.contains(&format!("the present one is `{MODEL}`"));
    assert!(is_present, "docs/design/insights.md names another version");
}

/// Reviews, the sign of each, and their languages.
type EdgeCase<'c> = (&'c [(u8, &'c str)], &'c str, Option<Value>);

#[test]
fn edge_data_make_sense() {
    let long = "The lawyer was friendly and the fees were fair. ".repeat(1_250);
    let cut = "x".repeat(60_000);
    let mixed = "The service was fine, pero nunca contestan y la factura fue muy alta. Schade!";
    let happy = "Ik ben heel tevreden over deze advocaat en zijn medewerkers.";
    let angry = "Wij hebben wekenlang gewacht en kregen nooit een antwoord.";
    let stars_of = |code: &str, reviews: u64| json!([{"language": code, "reviews": reviews, "evidence": ["stars"]}]);
    let emoji = [(5, "😀👍"), (1, "😡"), (3, "🤷")];
    let dutch = [(5, happy), (1, angry)].repeat(5);
    let large = [(5, &*long), (4, "❤️"), (2, mixed), (3, &*cut)];
    let cases: [EdgeCase<'_>; 6] = [
        (&[], "", Some(json!([]))),
        (&[(1, "Untrustworthy.")], "-", None),
        (&[(5, "")], "+", Some(json!([]))),
        (&emoji, "+-0", Some(stars_of("und", 3))),
        (
            &dutch,
            "+-+-+-+-+-",
            Some(json!([{"language": "nl", "reviews": 10, "evidence": ["opinions", "stars"]}])),
        ),
        (&large, "++-0", None),
    ];
    for (reviews, signs, languages) in cases {
        let dataset = dataset_of(reviews);
        let value = parsed(&dataset);
        check(&dataset, &value);
        let sign = |row: usize| match value["per_review"][format!("r{row}")]["sentiment"].as_str() {
            Some("positive") => '+',
            Some("negative") => '-',
            _ => '0',
        };
        assert_eq!((0..reviews.len()).map(sign).collect::<String>(), signs);
        assert!(languages.is_none_or(|languages| value["coverage"]["languages"] == languages));
        assert_eq!(value["topics"], json!([]));
        assert!(value["temporal"]["trend"].is_null());
        assert_eq!(value["summary"].is_null(), reviews.is_empty());
        let summary = value["summary"].as_str().unwrap_or_default();
        let is_of_one = summary.starts_with("The only review, of ");
        assert_eq!(is_of_one, reviews.len() == 1, "{summary}");
    }
    let value = parsed(&dataset_of::<&str>(&[]));
    let no_dates = json!({"earliest": null, "latest": null});
    assert_eq!(value["date_range"], no_dates);
    assert!(value["entities"]["technicians"][0]["mean_rating"].is_null());
    assert!(value["overall_sentiment"].is_null());
    assert!(value["method"]["summary"] == "none");
}

#[test]
fn stars_decide_where_a_language_has_no_other_evidence() {
    let text = "Sedan handlade det under den första veckan om priset.";
    let mut dataset = dataset_of(&[1, 2, 4, 5].map(|stars| (stars, text)));
    for review in &mut dataset.reviews {
        review.language = Some("sv".to_owned());
    }
    dataset.taxonomy.aspects = vec![concept("price", &["priset"])];
    let value = parsed(&dataset);
    let price = aspect(&value, "price");
    let counts = ["positive", "neutral", "negative"];
    let counts = counts.map(|sign| count(&price[format!("{sign}_count")]));
    assert_eq!(counts, [2, 0, 2]);
}

#[test]
fn all_five_stars_have_no_critical_quote_without_a_clear_complaint() {
    let texts = [
        "The emergency call came back at 5:30 in the morning. THANKS!",
        "Nobody else could have handled my fees and my divorce with less trouble.",
        "The staff was rude and awful, a terrible disappointment.",
    ];
    let value = parsed(&dataset_of(&texts.map(|text| (5, text)).repeat(20)));
    for aspect in list(&value["aspects"]) {
        for piece in list(&aspect["evidence"]) {
            let id = piece["review_id"].as_str().expect("an id");
            let row: usize = id[1..].parse().expect("a row");
            assert!(piece["polarity"] != "negative" || row % 3 == 2, "{aspect}");
        }
        assert!(aspect["change"].is_null());
    }
    assert!(count(&aspect(&value, "staff")["negative_count"]) > 0);
    let mut topics = list(&value["topics"]).iter();
    assert!(topics.all(|topic| topic["polarity"] == "positive"));
}

/// The polarities of all mentions of `phrases` in these reviews, which are English.
fn polarities(reviews: &[(u8, String)], phrases: &[&str]) -> Vec<Polarity> {
    polarities_in("en", reviews, phrases)
}

/// The polarities of all mentions of `phrases` in these reviews in `language`.
fn polarities_in(language: &str, reviews: &[(u8, String)], phrases: &[&str]) -> Vec<Polarity> {
    let mut dataset = dataset_of(reviews);
    for review in &mut dataset.reviews {
        review.language = Some(language.to_owned());
    }
    dataset.taxonomy.aspects = vec![concept("subject", phrases)];
    let mut polarities = Vec::new();
    for aspect in derived(&dataset, 1).insights.aspects {
        let evidence = aspect.evidence.into_iter().flatten();
        polarities.extend(evidence.map(|one| one.polarity));
    }
    polarities
}

fn count_of(polarities: &[Polarity], wanted: Polarity) -> usize {
    polarities.iter().filter(|one| **one == wanted).count()
}

#[test]
fn what_a_trade_deals_with_is_no_complaint() {
    let nouns = [
        "emergency",
        "criminal",
        "death",
        "dispute",
        "debt",
        "pain",
        "injury",
        "accident",
        "damage",
        "leak",
        "fire",
        "funeral",
        "depression",
        "cancer",
        "crime",
        "lawsuit",
        "fraud",
        "arrest",
        "trauma",
        "violence",
    ];
    let mut reviews = Vec::new();
    for noun in nouns {
        reviews.extend(FRAMES.map(|frame| (4, frame.replace("{}", noun))));
    }
    let found = polarities(&reviews, &nouns);
    assert_eq!(found.len(), nouns.len() * FRAMES.len());
    let critical = count_of(&found, Polarity::Negative);
    assert!(
        critical * 20 <= found.len(),
        "{critical} of {}",
        found.len()
    );
}

/// Plain statements about a noun.
const FRAMES: [&str; 8] = [
    "I came to them about the {}.",
    "They have handled {} cases since 1998.",
    "The {} was in October, and we called them the next day.",
    "We talked about my brother's {} on the phone.",
    "Her file has a page on the {}.",
    "The letter from the county names a {} and a date in spring.",
    "Two colleagues met in Leeds to review the {}.",
    "My cousin read about the {} in a newspaper.",
];

/// All sequences of four words, in lower case.
fn fours(text: &str) -> BTreeSet<Vec<String>> {
    let lower = text.to_lowercase();
    let words = lower.split(|letter: char| !letter.is_alphanumeric());
    let words: Vec<String> = words
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect();
    words.windows(4).map(<[String]>::to_vec).collect()
}

#[test]
fn the_frames_are_independent_of_the_training_sentences() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/polarity");
    let mut seen = BTreeSet::new();
    for name in [
        "plain",
        "facts",
        "rated",
        "practice",
        "home-services",
        "mixed",
    ] {
        let path = format!("{folder}/{name}.jsonl");
        let lines = std::fs::read_to_string(path).expect("a fixture");
        for line in lines.lines() {
            let case: Value = serde_json::from_str(line).expect("JSON");
            seen.extend(fours(case["text"].as_str().expect("a text")));
        }
    }
    for frame in FRAMES {
        for part in frame.split("{}") {
            let shared = fours(part).into_iter().find(|words| seen.contains(words));
            assert_eq!(shared, None, "{frame}");
        }
    }
}

/// Plain statements about a trade, and the phrase that each of them mentions.
const PLAIN: [(&str, &str); 20] = [
    ("Mr. Okafor is my criminal defense attorney.", "attorney"),
    (
        "They represented us after a car accident on I-80.",
        "accident",
    ),
    (
        "We went to them about a boundary dispute with our neighbor.",
        "dispute",
    ),
    (
        "The probate of my mother's estate was handled here.",
        "probate",
    ),
    ("My hearing was on the ninth of May.", "hearing"),
    ("It was an emergency.", "emergency"),
    ("They dried out the water damage in two days.", "damage"),
    ("We had a new shower room installed.", "shower room"),
    ("Our water heater failed last winter.", "water heater"),
    ("Two men replaced the gutters on both sides.", "gutters"),
    ("I have had pain in my knee since the fall.", "pain"),
    ("She treats my husband for depression.", "depression"),
    ("The dentist pulled one wisdom tooth.", "tooth"),
    ("I come here for my allergy shots.", "shots"),
    ("We had the fish and a glass of white wine.", "fish"),
    ("Our room was on the third floor.", "room"),
    ("The shop is next to the post office.", "shop"),
    ("I ordered a pair of running shoes for my son.", "shoes"),
    ("They changed the brake pads and the oil.", "brake pads"),
    ("The course has eight units and a test.", "course"),
];

#[test]
fn plain_statements_are_not_critical_at_four_and_five_stars() {
    let phrases = PLAIN.map(|(_, phrase)| phrase);
    for stars in [4, 5] {
        let reviews = PLAIN.map(|(text, _)| (stars, text.to_owned()));
        let found = polarities(&reviews, &phrases);
        assert_eq!(found.len(), PLAIN.len());
        let critical = count_of(&found, Polarity::Negative);
        assert!(critical <= 1, "{critical} of 20 at {stars} stars");
    }
}

#[test]
fn plain_statements_are_neutral_at_any_stars() {
    let phrases = PLAIN.map(|(_, phrase)| phrase);
    for stars in 1..=5 {
        let reviews = PLAIN.map(|(text, _)| (stars, text.to_owned()));
        let found = polarities(&reviews, &phrases);
        let neutral = count_of(&found, Polarity::Neutral);
        assert!(neutral >= 15, "{neutral} of 20 at {stars} stars");
    }
}

/// Further plain statements about law, medicine, home services and restaurants, which chose nothing: a line has a language,
/// the phrase that is mentioned, and the statement.
const STATEMENTS: &str = include_str!("../../tests/fixtures/polarity/statements.txt");

/// The polarities of all mentions in the statements in `language`, in reviews of these `stars`.
fn statements(language: &str, stars: u8) -> Vec<Polarity> {
    let mut found = Vec::new();
    for line in STATEMENTS.lines() {
        let fields: Vec<&str> = line.split('|').collect();
        let [of, phrase, text] = fields[..] else {
            panic!("{line}");
        };
        if of == language {
            let polarities = polarities_in(language, &[(stars, text.to_owned())], &[phrase]);
            assert_eq!(polarities.len(), 1, "{line}");
            found.extend(polarities);
        }
    }
    found
}

#[test]
fn further_english_statements_are_not_critical_at_four_and_five_stars() {
    for stars in [4, 5] {
        let found = statements("en", stars);
        assert_eq!(found.len(), 20);
        let critical = count_of(&found, Polarity::Negative);
        assert!(critical <= 1, "{critical} of 20 at {stars} stars");
    }
}

#[test]
fn statements_without_an_opinion_are_neutral_in_other_languages() {
    for language in ["de", "es", "fr"] {
        for stars in [3, 4] {
            let found = statements(language, stars);
            assert_eq!(found.len(), 20);
            let neutral = count_of(&found, Polarity::Neutral);
            assert!(neutral >= 18, "{language}: {neutral} at {stars} stars");
        }
        let found = statements(language, 5);
        assert_eq!(count_of(&found, Polarity::Negative), 0, "{language}");
    }
}

#[test]
fn a_review_of_one_star_is_critical_where_it_has_an_opinion_or_a_negation() {
    for (text, polarity) in [
        ("Wir hatten am Montag einen Termin.", Polarity::Neutral),
        ("Wir bekamen keinen Termin.", Polarity::Negative),
        ("Der Termin war furchtbar.", Polarity::Negative),
        ("Der Termin war angenehm.", Polarity::Neutral),
    ] {
        let found = polarities_in("de", &[(1, text.to_owned())], &["Termin"]);
        assert_eq!(found, [polarity], "{text}");
    }
}

#[test]
fn what_a_reviewer_only_asked_for_is_neutral_in_an_angry_review() {
    for (language, text, polarity) in [
        (
            "de",
            "Wir baten um einen Termin, aber die Dame war unfreundlich.",
            Polarity::Neutral,
        ),
        (
            "de",
            "Wir baten dreimal um einen Termin, aber die Dame war unfreundlich.",
            Polarity::Negative,
        ),
        (
            "de",
            "Wir wurden um einen Termin gebeten, aber die Dame war unfreundlich.",
            Polarity::Negative,
        ),
        (
            "pt",
            "Pedimos um Termin, mas a senhora foi grosseira.",
            Polarity::Negative,
        ),
        (
            "es",
            "Llamé para pedir un Termin, pero la señora fue grosera.",
            Polarity::Neutral,
        ),
    ] {
        let found = polarities_in(language, &[(1, text.to_owned())], &["Termin"]);
        assert_eq!(found, [polarity], "{text}");
    }
}

/// Opinions in three languages, which chose nothing: a line has a language, stars, the sign of the opinion, the phrase that
/// is mentioned, and the sentence.
const OPINIONS: &str = include_str!("../../tests/fixtures/polarity/languages.txt");

/// How many mentions of each label (first index) are listed in each class (second index), in the order of [`Polarity::ALL`].
type ClassCounts = [[usize; 3]; 3];

/// Lists the opinions in `language` with their stars, and the plain statements: the first has one star, the second two, and
/// after five stars it begins again with one.
fn listed(language: &str) -> ClassCounts {
    let mut table = ClassCounts::default();
    for line in OPINIONS.lines().filter(|line| line.starts_with(language)) {
        let fields: Vec<&str> = line.split('|').collect();
        let [_, stars, sign, phrase, text] = fields[..] else {
            panic!("{line}");
        };
        let review = (stars.parse().expect("stars"), text.to_owned());
        let found = polarities_in(language, &[review], &[phrase]);
        assert_eq!(found.len(), 1, "{line}");
        let label = if sign == "+" { 2 } else { 0 };
        table[label][found[0] as usize] += 1;
    }
    for stars in 1..=5 {
        let found = statements(language, stars);
        for polarity in found.into_iter().skip(usize::from(stars) - 1).step_by(5) {
            table[1][polarity as usize] += 1;
        }
    }
    table
}

#[test]
fn the_page_has_the_precision_by_language() {
    let page = include_str!("../../docs/insights.md");
    let mut rows = String::new();
    for (language, name) in [("de", "German"), ("es", "Spanish"), ("fr", "French")] {
        let table = listed(language);
        let all = |class: usize| table.iter().map(|row| row[class]).sum::<usize>();
        let of = |label: usize| table[label].iter().sum::<usize>();
        rows += &format!(
            "| {name} | {} of {} | {} of {} | {} of {} | {} of {} | {} of {} |\n",
            table[0][0],
            all(0),
            table[0][0],
            of(0),
            table[2][2],
            all(2),
            table[2][2],
            of(2),
            table[1][1],
            of(1),
        );
    }
    println!("{rows}");
    assert!(page.contains(&rows), "docs/insights.md has no rows\n{rows}");
}

#[test]
fn the_document_does_not_depend_on_threads() {
    let mut dataset = sample();
    let copies = 2 * CHUNK_ROWS / dataset.reviews.len() + 1;
    let reviews = std::iter::repeat_n(dataset.reviews, copies);
    dataset.reviews = reviews.flatten().collect();
    for (row, review) in dataset.reviews.iter_mut().enumerate() {
        review.id = format!("r{row}");
        // Enough words for the threads to differ, and few enough for a build without optimization.
        if row % 8 != 0 {
            review.text.clear();
        }
    }
    assert!(derived(&dataset, 1).bytes == derived(&dataset, 3).bytes);
    let value = parsed(&dataset);
    let most = totals::EVIDENCE_MAX + 2 * totals::EXAMPLES_MAX;
    for aspect in list(&value["aspects"]) {
        assert!(list(&aspect["evidence"]).len() <= most);
    }
}

#[test]
fn a_translation_is_read_where_the_original_cannot_be() {
    let text = "Hemos esperado mucho tiempo y nadie nos ha dicho nada de nuestra demanda.";
    let mut dataset = dataset_of(&[(3, text), (3, text), (3, "The lawyer was rude and lazy.")]);
    dataset.reviews[2].language = Some("en".to_owned());
    dataset.reviews[1].translation = Some("Terrible, they were rude and lazy.".to_owned());
    dataset.reviews[2].translation = Some("Wonderful, the best!".to_owned());
    let value = parsed(&dataset);
    let score = |id: &str| value["per_review"][id]["score"].as_f64().expect("a score");
    assert_eq!(score("r0"), 0.0);
    assert!(score("r1") < 0.0);
    assert!(score("r2") < 0.0);
    dataset.reviews[2].translation = None;
    assert!(parsed(&dataset)["per_review"] == value["per_review"]);
}

#[test]
fn reasons_add_up_to_a_total_with_the_sign_of_the_answer() {
    let dataset = sample();
    let mut words = 0;
    for aspect in &dataset.taxonomy.aspects {
        let text = explain::explain(&dataset, NonZeroUsize::MIN, &aspect.id).expect("listed");
        assert!(text.ends_with(" negative\n"), "{text}");
        for block in text.split("\n\n") {
            let Some((reasons, total)) = block.split_once("; together ") else {
                continue;
            };
            let (_, reasons) = reasons.rsplit_once("in log-odds: ").expect("reasons");
            let tenths = |number: &str| number.replace('.', "").parse::<i32>().ok();
            let numbers = reasons.split([' ', ',']);
            let numbers = numbers.filter(|word| word.starts_with(['+', '-']));
            let parts: Vec<i32> = numbers.filter_map(tenths).collect();
            let total = tenths(total).expect("a number");
            assert_eq!(parts.iter().sum::<i32>(), total, "{block}");
            let first = parts.first().map_or(0, |first| first.signum());
            let sign = first + total.signum();
            assert!(!block.starts_with("positive") || sign == 2, "{block}");
            assert!(!block.starts_with("negative") || sign == -2, "{block}");
            words += reasons.matches("\" +").count() + reasons.matches("\" -").count();
            for word in ["the", "and", "for", "to", "a"] {
                assert!(!reasons.contains(&format!(" \"{word}\" ")), "{block}");
            }
        }
    }
    assert!(words > 100, "{words}");
    assert_eq!(explain::explain(&dataset, NonZeroUsize::MIN, "fee"), None);
    let by_label =
        explain::explain(&dataset, NonZeroUsize::MIN, "FEES and billing").expect("listed");
    let quote = "great communication, clear [fees], done\n";
    assert!(by_label.contains(quote), "{by_label}");
    // Terminal escapes in a review are replaced.
    let dataset = dataset_of(&[(1, "The fees\x1b[31m were\u{9b}high.")]);
    let text = explain::explain(&dataset, NonZeroUsize::MIN, "fees").expect("listed");
    assert!(text.contains("The [fees] [31m were high.\n"), "{text}");
}

/// Reviews of a German plumber, of two sentences each; one in four is a complaint.
fn german(count: usize) -> Vec<(u8, String)> {
    let praise = [
        "Der Termin wurde pünktlich eingehalten.",
        "Die Mitarbeiter waren sehr freundlich und haben alles erklärt.",
        "Der Preis war fair und die Rechnung entsprach dem Angebot.",
        "Die Reparatur wurde sauber und schnell ausgeführt.",
        "Gerne wieder, ich kann die Firma nur empfehlen.",
        "Der Notdienst kam noch am selben Abend.",
        "Alles hat zuverlässig geklappt.",
    ];
    let complaint = [
        "Niemand ruft zurück, und die Rückmeldung kam nach drei Wochen.",
        "Die Anfahrtskosten sind eine Frechheit.",
        "Der Monteur kam zwei Stunden zu spät und war unfreundlich.",
        "Nach der Reparatur tropfte der Hahn noch immer.",
        "Nie wieder, reine Abzocke.",
    ];
    let review = |at: usize| {
        let (stars, list): (u8, &[&str]) = match at % 4 {
            0 => (1 + (at % 8 / 4) as u8, &complaint),
            _ => (5, &praise),
        };
        let [one, other] = [at / 4 % list.len(), (at / 4 * 3 + at) % list.len()];
        (stars, format!("{} {}", list[one], list[other]))
    };
    (0..count).map(review).collect()
}

#[test]
fn a_language_with_200_reviews_learns_from_its_own_stars() {
    for (reviews, evidence) in [
        (199, json!(["opinions", "stars"])),
        (200, json!(["opinions", "own_stars", "stars"])),
    ] {
        let value = parsed(&dataset_of(&german(reviews)));
        let expected = json!([{"language": "de", "reviews": reviews, "evidence": evidence}]);
        assert_eq!(value["coverage"]["languages"], expected);
    }
}

#[test]
fn german_reviews_are_counted_and_their_aspects_judged() {
    let mut texts = german(240);
    // Words outweigh the stars: a complaint with three stars.
    let complaint = "Die Anfahrtskosten sind eine Frechheit. Niemand ruft zurück.";
    texts.push((3, complaint.to_owned()));
    let mut dataset = dataset_of(&texts);
    dataset.taxonomy.aspects = vec![
        concept("price", &["preis", "kosten", "rechnung"]),
        concept("speed", &["zu spät", "pünktlich"]),
    ];
    let value = parsed(&dataset);
    let is_negative =
        |row: &usize| value["per_review"][format!("r{row}")]["sentiment"] == "negative";
    let low: Vec<usize> = (0..240).filter(|row| texts[*row].0 <= 2).collect();
    let found = low.iter().filter(|row| is_negative(row)).count();
    assert!(found * 10 >= low.len() * 9, "{found} of {}", low.len());
    assert!(is_negative(&240));
    let price = aspect(&value, "price");
    let speed = aspect(&value, "speed");
    let phrases = list(&price["top_phrases"]);
    assert!(phrases.contains(&json!("anfahrtskosten")), "{price}");
    for aspect in [price, speed] {
        let counts = ["positive_count", "negative_count"].map(|key| count(&aspect[key]));
        assert!(counts.iter().all(|count| *count > 10), "{aspect}");
    }
    // Both phrases, "late" and "on time", are opinions themselves.
    assert_eq!(speed["neutral_count"], 0);
}

#[test]
fn opinions_of_other_languages_are_read_in_the_clause_of_a_mention() {
    let cases = [
        (
            "de",
            "Das Personal war freundlich, aber die Wartezeit eine Katastrophe.",
            "staff + speed -",
        ),
        ("de", "Er war nicht in der Lage zu helfen.", ""),
        (
            "fr",
            "L’accueil est parfait mais l'attente est interminable.",
            "staff + speed -",
        ),
        ("fr", "Aucune réponse.", "answer -"),
        ("es", "La comida no es buena.", "food -"),
        ("es", "Los pedidos llegan como siempre.", ""),
    ];
    let mut dataset = dataset_of(&cases.map(|(_, text, _)| (3, text)));
    for (review, (language, ..)) in dataset.reviews.iter_mut().zip(&cases) {
        review.language = Some((*language).to_owned());
    }
    dataset.taxonomy.aspects = vec![
        concept("staff", &["personal", "accueil"]),
        concept("speed", &["wartezeit", "attente"]),
        concept("location", &["lage"]),
        concept("product", &["ware"]),
        concept("answer", &["réponse"]),
        concept("food", &["comida"]),
    ];
    let mut found = vec![Vec::new(); cases.len()];
    for aspect in derived(&dataset, 1).insights.aspects {
        for piece in aspect.evidence.iter().flatten() {
            let row: usize = piece.review_id[1..].parse().expect("a row");
            let sign = ["-", "0", "+"][piece.polarity as usize];
            found[row].push(format!("{} {sign}", aspect.id));
        }
    }
    let expected = cases.map(|(_, _, expected)| expected.to_owned());
    let found: Vec<String> = found.iter().map(|one| one.join(" ")).collect();
    assert_eq!(found, expected);
}

#[test]
fn complaints_with_four_stars_are_not_learnt_as_praise() {
    let mut texts = german(240);
    let praise = texts.iter_mut().filter(|(stars, _)| *stars == 5);
    for (at, (stars, text)) in praise.enumerate().filter(|(at, _)| at % 5 == 0) {
        *stars = 4;
        text.push_str(&format!(" Leider ist die Wartezeit lang, Nummer {at}."));
    }
    texts.push((1, "Die Wartezeit ist lang.".to_owned()));
    let value = parsed(&dataset_of(&texts));
    assert_eq!(value["per_review"]["r240"]["sentiment"], "negative");
}

#[test]
fn a_not_phrase_is_no_mention() {
    let mut dataset = dataset_of(&[
        (
            5,
            "The phone case is blue, and nobody answered the phone for a week.",
        ),
        (5, "The phone cases are blue."),
    ]);
    let mut communication = concept("communication", &["phone"]);
    communication.not_phrases = vec!["phone case".to_owned()];
    dataset.taxonomy.aspects = vec![communication];
    let value = parsed(&dataset);
    let evidence = &aspect(&value, "communication")["evidence"];
    let text = &dataset.reviews[0].text;
    assert_eq!(list(evidence).len(), 1);
    assert_eq!(evidence[0]["review_id"], "r0");
    assert_eq!(evidence[0]["start"], text.rfind("phone").expect("named"));
}

#[test]
fn the_summary_is_in_the_language_that_the_owner_chose() {
    let mut dataset = dataset_of(&[(5, "The staff was kind."), (5, "Good work.")]);
    dataset.site.language = Some("de".to_owned());
    let summary = parsed(&dataset)["summary"].to_string();
    assert!(summary.contains("Bewertungen"), "{summary}");
}

#[test]
fn a_word_of_a_starter_list_is_found_in_texts_of_its_language_only() {
    let mut dataset = dataset_of(&[
        (
            5,
            "Tiene una cara muy simpática y siempre trabaja con nosotros.",
        ),
        (2, "La stanza era troppo cara per quello che offre."),
    ]);
    dataset.taxonomy.aspects = vec![concept("price", &["cara"])];
    let languages = dataset.taxonomy.phrase_languages.entry("cara".to_owned());
    languages.or_default().insert("it");
    let price = &parsed(&dataset)["aspects"][0];
    assert_eq!(count(&price["mention_count"]), 1);
    // Danish "bil" is a car.
    for (language, text, mentions) in [("da", "Min bil.", 0), ("en", "My bill.", 1)] {
        let mut dataset = in_language(language, dataset_of(&[(2, text)]));
        dataset.taxonomy.aspects = vec![concept("price", &["bill"])];
        let languages = dataset.taxonomy.phrase_languages.entry("bill".to_owned());
        languages.or_default().insert("en");
        let price = &parsed(&dataset)["aspects"][0];
        assert_eq!(count(&price["mention_count"]), mentions, "{language:?}");
    }
}

#[test]
fn ten_languages_have_opinions_and_a_summary() {
    for (language, word, praise, complaint, start) in [
        (
            "en",
            "staff",
            "was very friendly",
            "was very rude",
            "2 reviews",
        ),
        (
            "es",
            "personal",
            "fue muy amable",
            "fue muy grosero",
            "2 reseñas",
        ),
        (
            "de",
            "Personal",
            "war sehr freundlich",
            "war sehr unfreundlich",
            "2 Bewertungen",
        ),
        (
            "fr",
            "personnel",
            "est très gentil",
            "est très désagréable",
            "2 avis",
        ),
        (
            "it",
            "personale",
            "è stato molto gentile",
            "è stato molto scortese",
            "2 recensioni",
        ),
        (
            "pt",
            "pessoal",
            "foi muito simpático",
            "foi muito grosseiro",
            "2 avaliações",
        ),
        (
            "nl",
            "personeel",
            "was heel vriendelijk",
            "was heel onbeleefd",
            "2 beoordelingen",
        ),
        (
            "pl",
            "personel",
            "był bardzo miły",
            "był bardzo niemiły",
            "Liczba opinii",
        ),
        (
            "ja",
            "スタッフ",
            "がとても親切でした",
            "がとても失礼でした",
            "2",
        ),
        (
            "ar",
            "الموظفين",
            "كانوا محترمين جدا",
            "كانوا وقحين جدا",
            "عدد",
        ),
    ] {
        let blank = if language == "ja" { "" } else { " " };
        let texts = [praise, complaint].map(|opinion| (3, format!("{word}{blank}{opinion}.")));
        let mut dataset = dataset_of(&texts);
        for review in &mut dataset.reviews {
            review.language = Some(language.to_owned());
        }
        dataset.taxonomy.aspects = vec![concept("staff", &[word])];
        let value = parsed(&dataset);
        let staff = aspect(&value, "staff");
        let counts = ["positive_count", "neutral_count", "negative_count"];
        let counts = counts.map(|key| count(&staff[key]));
        assert_eq!(counts, [1, 0, 1], "{language}: {staff}");
        let summary = value["summary"].as_str().expect("a summary");
        assert!(summary.starts_with(start), "{summary}");
    }
}

#[test]
fn the_change_that_is_told_is_the_one_that_holds() {
    let good = (5, "The fees were fair and the service was great.");
    let bad = (1, "The fees were a rip-off and far too expensive.");
    let mut dataset = dataset_of(&[[good; 30], [bad; 30], [good; 30], [good; 30]].concat());
    for (row, review) in dataset.reviews.iter_mut().enumerate() {
        let month = 48 - row as u16 * 48 / 120;
        review.date =
            Date::new(2021 + (month - 1) / 12, 1 + ((month - 1) % 12) as u8, 1).expect("a day");
    }
    let value = parsed(&dataset);
    let change = aspect(&value, "fees")["change"].as_str();
    // Praise fell for a year, and rose again, which still holds.
    let told = "Favorable mentions rose from 67% of 90 to 100% of 30 since January 2024.";
    assert_eq!(change, Some(told));
}

#[test]
fn a_significant_change_is_told_with_its_month() {
    let new = (1, "The fees were a rip-off and far too expensive.");
    let old = (5, "The fees were fair and the service was great.");
    let mut dataset = dataset_of(&[[new; 30], [old; 30]].concat());
    for (row, review) in dataset.reviews.iter_mut().enumerate() {
        let (year, month) = (if row < 30 { 2025 } else { 2024 }, 1 + (row % 12) as u8);
        review.date = Date::new(year, month, 1).expect("a day");
    }
    dataset.reviews.sort_by_key(|review| Reverse(review.date));
    let value = parsed(&dataset);
    let fees = aspect(&value, "fees");
    let change = "Favorable mentions fell from 100% of 30 to 0% of 30 since January 2025.";
    assert_eq!(fees["change"], change);
    let quarters = list(&fees["quarterly"]);
    assert_eq!(quarters.len(), 8);
    assert_eq!(quarters[0]["quarter"], "2024-Q1");
    let counts = quarters.iter().map(|one| count(&one["mention_count"]));
    assert_eq!(counts.sum::<u64>(), 60);
}

#[test]
fn names_of_people_are_no_topics() {
    let praise = "We love the waiting list, and we met Zebulon there. The free coffee was great.";
    let complaint = "There was no parking garage. The invoices of the court were wrong.";
    let value = parsed(&dataset_of(&among_others(&[(5, praise), (1, complaint)])));
    let mut phrases = Vec::new();
    for topic in list(&value["topics"]) {
        phrases.push(topic["phrase"].as_str().expect("a phrase"));
        let counts = ["five_star_count", "low_star_count"].map(|key| count(&topic[key]));
        let is_praise = topic["polarity"] == "positive";
        assert_eq!(counts, if is_praise { [20, 0] } else { [0, 20] });
        assert_eq!(list(&topic["review_ids"]).len(), 5);
        let first = if is_praise { "r0" } else { "r1" };
        assert_eq!(topic["review_ids"][0], first);
    }
    for topic in ["waiting list", "parking garage"] {
        assert!(phrases.contains(&topic), "{phrases:?}");
    }
    for none in ["zebulon", "the", "was great"] {
        assert!(!phrases.contains(&none), "{phrases:?}");
    }
}

#[test]
fn given_insights_are_read_as_far_as_they_have_our_shape() {
    let mut dataset = sample();
    let own = derived(&dataset, 1).insights;
    let mut value = parsed(&dataset);
    value["topics"] = json!(["anything"]);
    value["method"] = json!({"accuracy": "high"});
    dataset.insights = Some(value.to_string().into_bytes());
    let given = derived(&dataset, 1);
    assert_eq!(Some(&given.bytes), dataset.insights.as_ref());
    assert_eq!(given.insights.topics, []);
    for (read, own) in given.insights.aspects.iter().zip(&own.aspects) {
        assert_eq!((&read.id, &read.rows), (&own.id, &own.rows));
        assert_eq!(
            read.rows_by_polarity.negative,
            own.rows_by_polarity.negative
        );
        assert!(read.evidence.is_some());
    }
}

/// Twenty copies of each review, and others without a topic, as no topic is in a fourth of all reviews.
fn among_others<'r>(reviews: &[(u8, &'r str)]) -> Vec<(u8, &'r str)> {
    let others = [(5, "It was wonderful."), (1, "It was horrible.")];
    [reviews.repeat(20), others.repeat(40 * reviews.len())].concat()
}

/// The topics of these reviews, each with its sign.
fn topics_of(reviews: &[(u8, &str)]) -> Vec<String> {
    signed_topics(&parsed(&dataset_of(&among_others(reviews))))
}

/// The topics of a document, each with its sign.
fn signed_topics(value: &Value) -> Vec<String> {
    let mut topics = Vec::new();
    for topic in list(&value["topics"]) {
        let sign = if topic["polarity"] == "positive" {
            '+'
        } else {
            '-'
        };
        let phrase = topic["phrase"].as_str().expect("a phrase");
        topics.push(format!("{sign}{phrase}"));
    }
    topics
}

#[test]
fn opinions_about_one_thing_are_one_topic() {
    let topics = topics_of(&[
        (5, "It is in a great location near the river."),
        (5, "We liked the perfect location."),
        (5, "They have excellent locations."),
        (1, "The carpet was torn and dirty, awful."),
    ]);
    let location = topics.iter().filter(|topic| topic.contains("location"));
    assert_eq!(location.collect::<Vec<_>>(), ["+location"], "{topics:?}");
    assert!(topics.contains(&"-carpet".to_owned()), "{topics:?}");
}

#[test]
fn what_the_same_reviews_name_is_one_topic() {
    let together = (1, "The valet was rude and the gate was ugly.");
    let reviews = [
        (5, "We love the balcony."),
        (1, "The valet was terrible."),
        together,
    ];
    let apart = topics_of(&[reviews[0], reviews[1], (1, "The gate was ugly.")]);
    assert_eq!(apart, ["+balcony", "-gate", "-valet"]);
    let joined = topics_of(&reviews);
    assert_eq!(joined, ["+balcony", "-valet"]);
}

#[test]
fn words_of_idioms_are_no_topics() {
    let topics = topics_of(&[
        (
            5,
            "La terraza es preciosa y el trato fue excelente con los niños.",
        ),
        (
            1,
            "Sin embargo la factura fue un desastre, por favor no vayan con los niños.",
        ),
    ]);
    assert!(topics.contains(&"-factura".to_owned()), "{topics:?}");
    assert!(
        !topics.iter().any(|topic| topic.contains("embargo")),
        "{topics:?}"
    );
    assert!(
        !topics.iter().any(|topic| topic.contains("favor")),
        "{topics:?}"
    );
}

#[test]
fn praise_in_bad_reviews_is_no_topic_of_complaint() {
    let topics = topics_of(&[
        (5, "The garden was lovely and the staff was very kind."),
        (
            1,
            "The carpet was wonderful and beautiful. The heater was broken, terrible.",
        ),
    ]);
    assert!(!topics.contains(&"-carpet".to_owned()), "{topics:?}");
    assert!(topics.contains(&"-heater".to_owned()), "{topics:?}");
}

#[test]
fn verbs_and_words_of_every_trade_are_no_topics() {
    let topics = topics_of(&[
        (5, "Everything is spotless, and we love the balcony."),
        (
            1,
            "The car looked awful, they asked us to reschedule, a terrible problem. The valet was rude.",
        ),
        (
            1,
            "She looked away, we asked again: horrible. The gate is an ugly mess.",
        ),
    ]);
    for none in ["looked", "car looked", "asked", "reschedule", "problem"] {
        let listed = topics.iter().any(|topic| topic[1..] == *none);
        assert!(!listed, "{none}: {topics:?}");
    }
    for topic in ["-valet", "-gate"] {
        assert!(topics.contains(&topic.to_owned()), "{topics:?}");
    }
}

#[test]
fn french_verbs_after_a_pronoun_are_no_topics() {
    let topics = topics_of(&[
        (
            5,
            "La terrasse est magnifique, une terrasse que nous avons adorée, et nous avons aimé le jardin.",
        ),
        (
            1,
            "Il est impossible de les joindre, c'est nul. La musique est horrible, une musique que personne ne supporte.",
        ),
    ]);
    assert!(topics.contains(&"-musique".to_owned()), "{topics:?}");
    assert!(!topics.contains(&"-joindre".to_owned()), "{topics:?}");
}

#[test]
fn what_every_fourth_review_names_is_no_topic() {
    let mut reviews = vec![(5, "The house is wonderful.".to_owned()); 36];
    reviews.extend(vec![(1, "The boiler was dirty and awful.".to_owned()); 12]);
    let value = parsed(&dataset_of(&reviews));
    assert_eq!(
        value["topics"],
        json!([]),
        "12 of 48 reviews name the boiler"
    );
    reviews.extend(vec![(5, "The house is wonderful.".to_owned()); 20]);
    let value = parsed(&dataset_of(&reviews));
    assert_eq!(value["topics"][0]["phrase"], "boiler");
}

#[test]
fn a_phrase_that_an_aspect_shows_is_no_topic() {
    let texts = [
        (5, "The fees were fair, great."),
        (5, "We had a lovely garden and a lovely garden bench."),
        (1, "The carpet was dirty and awful."),
        (1, "A terrible elevator."),
    ];
    let mut dataset = dataset_of(&among_others(&texts));
    assert!(parsed(&dataset)["topics"].to_string().contains("carpet"));
    dataset.taxonomy.aspects = vec![concept("rooms", &["carpet"])];
    let value = parsed(&dataset);
    assert_eq!(aspect(&value, "rooms")["top_phrases"], json!(["carpet"]));
    let topics = value["topics"].to_string();
    assert!(!topics.contains("carpet"), "{topics}");
    assert!(topics.contains("elevator"), "{topics}");
}

#[test]
fn a_topic_names_the_aspect_that_lists_it() {
    let reviews = [
        (5, "The notary fees were fair, great."),
        (5, "A lovely garden."),
        (1, "The carpet was dirty and awful."),
        (1, "A terrible elevator."),
    ];
    let value = parsed(&dataset_of(&among_others(&reviews)));
    let mut topics = list(&value["topics"]).iter();
    let fees = topics
        .find(|topic| topic["phrase"] == "notary fees")
        .expect("a topic");
    assert_eq!(fees["aspect"], "fees");
    let mut topics = list(&value["topics"]).iter();
    let carpet = topics
        .find(|topic| topic["phrase"] == "carpet")
        .expect("a topic");
    assert!(carpet["aspect"].is_null());
}

#[test]
fn at_most_ten_topics_are_listed() {
    let nouns = "garden elevator carpet heater window lobby balcony kitchen garage pool sauna lamp sofa mirror shower";
    let mut reviews = Vec::new();
    for (at, noun) in nouns.split(' ').enumerate() {
        let (stars, opinion) = if at % 2 == 0 {
            (5, "lovely")
        } else {
            (1, "terrible")
        };
        reviews.extend(vec![(stars, format!("The {noun} was {opinion}.")); 12]);
    }
    let value = parsed(&dataset_of(&reviews));
    assert_eq!(list(&value["topics"]).len(), 10);
}

#[test]
fn a_measure_is_no_topic() {
    for (text, is_topic) in [
        ("They took 50 bottles, a terrible thing.", false),
        ("They took two bottles, a terrible thing.", false),
        ("They took the bottles, a terrible thing.", true),
    ] {
        let topics = topics_of(&[(1, text), (5, "We love the balcony.")]);
        let listed = topics.contains(&"-bottles".to_owned());
        assert_eq!(listed, is_topic, "{text}: {topics:?}");
        assert!(topics.contains(&"+balcony".to_owned()), "{topics:?}");
    }
}

#[test]
fn a_word_before_a_number_is_no_topic() {
    for (text, is_topic) in [
        ("It was a roughly 2 hours terrible wait.", false),
        ("It was a roughly, a terrible one.", true),
    ] {
        let topics = topics_of(&[(1, text), (5, "We love the balcony.")]);
        let listed = topics.contains(&"-roughly".to_owned());
        assert_eq!(listed, is_topic, "{text}: {topics:?}");
    }
}

#[test]
fn two_of_three_reviews_have_the_opinion_of_a_topic() {
    for (complaints, is_topic) in [(14, false), (16, true)] {
        let reviews = [
            vec![(1, "Die Lampe war furchtbar."); complaints],
            vec![(1, "Die Lampe steht auf dem Tisch."); 24 - complaints],
            vec![(5, "Der Garten ist wunderbar."); 24],
        ];
        let topics = signed_topics(&parsed(&german_dataset(&reviews.concat())));
        let listed = topics.contains(&"-lampe".to_owned());
        assert_eq!(listed, is_topic, "{complaints}: {topics:?}");
    }
}

/// Twelve German complaints that name a lamp, each beside another word, and then have this opinion.
fn lamp_complaints(opinion: &str) -> Vec<(u8, String)> {
    let verbs =
        "standen saßen lagen gingen liefen redeten lasen aßen tranken sangen malten spielten";
    let sentences = verbs
        .split(' ')
        .map(|verb| format!("Wir {verb} an der Lampe{opinion}."));
    sentences.map(|sentence| (1, sentence)).collect()
}

#[test]
fn what_reviews_name_in_passing_is_no_topic() {
    let own = "Der Teppich war schmutzig.".to_owned();
    for (opinion, is_topic) in [
        ("; es war furchtbar", false),
        (" und es war furchtbar", true),
    ] {
        let mut reviews = lamp_complaints(opinion);
        reviews.extend(vec![(1, own.clone()); 8]);
        reviews.extend(vec![(5, "Der Garten ist wunderbar.".to_owned()); 8]);
        reviews.extend(vec![(5, "Wir waren zufrieden.".to_owned()); 60]);
        reviews.extend(vec![(1, "Es war furchtbar.".to_owned()); 60]);
        let topics = signed_topics(&parsed(&in_language("de", dataset_of(&reviews))));
        assert_eq!(
            topics.contains(&"-lampe".to_owned()),
            is_topic,
            "{topics:?}"
        );
        assert!(topics.contains(&"-teppich".to_owned()), "{topics:?}");
    }
}

#[test]
fn a_label_has_the_words_that_reviews_say_of_a_topic() {
    let mut reviews = Vec::new();
    for opinion in ["awful", "terrible", "horrible", "ugly"] {
        reviews.push((1, format!("The gate was closed, {opinion}.")));
        reviews.push((1, format!("The {opinion} gate.")));
        reviews.push((1, format!("The carpet was {opinion}.")));
        reviews.push((1, format!("The {opinion} carpet in our room.")));
        reviews.push((5, "The garden was lovely.".to_owned()));
    }
    let repeated = [&reviews[..]; 3].concat();
    let mut dataset = dataset_of(&repeated);
    let others = dataset_of(&[(5, "It was wonderful."), (1, "It was horrible.")].repeat(60));
    dataset.reviews.extend(
        others
            .reviews
            .into_iter()
            .enumerate()
            .map(|(at, mut review)| {
                review.id = format!("other{at}");
                review
            }),
    );
    let value = parsed(&dataset);
    let topics = list(&value["topics"]);
    let label = |phrase: &str| {
        let topic = topics.iter().find(|topic| topic["phrase"] == phrase);
        topic.map(|topic| topic["label"].as_str().expect("a label").to_owned())
    };
    assert_eq!(label("gate").as_deref(), Some("gate: closed"), "{topics:?}");
    // What is said of all topics alike tells nothing of one.
    assert_eq!(label("garden").as_deref(), Some("garden"), "{topics:?}");
    let gate = topics.iter().find(|topic| topic["phrase"] == "gate");
    for id in list(&gate.expect("a topic")["review_ids"]) {
        let row: usize = id.as_str().expect("an id")[1..].parse().expect("a row");
        assert!(reviews[row % reviews.len()].1.contains("closed"), "{id}");
    }
}

#[test]
fn one_thing_in_two_languages_is_one_topic() {
    let complaints = [(1, "Die Toilette war furchtbar."); 12];
    let praise = [(5, "Der Garten ist wunderbar."); 12];
    let mut dataset = german_dataset(&[complaints, praise].concat());
    let mut other = german_dataset(&[(1, "El baño fue un desastre."); 12]);
    for (at, review) in other.reviews.iter_mut().enumerate() {
        review.id = format!("other{at}");
        if review.text.starts_with("El") {
            review.language = Some("es".to_owned());
        }
    }
    dataset.reviews.extend(other.reviews);
    let topics = signed_topics(&parsed(&dataset));
    assert_eq!(topics.len(), 2, "{topics:?}");
    assert_eq!(topics[0], "+garten");
}

/// The topics of eight copies of these German reviews of a business with this name, each with its sign.
fn german_topics(name: &str, reviews: &[(u8, &str)]) -> Vec<String> {
    let mut dataset = german_dataset(&reviews.repeat(8));
    dataset.business.name = name.to_owned();
    signed_topics(&parsed(&dataset))
}

/// These reviews and others without a topic, in German.
fn german_dataset(reviews: &[(u8, &str)]) -> Dataset {
    let others = [(5, "Wir waren zufrieden."), (1, "Es war furchtbar.")];
    in_language("de", dataset_of(&[reviews, &others.repeat(40)].concat()))
}

/// The dataset with all reviews in this language.
fn in_language(tag: &str, mut dataset: Dataset) -> Dataset {
    for review in &mut dataset.reviews {
        review.language = Some(tag.to_owned());
    }
    dataset
}

#[test]
fn what_long_reviews_name_with_all_else_is_no_topic() {
    let nouns = "bench lamp sofa mirror gate fence pond shed chair desk shelf drawer window curtain \
                 blanket candle ladder bucket barrel basket";
    let many = nouns.replace(' ', ", the ");
    for (rest, is_topic) in [("", true), (&*many, false)] {
        let praise = "The river, the lake and the hill were lovely.";
        let complaint = format!("The carpet was dirty and awful. We saw the {rest}.");
        let reviews = [
            vec![(5, praise); 100],
            vec![(5, "The carpet was lovely."); 8],
            vec![(1, &*complaint); 30],
            vec![(1, "It was horrible."); 100],
        ];
        let topics = signed_topics(&parsed(&dataset_of(&reviews.concat())));
        let listed = topics.contains(&"-carpet".to_owned());
        assert_eq!(listed, is_topic, "{topics:?}");
    }
}

#[test]
fn a_topic_links_to_reviews_with_an_opinion_of_its_sign() {
    let reviews = [
        (1, "The carpet was dirty and awful."),
        (1, "The carpet was beautiful, but it was horrible."),
        (1, "The carpet was torn, ugly and disgusting."),
        (5, "The garden was lovely."),
    ];
    let value = parsed(&dataset_of(&among_others(&reviews)));
    let mut topics = list(&value["topics"]).iter();
    let carpet = topics.find(|topic| topic["phrase"] == "carpet");
    for id in list(&carpet.expect("a topic")["review_ids"]) {
        let row: usize = id.as_str().expect("an id")[1..].parse().expect("a row");
        assert_ne!(row % 4, 1, "{id}");
    }
}

#[test]
fn a_topic_links_to_the_clearest_opinions() {
    let mut reviews = vec![(1, "The carpet was not so nice."); 8];
    reviews.extend(vec![(1, "The carpet was disgusting, filthy, horrible."); 8]);
    reviews.extend(vec![(5, "The garden was lovely."); 40]);
    reviews.extend(vec![(1, "It was horrible."); 40]);
    let value = parsed(&dataset_of(&reviews));
    let mut topics = list(&value["topics"]).iter();
    let carpet = topics.find(|topic| topic["phrase"] == "carpet");
    let ids = &carpet.expect("a topic")["review_ids"];
    assert_eq!(*ids, json!(["r8", "r9", "r10", "r11", "r12"]));
}

#[test]
fn a_word_without_an_opinion_about_it_is_no_topic() {
    let topics = german_topics(
        "Werkstatt Vogt",
        &[
            (
                1,
                "Wir haben die Lampe am Montag bestellt. Der Teppich war schmutzig.",
            ),
            (5, "Der Garten ist wunderbar."),
        ],
    );
    assert!(topics.contains(&"-teppich".to_owned()), "{topics:?}");
    assert!(!topics.contains(&"-lampe".to_owned()), "{topics:?}");
}

#[test]
fn no_in_another_language_may_be_the_only_word_of_a_phrase() {
    let reviews = [
        vec![(1, "We hate the geen"); 8],
        vec![(5, "The garden was lovely."); 20],
        vec![(5, "It was wonderful."); 40],
        vec![(1, "It was horrible."); 40],
    ];
    let value = parsed(&in_language("en", dataset_of(&reviews.concat())));
    assert_eq!(signed_topics(&value), ["+garden", "-geen"]);
}

#[test]
fn portuguese_words_for_in_the_and_of_the_are_no_negation_and_no_number() {
    let reviews = [
        vec![(1, "O elevador dos vizinhos é péssimo."); 8],
        vec![(1, "Ficamos no tapete dos vizinhos, péssimo."); 8],
        vec![(5, "O jardim é maravilhoso."); 20],
        vec![(5, "Foi maravilhoso."); 40],
        vec![(1, "Foi péssimo."); 60],
    ];
    let value = parsed(&in_language("pt", dataset_of(&reviews.concat())));
    let topics = signed_topics(&value);
    assert!(topics.contains(&"-vizinhos".to_owned()), "{topics:?}");
    for topic in list(&value["topics"]) {
        let label = topic["label"].as_str().expect("a label");
        let mut words = label.split([' ', ':', ',']);
        assert!(words.all(|word| word != "no"), "{label}");
    }
}

#[test]
fn german_words_for_no_are_part_of_no_phrase() {
    let topics = german_topics(
        "Werkstatt Vogt",
        &[
            (1, "Mit keinem Teppich waren wir zufrieden."),
            (1, "Die Lampe war schmutzig."),
            (5, "Der Garten ist wunderbar."),
        ],
    );
    assert_eq!(topics, ["+garten", "-lampe"]);
}

#[test]
fn a_negation_alone_is_no_opinion_about_a_topic_at_any_stars() {
    for (stars, expected) in [(1, "-lampe"), (2, "-lampe"), (5, "+garten")] {
        let others = [
            (1, "Die Lampe war schmutzig."),
            (5, "Der Garten ist wunderbar."),
            (stars, "Der Teppich wurde uns nicht gezeigt."),
        ];
        let topics = german_topics("Werkstatt Vogt", &others);
        assert!(topics.contains(&expected.to_owned()), "{topics:?}");
        let is_listed = topics.iter().any(|topic| topic.contains("teppich"));
        assert!(!is_listed, "{stars} stars: {topics:?}");
    }
}

#[test]
fn an_opinion_about_a_topic_is_read_up_to_the_fiftieth_sentence() {
    for (opinion_at, is_topic) in [(50, true), (51, false)] {
        let between = "Wir kamen an. ".repeat(opinion_at - 2);
        let complaint =
            format!("Wir haben die Lampe am Montag bestellt. {between}Die Lampe war schmutzig.");
        let topics = german_topics(
            "Werkstatt Vogt",
            &[(1, &*complaint), (5, "Der Garten ist wunderbar.")],
        );
        let is_listed = topics.contains(&"-lampe".to_owned());
        assert_eq!(is_listed, is_topic, "{opinion_at}: {topics:?}");
    }
}

#[test]
fn each_review_is_read_once_for_all_topics_until_they_are_cancelled() {
    let both = (1, "Die Lampe war schmutzig. Der Teppich war schmutzig.");
    let dataset = german_dataset(&[[both; 8], [(5, "Der Garten ist wunderbar."); 8]].concat());
    let derived = Derived::of(&dataset, None, NonZeroUsize::MIN, &|| false).expect("not cancelled");
    for (calls_max, is_cancelled) in [(16, false), (15, true)] {
        let calls = AtomicUsize::new(0);
        let topics = topics::topics(
            &dataset,
            &derived.known,
            &derived.phrases,
            &[],
            &HashSet::new(),
            &|| calls.fetch_add(1, Ordering::Relaxed) >= calls_max,
        );
        assert_eq!(topics.is_none(), is_cancelled);
        assert_eq!(calls.into_inner(), 16);
    }
}

#[test]
fn two_reviews_in_common_do_not_join_two_topics() {
    for (common, is_apart) in [(2, true), (3, false)] {
        let reviews = [
            vec![(1, "Der Teppich war schmutzig. Der Aufzug war schmutzig."); common],
            vec![(1, "Der Aufzug war schmutzig."); common],
            vec![(1, "Wir haben den Aufzug am Montag gesehen."); 2],
            vec![(1, "Der Teppich war schmutzig."); 12],
            vec![(5, "Der Garten ist wunderbar."); 8],
        ];
        let topics = signed_topics(&parsed(&german_dataset(&reviews.concat())));
        assert!(topics.contains(&"-teppich".to_owned()), "{topics:?}");
        let is_listed = topics.contains(&"-aufzug".to_owned());
        assert_eq!(is_listed, is_apart, "{common} in common: {topics:?}");
    }
}

#[test]
fn a_topic_whose_longer_phrase_is_about_another_one_is_listed_itself() {
    // The lamp is judged by its newest reviews, none of which names the gate.
    let reviews = [
        vec![(1, "The lamp was ugly and terrible."); 26],
        vec![
            (
                1,
                "The gate was ugly and terrible. The gate lamp was ugly and terrible."
            );
            8
        ],
        vec![(5, "The garden was lovely."); 30],
        vec![(5, "It was wonderful."); 60],
        vec![(1, "It was horrible."); 80],
    ];
    let value = parsed(&in_language("en", dataset_of(&reviews.concat())));
    assert_eq!(signed_topics(&value), ["+garden", "-lamp", "-gate"]);
}

#[test]
fn names_of_businesses_are_no_topics() {
    let topics = german_topics(
        "Clementinenhaus",
        &[
            (5, "Das Clemi ist wunderbar. Der Garten ist wunderbar."),
            (1, "Die MHH ist furchtbar. Der Teppich ist furchtbar."),
            (1, "Die MHH ist furchtbar. Das WLAN ist furchtbar."),
            (1, "Die Filiale ist furchtbar. Der Aufzug ist furchtbar."),
        ],
    );
    for none in ["clemi", "mhh", "filiale"] {
        let listed = topics.iter().any(|topic| topic[1..] == *none);
        assert!(!listed, "{none}: {topics:?}");
    }
    for topic in ["+garten", "-teppich", "-wlan", "-aufzug"] {
        assert!(topics.contains(&topic.to_owned()), "{topics:?}");
    }
}

#[test]
fn words_with_one_meaning_are_one_topic() {
    let topics = german_topics(
        "Werkstatt Vogt",
        &[
            (
                1,
                "Der Kundenservice ist furchtbar. Die Teppichfarbe ist furchtbar.",
            ),
            (
                1,
                "Der Kundendienst ist furchtbar. Der Teppich ist furchtbar.",
            ),
            (5, "Der Garten ist wunderbar."),
        ],
    );
    for one in ["-kunden", "-teppich"] {
        let listed = topics.iter().filter(|topic| topic.starts_with(one));
        assert_eq!(listed.count(), 1, "{topics:?}");
    }
}

#[test]
fn what_good_reviews_criticize_is_no_topic_of_praise() {
    let topics = topics_of(&[
        (
            5,
            "The carpet was dirty and awful. We loved the beautiful garden.",
        ),
        (5, "The carpet was disgusting. The garden was lovely."),
        (1, "The heater was broken, terrible."),
    ]);
    assert!(!topics.contains(&"+carpet".to_owned()), "{topics:?}");
    assert!(topics.contains(&"+garden".to_owned()), "{topics:?}");
}

#[test]
fn names_that_customers_thank_are_candidates_with_counts() {
    let mut texts = vec![(5, "Thanks to Zebulon for the new roof."); 3];
    texts.push((5, "A big thank you to Philippa and Zebulon!"));
    texts.push((4, "We asked for Zebulon again."));
    // After a preposition, and recommended.
    texts.extend(vec![
        (
            5,
            "I worked with Ottokar, and was happy with Ottokar."
        );
        3
    ]);
    texts.extend(vec![(5, "Ask for Ottokar!"); 3]);
    texts.extend(vec![
        (
            5,
            "Thank God it works. Thank you Team. The Team was kind."
        );
        4
    ]);
    texts.extend(vec![
        (
            5,
            "Vielen Dank an Herrn Voglhuber und das Team, alles ist fertig."
        );
        3
    ]);
    // The sample lists her.
    texts.extend(vec![(5, "Thanks to Adaeze, who took our case."); 3]);
    let value = parsed(&dataset_of(&texts));
    let mut found = Vec::new();
    for one in list(&value["name_candidates"]) {
        let name = one["name"].as_str().expect("a name");
        found.push((
            name,
            count(&one["review_count"]),
            count(&one["thanked_count"]),
        ));
    }
    let expected = [("Zebulon", 5, 4), ("Ottokar", 6, 3), ("Voglhuber", 3, 3)];
    assert_eq!(found, expected);
    let ids = &value["name_candidates"][0]["review_ids"];
    assert_eq!(*ids, json!(["r0", "r1", "r2", "r3", "r4"]));
}

#[test]
fn a_word_of_an_aspect_in_an_idiom_is_no_mention() {
    let texts = [
        "The worst bank I have ever experienced, we left it at once.",
        "Avoid them at all costs, they never answer.",
    ];
    let mut dataset = dataset_of(&texts.map(|text| (1, text)));
    dataset.taxonomy.aspects = vec![
        concept("knowledge", &["experienced"]),
        concept("price", &["costs"]),
    ];
    let value = parsed(&dataset);
    for id in ["knowledge", "price"] {
        assert_eq!(count(&aspect(&value, id)["mention_count"]), 0, "{id}");
    }
}

/// The aspects that an English review of a business of this type mentions, by the starter list of its trade.
fn starter_aspects(kind: &str, text: &str) -> Vec<String> {
    starter_aspects_in("en", kind, text)
}

/// The same of a review in another language.
fn starter_aspects_in(language: &str, kind: &str, text: &str) -> Vec<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/data/reviews.json");
    let sample = std::fs::read(path).expect("the sample");
    let mut file: Value = serde_json::from_slice(&sample).expect("JSON");
    file["business"]["type"] = json!(kind);
    let reviews = file["reviews"].as_array_mut().expect("reviews");
    reviews.truncate(1);
    reviews[0]["text"] = json!(text);
    reviews[0]["language"] = json!(language);
    for key in ["mentioned_technicians", "mentioned_services"] {
        reviews[0][key] = json!([]);
    }
    let files = Files {
        reviews: file.to_string().into_bytes(),
        ..Files::default()
    };
    let decoded = match decode(files, Timestamp::from_unix(4_000_000_000)) {
        Ok(decoded) => decoded,
        Err(problems) => panic!("{problems}"),
    };
    let insights = derived(&decoded.dataset, 1).insights;
    let mentioned = insights.aspects.into_iter();
    let mentioned = mentioned.filter(|aspect| aspect.mention_count > 0);
    mentioned.map(|aspect| aspect.id).collect()
}

#[test]
fn a_phrase_of_a_starter_list_in_another_sense_is_no_mention() {
    for (kind, text) in [
        ("Store", "The next day I returned to the branch."),
        ("Store", "Upon arrival, we asked for a table."),
        ("Restaurant", "We just paid the bill and went."),
        ("LocalBusiness", "I will never recommend them."),
        ("LocalBusiness", "They claimed that it was my own wallet."),
        ("LocalBusiness", "I strongly advise against it."),
        (
            "LocalBusiness",
            "It would have been a more informed decision.",
        ),
        ("LocalBusiness", "I was informed that it ended in May."),
        ("LocalBusiness", "It was the worst week I ever experienced."),
        ("LocalBusiness", "We booked a flight to Oslo."),
        ("LocalBusiness", "They booked us on the next one."),
        ("LocalBusiness", "I wouldn't recommend them."),
        ("LocalBusiness", "You never know what you get."),
        ("LocalBusiness", "My train was scheduled at noon."),
        ("LocalBusiness", "I received an email saying it was over."),
        ("LocalBusiness", "I asked for the manager."),
        ("LocalBusiness", "I needed a quote in May."),
        ("LocalBusiness", "I had an appointment at nine."),
        ("HealthClub", "I took the last one of them."),
        ("Store", "I ordered this in May, and it broke."),
        ("Store", "I have no complaints."),
        ("Store", "It was a cap of the wrong team."),
        ("Dentist", "I came in with a pain in my jaw."),
    ] {
        assert_eq!(starter_aspects(kind, text), Vec::<String>::new(), "{text}");
    }
    for (language, kind, text) in [
        ("fr", "Restaurant", "C'est à la hauteur de nos attentes."),
        ("fr", "Restaurant", "Un tartare trop salé."),
        ("fr", "InsuranceAgency", "Je n'ai aucun sinistre."),
        ("fr", "InsuranceAgency", "Le conseiller était là."),
        (
            "fr",
            "InsuranceAgency",
            "Je vous rappelle que c'était en mai.",
        ),
        ("fr", "Hotel", "C'est ce qui m'est arrivé hier."),
        (
            "de",
            "Hospital",
            "Viele, die dort arbeiten, sind Studenten.",
        ),
        ("de", "Hospital", "Ich kam mit starken Schmerzen."),
        ("de", "Physician", "Ich bin Kassenpatient."),
        ("es", "LocalBusiness", "Resulta que el avión era otro."),
        ("es", "LocalBusiness", "No es un low cost."),
    ] {
        let found = starter_aspects_in(language, kind, text);
        assert_eq!(found, Vec::<String>::new(), "{text}");
    }
}

#[test]
fn a_phrase_of_a_starter_list_is_a_mention() {
    for (kind, text, aspect) in [
        ("Store", "I returned the shoes within a week.", "returns"),
        ("Restaurant", "There was a mistake on the bill.", "price"),
        (
            "LocalBusiness",
            "Our claim was settled in a week.",
            "result",
        ),
        ("LocalBusiness", "They advised us to wait.", "advice"),
        ("LocalBusiness", "They kept us informed.", "communication"),
        (
            "LocalBusiness",
            "I got no confirmation email.",
            "communication",
        ),
        ("LocalBusiness", "She knows what she is doing.", "expertise"),
        ("LocalBusiness", "They were behind schedule.", "speed"),
        ("HealthClub", "The membership fee went up.", "price"),
        ("LocalBusiness", "A very experienced team.", "expertise"),
        ("LocalBusiness", "The booking took an hour.", "booking"),
        ("Store", "My order was cancelled.", "ordering"),
        ("Dentist", "He pulled the tooth without pain.", "pain"),
        ("HealthClub", "The color lasted a week.", "result"),
    ] {
        let found = starter_aspects(kind, text);
        assert!(found.contains(&aspect.to_owned()), "{text}: {found:?}");
    }
}

#[test]
fn another_word_with_the_stem_of_an_aspect_is_no_mention() {
    let texts = [
        "Sita est une entreprise du groupe, mais leur réponse ne vient pas.",
        "Les services téléphoniques sont fermés, et nous attendons chez vous.",
    ];
    let mut dataset = dataset_of(&texts.map(|text| (2, text)));
    dataset.taxonomy.aspects = vec![
        concept("website", &["site"]),
        concept("communication", &["téléphone"]),
    ];
    let value = parsed(&dataset);
    for id in ["website", "communication"] {
        assert_eq!(count(&aspect(&value, id)["mention_count"]), 0, "{id}");
    }
}

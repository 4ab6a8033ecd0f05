use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::*;
use crate::dataset::{decode, embedded};
use crate::wire::date::Timestamp;

fn sample() -> Dataset {
    decode(embedded(), Timestamp::from_unix(4_000_000_000))
        .expect("the sample is valid")
        .dataset
}

fn options(threads: usize) -> Options {
    Options {
        threads: NonZeroUsize::new(threads).expect("not zero"),
        mentions_min: MENTIONS_MIN,
    }
}

fn parsed(dataset: &Dataset) -> Value {
    serde_json::from_slice(&document(dataset, &options(1)).bytes).expect("JSON")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("an array")
}

fn count(value: &Value) -> u64 {
    value.as_u64().expect("a count")
}

#[test]
fn every_quote_stands_where_the_evidence_says() {
    let dataset = sample();
    let value = parsed(&dataset);
    let texts: BTreeMap<&str, Vec<char>> = dataset
        .reviews
        .iter()
        .map(|review| (review.id.as_str(), review.text.chars().collect()))
        .collect();
    let mut quotes = 0;
    for (aspect, concept) in list(&value["aspects"])
        .iter()
        .zip(&dataset.taxonomy.aspects)
    {
        assert_eq!(aspect["id"], concept.id);
        let mut places = Vec::new();
        for piece in list(&aspect["evidence"]) {
            let id = piece["review_id"].as_str().expect("an id");
            let (start, end) = (
                count(&piece["start"]) as usize,
                count(&piece["end"]) as usize,
            );
            let quote: String = texts[id][start..end]
                .iter()
                .collect::<String>()
                .to_lowercase()
                .replace('’', "'");
            // A phrase of the aspect, or one of its inflections: the first letters are the same.
            let known = |phrase: &String| {
                let phrase = phrase.to_lowercase();
                let same = phrase
                    .chars()
                    .zip(quote.chars())
                    .take_while(|(one, other)| one == other)
                    .count();
                same >= 2 && quote.chars().count().abs_diff(phrase.chars().count()) <= 8
            };
            assert!(
                concept.phrases.iter().any(known),
                "{}: {quote:?}",
                concept.id
            );
            assert!(
                value["per_review"][id]["aspects"]
                    .as_array()
                    .expect("aspects")
                    .contains(&json!(concept.id))
            );
            places.push((id, start));
            quotes += 1;
        }
        let all = places.len();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), all, "no piece of evidence counts twice");
    }
    assert!(quotes > 100, "{quotes}");
}

#[test]
fn every_count_adds_up() {
    let dataset = sample();
    let value = parsed(&dataset);
    let coverage = &value["coverage"];
    let mut mentions = 0;
    for aspect in list(&value["aspects"]) {
        let [all, positive, neutral, negative] = [
            "mention_count",
            "positive_count",
            "neutral_count",
            "negative_count",
        ]
        .map(|key| count(&aspect[key]));
        assert_eq!(all, positive + neutral + negative);
        mentions += all;
        let evidence = list(&aspect["evidence"]);
        assert_eq!(
            evidence.len() as u64,
            all,
            "the sample is small enough to show all evidence"
        );
        for (word, expected) in [
            ("positive", positive),
            ("neutral", neutral),
            ("negative", negative),
        ] {
            assert_eq!(
                evidence
                    .iter()
                    .filter(|piece| piece["polarity"] == word)
                    .count() as u64,
                expected
            );
        }
        assert_eq!(aspect["score"].is_null(), all < u64::from(MENTIONS_MIN));
        assert_eq!(aspect["interval"].is_null(), aspect["score"].is_null());
        if let Some(share) = aspect["positive_pct"].as_f64() {
            assert!((share - 100.0 * positive as f64 / all as f64).abs() <= 0.05 + 1e-9);
            let bound = |at: usize| aspect["interval"][at].as_f64().expect("a bound") * 100.0;
            assert!(bound(0) <= share && share <= bound(1));
        }
    }
    assert_eq!(count(&coverage["mentions"]), mentions);
    assert_eq!(value["generated_at"], dataset.updated_at.to_string());
    let per_review = value["per_review"].as_object().expect("an object");
    assert_eq!(per_review.len(), dataset.reviews.len());
    let scored = per_review
        .values()
        .filter(|review| !review["score"].is_null())
        .count() as u64;
    assert_eq!(count(&coverage["scored"]), scored);
    assert_eq!(
        scored,
        dataset.reviews.len() as u64,
        "stars alone are a score"
    );
    let of_languages = list(&coverage["languages"])
        .iter()
        .map(|one| count(&one["reviews"]));
    assert_eq!(count(&coverage["with_text"]), of_languages.sum::<u64>());
    let with_aspect = per_review
        .values()
        .filter(|review| review["aspects"] != json!([]))
        .count() as u64;
    assert_eq!(count(&coverage["with_aspect"]), with_aspect);
    for (sign, key) in [
        ("positive", "positive_pct"),
        ("neutral", "neutral_pct"),
        ("negative", "negative_pct"),
    ] {
        let of_sign = per_review
            .values()
            .filter(|review| review["sentiment"] == sign)
            .count() as f64;
        let share = value["overall_sentiment"][key].as_f64().expect("a share");
        assert!((share - 100.0 * of_sign / scored as f64).abs() <= 0.05 + 1e-9);
    }
    let months = list(&value["temporal"]["monthly"]);
    let sum = |key: &str| months.iter().map(|month| count(&month[key])).sum::<u64>();
    assert_eq!(sum("review_count"), dataset.reviews.len() as u64);
    assert_eq!(sum("scored_count"), scored);
}

#[test]
fn praise_and_complaint_both_come_with_examples() {
    let dataset = sample();
    let value = parsed(&dataset);
    let fees = list(&value["aspects"])
        .iter()
        .find(|aspect| aspect["id"] == "fees")
        .expect("fees");
    assert!(count(&fees["positive_count"]) > 1 && count(&fees["negative_count"]) > 1);
    let examples = list(&fees["example_review_ids"]);
    assert!((4..=6).contains(&examples.len()), "{examples:?}");
    assert!(!list(&value["topics"]).is_empty());
    for topic in list(&value["topics"]) {
        let better = topic["polarity"] == "positive";
        assert!(topic["weight"].as_f64().expect("a weight") >= 1.64);
        assert!(count(&topic["five_star_count"]) + count(&topic["low_star_count"]) >= 3);
        assert!(!better || count(&topic["five_star_count"]) > 0);
        let ids = list(&topic["review_ids"]);
        assert!((1..=5).contains(&ids.len()), "{topic}");
        let phrase = topic["phrase"].as_str().expect("a phrase");
        assert!(phrase.split(' ').count() <= 3, "{phrase}");
        for id in ids {
            let review = dataset
                .reviews
                .iter()
                .find(|review| *id == review.id)
                .expect("a review");
            let text = review.text.to_lowercase();
            assert!(
                phrase.split(' ').all(|word| text.contains(word)),
                "{phrase}: {text}"
            );
        }
    }
}

#[test]
fn spanish_reviews_of_the_sample_are_scored_and_have_aspects() {
    let dataset = sample();
    let value = parsed(&dataset);
    let spanish = list(&value["coverage"]["languages"])
        .iter()
        .find(|one| one["language"] == "spa");
    assert!(count(&spanish.expect("Spanish")["reviews"]) >= 10);
    let mut with_aspects = 0;
    let is_spanish = |text: &str| {
        [" muy ", " los ", " que "]
            .iter()
            .any(|word| text.contains(word))
    };
    for review in dataset
        .reviews
        .iter()
        .filter(|review| is_spanish(&review.text))
    {
        let entry = &value["per_review"][&review.id];
        let (score, stars) = (
            entry["score"].as_f64().expect("a score"),
            review.rating.stars(),
        );
        assert!(
            stars == 3 || (score > 0.0) == (stars > 3),
            "{}",
            review.text
        );
        with_aspects += list(&entry["aspects"]).len();
    }
    assert!(with_aspects > 0);
}

#[test]
fn the_document_does_not_depend_on_threads() {
    let mut dataset = sample();
    let copies = 2 * read::CHUNK_ROWS / dataset.reviews.len() + 1;
    dataset.reviews = std::iter::repeat_n(dataset.reviews, copies)
        .flatten()
        .collect();
    for (row, review) in dataset.reviews.iter_mut().enumerate() {
        review.id = format!("r{row}");
        // Enough words to tell threads apart, and few enough for a build without optimization.
        if row % 8 != 0 {
            review.text.clear();
        }
    }
    assert!(document(&dataset, &options(1)).bytes == document(&dataset, &options(3)).bytes);
    let value = parsed(&dataset);
    for aspect in list(&value["aspects"]) {
        let most = totals::EVIDENCE_MAX + 2 * totals::EXAMPLES_MAX;
        assert!(list(&aspect["evidence"]).len() <= most);
    }
}

#[test]
fn a_summary_is_made_of_numbers_where_nobody_wrote_one() {
    let mut dataset = sample();
    assert_eq!(parsed(&dataset)["method"]["summary"], "editorial");
    dataset.editorial.summary = None;
    let value = parsed(&dataset);
    assert_eq!(value["method"]["summary"], "derived");
    let summary = value["summary"].as_str().expect("a summary");
    assert!(
        summary.starts_with(&format!(
            "{} reviews from 2019-02-11 to ",
            dataset.reviews.len()
        )),
        "{summary}"
    );
    assert!(summary.contains("Criticized most often: "), "{summary}");
}

#[test]
fn an_aspect_with_too_few_mentions_has_counts_and_no_score() {
    let dataset = sample();
    let few = Options {
        mentions_min: 1_000,
        ..options(1)
    };
    let value: Value = serde_json::from_slice(&document(&dataset, &few).bytes).expect("JSON");
    assert!(
        list(&value["aspects"])
            .iter()
            .all(|aspect| aspect["score"].is_null())
    );
    assert!(
        list(&value["aspects"])
            .iter()
            .any(|aspect| count(&aspect["mention_count"]) > 5)
    );
}

#[test]
fn an_interval_holds_its_own_share() {
    assert_eq!(share_interval(0, 0), [0.0, 1.0]);
    for (part, whole) in [(0, 1), (1, 1), (0, 500), (250, 500), (500, 500)] {
        let [low, high] = share_interval(part, whole);
        let share = part as f64 / whole as f64;
        assert!(
            low <= share && share <= high,
            "{part} of {whole}: {low} {high}"
        );
        assert!(high - low > 0.15, "at least the error of the method");
    }
}

#[test]
fn an_empty_dataset_has_no_dates_no_means_and_no_scores() {
    let mut dataset = sample();
    dataset.reviews.clear();
    dataset.editorial.summary = None;
    let value = parsed(&dataset);
    assert_eq!(
        value["date_range"],
        json!({"earliest": null, "latest": null})
    );
    assert!(value["entities"]["technicians"][0]["mean_rating"].is_null());
    assert_eq!(value["temporal"], json!({"monthly": [], "trend": null}));
    assert!(value["overall_sentiment"].is_null() && value["summary"].is_null());
    assert_eq!(value["method"]["summary"], "none");
}

fn review(id: usize, stars: u8, text: &str) -> crate::model::Review {
    static FIRST: std::sync::LazyLock<crate::model::Review> =
        std::sync::LazyLock::new(|| sample().reviews.swap_remove(0));
    let mut review = FIRST.clone();
    review.id = format!("r{id}");
    review.rating = crate::model::Rating::new(stars).expect("1 to 5");
    review.text = text.to_owned();
    review.mentioned_technicians.clear();
    review.mentioned_services.clear();
    review.language = None;
    review.translation = None;
    review
}

fn dataset_of(reviews: &[(u8, &str)]) -> Dataset {
    let mut dataset = sample();
    let texts = reviews.iter().enumerate();
    dataset.reviews = texts
        .map(|(id, (stars, text))| review(id, *stars, text))
        .collect();
    dataset.editorial.summary = None;
    dataset
}

#[test]
fn one_review_is_told_as_one() {
    let value = parsed(&dataset_of(&[(1, "Untrustworthy.")]));
    assert_eq!(value["per_review"]["r0"]["sentiment"], "negative");
    assert_eq!(value["overall_sentiment"]["negative_pct"], 100.0);
    assert!(value["topics"] == json!([]) && value["temporal"]["trend"].is_null());
    let summary = value["summary"].as_str().expect("a summary");
    assert!(summary.starts_with("1 review of "), "{summary}");
    assert!(!summary.contains("Praised"), "{summary}");
}

#[test]
fn all_five_stars_have_no_critical_quote_without_a_clear_complaint() {
    let texts = [
        (
            5,
            "The emergency call came back at 5:30 in the morning. THANKS!",
        ),
        (
            5,
            "Nobody else could have handled my fees and my divorce with less trouble.",
        ),
        (
            5,
            "The staff was rude, the bill was a terrible rip-off and I hated every minute.",
        ),
    ];
    let reviews: Vec<(u8, &str)> = texts.into_iter().cycle().take(60).collect();
    let value = parsed(&dataset_of(&reviews));
    for aspect in list(&value["aspects"]) {
        for piece in list(&aspect["evidence"]) {
            let id = piece["review_id"].as_str().expect("an id");
            let row: usize = id[1..].parse().expect("a row");
            assert!(piece["polarity"] != "negative" || row % 3 == 2, "{aspect}");
        }
        assert!(aspect["change"].is_null());
    }
    let staff = list(&value["aspects"])
        .iter()
        .find(|aspect| aspect["id"] == "staff");
    assert!(count(&staff.expect("staff")["negative_count"]) > 0);
    assert!(
        list(&value["topics"])
            .iter()
            .all(|topic| topic["polarity"] == "positive")
    );
}

#[test]
fn ten_reviews_of_a_language_are_scored_by_their_stars_and_say_so() {
    let reviews: Vec<(u8, &str)> = (0..10)
        .map(|at| match at % 2 {
            0 => (
                5,
                "Ik ben heel tevreden over deze advocaat en zijn medewerkers.",
            ),
            _ => (
                1,
                "Wij hebben wekenlang gewacht en kregen nooit een antwoord.",
            ),
        })
        .collect();
    let value = parsed(&dataset_of(&reviews));
    let languages = &value["coverage"]["languages"];
    assert_eq!(
        languages,
        &json!([{"language": "nld", "reviews": 10, "evidence": ["stars"]}])
    );
    for row in 0..10 {
        let expected = if row % 2 == 0 { "positive" } else { "negative" };
        assert_eq!(
            value["per_review"][format!("r{row}")]["sentiment"],
            expected
        );
    }
}

#[test]
fn long_texts_emoji_and_mixed_languages_are_read() {
    let long = "The lawyer was friendly and the fees were fair. ".repeat(1_250);
    assert!(long.len() >= 60_000);
    let cut = "x".repeat(60_000);
    let reviews = [
        (5, long.as_str()),
        (4, "😀👍❤️"),
        (1, "😡😡"),
        (
            2,
            "The service was fine, pero nunca contestan y la factura fue muy alta. Schade!",
        ),
        (3, cut.as_str()),
        (5, ""),
    ];
    let value = parsed(&dataset_of(&reviews));
    for row in 0..reviews.len() {
        let score = value["per_review"][format!("r{row}")]["score"]
            .as_f64()
            .expect("a score");
        assert!(score.abs() <= 1.0);
    }
    assert_eq!(value["per_review"]["r1"]["sentiment"], "positive");
    assert_eq!(value["per_review"]["r2"]["sentiment"], "negative");
    assert_eq!(count(&value["coverage"]["with_text"]), 5);
    let und = list(&value["coverage"]["languages"])
        .iter()
        .find(|one| one["language"] == "und");
    assert_eq!(und.expect("emoji")["evidence"], json!(["stars"]));
}

#[test]
fn emoji_alone_are_scored_and_name_nothing() {
    let value = parsed(&dataset_of(&[(5, "😀👍"), (1, "😡"), (3, "🤷")]));
    let languages = &value["coverage"]["languages"];
    assert_eq!(
        languages,
        &json!([{"language": "und", "reviews": 3, "evidence": ["stars"]}])
    );
    assert_eq!(value["overall_sentiment"]["positive_pct"], 33.3);
    assert_eq!(value["topics"], json!([]));
    assert_eq!(value["coverage"]["mentions"], 0);
    for aspect in list(&value["aspects"]) {
        assert!(aspect["score"].is_null() && aspect["interval"].is_null());
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
    assert!(score("r1") < 0.0 && score("r2") < 0.0);
    let english = dataset.reviews[2].translation.take();
    assert!(english.is_some() && parsed(&dataset)["per_review"] == value["per_review"]);
}

#[test]
fn reasons_add_up_to_a_total_with_the_sign_of_the_answer() {
    use super::explain::explain;
    let dataset = sample();
    let mut words = 0;
    for aspect in &dataset.taxonomy.aspects {
        for one in explain(&dataset, &options(1), &aspect.id).expect("listed") {
            let sum: i32 = one.reasons.iter().map(|reason| reason.tenths).sum();
            assert_eq!(sum, one.total, "{one:?}");
            let first = one.reasons.first().map_or(0, |reason| reason.tenths);
            match one.polarity {
                Polarity::Positive => assert!(one.total > 0 && first > 0, "{one:?}"),
                Polarity::Negative => assert!(one.total < 0 && first < 0, "{one:?}"),
                Polarity::Neutral => {}
            }
            words += one
                .reasons
                .iter()
                .filter(|reason| reason.what.starts_with('"'))
                .count();
        }
    }
    assert!(words > 100, "{words}");
}

/// Reviews of a German plumber: every pair of the sentences is one, three times as many praise.
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
    (0..count)
        .map(|at| {
            let (stars, list): (u8, &[&str]) = match at % 4 {
                0 => (1 + (at % 8 / 4) as u8, &complaint),
                other => (if other == 1 { 4 } else { 5 }, &praise),
            };
            let [one, other] = [at / 4 % list.len(), (at / 4 * 3 + at) % list.len()];
            (stars, format!("{} {}", list[one], list[other]))
        })
        .collect()
}

#[test]
fn a_language_with_200_reviews_learns_from_its_own_stars() {
    for (reviews, is_learnt) in [(199, false), (200, true)] {
        let texts = german(reviews);
        let texts: Vec<(u8, &str)> = texts
            .iter()
            .map(|(stars, text)| (*stars, text.as_str()))
            .collect();
        let value = parsed(&dataset_of(&texts));
        let language = &value["coverage"]["languages"][0];
        assert_eq!(language["language"], "deu");
        assert_eq!(count(&language["reviews"]), reviews as u64);
        let evidence = list(&language["evidence"]);
        assert_eq!(
            evidence.contains(&json!("own_stars")),
            is_learnt,
            "{reviews}"
        );
    }
}

#[test]
fn german_reviews_are_counted_and_their_aspects_judged() {
    let mut texts = german(240);
    // Words that turn the stars: a complaint with three stars.
    texts.push((
        3,
        "Die Anfahrtskosten sind eine Frechheit. Niemand ruft zurück.".to_owned(),
    ));
    let texts: Vec<(u8, &str)> = texts
        .iter()
        .map(|(stars, text)| (*stars, text.as_str()))
        .collect();
    let mut dataset = dataset_of(&texts);
    let concept = |id: &str, phrases: &[&str]| crate::model::Concept {
        id: id.to_owned(),
        label: id.to_owned(),
        phrases: phrases.iter().map(|phrase| (*phrase).to_owned()).collect(),
    };
    dataset.taxonomy.aspects = vec![
        concept("price", &["preis", "kosten", "rechnung"]),
        concept("speed", &["zu spät", "pünktlich"]),
    ];
    let value = parsed(&dataset);
    let (mut low, mut found) = (0, 0);
    for (row, (stars, _)) in texts.iter().enumerate() {
        if *stars <= 2 {
            low += 1;
            found += u64::from(value["per_review"][format!("r{row}")]["sentiment"] == "negative");
        }
    }
    assert!(found * 10 >= low * 9, "{found} of {low}");
    assert_eq!(value["per_review"]["r240"]["sentiment"], "negative");
    let aspect = |id: &str| {
        list(&value["aspects"])
            .iter()
            .find(|one| one["id"] == id)
            .expect("listed")
            .clone()
    };
    let (price, speed) = (aspect("price"), aspect("speed"));
    let compound = list(&price["top_phrases"]);
    assert!(compound.contains(&json!("anfahrtskosten")), "{compound:?}");
    for aspect in [&price, &speed] {
        assert!(
            count(&aspect["positive_count"]) > 10 && count(&aspect["negative_count"]) > 10,
            "{aspect}"
        );
    }
    assert_eq!(
        count(&speed["neutral_count"]),
        0,
        "late and on time are opinions themselves"
    );
}

#[test]
fn a_significant_change_is_told_with_its_quarter() {
    let mut dataset = dataset_of(&[(5, "The fees were fair and the service was great."); 60]);
    for (row, review) in dataset.reviews.iter_mut().enumerate() {
        let (month, is_new) = (1 + (row % 12) as u8, row < 30);
        review.date = crate::wire::date::Date::new(if is_new { 2025 } else { 2024 }, month, 1)
            .expect("a day");
        if is_new {
            review.rating = crate::model::Rating::MIN;
            review.text = "The fees were a rip-off and far too expensive.".to_owned();
        }
    }
    dataset
        .reviews
        .sort_by_key(|review| std::cmp::Reverse(review.date));
    let value = parsed(&dataset);
    let fees = list(&value["aspects"])
        .iter()
        .find(|one| one["id"] == "fees")
        .expect("fees");
    assert_eq!(
        fees["change"],
        "Favorable mentions fell from 100 % of 30 to 0 % of 30 since the first quarter of 2025."
    );
    let quarters = list(&fees["quarterly"]);
    assert_eq!(quarters.len(), 8);
    assert_eq!(
        quarters
            .iter()
            .map(|one| count(&one["mention_count"]))
            .sum::<u64>(),
        60
    );
    assert_eq!(quarters[0]["quarter"], "2024-Q1");
}

#[test]
fn names_of_people_and_plurals_of_aspects_are_no_topics() {
    let reviews: Vec<(u8, &str)> = (0..80)
        .map(|at| match at % 2 {
            0 => (
                5,
                "The waiting list was short, and we met Zebulon there. The free coffee was great.",
            ),
            _ => (
                1,
                "There was no parking garage. The invoices of the court were wrong.",
            ),
        })
        .collect();
    let value = parsed(&dataset_of(&reviews));
    let phrases: Vec<&str> = list(&value["topics"])
        .iter()
        .map(|topic| topic["phrase"].as_str().expect("a phrase"))
        .collect();
    assert!(
        phrases.contains(&"waiting list") && phrases.contains(&"parking garage"),
        "{phrases:?}"
    );
    for none in ["zebulon", "invoices", "the", "was great"] {
        assert!(!phrases.contains(&none), "{phrases:?}");
    }
}

#[test]
fn given_insights_are_read_as_far_as_they_have_our_shape() {
    let mut dataset = sample();
    let mut value = parsed(&dataset);
    value["topics"] = json!(["anything"]);
    value["method"] = json!({"accuracy": "high"});
    dataset.insights = Some(value.to_string().into_bytes());
    let given = document(&dataset, &options(1));
    assert_eq!(Some(&given.bytes), dataset.insights.as_ref());
    let read = given.insights;
    dataset.insights = None;
    let derived = document(&dataset, &options(1)).insights;
    assert_eq!(read.topics, []);
    let rows = |insights: &Insights| -> Vec<(String, Vec<Row>)> {
        insights
            .aspects
            .iter()
            .map(|aspect| (aspect.id.clone(), aspect.rows.clone()))
            .collect()
    };
    assert_eq!(rows(&read), rows(&derived));
    assert!(read.aspects.iter().all(|aspect| aspect.evidence.is_some()));
}

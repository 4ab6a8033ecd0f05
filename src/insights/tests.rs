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

fn aspect<'v>(value: &'v Value, id: &str) -> &'v Value {
    let mut aspects = list(&value["aspects"]).iter();
    aspects.find(|one| one["id"] == id).expect("listed")
}

/// What the figures of a language rest on.
fn language<'v>(value: &'v Value, code: &str) -> &'v Value {
    let mut languages = list(&value["coverage"]["languages"]).iter();
    languages
        .find(|one| one["language"] == code)
        .expect("there")
}

#[test]
fn every_count_adds_up() {
    let dataset = sample();
    let value = parsed(&dataset);
    let coverage = &value["coverage"];
    let mut mentions = 0;
    for aspect in list(&value["aspects"]) {
        let all = count(&aspect["mention_count"]);
        mentions += all;
        let evidence = list(&aspect["evidence"]).len() as u64;
        assert_eq!(evidence, all, "the sample shows all evidence");
        assert_eq!(aspect["score"].is_null(), all < u64::from(MENTIONS_MIN));
        assert_eq!(aspect["interval"].is_null(), aspect["score"].is_null());
        if let Some(share) = aspect["positive_pct"].as_f64() {
            let positive = count(&aspect["positive_count"]) as f64;
            assert!((share - 100.0 * positive / all as f64).abs() <= 0.05 + 1e-9);
            let bound = |at: usize| aspect["interval"][at].as_f64().expect("a bound") * 100.0;
            assert!(bound(0) <= share && share <= bound(1));
        }
    }
    assert_eq!(count(&coverage["mentions"]), mentions);
    let per_review = value["per_review"].as_object().expect("an object");
    let scored = dataset.reviews.len() as u64;
    assert_eq!(
        count(&coverage["scored"]),
        scored,
        "stars alone are a score"
    );
    let languages = list(&coverage["languages"]).iter();
    let of_languages: u64 = languages.map(|one| count(&one["reviews"])).sum();
    assert_eq!(count(&coverage["with_text"]), of_languages);
    let named = per_review
        .values()
        .filter(|one| one["aspects"] != json!([]));
    assert_eq!(count(&coverage["with_aspect"]), named.count() as u64);
    for sign in ["positive", "neutral", "negative"] {
        let of_sign = per_review.values().filter(|one| one["sentiment"] == sign);
        let share = value["overall_sentiment"][format!("{sign}_pct")].as_f64();
        let expected = 100.0 * of_sign.count() as f64 / scored as f64;
        assert!((share.expect("a share") - expected).abs() <= 0.05 + 1e-9);
    }
    let months = list(&value["temporal"]["monthly"]).iter();
    let of_months: u64 = months.map(|month| count(&month["review_count"])).sum();
    assert_eq!(of_months, scored);
}

#[test]
fn praise_and_complaint_both_come_with_examples_and_topics() {
    let dataset = sample();
    let value = parsed(&dataset);
    let fees = aspect(&value, "fees");
    assert!(count(&fees["positive_count"]) > 1 && count(&fees["negative_count"]) > 1);
    assert!((4..=6).contains(&list(&fees["example_review_ids"]).len()));
    for topic in list(&value["topics"]) {
        let phrase = topic["phrase"].as_str().expect("a phrase");
        assert!(topic["weight"].as_f64().expect("a weight") >= 1.64);
        assert!(count(&topic["five_star_count"]) + count(&topic["low_star_count"]) >= 3);
        assert!(phrase.split(' ').count() <= 3, "{phrase}");
        let ids = list(&topic["review_ids"]);
        assert!((1..=5).contains(&ids.len()), "{topic}");
        for id in ids {
            let review = dataset.reviews.iter().find(|review| *id == review.id);
            let text = review.expect("a review").text.to_lowercase();
            let is_there = phrase.split(' ').all(|word| text.contains(word));
            assert!(is_there, "{phrase}: {text}");
        }
    }
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
    let most = totals::EVIDENCE_MAX + 2 * totals::EXAMPLES_MAX;
    for aspect in list(&value["aspects"]) {
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
    let start = format!("{} reviews from 2019-02-11 to ", dataset.reviews.len());
    assert!(summary.starts_with(&start), "{summary}");
    assert!(summary.contains("Criticized most often: "), "{summary}");
}

#[test]
fn an_interval_holds_its_own_share() {
    assert_eq!(share_interval(0, 0), [0.0, 1.0]);
    for (part, whole) in [(0, 1), (1, 1), (0, 500), (250, 500), (500, 500)] {
        let [low, high] = share_interval(part, whole);
        let share = part as f64 / whole as f64;
        assert!(low <= share && share <= high, "{part} of {whole}");
        assert!(high - low > 0.15, "at least the error of the method");
    }
}

#[test]
fn an_empty_dataset_has_no_dates_no_means_and_no_scores() {
    let value = parsed(&dataset_of(&[]));
    let dates = json!({"earliest": null, "latest": null});
    assert_eq!(value["date_range"], dates);
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
        "The emergency call came back at 5:30 in the morning. THANKS!",
        "Nobody else could have handled my fees and my divorce with less trouble.",
        "The staff was rude, the bill was a terrible rip-off and I hated every minute.",
    ];
    let reviews: Vec<(u8, &str)> = texts
        .map(|text| (5, text))
        .into_iter()
        .cycle()
        .take(60)
        .collect();
    let value = parsed(&dataset_of(&reviews));
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

#[test]
fn ten_reviews_of_a_language_are_scored_by_their_stars_and_say_so() {
    let both = [
        (
            5,
            "Ik ben heel tevreden over deze advocaat en zijn medewerkers.",
        ),
        (
            1,
            "Wij hebben wekenlang gewacht en kregen nooit een antwoord.",
        ),
    ];
    let value = parsed(&dataset_of(&both.repeat(5)));
    let dutch = json!([{"language": "nld", "reviews": 10, "evidence": ["stars"]}]);
    assert_eq!(value["coverage"]["languages"], dutch);
    for row in 0..10 {
        let expected = ["positive", "negative"][row % 2];
        assert_eq!(
            value["per_review"][format!("r{row}")]["sentiment"],
            expected
        );
    }
}

#[test]
fn long_texts_emoji_and_mixed_languages_are_read() {
    let long = "The lawyer was friendly and the fees were fair. ".repeat(1_250);
    let cut = "x".repeat(60_000);
    let mixed = "The service was fine, pero nunca contestan y la factura fue muy alta. Schade!";
    let reviews = [
        (5, long.as_str()),
        (4, "😀👍❤️"),
        (1, "😡😡"),
        (2, mixed),
        (3, cut.as_str()),
        (5, ""),
    ];
    let value = parsed(&dataset_of(&reviews));
    for row in 0..reviews.len() {
        let score = value["per_review"][format!("r{row}")]["score"].as_f64();
        assert!(score.expect("a score").abs() <= 1.0);
    }
    assert_eq!(value["per_review"]["r1"]["sentiment"], "positive");
    assert_eq!(value["per_review"]["r2"]["sentiment"], "negative");
    assert_eq!(count(&value["coverage"]["with_text"]), 5);
    assert_eq!(language(&value, "und")["evidence"], json!(["stars"]));
    // Emoji alone name nothing.
    let value = parsed(&dataset_of(&[(5, "😀👍"), (1, "😡"), (3, "🤷")]));
    assert_eq!(count(&language(&value, "und")["reviews"]), 3);
    assert_eq!(value["overall_sentiment"]["positive_pct"], 33.3);
    assert_eq!(value["topics"], json!([]));
    assert_eq!(value["coverage"]["mentions"], 0);
    let mut aspects = list(&value["aspects"]).iter();
    assert!(aspects.all(|one| one["score"].is_null() && one["interval"].is_null()));
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
    let mut words = 0;
    let dataset = sample();
    for aspect in &dataset.taxonomy.aspects {
        let text = explain::explain(&dataset, &options(1), &aspect.id).expect("listed");
        assert!(text.ends_with(" negative\n"), "{text}");
        for block in text
            .split("\n\n")
            .filter(|block| block.contains("; together "))
        {
            let reasons = block.rsplit("in log-odds: ").next().expect("reasons");
            let (reasons, total) = reasons.split_once("; together ").expect("a total");
            let tenths = |number: &str| number.replace('.', "").parse::<i32>().expect("a number");
            let of_reason = |reason: &str| {
                let number = reason.split(' ').rfind(|word| word.starts_with(['+', '-']));
                number.map(tenths)
            };
            let reasons = reasons.replace(" reviews, ", " reviews ");
            let parts: Vec<i32> = reasons.split(", ").filter_map(of_reason).collect();
            assert_eq!(parts.iter().sum::<i32>(), tenths(total), "{block}");
            let sign = parts
                .first()
                .map_or(0, |first| first.signum() + tenths(total).signum());
            match block.split(' ').next() {
                Some("positive") => assert_eq!(sign, 2, "{block}"),
                Some("negative") => assert_eq!(sign, -2, "{block}"),
                _ => {}
            }
            words += reasons.matches("\" +").count() + reasons.matches("\" -").count();
            for word in ["the", "and", "for", "to", "a"] {
                assert!(!reasons.contains(&format!(" \"{word}\" ")), "{block}");
            }
        }
    }
    assert!(words > 100, "{words}");
    assert_eq!(explain::explain(&dataset, &options(1), "fee"), None);
    let by_label = explain::explain(&dataset, &options(1), "FEES and billing").expect("listed");
    assert!(
        by_label.contains("great communication, clear [fees], done\n"),
        "{by_label}"
    );
}

#[test]
fn escapes_of_a_review_do_not_reach_the_terminal() {
    let dataset = dataset_of(&[(1, "The fees\x1b[31m were\u{9b}high.")]);
    let text = explain::explain(&dataset, &options(1), "fees").expect("listed");
    assert!(text.contains("The [fees] [31m were high.\n"), "{text}");
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
                _ => (5, &praise),
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
        let texts = texts.iter().map(|(stars, text)| (*stars, text.as_str()));
        let value = parsed(&dataset_of(&texts.collect::<Vec<_>>()));
        let language = language(&value, "deu");
        assert_eq!(count(&language["reviews"]), reviews as u64);
        let evidence = list(&language["evidence"]);
        assert_eq!(evidence.contains(&json!("own_stars")), is_learnt);
    }
}

#[test]
fn german_reviews_are_counted_and_their_aspects_judged() {
    let mut texts = german(240);
    // Words that turn the stars: a complaint with three stars.
    let complaint = "Die Anfahrtskosten sind eine Frechheit. Niemand ruft zurück.";
    texts.push((3, complaint.to_owned()));
    let texts = texts.iter().map(|(stars, text)| (*stars, text.as_str()));
    let texts: Vec<(u8, &str)> = texts.collect();
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
    let sentiment = |row: usize| &value["per_review"][format!("r{row}")]["sentiment"];
    let low: Vec<usize> = (0..240).filter(|row| texts[*row].0 <= 2).collect();
    let found = low
        .iter()
        .filter(|row| *sentiment(**row) == "negative")
        .count();
    assert!(found * 10 >= low.len() * 9, "{found} of {}", low.len());
    assert_eq!(*sentiment(240), "negative");
    let (price, speed) = (aspect(&value, "price"), aspect(&value, "speed"));
    assert!(
        list(&price["top_phrases"]).contains(&json!("anfahrtskosten")),
        "{price}"
    );
    for aspect in [price, speed] {
        let [praise, complaints] =
            ["positive_count", "negative_count"].map(|key| count(&aspect[key]));
        assert!(praise > 10 && complaints > 10, "{aspect}");
    }
    assert_eq!(
        count(&speed["neutral_count"]),
        0,
        "late and on time are opinions"
    );
}

#[test]
fn complaints_with_four_stars_are_not_learnt_as_praise() {
    let mut texts: Vec<(u8, String)> = german(240);
    let praise = texts.iter_mut().filter(|(stars, _)| *stars == 5);
    for (at, (stars, text)) in praise.enumerate().filter(|(at, _)| at % 5 == 0) {
        *stars = 4;
        text.push_str(&format!(" Leider ist die Wartezeit lang, Nummer {at}."));
    }
    texts.push((1, "Die Wartezeit ist lang.".to_owned()));
    let texts = texts.iter().map(|(stars, text)| (*stars, text.as_str()));
    let value = parsed(&dataset_of(&texts.collect::<Vec<_>>()));
    assert_eq!(value["per_review"]["r240"]["sentiment"], "negative");
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
    let fees = aspect(&value, "fees");
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

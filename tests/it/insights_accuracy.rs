//! Measures the judgement of mentions on labelled sentences, beside baselines with the same information, and holds the
//! figures that the document and the documentation publish.
//!
//! The repository's own sets are always measured; MAMS, TSA-MD and the UCI sentences where `REVIEWD_ABSA` names their
//! folder. A change of the method changes the figures: the failing assertion prints the new ones.

use std::ops::Range;
use std::path::Path;

use reviewd::dataset::{decode, embedded};
use reviewd::insights::evidence::{Context, Judge};
use reviewd::insights::{MENTIONS_MIN, Options, document};
use reviewd::model::Rating;
use reviewd::model::insights::Polarity;
use reviewd::wire::date::Timestamp;
use serde_json::Value;

#[path = "../fixtures/polarity/cases.rs"]
#[allow(dead_code, reason = "training needs more of it")]
mod cases;
#[path = "../fixtures/vader/reference.rs"]
mod vader;

use vader::Vader;

/// A labelled mention.
struct Labelled {
    text: String,
    target: Option<Range<usize>>,
    rating: Option<Rating>,
    gold: usize,
}

/// Accuracy, macro-F1 and negative recall in thousandths.
type Figure = [u16; 3];

fn fixture(name: &str) -> Vec<Labelled> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/polarity")
        .join(name);
    let lines = std::fs::read_to_string(path).unwrap();
    lines.lines().map(labelled).collect()
}

fn labelled(line: &str) -> Labelled {
    let value: Value = serde_json::from_str(line).unwrap();
    let text = value["text"].as_str().unwrap().to_owned();
    let byte = |key: &str| {
        let point = value[key].as_u64().unwrap() as usize;
        text.char_indices()
            .nth(point)
            .map_or(text.len(), |(at, _)| at)
    };
    let gold = Polarity::parse(value["gold"].as_str().unwrap()).unwrap() as usize;
    Labelled {
        target: Some(byte("from")..byte("to")),
        rating: value["rating"]
            .as_u64()
            .and_then(|stars| Rating::new(stars as u8)),
        gold,
        text,
    }
}

/// Tallies answers; the first index is the label.
fn figure(cases: &[Labelled], mut answer: impl FnMut(&Labelled) -> usize) -> Figure {
    let mut table = [[0u32; 3]; 3];
    for case in cases {
        table[case.gold][answer(case)] += 1;
    }
    let share = |part: u32, whole: u32| {
        if whole == 0 {
            0.0
        } else {
            f64::from(part) / f64::from(whole)
        }
    };
    let recall = |class: usize| share(table[class][class], table[class].iter().sum());
    let precision = |class: usize| {
        share(
            table[class][class],
            table.iter().map(|row| row[class]).sum(),
        )
    };
    let f1 = |class: usize| {
        let (precision, recall) = (precision(class), recall(class));
        if precision + recall > 0.0 {
            2.0 * precision * recall / (precision + recall)
        } else {
            0.0
        }
    };
    let right = (0..3).map(|class| table[class][class]).sum();
    let accuracy = share(right, cases.len() as u32);
    let macro_f1 = (0..3).map(f1).sum::<f64>() / 3.0;
    [accuracy, macro_f1, recall(0)].map(|one| (one * 1000.0).round() as u16)
}

fn product(judge: &mut Judge, case: &Labelled, rating: Option<Rating>) -> Polarity {
    judge.read(&case.text);
    let context = Context {
        is_english: true,
        rating,
        ..Context::default()
    };
    match &case.target {
        Some(target) if rating.is_some() => judge.mention(target.clone(), &context).polarity,
        Some(target) => judge.mention(target.clone(), &context).best,
        None => judge.whole(&context).best,
    }
}

fn sign(compound: f64) -> usize {
    match compound {
        0.05.. => 2,
        ..=-0.05 => 0,
        _ => 1,
    }
}

fn stars(case: &Labelled) -> f64 {
    case.rating
        .map_or(0.0, |rating| f64::from(rating.stars()) - 3.0)
}

/// The product and its baselines without stars.
fn by_text(cases: &[Labelled]) -> [Figure; 3] {
    let (mut judge, mut vader) = (Judge::default(), Vader::default());
    let majority =
        (0..3).max_by_key(|class| cases.iter().filter(|case| case.gold == *class).count());
    [
        figure(cases, |case| product(&mut judge, case, None) as usize),
        figure(cases, |case| {
            sign(f64::from(vader.compound(&case.text)) / 10_000.0)
        }),
        figure(cases, |_| majority.unwrap_or(1)),
    ]
}

/// The product and its baselines with stars; a case without any counts as one of three.
fn by_text_and_stars(cases: &[Labelled]) -> [Figure; 3] {
    let (mut judge, mut vader) = (Judge::default(), Vader::default());
    [
        figure(cases, |case| {
            product(&mut judge, case, case.rating.or(Rating::new(3))) as usize
        }),
        figure(cases, |case| sign(stars(case) / 20.0)),
        figure(cases, |case| {
            sign(f64::from(vader.compound(&case.text)) / 10_000.0 + 0.15 * stars(case))
        }),
    ]
}

fn published() -> Value {
    let dataset = decode(embedded(), Timestamp::from_unix(4_000_000_000))
        .unwrap()
        .dataset;
    let threads = std::num::NonZeroUsize::MIN;
    let document = document(
        &dataset,
        &Options {
            threads,
            mentions_min: MENTIONS_MIN,
        },
    );
    serde_json::from_slice(&document.bytes).unwrap()
}

#[test]
fn published_figures_are_those_measured() {
    let method = &published()["method"];
    let read = |figure: &Value| -> Figure {
        ["accuracy", "macro_f1", "negative_recall"]
            .map(|key| (figure[key].as_f64().unwrap() * 1000.0).round() as u16)
    };
    let rows = |figure: &Value| -> Vec<Figure> {
        let baselines = figure["baselines"].as_array().unwrap();
        std::iter::once(figure).chain(baselines).map(read).collect()
    };
    let (practice, home) = (fixture("practice.jsonl"), fixture("home-services.jsonl"));
    let measured = [
        by_text_and_stars(&practice),
        by_text(&practice),
        by_text_and_stars(&home),
        by_text(&home),
    ];
    let further = method["further"].as_array().unwrap();
    let told: Vec<Vec<Figure>> = std::iter::once(method).chain(further).map(rows).collect();
    assert_eq!(told, measured.map(|one| one.to_vec()), "{measured:?}");
    let readme = include_str!("../../docs/insights.md");
    for figure in measured.iter().flatten() {
        let row = figure
            .map(|one| format!("{:.3}", f64::from(one) / 1000.0))
            .join(" | ");
        assert!(
            readme.contains(&row),
            "docs/insights.md lacks {row}: {measured:?}"
        );
    }
}

#[test]
fn listed_complaints_are_complaints() {
    let mut judge = Judge::default();
    let (mut listed, mut right, mut all) = (0, 0, 0);
    for case in fixture("home-services.jsonl") {
        let is_listed = product(&mut judge, &case, case.rating) == Polarity::Negative;
        listed += u32::from(is_listed);
        right += u32::from(is_listed && case.gold == 0);
        all += u32::from(case.gold == 0);
    }
    assert!(right * 10 >= listed * 8, "precision: {right} of {listed}");
    assert!(right * 10 >= all * 6, "recall: {right} of {all}");
}

/// Development data: what the constants were chosen by, so a floor and no claim.
#[test]
fn development_sets_stay_above_vader() {
    let Some(folder) = std::env::var_os("REVIEWD_ABSA") else {
        return println!(
            "REVIEWD_ABSA is not set: MAMS, TSA-MD and the UCI sentences are not measured"
        );
    };
    let cases = cases::read(Path::new(&folder), cases::Part::Development).unwrap();
    for set in ["MAMS", "TSA-MD", "UCI"] {
        let of_set = cases
            .iter()
            .filter(|case| case.set == set)
            .map(|case| Labelled {
                text: case.text.clone(),
                target: case.target.clone(),
                rating: None,
                gold: case.gold,
            });
        let [own, vader, majority] = by_text(&of_set.collect::<Vec<_>>());
        println!("{set}: product {own:?}, VADER {vader:?}, majority {majority:?}");
        assert!(
            own[0] > vader[0] && own[2] > vader[2],
            "{set}: {own:?} {vader:?}"
        );
    }
}

//! Measures the judgement of mentions on labelled sentences, beside baselines with the same information.
//!
//! `src/insights/figures.json` and the table of `docs/insights.md` hold the figures; `UPDATE_GOLDEN=1` writes them anew.
//! The repository's own sets are always measured; MAMS, TSA-MD, the UCI sentences and sets in the folder `held-out`
//! where `REVIEWD_ABSA` names their folder. Which sets the constants were chosen by is part of each name.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use reviewd::dataset::{decode, embedded};
use reviewd::insights::evidence::Context;
use reviewd::insights::share_interval;
use reviewd::insights::text_model::Sentence;
use reviewd::model::Rating;
use reviewd::model::insights::{Baseline, Figure, Polarity};
use reviewd::wire::date::Timestamp;
use serde_json::Value;

#[path = "../fixtures/polarity/cases.rs"]
#[allow(dead_code, reason = "training needs more of it")]
mod cases;
#[path = "../fixtures/vader/reference.rs"]
mod vader;

use cases::Part;
use vader::Vader;

/// A labelled mention.
struct Labelled {
    text: String,
    target: Option<Range<usize>>,
    rating: Option<Rating>,
    gold: usize,
}

fn fixture(name: &str) -> Vec<Labelled> {
    let path = root("tests/fixtures/polarity").join(name);
    let lines = std::fs::read_to_string(path).unwrap();
    lines.lines().map(labelled).collect()
}

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn labelled(line: &str) -> Labelled {
    let value: Value = serde_json::from_str(line).unwrap();
    let text = value["text"].as_str().unwrap().to_owned();
    let byte = |key: &str| {
        let point = value[key].as_u64().unwrap() as usize;
        let byte = text.char_indices().nth(point);
        byte.map_or(text.len(), |(at, _)| at)
    };
    Labelled {
        target: Some(byte("from")..byte("to")),
        rating: value["rating"]
            .as_u64()
            .and_then(|stars| Rating::new(stars as u8)),
        gold: Polarity::parse(value["gold"].as_str().unwrap()).unwrap() as usize,
        text,
    }
}

/// The cases of `part` by set; `None` without the folder.
fn external(part: Part) -> Option<BTreeMap<String, Vec<Labelled>>> {
    let folder = std::env::var_os("REVIEWD_ABSA")?;
    let mut sets: BTreeMap<String, Vec<Labelled>> = BTreeMap::new();
    for case in cases::read(Path::new(&folder), part).unwrap() {
        sets.entry(case.set).or_default().push(Labelled {
            text: case.text,
            target: case.target,
            rating: case.stars.and_then(Rating::new),
            gold: case.gold,
        });
    }
    Some(sets)
}

/// How often each class was answered (second index) to each label (first).
type Table = [[f64; 3]; 3];

fn tally(cases: &[Labelled], mut answer: impl FnMut(&Labelled) -> usize) -> Table {
    let mut table = Table::default();
    for case in cases {
        table[case.gold][answer(case)] += 1.0;
    }
    table
}

fn recall(table: &Table, class: usize) -> f64 {
    table[class][class] / table[class].iter().sum::<f64>().max(1.0)
}

fn precision(table: &Table, class: usize) -> f64 {
    let answered: f64 = table.iter().map(|row| row[class]).sum();
    table[class][class] / answered.max(1.0)
}

fn baseline(name: &str, table: &Table) -> Baseline {
    let right: f64 = (0..3).map(|class| table[class][class]).sum();
    let f1 = |class| {
        let (precision, recall) = (precision(table, class), recall(table, class));
        2.0 * precision * recall / (precision + recall).max(1e-9)
    };
    let thousandths = |value: f64| (value * 1000.0).round() / 1000.0;
    Baseline {
        name: name.to_owned(),
        accuracy: thousandths(right / table.iter().flatten().sum::<f64>()),
        macro_f1: thousandths((0..3).map(f1).sum::<f64>() / 3.0),
        negative_recall: thousandths(recall(table, 0)),
    }
}

/// The product's answer: what it lists where it has the stars, else the likeliest class.
fn product(judge: &mut Sentence, case: &Labelled, rating: Option<Rating>) -> usize {
    judge.read(&case.text);
    let context = Context {
        is_english: true,
        rating,
        ..Context::default()
    };
    let judgement = judge.judge(case.target.as_ref(), &context);
    match rating {
        Some(_) => judgement.polarity as usize,
        None => judgement.best as usize,
    }
}

fn sign(compound: f64) -> usize {
    match compound {
        0.05.. => 2,
        ..=-0.05 => 0,
        _ => 1,
    }
}

fn vader(vader: &mut Vader, case: &Labelled) -> f64 {
    f64::from(vader.compound(&case.text)) / 10_000.0
}

/// Stars from three; a case without any counts as one of three.
fn stars(case: &Labelled) -> f64 {
    case.rating.map_or(0.0, |one| f64::from(one.stars()) - 3.0)
}

fn figure(measured_on: String, product: &Table, baselines: Vec<Baseline>) -> Figure {
    let own = baseline("", product);
    Figure {
        measured_on,
        accuracy: own.accuracy,
        macro_f1: own.macro_f1,
        negative_recall: own.negative_recall,
        baselines,
    }
}

fn by_text(set: &str, cases: &[Labelled]) -> Figure {
    let (mut judge, mut lexicon) = (Sentence::default(), Vader::default());
    let of = |class: &usize| cases.iter().filter(|case| case.gold == *class).count();
    let majority = (0..3).max_by_key(of).unwrap_or(1);
    let baselines = vec![
        baseline("VADER", &tally(cases, |one| sign(vader(&mut lexicon, one)))),
        baseline("majority class", &tally(cases, |_| majority)),
    ];
    let own = tally(cases, |case| product(&mut judge, case, None));
    figure(format!("{set}, text only"), &own, baselines)
}

fn by_text_and_stars(set: &str, cases: &[Labelled]) -> Figure {
    let (mut judge, mut lexicon) = (Sentence::default(), Vader::default());
    let both = |one: &Labelled| sign(vader(&mut lexicon, one) + 0.15 * stars(one));
    let baselines = vec![
        baseline("stars alone", &tally(cases, |case| sign(stars(case)))),
        baseline("VADER and stars", &tally(cases, both)),
    ];
    let own = tally(cases, |case| {
        product(&mut judge, case, case.rating.or(Rating::new(3)))
    });
    figure(format!("{set}, with stars"), &own, baselines)
}

/// Every figure that can be measured here.
fn measured() -> Vec<Figure> {
    let practice = fixture("practice.jsonl");
    let home = fixture("home-services.jsonl");
    let law =
        "345 mentions about a law practice, of this project, used to choose the weight of stars";
    let services =
        "56 mentions about home services, of this project, used to choose the weight of stars";
    let mut figures = vec![
        by_text_and_stars(law, &practice),
        by_text(law, &practice),
        by_text_and_stars(services, &home),
        by_text(services, &home),
    ];
    for (part, what) in [(Part::Test, "held out"), (Part::Development, "development")] {
        for (set, cases) in external(part).into_iter().flatten() {
            let name = format!("{set}, {} mentions, {what}", cases.len());
            figures.push(by_text(&name, &cases));
            if cases.iter().any(|case| case.rating.is_some()) {
                let rated = cases.into_iter().filter(|case| case.rating.is_some());
                figures.push(by_text_and_stars(&name, &rated.collect::<Vec<_>>()));
            }
        }
    }
    figures
}

/// The rows of the table in the documentation.
fn table(figures: &[Figure]) -> String {
    let mut rows = String::from(
        "| set | method | accuracy | macro-F1 | negative recall |\n|---|---|---:|---:|---:|\n",
    );
    for figure in figures {
        let own = Baseline {
            name: "reviewd".to_owned(),
            accuracy: figure.accuracy,
            macro_f1: figure.macro_f1,
            negative_recall: figure.negative_recall,
        };
        for (at, row) in std::iter::once(&own).chain(&figure.baselines).enumerate() {
            let set = if at == 0 { &*figure.measured_on } else { "" };
            rows.push_str(&format!(
                "| {set} | {} | {:.3} | {:.3} | {:.3} |\n",
                row.name, row.accuracy, row.macro_f1, row.negative_recall
            ));
        }
    }
    rows
}

#[test]
fn published_figures_are_those_measured() {
    let path = root("src/insights/figures.json");
    let docs = root("docs/insights.md");
    let mut published: Vec<Figure> =
        serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let page = std::fs::read_to_string(&docs).unwrap();
    let measured = measured();
    if external(Part::Test).is_none() {
        println!("REVIEWD_ABSA is not set: only the sets of this project are measured");
    }
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        if std::env::var_os("REVIEWD_ABSA").is_some() {
            published.clear();
        }
        for figure in measured {
            match published
                .iter_mut()
                .find(|one| one.measured_on == figure.measured_on)
            {
                Some(known) => *known = figure,
                None => published.push(figure),
            }
        }
        let json = serde_json::to_string_pretty(&published).unwrap();
        std::fs::write(path, json + "\n").unwrap();
        let (before, rest) = page.split_once(BEGIN).unwrap();
        let (_, after) = rest.split_once(END).unwrap();
        let page = format!("{before}{BEGIN}{}{END}{after}", table(&published));
        return std::fs::write(docs, page).unwrap();
    }
    for figure in &measured {
        for baseline in &figure.baselines {
            assert!(figure.accuracy >= baseline.accuracy, "{figure:?}");
        }
        let held = |one: &Figure| table(std::slice::from_ref(one));
        let known = published
            .iter()
            .find(|one| one.measured_on == figure.measured_on);
        assert_eq!(known.map(held), Some(held(figure)));
    }
    assert!(
        page.contains(&table(&published)),
        "docs/insights.md differs"
    );
}

const BEGIN: &str = "<!-- figures: UPDATE_GOLDEN=1 cargo test --test it insights_accuracy -->\n";
const END: &str = "<!-- end of figures -->\n";

#[test]
fn listed_complaints_are_complaints() {
    let mut judge = Sentence::default();
    for name in ["home-services.jsonl", "practice.jsonl"] {
        let cases = fixture(name);
        let own = tally(&cases, |case| {
            product(&mut judge, case, case.rating.or(Rating::new(3)))
        });
        assert!(precision(&own, 0) >= 0.8, "{name}: {own:?}");
        assert!(recall(&own, 0) >= 0.6, "{name}: {own:?}");
    }
}

#[test]
fn formats_of_held_out_sets_are_read() {
    let xml = r#"<Reviews><Review rid="1"><sentences>
        <sentence><text>Nice &amp; clean room.</text><Opinions>
            <Opinion target="room" category="ROOMS" polarity="positive" from="13" to="17"/></Opinions></sentence>
        <sentence><text>Slow staff.</text><Opinions>
            <Opinion target="NULL" category="SERVICE" polarity="negative" from="0" to="0"/></Opinions></sentence>
        </sentences></Review></Reviews>"#;
    let cases = cases::xml_cases(xml.as_bytes()).unwrap();
    assert_eq!(cases[0].text, "Nice & clean room.");
    assert_eq!(
        (cases[0].target.clone(), cases[0].stars),
        (Some(13..17), Some(1))
    );
    assert_eq!((cases[1].target.clone(), cases[1].stars), (None, Some(5)));
    let json = r#"[{"text": "Near LOCATION1 it is safe.", "opinions": [
        {"sentiment": "Positive", "aspect": "safety", "target_entity": "LOCATION1"}]}]"#;
    let cases = cases::json_cases(json.as_bytes()).unwrap();
    assert_eq!((cases[0].target.clone(), cases[0].gold), (Some(5..14), 2));
}

/// Groups of mentions that are judged as an aspect is, with the weight of each class and whether stars count.
fn groups() -> Vec<(String, Vec<Labelled>, [f64; 3], bool)> {
    let taxonomy = decode(embedded(), Timestamp::from_unix(4_000_000_000)).unwrap();
    let mut groups = Vec::new();
    for aspect in &taxonomy.dataset.taxonomy.aspects {
        let is_of = |case: &Labelled| {
            let target = case.text[case.target.clone().unwrap()].to_lowercase();
            let known = |phrase: &String| target.contains(&phrase.to_lowercase());
            aspect.phrases.iter().any(known)
        };
        let mut cases = fixture("practice.jsonl");
        cases.retain(is_of);
        groups.push((aspect.label.clone(), cases, [1.0; 3], true));
    }
    let mut by_term: BTreeMap<String, Vec<Labelled>> = BTreeMap::new();
    let development = external(Part::Development).into_iter().flatten();
    for case in development
        .filter(|(set, _)| set == "MAMS")
        .flat_map(|(_, cases)| cases)
    {
        let term = case.text[case.target.clone().unwrap()].to_lowercase();
        by_term.entry(term).or_default().push(case);
    }
    for (term, cases) in by_term {
        // Neutral mentions are 45 % of MAMS, and far fewer of reviews.
        groups.push((term, cases, [1.0, 0.15, 1.5], false));
    }
    groups.retain(|(_, cases, ..)| cases.len() >= 10);
    groups
}

/// The share of mentions that `class` tells to be praise.
fn share(cases: &[Labelled], weights: [f64; 3], mut class: impl FnMut(&Labelled) -> usize) -> f64 {
    let all: f64 = cases.iter().map(|case| weights[case.gold]).sum();
    let praise = cases.iter().filter(|case| class(case) == 2);
    praise.map(|case| weights[case.gold]).sum::<f64>() / all
}

#[test]
fn intervals_hold_the_true_share_of_nine_in_ten_aspects() {
    let (mut judge, mut lexicon) = (Sentence::default(), Vader::default());
    let page = std::fs::read_to_string(root("docs/insights.md")).unwrap();
    for (has_stars, set) in [
        (true, "subjects of the law practice, with stars"),
        (false, "frequent words of MAMS, development, text only"),
    ] {
        let (mut errors, mut held) = ([0.0; 3], 0);
        let groups = groups().into_iter().filter(|group| group.3 == has_stars);
        let groups: Vec<_> = groups.collect();
        for (name, cases, weights, _) in &groups {
            let gold = share(cases, *weights, |case| case.gold);
            let own = share(cases, *weights, |case| {
                let rating = case.rating.or(Rating::new(3)).filter(|_| has_stars);
                product(&mut judge, case, rating)
            });
            let by_vader = share(cases, *weights, |case| {
                let stars = if has_stars { 0.15 * stars(case) } else { 0.0 };
                sign(vader(&mut lexicon, case) + stars)
            });
            let by_stars = share(cases, *weights, |case| sign(stars(case)));
            for (error, share) in errors.iter_mut().zip([own, by_vader, by_stars]) {
                *error += (share - gold).abs() / groups.len() as f64;
            }
            let count = cases.len() as u64;
            let [low, high] = share_interval((own * count as f64).round() as u64, count);
            println!("{name}: true {gold:.2}, {own:.2} of {count}: {low:.2} to {high:.2}");
            held += usize::from(low <= gold && gold <= high);
        }
        let all = groups.len();
        if all == 0 {
            println!("REVIEWD_ABSA is not set: {set} are not measured");
            continue;
        }
        assert!(held * 10 >= all * 9, "{held} of {all}");
        let [own, by_vader, by_stars] = errors;
        let others = match has_stars {
            true => format!("{by_vader:.3} | {by_stars:.3}"),
            false => format!("{by_vader:.3} | "),
        };
        let row = format!("| {all} {set} | {own:.3} | {others} | {held} of {all} |");
        assert!(page.contains(&row), "docs/insights.md has no row {row}");
    }
}

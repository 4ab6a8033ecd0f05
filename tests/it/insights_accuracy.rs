//! Measures the sentiment classification of mentions on labelled sentences, beside baselines with the same information.
//!
//! `src/insights/figures.json` and a table of `docs/design/insights.md` hold the figures; `UPDATE_GOLDEN=1` updates them.
//! The repository's own sets are always measured; external sets only if `REVIEWD_ABSA` names the folder that
//! `tests/fixtures/polarity/make.py` has written them to. Each name tells whether constants were chosen by the set.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use reviewd::insights::evidence::{Context, Judgement, Reader};
use reviewd::insights::share_interval;
use reviewd::insights::text_model::Sentence;
use reviewd::model::Rating;
use reviewd::model::insights::{Baseline, Figure};

#[path = "../fixtures/polarity/cases.rs"]
#[allow(dead_code, reason = "training needs more of it")]
mod cases;

use cases::Case;

/// Reads the labelled mentions of one of the project's own sets.
fn fixture(name: &str) -> Vec<Case> {
    cases::read(&root("tests/fixtures/polarity").join(name)).unwrap()
}

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Reads the cases of an external file, by set; none if `REVIEWD_ABSA` is not set.
fn external(file: &str) -> BTreeMap<String, Vec<Case>> {
    let mut sets: BTreeMap<String, Vec<Case>> = BTreeMap::new();
    if let Some(folder) = std::env::var_os("REVIEWD_ABSA") {
        for case in cases::read(&Path::new(&folder).join(file)).unwrap() {
            sets.entry(case.set.clone()).or_default().push(case);
        }
    }
    sets
}

/// The project's own sentences that neither the text model nor any constant was chosen on.
const UNSEEN: &str = "unseen.jsonl";

/// Counts of answers by the true class (first index) and the answered class (second index). The classes are 0 for a
/// complaint, 1 for a neutral mention and 2 for praise.
type Table = [[f64; 3]; 3];

fn tally(cases: &[Case], mut answer: impl FnMut(&Case) -> usize) -> Table {
    let mut table = Table::default();
    for case in cases {
        table[case.gold as usize][answer(case)] += 1.0;
    }
    table
}

fn recall(table: &Table, class: usize) -> f64 {
    table[class][class] / table[class].iter().sum::<f64>().max(1.0)
}

fn precision(table: &Table, class: usize) -> f64 {
    table[class][class] / answered(table, class).max(1.0)
}

/// How often a class was the answer.
fn answered(table: &Table, class: usize) -> f64 {
    table.iter().map(|row| row[class]).sum()
}

fn baseline(name: &str, table: &Table) -> Baseline {
    let all: f64 = table.iter().flatten().sum();
    let f1_sum: f64 = (0..3).map(|class| f1(table, class)).sum();
    Baseline {
        name: name.to_owned(),
        accuracy: thousandths(right(table) / all),
        macro_f1: thousandths(f1_sum / 3.0),
        negative_recall: thousandths(recall(table, 0)),
    }
}

/// How many answers are right.
fn right(table: &Table) -> f64 {
    (0..3).map(|class| table[class][class]).sum()
}

/// The harmonic mean of precision and recall of a class.
fn f1(table: &Table, class: usize) -> f64 {
    let precision = precision(table, class);
    let recall = recall(table, class);
    2.0 * precision * recall / (precision + recall).max(1e-9)
}

/// Rounds to a thousandth.
fn thousandths(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// The product's answer: with stars the class that it lists, without them the class of the largest sum.
fn product(judge: &mut Sentence, case: &Case, has_stars: bool) -> usize {
    judgement(judge, case, has_stars).polarity as usize
}

fn judgement(judge: &mut Sentence, case: &Case, has_stars: bool) -> Judgement {
    judge.read(&case.text);
    let context = Context {
        reader: Reader::English,
        rating: Rating::new(case.rating.unwrap_or(3)).filter(|_| has_stars),
        ..Context::default()
    };
    judge.judge(case.target().as_ref(), &context)
}

fn sign(compound: f64) -> usize {
    match compound {
        0.05.. => 2,
        ..=-0.05 => 0,
        _ => 1,
    }
}

/// VADER's answer; if stars are used, 0.15 is added for each star above three, and subtracted for each below.
fn vader(case: &Case, has_stars: bool) -> usize {
    let stars = if has_stars { 0.15 * stars(case) } else { 0.0 };
    sign(case.vader + stars)
}

/// Stars minus three; a case without stars counts as three.
fn stars(case: &Case) -> f64 {
    case.rating.map_or(0.0, |stars| f64::from(stars) - 3.0)
}

fn figure(set: &str, cases: &[Case], has_stars: bool) -> Figure {
    let mut judge = Sentence::default();
    let by_vader = tally(cases, |case| vader(case, has_stars));
    let what = if has_stars { "with stars" } else { "text only" };
    let baselines = if has_stars {
        let by_stars = tally(cases, |case| sign(stars(case)));
        vec![
            baseline("stars alone", &by_stars),
            baseline("VADER and stars", &by_vader),
        ]
    } else {
        let majority = majority_class(cases);
        let by_majority = tally(cases, |_| majority);
        vec![
            baseline("VADER", &by_vader),
            baseline("majority class", &by_majority),
        ]
    };
    let own = tally(cases, |case| product(&mut judge, case, has_stars));
    let own = baseline("", &own);
    Figure {
        measured_on: format!("{set}, {what}"),
        accuracy: own.accuracy,
        macro_f1: own.macro_f1,
        negative_recall: own.negative_recall,
        baselines,
    }
}

/// Returns the class that most cases have.
fn majority_class(cases: &[Case]) -> usize {
    let mut counts = [0; 3];
    for case in cases {
        counts[case.gold as usize] += 1;
    }
    (0..3).max_by_key(|class| counts[*class]).unwrap_or(1)
}

/// Returns every figure that can be measured here.
fn measured() -> Vec<Figure> {
    let mut figures = Vec::new();
    let cases = fixture(UNSEEN);
    let set = format!(
        "{} mentions of seven trades, of this project, held out",
        cases.len()
    );
    figures.push(figure(&set, &cases, true));
    figures.push(figure(&set, &cases, false));
    for (file, what) in [("test.jsonl", "held out"), (DEVELOPMENT, "development")] {
        for (set, mut cases) in external(file) {
            let name = format!("{set}, {} mentions, {what}", cases.len());
            figures.push(figure(&name, &cases, false));
            cases.retain(|case| case.rating.is_some());
            if !cases.is_empty() {
                figures.push(figure(&name, &cases, true));
            }
        }
    }
    figures
}

/// Returns the table of the documentation.
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
    let docs = root("docs/design/insights.md");
    let mut published: Vec<Figure> =
        serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let page = std::fs::read_to_string(&docs).unwrap();
    let measured = measured();
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
        "docs/design/insights.md differs"
    );
}

/// The file by which settings and constants are chosen.
const DEVELOPMENT: &str = "development.jsonl";
const BEGIN: &str = "<!-- figures: UPDATE_GOLDEN=1 cargo test --test it insights_accuracy -->\n";
const END: &str = "<!-- end of figures -->\n";

#[test]
fn listed_complaints_are_complaints() {
    let mut judge = Sentence::default();
    let own = tally(&fixture(UNSEEN), |case| product(&mut judge, case, true));
    assert!(precision(&own, 0) >= 0.8, "{own:?}");
    assert!(recall(&own, 0) >= 0.6, "{own:?}");
}

#[test]
fn precision_by_stars_is_the_published_one() {
    let mut judge = Sentence::default();
    let page = std::fs::read_to_string(root("docs/insights.md")).unwrap();
    let mut rows = String::new();
    for stars in 1..=5 {
        let mut cases = fixture(UNSEEN);
        cases.retain(|case| case.rating == Some(stars));
        let table = tally(&cases, |case| product(&mut judge, case, true));
        let text_alone = tally(&cases, |case| product(&mut judge, case, false));
        rows += &format!(
            "| {stars} | {} of {} | {} of {} | {} of {} | {} of {} | {} |\n",
            table[0][0],
            answered(&table, 0),
            table[0][0],
            table[0].iter().sum::<f64>(),
            table[2][2],
            answered(&table, 2),
            right(&table),
            cases.len(),
            right(&text_alone),
        );
    }
    println!("{rows}");
    assert!(page.contains(&rows), "docs/insights.md has no rows\n{rows}");
}

/// The shares of complaints, neutral mentions and praise among the mentions in reviews of five stars, as `fit.py`
/// assumes them.
const SHARES_AT_FIVE_STARS: [f64; 3] = [0.0425, 0.15, 0.8075];

#[test]
fn complaints_in_reviews_of_five_stars_are_those_published() {
    let mut judge = Sentence::default();
    let cases = fixture("five-stars.jsonl");
    let table = tally(&cases, |case| product(&mut judge, case, true));
    let of = |class: usize| table[class].iter().sum::<f64>();
    let mut listed = 0.0;
    for (class, share) in SHARES_AT_FIVE_STARS.into_iter().enumerate() {
        listed += share * table[class][0] / of(class);
    }
    let precision = SHARES_AT_FIVE_STARS[0] * recall(&table, 0) / f64::max(listed, 1e-9);
    let row = format!(
        "| {} of {} | {} of {} | {} of {} | {precision:.2} | {} of {} |",
        table[0][0],
        of(0),
        table[1][0],
        of(1),
        table[2][0],
        of(2),
        table[2][2],
        of(2),
    );
    println!("{row}");
    let page = std::fs::read_to_string(root("docs/design/insights.md")).unwrap();
    assert!(
        page.contains(&row),
        "docs/design/insights.md has no row {row}"
    );
}

/// Mentions that are evaluated like those of an aspect.
struct Group {
    name: String,
    cases: Vec<Case>,
    /// The weight of each class.
    weights: [f64; 3],
}

/// The fewest mentions of a group.
const GROUP_CASES_MIN: usize = 10;

/// Returns the held-out mentions, grouped by the stars of their reviews.
fn groups_by_stars() -> Vec<Group> {
    let mut groups = Vec::new();
    for stars in 1..=5 {
        let mut cases = fixture(UNSEEN);
        cases.retain(|case| case.rating == Some(stars));
        groups.push(Group {
            name: format!("{stars} stars"),
            cases,
            weights: [1.0; 3],
        });
    }
    groups.retain(|group| group.cases.len() >= GROUP_CASES_MIN);
    groups
}

/// Returns the mentions of MAMS, if that is here, grouped by their words.
fn groups_by_word() -> Vec<Group> {
    let mut by_word: BTreeMap<String, Vec<Case>> = BTreeMap::new();
    for case in external(DEVELOPMENT).remove("MAMS").into_iter().flatten() {
        let word = case.text[case.target().unwrap()].to_lowercase();
        by_word.entry(word).or_default().push(case);
    }
    let mut groups = Vec::new();
    for (name, cases) in by_word {
        if cases.len() >= GROUP_CASES_MIN {
            groups.push(Group {
                name,
                cases,
                // 45 % of the mentions in MAMS are neutral, far more than in reviews.
                weights: [1.0, 0.15, 1.5],
            });
        }
    }
    groups
}

impl Group {
    /// The weighted share of mentions that `class` classifies as praise.
    fn share(&self, mut class: impl FnMut(&Case) -> usize) -> f64 {
        let mut all = 0.0;
        let mut praise = 0.0;
        for case in &self.cases {
            let weight = self.weights[case.gold as usize];
            all += weight;
            if class(case) == 2 {
                praise += weight;
            }
        }
        praise / all
    }
}

#[test]
fn intervals_hold_the_true_share_of_nine_in_ten_aspects() {
    let mut judge = Sentence::default();
    let page = std::fs::read_to_string(root("docs/design/insights.md")).unwrap();
    for (has_stars, set, groups) in [
        (
            true,
            "groups of held-out mentions by stars",
            groups_by_stars(),
        ),
        (
            false,
            "frequent words of MAMS, development, text only",
            groups_by_word(),
        ),
    ] {
        let mut errors = [0.0; 3];
        let mut held = 0;
        let mut width = 0.0;
        for group in &groups {
            let name = &group.name;
            let gold = group.share(|case| case.gold as usize);
            let own = group.share(|case| product(&mut judge, case, has_stars));
            let by_vader = group.share(|case| vader(case, has_stars));
            let by_stars = group.share(|case| sign(stars(case)));
            for (error, share) in errors.iter_mut().zip([own, by_vader, by_stars]) {
                *error += (share - gold).abs() / groups.len() as f64;
            }
            let count = group.cases.len() as u64;
            let mut doubt = 0.0;
            for case in &group.cases {
                let judged = judgement(&mut judge, case, has_stars);
                doubt += f64::from(judged.doubt) / 10_000.0 / count as f64;
            }
            let [low, high] = share_interval((own * count as f64).round() as u64, count, doubt);
            width += (high - low) / groups.len() as f64;
            println!("{name}: true {gold:.2}, {own:.2} of {count}: {low:.2} to {high:.2}");
            held += usize::from(low <= gold && gold <= high);
        }
        let all = groups.len();
        if all == 0 {
            println!("REVIEWD_ABSA is not set: {set} are not measured");
            continue;
        }
        // The words of MAMS are harder: without stars, in sentences of mixed opinions, half of them neutral.
        let percent_min = if has_stars { 88 } else { 80 };
        assert!(held * 100 >= all * percent_min, "{held} of {all}");
        let [own, by_vader, by_stars] = errors;
        let others = if has_stars {
            format!("{by_vader:.3} | {by_stars:.3}")
        } else {
            format!("{by_vader:.3} | ")
        };
        let row = format!("| {all} {set} | {own:.3} | {others} | {held} of {all} | {width:.2} |");
        assert!(
            page.contains(&row),
            "docs/design/insights.md has no row {row}"
        );
    }
}

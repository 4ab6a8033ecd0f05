//! Questions that people ask of models, put to `/mcp` as one call each.
//!
//! A question of `tests/fixtures/questions/*/questions.json` has the call that a model makes, and says which reviews
//! are true answers: those whose text matches a pattern, or those with some stars. They are found in the files, without
//! the server. The questions of the other trades were written later, in words that mostly differ from those of the
//! reviews. They show whether an improvement is one for questions in general.

use std::path::{Path, PathBuf};

use regex::Regex;
use serde_json::{Value, json};

use crate::mcp::call;
use crate::support::Server;

/// The data of each trade, by the name of its folder.
const TRADES: [&str; 4] = ["law", "plumber", "restaurant", "dentist"];

/// The data of trades with questions in other words than their reviews.
const OTHER_TRADES: [&str; 3] = ["garage", "hotel", "vet"];

/// Questions about the words of the reviews, 60 in all trades.
const FIRST: &str = "questions.json";

/// Questions by people who had read neither the reviews nor the rules of the ranking, 43 in all trades.
const SECOND: &str = "questions-2.json";

/// Further questions by such people, 35 in all trades.
const THIRD: &str = "questions-3.json";

/// How many results a model reads.
const READ: usize = 10;

/// Of the first questions, those that must be answered right.
const FIRST_RIGHT_MIN: usize = 57;

/// Of the second questions, those that must be answered right.
const SECOND_RIGHT_MIN: usize = 36;

/// Of the third questions, those that must be answered right.
const THIRD_RIGHT_MIN: usize = 27;

/// Of the 30 questions of the other trades, those that must be answered right.
const OTHER_RIGHT_MIN: usize = 22;

/// The mean recall of the first questions that must be reached.
const RECALL_MIN_PERCENT: usize = 93;

/// Of the reviews that have all words, those that must be true.
const WHOLE_TRUE_MIN_PERCENT: usize = 90;

/// Of the other reviews among the first five, those that must be true.
const OTHERS_TRUE_MIN_PERCENT: usize = 50;

/// What became of one question.
struct Outcome {
    question: String,
    /// Of the true reviews that a model could read, those that were found, in per cent.
    recall: usize,
    is_right: bool,
    /// How many of the reviews that are listed as having all words are true.
    whole: Share,
    /// How many of the others among the first five are true.
    others: Share,
}

/// How many of some reviews are true.
#[derive(Default)]
struct Share {
    true_ones: usize,
    all: usize,
}

impl Share {
    fn add(&mut self, is_true: bool) {
        self.true_ones += usize::from(is_true);
        self.all += 1;
    }

    /// Returns the share of all `shares` together, in per cent.
    fn percent<'s>(shares: impl Iterator<Item = &'s Share> + Clone) -> usize {
        let true_ones: usize = shares.clone().map(|share| share.true_ones).sum();
        let all: usize = shares.map(|share| share.all).sum();
        true_ones * 100 / all.max(1)
    }
}

#[test]
fn questions_of_people_are_answered_by_one_call() {
    let outcomes = ask_all(&TRADES, FIRST);
    assert_right(&outcomes, FIRST_RIGHT_MIN);
    let recalls: usize = outcomes.iter().map(|outcome| outcome.recall).sum();
    let recall = recalls / outcomes.len();
    println!("mean recall {recall} %");
    assert!(recall >= RECALL_MIN_PERCENT, "mean recall {recall} %");
    let whole = Share::percent(outcomes.iter().map(|outcome| &outcome.whole));
    println!("{whole} % of the reviews with all words are true");
    assert!(whole >= WHOLE_TRUE_MIN_PERCENT, "{whole} %");
    let others = Share::percent(outcomes.iter().map(|outcome| &outcome.others));
    println!("{others} % of the other reviews among the first five are true");
    assert!(others >= OTHERS_TRUE_MIN_PERCENT, "{others} %");
}

#[test]
fn questions_written_before_the_reviews_were_read_are_answered_by_one_call() {
    assert_right(&ask_all(&TRADES, SECOND), SECOND_RIGHT_MIN);
}

#[test]
fn further_questions_written_before_the_reviews_were_read_are_answered_by_one_call() {
    assert_right(&ask_all(&TRADES, THIRD), THIRD_RIGHT_MIN);
}

#[test]
fn questions_in_other_words_than_the_reviews_are_answered_by_one_call() {
    assert_right(&ask_all(&OTHER_TRADES, FIRST), OTHER_RIGHT_MIN);
}

/// Asserts that at least `right_min` questions were answered right.
fn assert_right(outcomes: &[Outcome], right_min: usize) {
    let mut missed = String::new();
    for outcome in outcomes.iter().filter(|outcome| !outcome.is_right) {
        missed += &format!("{} (recall {} %)\n", outcome.question, outcome.recall);
    }
    let right = outcomes.iter().filter(|outcome| outcome.is_right).count();
    println!("{right} of {} right; not right:\n{missed}", outcomes.len());
    assert!(right >= right_min, "{right} right; not right:\n{missed}");
}

/// This review names the damage in other words than the phrases that are counted.
#[test]
fn a_tool_lists_reviews_that_name_an_aspect_in_other_words() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/questions/plumber");
    let server = Server::start_on(&data);
    let message = call("get_aspect_sentiment", &json!({"aspect": "damage"})).to_string();
    let response = server.post_mcp(&[], &message).json();
    let answer = &response["result"]["structuredContent"];
    let beyond = answer["beyond"].as_array().expect("reviews");
    let is_listed = beyond.iter().any(|review| {
        let text = review["text"].as_str().unwrap_or_default();
        text.contains("cracked my tile")
    });
    assert!(is_listed, "{answer:#}");
}

/// Asks all questions of the files of this name, one for each trade.
fn ask_all(trades: &[&str], file: &str) -> Vec<Outcome> {
    let outcomes = trades.iter().flat_map(|trade| ask_trade(trade, file));
    outcomes.collect()
}

fn ask_trade(trade: &str, file: &str) -> Vec<Outcome> {
    let questions = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/questions")
        .join(trade);
    let data = match trade {
        "law" => Path::new(env!("CARGO_MANIFEST_DIR")).join("data"),
        _ => questions.clone(),
    };
    let reviews = published(&data);
    let server = Server::start_on(&data);
    let questions = read(questions.join(file));
    let questions = questions.as_array().expect("a list of questions");
    questions
        .iter()
        .map(|question| ask(&server, question, &reviews))
        .collect()
}

/// Returns the reviews of a folder that are published.
fn published(data: &Path) -> Vec<Value> {
    let mut file = read(data.join("reviews.json"));
    let Value::Array(mut reviews) = file["reviews"].take() else {
        panic!("no list of reviews in {}", data.display());
    };
    reviews.retain(|review| review["verified"] == json!(true));
    reviews
}

fn read(path: PathBuf) -> Value {
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Asks one question, and compares the answer with what is true.
fn ask(server: &Server, question: &Value, reviews: &[Value]) -> Outcome {
    let tool = question["tool"].as_str().expect("a tool");
    let message = call(tool, &question["arguments"]).to_string();
    let response = server.post_mcp(&[], &message).json();
    let result = &response["result"]["structuredContent"];
    let text = question["question"]
        .as_str()
        .expect("a question")
        .to_owned();
    match question["true_if_text_matches"].as_str() {
        Some(pattern) => compare_with_pattern(text, result, pattern, reviews),
        None => compare_count(text, result, &question["expect"], reviews),
    }
}

/// The answer is right if at least three quarters of the true reviews are among the first ten.
fn compare_with_pattern(
    question: String,
    result: &Value,
    pattern: &str,
    reviews: &[Value],
) -> Outcome {
    let pattern = Regex::new(&format!("(?s){pattern}")).expect("a pattern");
    let mut true_ids: Vec<&Value> = Vec::new();
    for review in reviews {
        if pattern.is_match(review["text"].as_str().unwrap_or_default()) {
            true_ids.push(&review["id"]);
        }
    }
    assert!(!true_ids.is_empty(), "{question}: no review is true");
    let listed = result["reviews"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let listed = &listed[..listed.len().min(READ)];
    let found = listed
        .iter()
        .filter(|review| true_ids.contains(&&review["id"]))
        .count();
    let matched = result["matched"].as_u64().unwrap_or(0) as usize;
    let mut whole = Share::default();
    let mut others = Share::default();
    for (place, review) in listed.iter().enumerate() {
        let is_true = true_ids.contains(&&review["id"]);
        if place < matched {
            whole.add(is_true);
        } else if place < 5 {
            others.add(is_true);
        }
    }
    let recall = found * 100 / true_ids.len().min(READ);
    Outcome {
        question,
        recall,
        is_right: recall >= 75,
        whole,
        others,
    }
}

/// The answer is right if `matched` is the number of reviews with these stars.
fn compare_count(question: String, result: &Value, expected: &Value, reviews: &[Value]) -> Outcome {
    let exact = expected["rating"].as_u64();
    let most = expected["max_rating"].as_u64();
    let mut count = 0;
    for review in reviews {
        let stars = review["rating"].as_u64().expect("stars");
        if exact.is_none_or(|exact| stars == exact) && most.is_none_or(|most| stars <= most) {
            count += 1;
        }
    }
    let is_right = result["matched"] == json!(count);
    Outcome {
        question,
        recall: if is_right { 100 } else { 0 },
        is_right,
        whole: Share::default(),
        others: Share::default(),
    }
}

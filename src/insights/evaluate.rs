//! How well the method does on labelled mentions.

use serde_json::Value;

use super::language::Language;
use super::polarity::{Judge, Polarity};
use super::sentence::sentences;
use super::sentiment::Scorer;
use crate::model::Rating;
use crate::wire::json::Object;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// What the document is made with.
    Own,
    /// The same without the review's rating.
    Unrated,
    /// Plain VADER over the sentence of the mention: positive from 0.05, negative from -0.05.
    Vader,
}

/// A line of labelled cases that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseError {
    /// Counted from 1.
    pub line: usize,
    /// What is wrong.
    pub message: &'static str,
}

impl std::fmt::Display for CaseError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for CaseError {}

/// Counts of labelled mentions by label (row) and answer (column): negative, neutral, positive, unscored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Confusion {
    /// The counts.
    pub table: [[u64; 4]; 3],
}

/// Judges every case of `lines`, JSON lines `{"text", "from", "to", "rating", "gold"}`, blank lines skipped.
///
/// `from` and `to` are the range of the aspect in code points, the end exclusive; `rating` is 1 to 5 or null; `gold`
/// is `positive`, `negative` or `neutral`.
///
/// # Errors
/// The first line that is not such a case.
pub fn evaluate(lines: &str, method: Method) -> Result<Confusion, CaseError> {
    let mut confusion = Confusion::default();
    let mut judge = Judge::default();
    let mut scorer = Scorer::default();
    for (at, line) in lines
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
    {
        let case = Case::parse(line).map_err(|message| CaseError {
            line: at + 1,
            message,
        })?;
        let sentence = case.sentence();
        let place = &case.text[sentence.clone()];
        let (from, to) = (
            case.from - sentence.start,
            case.to.min(sentence.end) - sentence.start,
        );
        let answer = match method {
            Method::Vader => Some(sign(scorer.compound(place))),
            _ if Language::of(&case.text) == Language::Other => None,
            Method::Own => Some(judge.judge(place, from, to, case.rating).polarity),
            Method::Unrated => Some(judge.judge(place, from, to, None).polarity),
        };
        confusion.table[case.gold as usize][answer.map_or(3, |answer| answer as usize)] += 1;
    }
    Ok(confusion)
}

/// A labelled mention; its range in bytes.
struct Case {
    text: String,
    from: usize,
    to: usize,
    rating: Option<Rating>,
    gold: Polarity,
}

impl Case {
    fn parse(line: &str) -> Result<Case, &'static str> {
        let value: Value = serde_json::from_str(line).map_err(|_| "not a JSON object")?;
        let text = value["text"]
            .as_str()
            .ok_or("text: not a string")?
            .to_owned();
        let place = |key: &str, refusal| {
            let point = value[key]
                .as_u64()
                .and_then(|point| usize::try_from(point).ok())
                .ok_or(refusal)?;
            let ends = std::iter::once(text.len());
            text.char_indices()
                .map(|(at, _)| at)
                .chain(ends)
                .nth(point)
                .ok_or(refusal)
        };
        let from = place("from", "from: not a place in the text")?;
        let to = place("to", "to: not a place in the text")?;
        if from >= to {
            return Err("to: not after from");
        }
        let rating = match &value["rating"] {
            Value::Null => None,
            rating => {
                let stars = rating.as_u64().and_then(|stars| u8::try_from(stars).ok());
                Some(
                    stars
                        .and_then(Rating::new)
                        .ok_or("rating: neither null nor from 1 to 5")?,
                )
            }
        };
        let gold = Polarity::ALL
            .into_iter()
            .find(|polarity| value["gold"] == polarity.word());
        Ok(Case {
            gold: gold.ok_or("gold: neither positive, negative nor neutral")?,
            text,
            from,
            to,
            rating,
        })
    }

    /// The bytes of the sentence that the mention begins in.
    fn sentence(&self) -> std::ops::Range<usize> {
        let holds = |range: &std::ops::Range<usize>| range.contains(&self.from);
        sentences(&self.text)
            .find(holds)
            .unwrap_or(0..self.text.len())
    }
}

fn sign(compound: i32) -> Polarity {
    match compound {
        500.. => Polarity::Positive,
        ..=-500 => Polarity::Negative,
        _ => Polarity::Neutral,
    }
}

impl Confusion {
    /// How many cases there are.
    #[must_use]
    pub fn n(&self) -> u64 {
        self.table.iter().flatten().sum()
    }

    /// The share of cases answered rightly; an unscored case is not.
    #[must_use]
    pub fn accuracy(&self) -> f64 {
        share((0..3).map(|class| self.table[class][class]).sum(), self.n())
    }

    /// The share of answers `class` that are right, and the share of cases `class` that are found.
    #[must_use]
    pub fn precision_and_recall(&self, class: Polarity) -> (f64, f64) {
        let class = class as usize;
        let right = self.table[class][class];
        let answered = self.table.iter().map(|row| row[class]).sum();
        (
            share(right, answered),
            share(right, self.table[class].iter().sum()),
        )
    }

    /// The mean over the three classes of the harmonic mean of precision and recall.
    #[must_use]
    pub fn macro_f1(&self) -> f64 {
        let of = |class| {
            let (precision, recall) = self.precision_and_recall(class);
            if precision + recall > 0.0 {
                2.0 * precision * recall / (precision + recall)
            } else {
                0.0
            }
        };
        Polarity::ALL.into_iter().map(of).sum::<f64>() / 3.0
    }

    /// The share of cases that are answered at all.
    #[must_use]
    pub fn coverage(&self) -> f64 {
        let unscored: u64 = self.table.iter().map(|row| row[3]).sum();
        share(self.n() - unscored, self.n())
    }

    /// One JSON object, shares with four decimals.
    #[must_use]
    pub fn render(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut object = Object::begin(&mut out);
        let (precision, recall) = self.precision_and_recall(Polarity::Negative);
        let four = |value: f64| format!("{value:.4}").into_bytes();
        object
            .u64("n", self.n())
            .raw("accuracy", &four(self.accuracy()))
            .raw("macro_f1", &four(self.macro_f1()))
            .raw("negative_precision", &four(precision))
            .raw("negative_recall", &four(recall))
            .raw("coverage", &four(self.coverage()));
        let mut confusion = Object::begin(object.key("confusion"));
        for gold in Polarity::ALL {
            let mut row = Object::begin(confusion.key(gold.word()));
            for answer in Polarity::ALL {
                row.u64(answer.word(), self.table[gold as usize][answer as usize]);
            }
            row.u64("unscored", self.table[gold as usize][3]);
            row.end();
        }
        confusion.end();
        object.end();
        out
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRACTICE: &str = include_str!("../../tests/fixtures/polarity/practice.jsonl");

    fn rendered(confusion: &Confusion) -> String {
        String::from_utf8(confusion.render()).expect("JSON is UTF-8")
    }

    /// Cases that nothing was tuned on. A change of the method changes these figures: say so where they are shown.
    #[test]
    fn figures_on_the_practice_sentences() {
        let own = evaluate(PRACTICE, Method::Own).expect("cases");
        assert_eq!(own.n(), 345);
        let expected = r#"{"n":345,"accuracy":0.6696,"macro_f1":0.6184,"negative_precision":0.7115,"negative_recall":0.8473,"#;
        assert!(rendered(&own).starts_with(expected), "{}", rendered(&own));
        let unrated = evaluate(PRACTICE, Method::Unrated).expect("cases");
        assert!(
            rendered(&unrated).starts_with(r#"{"n":345,"accuracy":0.4377,"#),
            "{}",
            rendered(&unrated)
        );
        let vader = evaluate(PRACTICE, Method::Vader).expect("cases");
        assert!(
            rendered(&vader).starts_with(r#"{"n":345,"accuracy":0.4087,"#),
            "{}",
            rendered(&vader)
        );
        assert!(own.accuracy() > vader.accuracy() + 0.2);
        let recall = |confusion: &Confusion| confusion.precision_and_recall(Polarity::Negative).1;
        assert!(recall(&own) > recall(&vader) + 0.4);
    }

    #[test]
    fn ranges_count_code_points_and_unscored_counts_as_wrong() {
        let cases = "{\"text\":\"Zoë is great.\",\"from\":0,\"to\":3,\"rating\":5,\"gold\":\"positive\"}\n\n\
            {\"text\":\"¡Qué mal servicio!\",\"from\":9,\"to\":17,\"rating\":null,\"gold\":\"negative\"}\n";
        let confusion = evaluate(cases, Method::Own).expect("cases");
        assert_eq!(confusion.table, [[0, 0, 0, 1], [0; 4], [0, 0, 1, 0]]);
        let half = r#"{"n":2,"accuracy":0.5000,"macro_f1":0.3333,"negative_precision":0.0000,"negative_recall":0.0000,"coverage":0.5000,"#;
        assert!(
            rendered(&confusion).starts_with(half),
            "{}",
            rendered(&confusion)
        );
        assert_eq!(
            evaluate("", Method::Own).map(|none| none.accuracy()),
            Ok(0.0)
        );
    }

    #[test]
    fn faulty_cases_are_refused_with_their_line() {
        let case = |from: &str, to: &str, rating: &str, gold: &str| {
            format!(
                "\n{{\"text\":\"fee\",\"from\":{from},\"to\":{to},\"rating\":{rating},\"gold\":\"{gold}\"}}"
            )
        };
        let message = |line: &str| {
            evaluate(line, Method::Own)
                .expect_err("a refusal")
                .to_string()
        };
        assert!(evaluate(&case("0", "3", "1", "neutral"), Method::Own).is_ok());
        assert_eq!(
            message(&case("0", "4", "1", "neutral")),
            "line 2: to: not a place in the text"
        );
        assert_eq!(
            message(&case("-1", "3", "1", "neutral")),
            "line 2: from: not a place in the text"
        );
        assert_eq!(
            message(&case("3", "3", "1", "neutral")),
            "line 2: to: not after from"
        );
        assert_eq!(
            message(&case("0", "3", "6", "neutral")),
            "line 2: rating: neither null nor from 1 to 5"
        );
        assert_eq!(
            message(&case("0", "3", "1", "good")),
            "line 2: gold: neither positive, negative nor neutral"
        );
        assert_eq!(message("["), "line 1: not a JSON object");
        assert_eq!(message("{}"), "line 1: text: not a string");
    }
}

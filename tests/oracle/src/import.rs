//! The laws of an import, over any bytes: the result passes the check of the folder, importing again changes
//! nothing, and the order of records does not matter.

#[cfg(test)]
mod tests;

use reviewd::dataset::{Files, decode};
use reviewd::import::date::{Order, parse};
use reviewd::import::detect::named;
use reviewd::import::encoding::{Utf8, detect, head};
use reviewd::import::merge::{Bounds, Merge};
use reviewd::import::normalise::{Rules, Vouched};
use reviewd::import::record::{Field, Found, Record};
use reviewd::import::{Reading, read};
use reviewd::wire::date::{Date, Timestamp};

/// The time of the checks: in the future, so that dates of today pass.
const NOW: i64 = 4_000_000_000;

/// Checks the import of a table: its encoding is found, and its columns.
///
/// # Panics
/// If one of the laws does not hold.
pub fn check_import_csv(data: &[u8]) {
    check("csv", data);
}

/// Checks the import of JSON: the first byte says whether it is Google's (`g`), a reviewd's (`r`) or any.
///
/// # Panics
/// If one of the laws does not hold.
pub fn check_import_json(data: &[u8]) {
    match data.split_first() {
        Some((b'g', rest)) => check("google", rest),
        Some((b'r', rest)) => check("reviewd", rest),
        _ => check("jsonl", data),
    }
}

/// Checks the import of schema.org nodes and of pages.
///
/// # Panics
/// If one of the laws does not hold.
pub fn check_import_linked(data: &[u8]) {
    check("jsonld", data);
}

/// Checks the rules for values: the first line is a rating, the second a date, the third an author, the rest a text.
///
/// # Panics
/// If one of the laws does not hold, or a date that is read without a format is another day in some format.
pub fn check_import_values(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut lines = text.splitn(4, '\n');
    let mut record = Record::at(1);
    for field in [Field::Rating, Field::Date, Field::Author, Field::Text] {
        record.set(field, lines.next().unwrap_or_default());
    }
    let date = record.filled(Field::Date).unwrap_or_default();
    if let Ok(day) = parse(date, None, "date") {
        let orders = [
            Order::DayMonthYear,
            Order::MonthDayYear,
            Order::YearMonthDay,
        ];
        let read = |order: &Order| parse(date, Some(*order), "date").ok();
        // With points the day comes first wherever it can, so there it is certain without a format.
        let is_dotted = date.contains('.') && read(&Order::DayMonthYear).is_some();
        let days: Vec<Date> = orders
            .iter()
            .filter(|order| !is_dotted || **order != Order::MonthDayYear)
            .filter_map(read)
            .collect();
        assert!(!days.is_empty(), "{date:?} is {day} in no order");
        for other in days {
            assert_eq!(other, day, "{date:?} is two days");
        }
    }
    let text = record.value(Field::Text).unwrap_or_default().to_owned();
    record.set(Field::Reply, text);
    check_records(&[record]);
}

/// Reads a source as the command does, and checks what it holds.
fn check(flag: &str, data: &[u8]) {
    let encoding = detect(data).expect("memory can be read");
    let head = head(data, encoding).expect("memory can be read");
    let mut reading = Reading::of_text(head, Vec::new(), None);
    reading.format = named(flag).expect("there is such a format");
    let mut records = Vec::new();
    let outcome = read(Utf8::new(data, encoding), &reading, &mut |found| {
        match found {
            Found::Record(record) => records.push(record),
            Found::Refused { line, reason } => check_reason(line, &reason),
        }
        Ok(())
    });
    if let Err(error) = outcome {
        check_reason(1, &error.to_string());
    }
    check_records(&records);
}

fn check_reason(line: u64, reason: &str) {
    assert!(line > 0 && !reason.is_empty());
    assert!(!reason.contains(char::is_control), "{reason:?}");
}

/// Checks the laws for these records.
///
/// # Panics
/// If one of them does not hold.
fn check_records(records: &[Record]) {
    let now = Timestamp::from_unix(NOW);
    let first = merged(None, records.iter());
    let file = first.render(now);
    let (count, published) = first.counts();
    let files = Files {
        reviews: file.clone().into_bytes(),
        ..Files::default()
    };
    let decoded = decode(files, now).unwrap_or_else(|problems| panic!("{problems}\n{file}"));
    assert_eq!(decoded.dataset.reviews.len() as u64, published);
    assert_eq!(
        u64::from(decoded.dataset.unverified_count),
        count - published
    );
    for refusal in first.refusals() {
        check_reason(refusal.line, &refusal.text);
    }
    for remark in first.remarks().1 {
        check_reason(remark.line, &remark.text);
    }
    if count > 0 {
        assert_eq!(
            first.bytes(),
            file.len() as u64,
            "the size is another\n{file}"
        );
    }
    let again = merged(Some(&file), records.iter());
    assert!(
        !again.is_change(),
        "importing twice changed {:?}\n{file}",
        again.tallies()
    );
    assert_eq!(again.missing().0, 0, "what was imported is missing\n{file}");
    assert_eq!(again.render(now), file);
    let backwards = merged(None, records.iter().rev());
    assert_eq!(backwards.render(now), file, "the order matters");
}

fn merged<'f>(file: Option<&'f str>, records: impl Iterator<Item = &'f Record>) -> Merge<'f> {
    let rules = Rules {
        format: named("csv").expect("there is such a format"),
        source: None,
        vouched: Vouched::Nothing,
        merges_same_text: false,
        order: None,
        today: Date::MAX,
    };
    let mut merge = Merge::new(file, Bounds::of(u64::MAX)).expect("the file was checked");
    merge.begin();
    for record in records {
        let taken = merge.take(Found::Record(record.clone()), &rules);
        taken.expect("nothing is too large");
    }
    merge
}

//! Properties of an import of any bytes: the result passes the check of the folder, importing again changes nothing,
//! and the order of records does not matter.

#[cfg(test)]
mod tests;

use super::dataset::NOW;
use reviewd::dataset::{Files, decode};
use reviewd::wire::date::{Date, Timestamp};
use reviews_import::date::{DateOrder, parse};
use reviews_import::{ImportSource, Merge, Options, RecordResult, named, new_file};
use serde_json::json;

/// Checks the import of a table whose encoding and columns are detected.
///
/// # Panics
/// If one of the properties does not hold.
pub fn check_import_csv(data: &[u8]) {
    check("csv", data);
}

/// Checks the import of JSON: the first byte selects the format: Google's (`g`), reviewd's (`r`) or any other.
///
/// # Panics
/// If one of the properties does not hold.
pub fn check_import_json(data: &[u8]) {
    match data.split_first() {
        Some((b'g', rest)) => check("google", rest),
        Some((b'r', rest)) => check("reviewd", rest),
        _ => check("jsonl", data),
    }
}

/// Checks the rules for values: the first line is a rating, the second a date, the third an author, the rest a text.
///
/// # Panics
/// If one of the properties does not hold, or if a date parsed without a format is another day in some format.
pub fn check_import_values(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut lines = text.splitn(4, '\n');
    let [rating, date, author, text] = [(); 4].map(|()| lines.next().unwrap_or_default());
    if let Ok(day) = parse(date, None) {
        let read = |order: &DateOrder| parse(date, Some(*order)).ok();
        // In a date with points the day comes first if that is possible, so the date is unambiguous without a format.
        let is_dotted = date.contains('.') && read(&DateOrder::DayMonthYear).is_some();
        let orders = DateOrder::ALL
            .iter()
            .filter(|order| !is_dotted || **order != DateOrder::MonthDayYear);
        let days: Vec<Date> = orders.filter_map(read).collect();
        assert!(!days.is_empty(), "{date:?} is {day} in no order");
        assert!(
            days.iter().all(|other| *other == day),
            "{date:?} is two days"
        );
    }
    let record =
        json!({"rating": rating, "date": date, "author": author, "text": text, "reply": text});
    check("jsonl", record.to_string().as_bytes());
}

/// Checks the properties for a source in this format.
///
/// # Panics
/// If one of them does not hold.
fn check(flag: &str, data: &[u8]) {
    let mut options = Options::new(Date::MAX);
    options.format = named(flag);
    let source = match ImportSource::open("fuzz", data, &options) {
        Ok(source) => source,
        Err(error) => return check_reason(1, &error.to_string()),
    };
    let mut records = Vec::new();
    for found in source.records() {
        match found {
            Ok(found) => {
                if let Err(refusal) = &found {
                    check_reason(refusal.line, &refusal.reason.to_string());
                }
                records.push(found);
            }
            Err(error) => check_reason(1, &error.to_string()),
        }
    }
    let now = Timestamp::from_unix(NOW);
    let empty = new_file("A", "LegalService", "https://a.example/", now);
    let file = merged(&empty, &source, records.iter());
    let files = Files {
        reviews: file.clone().into_bytes(),
        ..Files::default()
    };
    decode(files, now).unwrap_or_else(|problems| panic!("{problems}\n{file}"));
    let again = merged(&file, &source, records.iter());
    assert_eq!(again, file, "importing twice changed");
    let backwards = merged(&empty, &source, records.iter().rev());
    assert_eq!(backwards, file, "the order matters");
}

fn check_reason(line: u64, reason: &str) {
    assert!(line > 0);
    assert!(!reason.is_empty());
    assert!(!reason.contains(char::is_control), "{reason:?}");
}

/// Returns the file with these records in it.
fn merged<'f>(
    file: &str,
    source: &ImportSource<'_>,
    records: impl Iterator<Item = &'f RecordResult>,
) -> String {
    let mut merge = Merge::new(file).expect("the file was checked");
    merge.begin(source);
    for found in records {
        merge.take(found.clone(), source);
    }
    merge.render(Timestamp::from_unix(NOW))
}

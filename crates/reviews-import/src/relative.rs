//! Dates relative to the time of collection: "9 months ago", "hace 3 semanas", "vor einem Monat", "3 か月前".
//!
//! The date is the day of collection minus the interval, and as precise as the words: the month for weeks and months,
//! the year for years.

use jiff::Span;
use jiff::civil;

use reviewd_data::model::DatePrecision;
use reviewd_wire::date::Date;

mod words;

use words::{FILLERS, MARKERS, ONE, TODAY, UNITS, YESTERDAY};

#[derive(Clone, Copy, PartialEq, Eq)]
enum TimeUnit {
    /// Hours, minutes or seconds, which do not change the day.
    PartOfDay,
    Day,
    Week,
    Month,
    Year,
}

impl TimeUnit {
    /// Returns `count` of the unit; `None` if it is too many.
    fn span(self, count: i64) -> Option<Span> {
        let span = Span::new();
        match self {
            TimeUnit::PartOfDay => Some(span),
            TimeUnit::Day => span.try_days(count).ok(),
            TimeUnit::Week => span.try_weeks(count).ok(),
            TimeUnit::Month => span.try_months(count).ok(),
            TimeUnit::Year => span.try_years(count).ok(),
        }
    }

    /// Returns how precise a date is that is told in this unit; `None` for a day.
    fn precision(self) -> Option<DatePrecision> {
        match self {
            TimeUnit::PartOfDay | TimeUnit::Day => None,
            TimeUnit::Week | TimeUnit::Month => Some(DatePrecision::Month),
            TimeUnit::Year => Some(DatePrecision::Year),
        }
    }
}

/// The words for a unit of time.
struct UnitWords {
    unit: TimeUnit,
    words: &'static [&'static str],
}

/// A day that may stand for its month or year.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ApproximateDate {
    pub(super) date: Date,
    pub(super) precision: Option<DatePrecision>,
}

/// Tells whether a text is a date relative to now.
pub(super) fn is_relative(text: &str) -> bool {
    parse(text, Date::MAX).is_some()
}

/// Parses a text relative to the day of collection; `None` if it is of another form, or before the year 1.
pub(super) fn parse(text: &str, collected: Date) -> Option<ApproximateDate> {
    let lower = text.trim().to_lowercase().replace("il y a", "il_y_a");
    if TODAY.contains(&&*lower) || lower == "just now" {
        return before(collected, TimeUnit::Day, 0);
    }
    if YESTERDAY.contains(&&*lower) {
        return before(collected, TimeUnit::Day, 1);
    }
    let (count, unit) = interval(&lower).or_else(|| east_asian(&lower))?;
    before(collected, unit, count)
}

/// Parses words in any order: a number, a unit and a marker.
fn interval(text: &str) -> Option<(i64, TimeUnit)> {
    let mut count = None;
    let mut unit = None;
    let mut has_marker = false;
    for word in text.split(|c: char| c.is_whitespace() || c == ',' || c == '\u{a0}') {
        let word = word.trim_matches(['.', '~', '(', ')']);
        if word.is_empty() || FILLERS.contains(&word) {
            continue;
        }
        let listed = UNITS.iter().find(|unit| unit.words.contains(&word));
        // In French `an` is a year; in English it stands before the unit.
        let is_french_year = word == "an" && text.contains("il_y_a");
        if let Ok(number) = word.parse::<u16>() {
            count = Some(i64::from(number));
        } else if is_french_year {
            unit = Some(TimeUnit::Year);
        } else if let Some(listed) = listed {
            unit = Some(listed.unit);
        } else {
            let is_marker = MARKERS.contains(&word);
            let is_one = ONE.contains(&word);
            if !is_marker && !is_one {
                return None;
            }
            has_marker |= is_marker;
            if is_one {
                count = count.or(Some(1));
            }
        }
    }
    if !has_marker {
        return None;
    }
    Some((count.unwrap_or(1), unit?))
}

/// `3 か月前`, `2年前`, `1 周前`.
fn east_asian(text: &str) -> Option<(i64, TimeUnit)> {
    let text = text.strip_suffix('前')?.trim();
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    let count: u16 = text[..end].parse().ok()?;
    let unit = match text[end..].trim() {
        "秒" | "分" | "分钟" | "時間" | "小时" => TimeUnit::PartOfDay,
        "日" | "天" => TimeUnit::Day,
        "週間" | "周" | "週" => TimeUnit::Week,
        "か月" | "ヶ月" | "カ月" | "个月" | "個月" => TimeUnit::Month,
        "年" => TimeUnit::Year,
        _ => return None,
    };
    Some((i64::from(count), unit))
}

/// Returns a day as jiff has it, which subtracts months and years.
fn civil_date(date: Date) -> Option<civil::Date> {
    let year = i16::try_from(date.year()).ok()?;
    let month = i8::try_from(date.month()).ok()?;
    let day = i8::try_from(date.day()).ok()?;
    civil::Date::new(year, month, day).ok()
}

/// Returns a day of jiff as ours.
fn date_of(date: civil::Date) -> Option<Date> {
    let year = u16::try_from(date.year()).ok()?;
    let month = u8::try_from(date.month()).ok()?;
    let day = u8::try_from(date.day()).ok()?;
    Date::new(year, month, day).ok()
}

fn before(collected: Date, unit: TimeUnit, count: i64) -> Option<ApproximateDate> {
    let day = civil_date(collected)?.checked_sub(unit.span(count)?).ok()?;
    Some(ApproximateDate {
        date: date_of(day)?,
        precision: unit.precision(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_of_ten_languages_end_at_the_day_of_collection() {
        let collected = Date::new(2026, 2, 1).expect("a day");
        let month = Some(DatePrecision::Month);
        let year = Some(DatePrecision::Year);
        for (text, day, precision) in [
            ("9 months ago", "2025-05-01", month),
            ("a year ago", "2025-02-01", year),
            ("Edited an hour ago", "2026-02-01", None),
            ("hace 3 semanas", "2026-01-11", month),
            ("vor einem Monat", "2026-01-01", month),
            ("il y a un an", "2025-02-01", year),
            ("il y a 2 mois", "2025-12-01", month),
            ("due mesi fa", "", month),
            ("2 mesi fa", "2025-12-01", month),
            ("4 weken geleden", "2026-01-04", month),
            ("há 5 dias", "2026-01-27", None),
            ("2 lata temu", "2024-02-01", year),
            ("för 2 år sedan", "2024-02-01", year),
            ("3 ay önce", "2025-11-01", month),
            ("2 года назад", "2024-02-01", year),
            ("3 か月前", "2025-11-01", month),
            ("yesterday", "2026-01-31", None),
            ("3 months", "", month),
            ("two cats ago", "", month),
            ("", "", None),
        ] {
            let found = parse(text, collected);
            let found = found.map(|found| (found.date.to_string(), found.precision));
            let expected = (!day.is_empty()).then(|| (day.to_owned(), precision));
            assert_eq!(found, expected, "{text}");
        }
    }
}

//! Parses dates of exports; an ambiguous date is refused unless other dates of the file or a flag decide.
//!
//! One pattern splits a text into numbers and a month name. Three numbers may be day/month/year or month/day/year and,
//! with a two-digit year, year/month/day; every other notation has one reading. Weekdays, ordinals and the words between
//! day, month and year in Romance languages are left out first.

use std::sync::LazyLock;

use regex::Regex;
use thiserror::Error;

use super::relative::ApproximateDate;
use reviewd_data::model::DatePrecision;
use reviewd_wire::date::{Date, Timestamp, parse_timestamp};

/// The first year of valid reviews; earlier dates are errors.
const YEAR_MIN: u16 = 1990;

/// Added to years of two digits.
const CENTURY: u32 = 2_000;

/// The months in ten languages, each with prefixes that identify it.
const MONTHS: [&[&str]; 12] = [
    &["jan", "jän", "ene", "gen", "sty", "oca", "янв"],
    &["feb", "fév", "fev", "lut", "şub", "фев"],
    &["mar", "mär", "mrz", "maa", "mrt", "мар"],
    &["apr", "avr", "abr", "kwi", "nis", "апр"],
    &["may", "mai", "mag", "mei", "maj", "мая", "май"],
    &["jun", "juin", "giu", "cze", "haz", "июн"],
    &["jul", "juil", "lug", "lip", "tem", "июл"],
    &["aug", "aoû", "aou", "ago", "sie", "ağu", "авг"],
    &["sep", "set", "wrz", "eyl", "сен"],
    &["oct", "okt", "ott", "out", "paź", "eki", "окт"],
    &["nov", "lis", "kas", "ноя"],
    &["dec", "dez", "déc", "dic", "gru", "ara", "дек"],
];

/// Longest name of a month, in letters ("października").
const MONTH_CHARS_MAX: usize = 12;

/// Least number of digits in a text that has a whole date, as `4/3/24`, `4 March 2024`.
const DATE_DIGITS_MIN: usize = 5;

/// A date of three numbers or words. After it, a time of day may have a fraction, AM or PM, and a zone: "Z", "+01:00",
/// "GMT+0100 (CET)".
static NOTATION: LazyLock<Regex> = LazyLock::new(|| {
    let part = r"([0-9]{1,4}|\pL+)";
    let gap = r"[/.,\x20\u{a0}\u{202f}-]";
    // In Italian and Finnish sheets the parts of the time have full stops.
    let clock = r"(?:[01]?[0-9]|2[0-4])[:.][0-5]?[0-9](?:[:.](?:[0-5]?[0-9]|60))?";
    let zone = r"(?:[a-zA-Z+−.,()/_\x20\u{a0}\u{202f}-][a-zA-Z0-9+−:.,()/_\x20\u{a0}\u{202f}-]*)?";
    let date = format!("{part}({gap}+){part}{gap}+{part}");
    let pattern = format!("^{date}(?:(?:[Tt]|{gap}+){clock}{zone}|{gap}*)$");
    Regex::new(&pattern).expect("the pattern is valid")
});

/// A weekday at the beginning, in ten languages.
static WEEKDAY: LazyLock<Regex> = LazyLock::new(|| {
    let days = "mon|tue|wed|thu|fri|sat|sun|mo|di|mi|do|fr|sa|so|lun|mar|mer|jeu|ven|sam|dim|mié|mie|jue|vie|sáb|sab|dom|\
        gio|maa|din|woe|don|vri|zat|zon|pon|wto|śro|czw|pią|sob|nie|seg|ter|qua|qui|sex";
    let pattern = format!(r"(?i)^(?:{days})\pL*(?:-feira)?\.?,?\s+");
    Regex::new(&pattern).expect("the pattern is valid")
});

/// The ending of an ordinal, and a word between day, month and year.
static FILLER: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?i)([0-9])(?:st|nd|rd|th|er|º|ª)\b|\b(?:de|del|den|d')\s+";
    Regex::new(pattern).expect("the pattern is valid")
});

/// `2024年3月4日`.
static EAST_ASIAN: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = "^([0-9]{4})年\\s*([0-9]{1,2})月\\s*([0-9]{1,2})日";
    Regex::new(pattern).expect("the pattern is valid")
});

/// Words before a date, as in "Reviewed in Germany on".
static HEAD: LazyLock<Regex> = LazyLock::new(|| {
    let verbs = "reviewed|review|posted|written|published|submitted|rezension|bewertet|geschrieben|verfasst|commenté|avis|\
        publié|calificado|reseñado|escrito|recensito|recensione|scritta|avaliado|beoordeeld|recensie|zrecenzowano|recenserad";
    let pattern =
        format!(r"(?i)^(?:{verbs})\b[^0-9]*?\s(?:on|vom|am|le|el|il|op|em|dnia|den):?\s+");
    Regex::new(&pattern).expect("the pattern is valid")
});

/// Why a text is not a date. The sentences follow the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ImportDateError {
    /// It has another form.
    #[error("is not a known form of a date (--date-format sets the order of day, month and year)")]
    Form,
    /// It has the form of a date, but there is no such day.
    #[error("is not a day that exists")]
    NoDay,
    /// There is no such day in the order that was set or found.
    #[error("is not a day that exists, read as {}", .0.name())]
    NoDayInOrder(DateOrder),
    /// It is too early for a review.
    #[error("is before {YEAR_MIN}")]
    Early,
    /// Each of its three numbers may be the year.
    #[error("could begin with the year, the month or the day: set --date-format dmy, mdy or ymd")]
    AnyFirst,
    /// Day and month may change places.
    #[error("could be day/month or month/day: set --date-format dmy or mdy")]
    DayOrMonthFirst,
}

/// A text that sets no order of day, month and year.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("must be dmy, mdy or ymd, or a pattern such as %d/%m/%Y")]
pub struct DateOrderError;

/// The order of the parts in a numeric date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DateOrder {
    /// 31/12/2024
    DayMonthYear,
    /// 12/31/2024
    MonthDayYear,
    /// 24/12/31
    YearMonthDay,
}

impl DateOrder {
    /// All orders.
    pub const ALL: [DateOrder; 3] = [
        DateOrder::DayMonthYear,
        DateOrder::MonthDayYear,
        DateOrder::YearMonthDay,
    ];

    /// The name of the order in reports.
    pub fn name(self) -> &'static str {
        match self {
            DateOrder::DayMonthYear => "day/month/year",
            DateOrder::MonthDayYear => "month/day/year",
            DateOrder::YearMonthDay => "year/month/day",
        }
    }

    /// Parses `dmy`, `DD.MM.YYYY` or `%d/%m/%Y`: the first of each letter counts; `%b` is also a month.
    ///
    /// # Errors
    /// If the letters d, m and y do not all occur, or in no order that a date has.
    pub fn parse(text: &str) -> Result<DateOrder, DateOrderError> {
        let mut order = String::new();
        for character in text.to_ascii_lowercase().replace('b', "m").chars() {
            if "dmy".contains(character) && !order.contains(character) {
                order.push(character);
            }
        }
        match order.as_str() {
            "dmy" => Ok(DateOrder::DayMonthYear),
            "mdy" => Ok(DateOrder::MonthDayYear),
            "ymd" => Ok(DateOrder::YearMonthDay),
            _ => Err(DateOrderError),
        }
    }
}

/// Detects the order of the dates in a file, if all unambiguous dates agree on it.
pub(super) fn find_order(dates: impl Iterator<Item = String>) -> Option<DateOrder> {
    let mut is_day_first = false;
    let mut is_month_first = false;
    for readings in dates.filter_map(|text| Readings::of(&text)) {
        let may_be_day_first = readings.is_plausible(DateOrder::DayMonthYear);
        let may_be_month_first = readings.is_plausible(DateOrder::MonthDayYear);
        // No other date of the file shows whether a two-digit year is first or last.
        if readings.is_short && readings.possible().len() > 1 {
            return None;
        }
        // In dates with points the day comes first; if that is impossible, this source uses another order.
        is_day_first |= may_be_day_first && !may_be_month_first && !readings.is_dotted;
        is_month_first |= may_be_month_first && !may_be_day_first;
    }
    match (is_day_first, is_month_first) {
        (true, false) => Some(DateOrder::DayMonthYear),
        (false, true) => Some(DateOrder::MonthDayYear),
        _ => None,
    }
}

/// Parses a date, which may be followed by a time.
///
/// The time and its zone do not change the date: it is returned as written.
///
/// # Errors
/// If the text is no date, a date before 1990, or ambiguous without an order.
pub fn parse(text: &str, order: Option<DateOrder>) -> Result<Date, ImportDateError> {
    let text = text.trim();
    if let Some(date) = of_digits(text) {
        return Ok(date);
    }
    let readings = Readings::of(text).ok_or(ImportDateError::Form)?;
    let day = match order {
        Some(order) => readings
            .in_order(order)
            .ok_or(ImportDateError::NoDayInOrder(order))?,
        None => readings.only_day()?,
    };
    if day.year() < YEAR_MIN {
        return Err(ImportDateError::Early);
    }
    Ok(day)
}

/// Parses the time of a change, in seconds since 1970: RFC 3339 with its zone, a number, or a date; `None` if it is
/// invalid or ambiguous.
pub(super) fn unix_time(text: &str, order: Option<DateOrder>) -> Option<i64> {
    let text = text.trim();
    let whole = match text.split_once('.') {
        Some((head, fraction)) => head.to_owned() + split_digits(fraction).1,
        None => text.to_owned(),
    };
    if let Some(time) = parse_timestamp(whole.as_bytes()) {
        return Some(time.unix());
    }
    if let Some(seconds) = unix(text) {
        return Some(seconds);
    }
    let day = parse(text, order).ok()?;
    Some(day.timestamp().unix())
}

fn date(year: u32, month: u32, day: u32) -> Option<Date> {
    let year = year.try_into().ok()?;
    let month = month.try_into().ok()?;
    let day = day.try_into().ok()?;
    Date::new(year, month, day).ok()
}

/// The possible meanings of a date.
struct Readings {
    /// The day in each [`DateOrder`]; the same in all if the notation is unambiguous.
    day_first: Option<Date>,
    month_first: Option<Date>,
    year_first: Option<Date>,
    /// Whether the year has two digits and may be first or last.
    is_short: bool,
    is_dotted: bool,
}

impl Readings {
    fn of(text: &str) -> Option<Readings> {
        let text = plain(text);
        let (_, [first, separator, second, third]) = NOTATION.captures(&text)?.extract();
        let parts = [first, second, third];
        let mut month = None;
        // Each number with its digits, as `04` has two.
        let mut numbers: Vec<(u32, usize)> = Vec::new();
        for part in parts {
            match part.parse() {
                Ok(number) => numbers.push((number, part.len())),
                Err(_) => month = month.or(month_of(part)),
            }
        }
        let is_dotted = separator.starts_with('.');
        let only = match (month, numbers.as_slice()) {
            (Some(month), &[(day, 1 | 2), (year, 4)] | &[(year, 4), (day, 1 | 2)]) => {
                date(year, month, day)
            }
            (Some(month), &[(day, 1 | 2), (year, 2)]) => date(CENTURY + year, month, day),
            (None, &[(year, 4), (month, 1 | 2), (day, 1 | 2)]) => date(year, month, day),
            (None, &[(first, 1 | 2), (second, 1 | 2), (third, 4)]) => {
                return Some(Readings {
                    day_first: date(third, second, first),
                    month_first: date(third, first, second),
                    // A year of four digits is last here.
                    year_first: None,
                    is_short: false,
                    is_dotted,
                });
            }
            (None, &[(first, 1 | 2), (second, 1 | 2), (third, 2)]) => {
                return Some(Readings {
                    day_first: date(CENTURY + third, second, first),
                    month_first: date(CENTURY + third, first, second),
                    year_first: date(CENTURY + first, second, third),
                    is_short: true,
                    is_dotted,
                });
            }
            _ => return None,
        };
        Some(Readings {
            day_first: only,
            month_first: only,
            year_first: only,
            is_short: false,
            is_dotted,
        })
    }

    /// Returns the day in this order.
    fn in_order(&self, order: DateOrder) -> Option<Date> {
        match order {
            DateOrder::DayMonthYear => self.day_first,
            DateOrder::MonthDayYear => self.month_first,
            DateOrder::YearMonthDay => self.year_first,
        }
    }

    /// Whether a review may have the day in this order.
    fn is_plausible(&self, order: DateOrder) -> bool {
        match self.in_order(order) {
            Some(day) => day.year() >= YEAR_MIN,
            None => false,
        }
    }

    /// Returns the day if all readings agree.
    fn only_day(&self) -> Result<Date, ImportDateError> {
        match self.possible().as_slice() {
            [] => Err(ImportDateError::NoDay),
            [day] => Ok(*day),
            _ if self.is_short => Err(ImportDateError::AnyFirst),
            _ => Err(ImportDateError::DayOrMonthFirst),
        }
    }

    /// Returns all possible days. In a date with points the month is not first if the day can be.
    fn possible(&self) -> Vec<Date> {
        let mut days = Vec::new();
        days.extend(self.day_first);
        if !self.is_dotted || self.day_first.is_none() {
            days.extend(self.month_first);
        }
        days.extend(self.year_first);
        days.sort_unstable();
        days.dedup();
        days
    }
}

/// Leaves out what does not change the day: a weekday at the beginning, the endings of ordinals, "de" between the parts;
/// `2024年3月4日` becomes `2024-3-4`.
fn plain(text: &str) -> String {
    let mut date = HEAD.replace(text.trim(), "").into_owned();
    let without_weekday = WEEKDAY.replace(&date, "").into_owned();
    if is_weekday_before(&date, &without_weekday) {
        date = without_weekday;
    }
    let with_hyphens = EAST_ASIAN.replace(&date, "$1-$2-$3");
    FILLER.replace_all(&with_hyphens, "$1").trim().to_owned()
}

/// Whether the first word of a text, which `rest` lacks, is a weekday, as in "mar. 5 mars 2024", and not a month, as in
/// "Mar 4, 2024".
fn is_weekday_before(text: &str, rest: &str) -> bool {
    let digits = rest.chars().filter(char::is_ascii_digit).count();
    let has_words = rest.contains(|c: char| c.is_alphabetic() || "/.-".contains(c));
    if digits < DATE_DIGITS_MIN || !has_words {
        return false;
    }
    let first = text.split([' ', ',']).next().unwrap_or_default();
    month_of(first).is_none() || has_month(rest)
}

/// Whether a text has the name of a month.
fn has_month(text: &str) -> bool {
    text.split(|c: char| !c.is_alphabetic())
        .any(|word| word.len() > 2 && month_of(word).is_some())
}

/// Parses a month or a year without a day: `March 2024`, `2024-03`, `03/2024`, `2024`. The date is its first day.
pub(super) fn month_or_year(text: &str) -> Option<ApproximateDate> {
    let text = text.trim();
    let parts: Vec<&str> = text
        .split(['-', '/', '.', ' ', ','])
        .filter(|part| !part.is_empty())
        .collect();
    let (year, month, precision) = match parts.as_slice() {
        [year] if is_year(year) => (year, 1, DatePrecision::Year),
        [year, other] | [other, year] if is_year(year) && !is_year(other) => {
            (year, month_or_number(other)?, DatePrecision::Month)
        }
        _ => return None,
    };
    let date = date(year.parse().ok()?, month, 1)?;
    if !(YEAR_MIN..2_100).contains(&date.year()) {
        return None;
    }
    Some(ApproximateDate {
        date,
        precision: Some(precision),
    })
}

fn is_year(part: &str) -> bool {
    part.len() == 4 && is_digits(part)
}

/// The month that a name or a number of at most two digits states.
fn month_or_number(part: &str) -> Option<u32> {
    if part.len() <= 2
        && let Ok(number) = part.parse()
    {
        return Some(number);
    }
    month_of(part)
}

/// Parses a date without separators: seconds or milliseconds since 1970, `20240305`, or an Excel date (days since
/// 1899-12-30, with a fraction for the time; until 2099).
fn of_digits(text: &str) -> Option<Date> {
    if let Some(seconds) = unix(text) {
        return Some(Timestamp::from_unix(seconds).date());
    }
    let (days, time) = text.split_once(['.', ',']).unwrap_or((text, "0"));
    if !is_digits(days) || !is_digits(time) {
        return None;
    }
    let number: u32 = days.parse().ok()?;
    let is_excel = days.len() == 5;
    let is_year_month_day = days.len() == 8 && days == text;
    let found = if is_excel {
        Date::from_days(Date::new(1899, 12, 30).ok()?.days() + number)?
    } else if is_year_month_day {
        date(number / 10_000, number / 100 % 100, number % 100)?
    } else {
        return None;
    };
    let year_max = if is_excel { 2_099 } else { 9_999 };
    if !(YEAR_MIN..=year_max).contains(&found.year()) {
        return None;
    }
    Some(found)
}

/// Parses ten digits as seconds since 1970, or thirteen as milliseconds: the years 2001 to 2286.
fn unix(text: &str) -> Option<i64> {
    if !is_digits(text) || !matches!(text.len(), 10 | 13) {
        return None;
    }
    text.get(..10)?.parse().ok()
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && split_digits(text).1.is_empty()
}

fn split_digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit());
    text.split_at(end.unwrap_or(text.len()))
}

/// Returns the number from 1 of the month that `word` names, in full or abbreviated.
fn month_of(word: &str) -> Option<u32> {
    if word.chars().count() > MONTH_CHARS_MAX {
        return None;
    }
    let word = word.to_lowercase();
    let at = MONTHS
        .iter()
        .position(|names| names.iter().any(|name| word.starts_with(name)))?;
    u32::try_from(at + 1).ok()
}

#[cfg(test)]
mod tests {
    use super::{DateOrder, ImportDateError, find_order, month_or_year, parse, unix_time};

    fn read(text: &str, order: Option<&str>) -> Option<String> {
        let order = order.map(|order| DateOrder::parse(order).unwrap());
        parse(text, order).ok().map(|date| date.to_string())
    }

    #[test]
    fn dates_with_one_reading_need_no_format() {
        let same = "2024-03-04|2024-03-04T23:59:59Z|2024-03-04T00:30:00.123456789+02:00|2024-03-04 9:05 PM|\
            March 4, 2024|04-Mar-24|4. März 2024 10:11 Uhr|04.03.2024|1709510400|20240304|45355.75|45355,5";
        for text in same.split('|') {
            assert_eq!(read(text, None).as_deref(), Some("2024-03-04"), "{text}");
        }
        for (text, day) in [
            ("31/12/2024", "2024-12-31"),
            ("12/31/2024", "2024-12-31"),
            ("05/05/2024", "2024-05-05"),
            ("12.31.2024", "2024-12-31"),
            ("5 mars 2024", "2024-03-05"),
            ("05/05/05", "2005-05-05"),
            ("24/03/99", "2099-03-24"),
            ("Monday, March 4, 2024", "2024-03-04"),
            ("Mon, 04 Mar 2024 10:00:00 IST", "2024-03-04"),
            ("Mo., 4. März 2024", "2024-03-04"),
            ("4 de marzo de 2024", "2024-03-04"),
            ("mar. 5 mars 2024", "2024-03-05"),
            ("gio 7 mar 2024", "2024-03-07"),
            ("giovedì 7 marzo 2024", "2024-03-07"),
            ("qui., 7 de março de 2024", "2024-03-07"),
            ("czwartek, 7 marca 2024", "2024-03-07"),
            ("Mar 4, 2024", "2024-03-04"),
            ("March 4th, 2024", "2024-03-04"),
            (
                "Reviewed in the United States on March 4, 2024",
                "2024-03-04",
            ),
            ("Rezension aus Deutschland vom 4. März 2024", "2024-03-04"),
            ("Commenté en France le 4 mars 2024", "2024-03-04"),
            ("Posted on 2024-03-04", "2024-03-04"),
            ("14/03/2024 10.22.01", "2024-03-14"),
            ("2024年3月4日", "2024-03-04"),
            ("2024-11-15 12:57:46 +00:00", "2024-11-15"),
        ] {
            assert_eq!(read(text, None).as_deref(), Some(day), "{text}");
        }
    }

    #[test]
    fn a_month_or_a_year_is_an_approximate_date() {
        for (text, day) in [
            ("March 2024", "2024-03-01"),
            ("2024-03", "2024-03-01"),
            ("3/2024", "2024-03-01"),
            ("2024", "2024-01-01"),
        ] {
            let found = month_or_year(text).expect("a month or a year");
            assert_eq!(found.date.to_string(), day, "{text}");
            assert!(found.precision.is_some(), "{text}");
        }
        for text in ["13/2024", "5", "1234", "Good 2024", "2024-03-04", ""] {
            assert!(month_or_year(text).is_none(), "{text}");
        }
    }

    #[test]
    fn dates_with_two_readings_are_refused_until_an_order_decides() {
        for (text, expected) in [
            ("03/04/2024", ImportDateError::DayOrMonthFirst),
            ("24-03-04", ImportDateError::AnyFirst),
            ("04.03.24", ImportDateError::AnyFirst),
            ("1989-12-31", ImportDateError::Early),
            ("2024-02-30", ImportDateError::NoDay),
            ("yesterday", ImportDateError::Form),
        ] {
            assert_eq!(parse(text, None), Err(expected), "{text}");
        }
        assert_eq!(
            parse("13/04/2024", Some(DateOrder::MonthDayYear)),
            Err(ImportDateError::NoDayInOrder(DateOrder::MonthDayYear))
        );
        for (text, order, day) in [
            ("03/04/2024", "dmy", Some("2024-04-03")),
            ("03/04/2024", "%m/%d/%Y %H:%M", Some("2024-03-04")),
            ("24/04/03", "YYYY-MM-DD", Some("2024-04-03")),
            ("04.03.24", "dmy", Some("2024-03-04")),
            ("13/04/2024", "mdy", None),
            ("04/13/2024", "dmy", None),
            ("04/03/2024", "ymd", None),
            ("2024-03-04", "dmy", Some("2024-03-04")),
        ] {
            assert_eq!(read(text, Some(order)).as_deref(), day, "{text} {order}");
        }
        assert!(DateOrder::parse("my").is_err());
        assert!(DateOrder::parse("ydm").is_err());
    }

    #[test]
    fn other_texts_are_no_days() {
        let others = "|a month ago|2024-02-30|2024|2024-03-04x|2024-03-04T25:99|12345|4/4/4/2024|2024-03-04 10:11:12 <b>|\
            ４/３/2024";
        for text in others.split('|') {
            assert_eq!(read(text, None), None, "{text}");
        }
    }

    #[test]
    fn evidence_decides_only_where_it_agrees() {
        for (dates, order) in [
            (
                &["03/04/2024", "13/04/2024"][..],
                Some(DateOrder::DayMonthYear),
            ),
            (
                &["04/13/2024 10:00", "03/04/2024"],
                Some(DateOrder::MonthDayYear),
            ),
            (&["04/13/2024", "13/04/2024"], None),
            (&["03/04/2024"], None),
            (
                &["2024-01-13", "13.04.2024", "May 13, 2024", "99/99/2024"],
                None,
            ),
            (&["13/04/2024", "24-03-04"], None),
            // Dotted dates are read day first if possible.
            (&["03.04.2024", "03.14.2024"], Some(DateOrder::MonthDayYear)),
        ] {
            let found = find_order(dates.iter().map(|date| (*date).to_owned()));
            assert_eq!(found, order, "{dates:?}");
        }
    }

    #[test]
    fn moments_of_every_notation_are_seconds() {
        let same = "2024-03-04T00:00:00Z|2024-03-04T02:00:00.123456+02:00|1709510400|1709510400500|4 March 2024";
        for text in same.split('|') {
            assert_eq!(unix_time(text, None), Some(1_709_510_400), "{text}");
        }
        for text in ["03/04/2024", "yesterday", "", "9"] {
            assert_eq!(unix_time(text, None), None, "{text}");
        }
    }
}

//! Days in the notations of exports; what could be two days is refused unless the file or a format decides.

use super::text::quote;
use crate::wire::date::{Date, parse_timestamp};

mod months;
mod tokens;

use tokens::{Token, tokens};

/// The order in which a date of numbers names its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// 31/12/2024
    DayMonthYear,
    /// 12/31/2024
    MonthDayYear,
    /// 2024/12/31
    YearMonthDay,
}

impl Order {
    /// The order as reports name it.
    pub fn name(self) -> &'static str {
        match self {
            Order::DayMonthYear => "day/month/year",
            Order::MonthDayYear => "month/day/year",
            Order::YearMonthDay => "year/month/day",
        }
    }

    /// Reads `dmy`, `DD.MM.YYYY` or `%d/%m/%Y`: the first of each letter counts.
    ///
    /// # Errors
    /// A line that names the forms.
    pub fn parse(text: &str) -> Result<Order, String> {
        let mut letters = String::new();
        for letter in text
            .chars()
            .map(|letter| match letter.to_ascii_lowercase() {
                // The name of a month, as `strftime` asks for it.
                'b' => 'm',
                letter => letter,
            })
        {
            if "dmy".contains(letter) && !letters.contains(letter) {
                letters.push(letter);
            }
        }
        match letters.as_str() {
            "dmy" => Ok(Order::DayMonthYear),
            "mdy" => Ok(Order::MonthDayYear),
            "ymd" => Ok(Order::YearMonthDay),
            _ => Err("must be dmy, mdy or ymd, or a pattern such as %d/%m/%Y".to_owned()),
        }
    }
}

/// What the dates of a file say about their order.
#[derive(Clone, Copy, Debug, Default)]
pub struct Evidence {
    day_first: Option<u64>,
    month_first: Option<u64>,
    ambiguous: Option<u64>,
    /// A date whose year has two digits and could stand at either end.
    short: Option<u64>,
}

impl Evidence {
    /// Takes a date into account; `line` is where its record begins.
    pub fn note(&mut self, text: &str, line: u64) {
        let Some(numbers) = tokens(text)
            .as_deref()
            .and_then(day_tokens)
            .and_then(Numbers::of)
        else {
            return;
        };
        let place = if numbers.is_short && numbers.days().len() > 1 {
            &mut self.short
        } else if numbers.separator == '.' {
            // With points the day comes first, unless there is no such day: then this source does otherwise.
            if !matches!(numbers.days()[..], [day] if numbers.day(Order::MonthDayYear) == Some(day))
                || numbers.day(Order::DayMonthYear).is_some()
            {
                return;
            }
            &mut self.month_first
        } else {
            let day = |order| numbers.day(order).filter(|day| day.year() >= YEAR_MIN);
            let [day_first, month_first] = [Order::DayMonthYear, Order::MonthDayYear].map(day);
            match (day_first, month_first) {
                (Some(_), None) => &mut self.day_first,
                (None, Some(_)) => &mut self.month_first,
                (Some(one), Some(other)) if one != other => &mut self.ambiguous,
                _ => return,
            }
        };
        place.get_or_insert(line);
    }

    /// The order, where all dates that have only one reading agree on it, and the line of the first of them.
    pub fn order(&self) -> Option<(Order, u64)> {
        match (self.day_first, self.month_first) {
            // Which of its ends is the year, no other date says.
            _ if self.short.is_some() => None,
            (Some(line), None) => Some((Order::DayMonthYear, line)),
            (None, Some(line)) => Some((Order::MonthDayYear, line)),
            _ => None,
        }
    }

    /// The line of a date that only an order can decide.
    pub fn ambiguous(&self) -> Option<u64> {
        self.short.or(self.ambiguous)
    }
}

/// Reads the day that a text names, alone or with a time behind it.
///
/// With a time the day is the one that stands there, in whatever zone the source wrote it.
///
/// # Errors
/// A line that says what is wrong, naming `field`.
pub fn parse(text: &str, order: Option<Order>, field: &str) -> Result<Date, String> {
    let text = text.trim();
    if let Some(date) = unix(text)
        .or_else(|| compact(text))
        .or_else(|| serial(text))
    {
        return Ok(date);
    }
    let tokens = tokens(text).unwrap_or_default();
    let outcome = match day_tokens(&tokens) {
        Some(parts) => day(parts, order),
        None => Err(UNKNOWN.to_owned()),
    };
    let outcome = outcome.and_then(|date| match date.year() {
        ..YEAR_MIN => Err(format!("lies before {YEAR_MIN}")),
        _ => Ok(date),
    });
    outcome.map_err(|why| format!("{field}: {} {why}", quote(text)))
}

/// Reads when something was changed: RFC 3339 with its zone, seconds or milliseconds since 1970, or a day; `None` where
/// that is not certain. What it returns sorts by time.
pub fn moment(text: &str, order: Option<Order>) -> Option<(i64, u32)> {
    let text = text.trim();
    let (whole, fraction) = match text.split_once('.') {
        Some((head, tail)) if head.len() == 19 => {
            let end = tail
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(tail.len());
            let (digits, zone) = tail.split_at(end);
            let nanos = format!("{:0<9}", digits.get(..9).unwrap_or(digits));
            (format!("{head}{zone}"), nanos.parse().ok()?)
        }
        _ => (text.to_owned(), 0),
    };
    if let Ok(time) = parse_timestamp(whole.as_bytes()) {
        return Some((time.unix(), fraction));
    }
    if unix(text).is_some() {
        let (seconds, thousandths) = text.split_at(10);
        let nanos = thousandths.parse::<u32>().unwrap_or_default() * 1_000_000;
        return Some((seconds.parse().ok()?, nanos));
    }
    let day = parse(text, order, "updated").ok()?;
    Some((day.timestamp().unix(), 0))
}

/// The first year of which there can be reviews; an earlier one is a mistake of whoever typed it.
const YEAR_MIN: u16 = 1990;

/// Why a text is no date.
const UNKNOWN: &str = "is not a date that is known here (--date-format says in which order day, month and year stand)";

/// Reads three tokens as a day, or says why they are none.
fn day(parts: [Token; 3], order: Option<Order>) -> Result<Date, String> {
    use Token::{Month, Number};
    let (year, month, day) = match parts {
        [
            Number(year, 4, _),
            Number(month, 1 | 2, _),
            Number(day, 1 | 2, _),
        ]
        | [Month(month), Number(day, 1 | 2, _), Number(year, 4, _)]
        | [Number(day, 1 | 2, _), Month(month), Number(year, 4, _)]
        | [Number(year, 4, _), Month(month), Number(day, 1 | 2, _)] => (year, month, day),
        [Number(day, 1 | 2, _), Month(month), Number(year, 2, _)] => (CENTURY + year, month, day),
        _ => {
            let numbers = Numbers::of(parts).ok_or_else(|| UNKNOWN.to_owned())?;
            return numeric(&numbers, order);
        }
    };
    date(year, month, day).ok_or_else(|| "is not a day that exists".to_owned())
}

/// A day of three numbers, the year last unless it is short.
struct Numbers {
    parts: [u32; 3],
    separator: char,
    /// Whether the year has two digits, so that it may be the first number as well.
    is_short: bool,
}

impl Numbers {
    fn of(parts: [Token; 3]) -> Option<Numbers> {
        let [
            Token::Number(first, 1 | 2, separator),
            Token::Number(second, 1 | 2, _),
            Token::Number(third, digits @ (2 | 4), _),
        ] = parts
        else {
            return None;
        };
        Some(Numbers {
            parts: [first, second, third],
            separator,
            is_short: digits == 2,
        })
    }

    /// The day in this order, where it is one.
    fn day(&self, order: Order) -> Option<Date> {
        let [first, second, third] = self.parts;
        let year = |year| match self.is_short {
            true => CENTURY + year,
            false => year,
        };
        match order {
            Order::DayMonthYear => date(year(third), second, first),
            Order::MonthDayYear => date(year(third), first, second),
            Order::YearMonthDay if self.is_short => date(year(first), second, third),
            Order::YearMonthDay => None,
        }
    }

    /// All days that it could be.
    fn days(&self) -> Vec<Date> {
        let mut days: Vec<Date> = [
            Order::DayMonthYear,
            Order::MonthDayYear,
            Order::YearMonthDay,
        ]
        .into_iter()
        // With points hardly anybody puts the month first.
        .filter(|order| {
            *order != Order::MonthDayYear
                || self.separator != '.'
                || self.day(Order::DayMonthYear).is_none()
        })
        .filter_map(|order| self.day(order))
        .collect();
        days.sort_unstable();
        days.dedup();
        days
    }
}

/// Reads a day of three numbers.
fn numeric(numbers: &Numbers, order: Option<Order>) -> Result<Date, String> {
    if let Some(order) = order {
        let found = numbers.day(order);
        return found.ok_or_else(|| format!("is not a day that exists, read as {}", order.name()));
    }
    match numbers.days().as_slice() {
        [day] => Ok(*day),
        [] => Err("is not a day that exists in any order".to_owned()),
        _ if numbers.is_short => {
            let any = "could begin with the year, the month or the day: say which with --date-format dmy, mdy or ymd";
            Err(any.to_owned())
        }
        _ => {
            let both = "could be day/month or month/day: say which with --date-format dmy or mdy";
            Err(both.to_owned())
        }
    }
}

/// What years of two digits leave out.
const CENTURY: u32 = 2_000;

fn date(year: u32, month: u32, day: u32) -> Option<Date> {
    let (year, month, day) = (
        u16::try_from(year).ok()?,
        u8::try_from(month).ok()?,
        u8::try_from(day).ok()?,
    );
    Date::new(year, month, day).ok()
}

/// The three tokens of the day, after a weekday, with nothing but a time behind them.
fn day_tokens(tokens: &[Token]) -> Option<[Token; 3]> {
    let tokens = match tokens {
        [Token::Weekday, rest @ ..] => rest,
        all => all,
    };
    let (day, rest) = tokens.split_first_chunk::<3>()?;
    matches!(rest, [] | [Token::Time]).then_some(*day)
}

/// Seconds or milliseconds since 1970, as ten or thirteen digits: the years 2001 to 2286.
fn unix(text: &str) -> Option<Date> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let seconds = match text.len() {
        10 if digits => text,
        13 if digits => text.get(..10)?,
        _ => return None,
    };
    Some(crate::wire::date::Timestamp::from_unix(seconds.parse().ok()?).date())
}

/// A day as eight digits, 20240305; the year decides that they are not in another order.
fn compact(text: &str) -> Option<Date> {
    let number: u32 = text.parse().ok().filter(|_| text.len() == 8)?;
    let found = date(number / 10_000, number / 100 % 100, number % 100)?;
    (found.year() >= YEAR_MIN).then_some(found)
}

/// A day as Excel stores it: days since 1899-12-30, with a fraction for the time; from [`YEAR_MIN`] to 2099.
fn serial(text: &str) -> Option<Date> {
    let (days, time) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if days.len() != 5 || !digits(days) || !digits(time) {
        return None;
    }
    let epoch = Date::new(1899, 12, 30).ok()?;
    let found = Date::from_days(epoch.days() + days.parse::<u32>().ok()?)?;
    (YEAR_MIN..=2_099).contains(&found.year()).then_some(found)
}

#[cfg(test)]
mod tests;

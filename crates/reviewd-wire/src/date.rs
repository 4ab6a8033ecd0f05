//! Days and times in the formats of the interface: `YYYY-MM-DD`, RFC 3339 and HTTP dates.
//!
//! Both types are plain integers, so comparing and sorting cost one instruction; parsing does not allocate. The only time
//! zones are fixed offsets.

#![warn(clippy::indexing_slicing)]

use std::borrow::Cow;
use std::fmt;
use std::time::{Duration, UNIX_EPOCH};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Seconds of a day.
const DAY_S: i64 = 86_400;
/// Days from 0001-01-01 to 1970-01-01.
const EPOCH_DAYS: i64 = 719_162;
/// Days from 0000-03-01 to 0001-01-01.
const MARCH_TO_JANUARY: u32 = 306;

/// A day of the proleptic Gregorian calendar, 0001-01-01 to 9999-12-31, ordered by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(u32);

impl Date {
    /// The first day that can be written, 0001-01-01.
    pub const MIN: Date = Date(0);
    /// The last day that can be written, 9999-12-31.
    pub const MAX: Date = Date(3_652_058);

    /// Returns the day `day` of `month` in `year`.
    ///
    /// # Errors
    /// `NoSuchDay` outside the years 1 to 9999, the months 1 to 12, or the days of that month.
    pub fn new(year: u16, month: u8, day: u8) -> Result<Date, DateError> {
        if !(1..=9999).contains(&year) || !(1..=12).contains(&month) {
            return Err(DateError::NoSuchDay);
        }
        if !(1..=days_of_month(year, month)).contains(&day) {
            return Err(DateError::NoSuchDay);
        }
        // Years are counted from March, so that the leap day is the last of its year and every
        // month begins at the same distance: (153 m + 2) / 5 days after the first of March.
        let year = u32::from(year);
        let month = u32::from(month);
        let (march_year, march_month) = if month > 2 {
            (year, month - 3)
        } else {
            (year - 1, month + 9)
        };
        let day_of_year = (153 * march_month + 2) / 5 + u32::from(day) - 1;
        let days =
            365 * march_year + march_year / 4 - march_year / 100 + march_year / 400 + day_of_year;
        // 0001-01-01 is day 306 of the year that began on 0000-03-01.
        Ok(Date(days - MARCH_TO_JANUARY))
    }

    /// Returns the number of days since 0001-01-01, 0 to 3,652,058.
    #[must_use]
    pub fn days(self) -> u32 {
        self.0
    }

    /// Returns the day that is `days` after 0001-01-01, or `None` after 9999-12-31.
    #[must_use]
    pub fn from_days(days: u32) -> Option<Date> {
        if days <= Date::MAX.0 {
            Some(Date(days))
        } else {
            None
        }
    }

    /// Returns the year, 1 to 9999.
    #[must_use]
    pub fn year(self) -> u16 {
        self.civil().year
    }

    /// Returns the month, 1 to 12.
    #[must_use]
    pub fn month(self) -> u8 {
        self.civil().month
    }

    /// Returns the day of the month, 1 to 31.
    #[must_use]
    pub fn day(self) -> u8 {
        self.civil().day
    }

    /// Returns the first second of the day, 00:00:00Z.
    #[must_use]
    pub fn timestamp(self) -> Timestamp {
        Timestamp((i64::from(self.0) - EPOCH_DAYS) * DAY_S)
    }

    /// Returns the number of its month, counted from January of the year 0.
    #[must_use]
    pub fn month_number(self) -> u32 {
        let CivilDay { year, month, .. } = self.civil();
        u32::from(year) * 12 + u32::from(month) - 1
    }

    /// Returns year, month and day: the inverse of `new`, by Howard Hinnant's `civil_from_days`. It computes with eras of 400
    /// years, which all have the same number of days, and with years that begin in March.
    fn civil(self) -> CivilDay {
        let days = self.0 + MARCH_TO_JANUARY;
        let era = days / 146_097;
        let day_of_era = days % 146_097;
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let march_month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * march_month + 2) / 5 + 1;
        let month = if march_month < 10 {
            march_month + 3
        } else {
            march_month - 9
        };
        let year = era * 400 + year_of_era + u32::from(month <= 2);
        CivilDay {
            year: year as u16,
            month: month as u8,
            day: day as u8,
        }
    }
}

/// A day of the Gregorian calendar.
struct CivilDay {
    year: u16,
    month: u8,
    day: u8,
}

/// A date is the text `YYYY-MM-DD`.
impl<'de> Deserialize<'de> for Date {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Date, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        parse_date(text.as_bytes()).map_err(D::Error::custom)
    }
}

impl Serialize for Date {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Writes `YYYY-MM-DD` (RFC 3339 §5.6), always ten ASCII bytes.
impl fmt::Display for Date {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CivilDay { year, month, day } = self.civil();
        write!(formatter, "{year:04}-{month:02}-{day:02}")
    }
}

/// A point in time in whole seconds since 1970-01-01T00:00:00Z, years 0001 to 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The first second that can be written, 0001-01-01T00:00:00Z.
    pub const MIN: Timestamp = Timestamp(-EPOCH_DAYS * DAY_S);
    /// The last second that can be written, 9999-12-31T23:59:59Z.
    pub const MAX: Timestamp = Timestamp((Date::MAX.0 as i64 - EPOCH_DAYS + 1) * DAY_S - 1);

    /// Returns the time `seconds` after 1970-01-01T00:00:00Z, clamped to `MIN` and `MAX`.
    #[must_use]
    pub fn from_unix(seconds: i64) -> Timestamp {
        Timestamp(seconds.clamp(Timestamp::MIN.0, Timestamp::MAX.0))
    }

    /// Returns the seconds since 1970-01-01T00:00:00Z, negative before.
    #[must_use]
    pub fn unix(self) -> i64 {
        self.0
    }

    /// Returns the day, in UTC, that this second belongs to.
    #[must_use]
    pub fn date(self) -> Date {
        Date((self.0.div_euclid(DAY_S) + EPOCH_DAYS) as u32)
    }

    /// Renders an IMF-fixdate, `Sat, 21 Nov 2026 09:00:00 GMT` (RFC 9110 §5.6.7); times before 1970 are clamped to it.
    #[must_use]
    pub fn render_http(self) -> String {
        let since_epoch = Duration::from_secs(u64::try_from(self.0).unwrap_or(0));
        httpdate::fmt_http_date(UNIX_EPOCH + since_epoch)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        parse_timestamp(text.as_bytes())
            .ok_or_else(|| D::Error::custom("is not a time such as 2026-11-21T09:00:00Z"))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Writes `2026-11-21T09:00:00Z` (RFC 3339 §5.6), always twenty ASCII bytes.
impl fmt::Display for Timestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of_day = self.0.rem_euclid(DAY_S);
        let hour = of_day / 3_600;
        let minute = of_day / 60 % 60;
        let second = of_day % 60;
        write!(
            formatter,
            "{}T{hour:02}:{minute:02}:{second:02}Z",
            self.date()
        )
    }
}

/// Parses a full-date, exactly `YYYY-MM-DD` (RFC 3339 §5.6), years 0001 to 9999, without allocating.
///
/// # Errors
/// `Shape` if a byte is out of place, `NoSuchDay` for dates such as 2023-02-29.
pub fn parse_date(text: &[u8]) -> Result<Date, DateError> {
    let &[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = text else {
        return Err(DateError::Shape);
    };
    let year = digits(&[y1, y2, y3, y4]).ok_or(DateError::Shape)?;
    let month = digits(&[m1, m2]).ok_or(DateError::Shape)?;
    let day = digits(&[d1, d2]).ok_or(DateError::Shape)?;
    Date::new(year, month as u8, day as u8)
}

/// Parses a date-time (RFC 3339 §5.6) with `Z` or any offset, without allocating; `None` unless it is a whole second
/// of the years 0001 to 9999 in UTC.
///
/// `T` and `Z` may be lower case, as the RFC allows; a fraction of a second is accepted only as zeros. Our choice: a
/// leap second (`:60`) is refused, because seconds since 1970 cannot express it.
#[must_use]
pub fn parse_timestamp(text: &[u8]) -> Option<Timestamp> {
    let (date, rest) = text.split_at_checked(10)?;
    let date = parse_date(date).ok()?;
    let (time, rest) = rest.split_at_checked(9)?;
    let &[b'T' | b't', h1, h2, b':', m1, m2, b':', s1, s2] = time else {
        return None;
    };
    let hour = digits(&[h1, h2])?;
    let minute = digits(&[m1, m2])?;
    let second = digits(&[s1, s2])?;
    let zone = match rest.strip_prefix(b".0") {
        Some(mut zone) => {
            while let [b'0', more @ ..] = zone {
                zone = more;
            }
            zone
        }
        None => rest,
    };
    let offset_s = parse_offset(zone)?;
    if hour >= 24 || minute >= 60 || second >= 60 {
        return None;
    }
    let of_day = i64::from(hour) * 3_600 + i64::from(minute) * 60 + i64::from(second);
    let time = Timestamp(date.timestamp().0 + of_day - offset_s);
    if time < Timestamp::MIN || time > Timestamp::MAX {
        return None;
    }
    Some(time)
}

/// Parses an HTTP-date in any of its three forms (RFC 9110 §5.6.7), or returns `None`.
///
/// A date with the wrong weekday or a year before 1970 is invalid.
#[must_use]
pub fn parse_http_date(text: &[u8]) -> Option<Timestamp> {
    let time = httpdate::parse_http_date(std::str::from_utf8(text).ok()?).ok()?;
    let since_epoch: Duration = time.duration_since(UNIX_EPOCH).ok()?;
    Some(Timestamp::from_unix(
        i64::try_from(since_epoch.as_secs()).ok()?,
    ))
}

/// Returns the seconds by which the local time of `zone` (`Z`, `+HH:MM` or `-HH:MM`) is ahead of UTC.
fn parse_offset(zone: &[u8]) -> Option<i64> {
    if matches!(zone, b"Z" | b"z") {
        return Some(0);
    }
    let &[sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] = zone else {
        return None;
    };
    let hour = digits(&[h1, h2])?;
    let minute = digits(&[m1, m2])?;
    if hour >= 24 || minute >= 60 {
        return None;
    }
    let ahead_s = i64::from(hour) * 3_600 + i64::from(minute) * 60;
    Some(if sign == b'-' { -ahead_s } else { ahead_s })
}

/// The value of up to four ASCII digits, or `None` if one byte is not a digit.
fn digits(text: &[u8]) -> Option<u16> {
    let mut value = 0;
    for byte in text {
        if !byte.is_ascii_digit() {
            return None;
        }
        value = value * 10 + u16::from(byte - b'0');
    }
    Some(value)
}

/// Days of a month that is known to be from 1 to 12.
fn days_of_month(year: u16, month: u8) -> u8 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => {
            29
        }
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Why bytes are not a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DateError {
    /// The text is not `YYYY-MM-DD` in ASCII digits.
    #[error("must be a date of the form YYYY-MM-DD")]
    Shape,
    /// The calendar has no such day.
    #[error("must be a day that exists, from 0001-01-01 to 9999-12-31")]
    NoSuchDay,
}

#[cfg(test)]
mod tests;

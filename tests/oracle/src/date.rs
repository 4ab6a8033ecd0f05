//! The twin of `wire::date`: text by `str::split`, days by walking the calendar.

use reviewd::wire::date::{
    Date, DateError, Timestamp, TimestampError, parse_date, parse_http_date, parse_timestamp,
};

/// Checks the parsers of dates and times on `data`, and that whatever parses renders and parses again.
///
/// # Panics
/// If code and twin differ.
pub fn check_date(data: &[u8]) {
    let date = parse_date(data);
    assert_eq!(date.map(Date::days), twin_date(data));
    if let Ok(date) = date {
        assert_eq!(date.render(), data);
        assert_eq!(Date::from_days(date.days()), Some(date));
        assert_eq!(date.timestamp().date(), date);
    }

    let time = parse_timestamp(data);
    assert_eq!(time.is_ok(), twin_timestamp(data).is_some(), "{time:?}");
    if let Ok(time) = time {
        assert_eq!(Some(time.unix()), twin_timestamp(data));
        assert_eq!(parse_timestamp(&time.render_rfc3339()), Ok(time));
    }
    // A point in a day that exists is refused only for a reason that names it.
    assert!(time != Err(TimestampError::NoSuchDay) || date.is_err() || data.len() > 10);

    if let Some(time) = parse_http_date(data) {
        check_http_date(data, time);
    }
}

/// What parsed as an HTTP-date renders as one that means the same, and is its own rendering if it was of that form.
fn check_http_date(data: &[u8], time: Timestamp) {
    let rendered = time.render_http();
    assert_eq!(parse_http_date(&rendered), Some(time));
    let trimmed = data.trim_ascii();
    if trimmed.len() == rendered.len() && trimmed[3] == b',' {
        assert_eq!(trimmed, rendered);
    }
}

fn twin_date(data: &[u8]) -> Result<u32, DateError> {
    let text = std::str::from_utf8(data).map_err(|_| DateError::Shape)?;
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts[..] else {
        return Err(DateError::Shape);
    };
    let year = twin_number(year, 4).ok_or(DateError::Shape)?;
    let month = twin_number(month, 2).ok_or(DateError::Shape)?;
    let day = twin_number(day, 2).ok_or(DateError::Shape)?;
    let Some(length) = month_lengths(year)
        .get((month as usize).wrapping_sub(1))
        .copied()
    else {
        return Err(DateError::NoSuchDay);
    };
    if year == 0 || day == 0 || day > length {
        return Err(DateError::NoSuchDay);
    }
    let years: u32 = (1..year)
        .map(|year| month_lengths(year).iter().sum::<u32>())
        .sum();
    let months: u32 = month_lengths(year).iter().take(month as usize - 1).sum();
    Ok(years + months + day - 1)
}

/// Seconds since 1970 of an RFC 3339 time; the errors' kinds are left to the unit tests.
fn twin_timestamp(data: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(data).ok()?.to_ascii_uppercase();
    let (date, time) = text.split_once('T')?;
    let days = twin_date(date.as_bytes()).ok()?;
    let (time, ahead_s) = match time.strip_suffix('Z') {
        Some(time) => (time, 0),
        None => {
            let (time, zone) = time.split_at(time.rfind(['+', '-'])?);
            let (hours, minutes) = zone[1..].split_once(':')?;
            let ahead_s = 3_600 * twin_below(hours, 24)? + 60 * twin_below(minutes, 60)?;
            (
                time,
                if zone.starts_with('-') {
                    -ahead_s
                } else {
                    ahead_s
                },
            )
        }
    };
    let time = match time.split_once('.') {
        Some((time, zeros)) if !zeros.is_empty() && zeros.chars().all(|digit| digit == '0') => time,
        Some(_) => return None,
        None => time,
    };
    let parts: Vec<&str> = time.split(':').collect();
    let [hour, minute, second] = parts[..] else {
        return None;
    };
    let of_day =
        3_600 * twin_below(hour, 24)? + 60 * twin_below(minute, 60)? + twin_below(second, 60)?;
    let epoch = twin_date(b"1970-01-01").ok()?;
    let unix = (i64::from(days) - i64::from(epoch)) * 86_400 + of_day - ahead_s;
    (Timestamp::MIN.unix()..=Timestamp::MAX.unix())
        .contains(&unix)
        .then_some(unix)
}

fn twin_below(text: &str, bound: u32) -> Option<i64> {
    twin_number(text, 2)
        .filter(|&number| number < bound)
        .map(i64::from)
}

/// A number of exactly `len` ASCII digits (`str::parse` alone would take a sign).
fn twin_number(text: &str, len: usize) -> Option<u32> {
    (text.len() == len && text.chars().all(|digit| digit.is_ascii_digit()))
        .then(|| text.parse().ok())?
}

fn month_lengths(year: u32) -> [u32; 12] {
    let leap = year.is_multiple_of(400) || (year.is_multiple_of(4) && !year.is_multiple_of(100));
    [
        31,
        if leap { 29 } else { 28 },
        31,
        30,
        31,
        30,
        31,
        31,
        30,
        31,
        30,
        31,
    ]
}

//! Dates and times: a parsed value can be rendered, and parsing the result gives the same value.

use super::form::decoded;
use reviewd::search::query::parse_since;
use reviewd::wire::date::{Date, parse_date, parse_http_date, parse_timestamp};

/// Checks the parsers of dates and times on `data`, and that of the date in `/api/reviews/since/{date}`.
///
/// # Panics
/// If a parsed value changes when it is rendered and parsed again, or if a path gives another date than its text.
pub fn check_date(data: &[u8]) {
    if let Ok(date) = parse_date(data) {
        assert_eq!(date.to_string().as_bytes(), data);
        assert_eq!(Date::from_days(date.days()), Some(date));
        assert_eq!(date.timestamp().date(), date);
    }
    let date = decoded(data, false).and_then(|text| parse_date(text.as_bytes()).ok());
    assert_eq!(parse_since(data).ok(), date);
    if let Some(time) = parse_timestamp(data) {
        let rendered = time.to_string();
        assert_eq!(parse_timestamp(rendered.as_bytes()), Some(time));
        let is_utc = data.ends_with(b"Z") && data.len() == 20;
        assert!(!is_utc || data.eq_ignore_ascii_case(rendered.as_bytes()));
    }
    if let Some(time) = parse_http_date(data) {
        let rendered = time.render_http();
        assert_eq!(parse_http_date(rendered.as_bytes()), Some(time));
        // An IMF-fixdate is rendered unchanged.
        let trimmed = data.trim_ascii();
        if trimmed.len() == rendered.len() && trimmed[3] == b',' {
            assert_eq!(trimmed, rendered.as_bytes());
        }
    }
}

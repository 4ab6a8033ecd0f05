use super::*;

fn date(text: &str) -> Date {
    parse_date(text.as_bytes()).expect(text)
}

#[test]
fn every_day_renders_to_text_that_parses_back() {
    let mut year = 1;
    let mut month = 1;
    let mut day = 1;
    for days in 0..=Date::MAX.days() {
        let date = Date::from_days(days).expect("in range");
        assert_eq!((date.year(), date.month(), date.day()), (year, month, day));
        assert_eq!(parse_date(date.to_string().as_bytes()), Ok(date));
        day += 1;
        if day > days_of_month(year, month) {
            day = 1;
            month += 1;
        }
        if month > 12 {
            month = 1;
            year += 1;
        }
    }
    assert_eq!((year, month, day), (10_000, 1, 1));
    assert_eq!(Date::from_days(Date::MAX.days() + 1), None);
    assert_eq!(Date::new(10_000, 1, 1), Err(DateError::NoSuchDay));
    assert_eq!(date("0001-01-01"), Date::MIN);
}

#[test]
fn dates_of_another_shape_and_days_that_are_not_are_refused() {
    let no_days = "0000-12-31|2023-02-29|2024-12-32|2024-00-10|2024-13-10|2024-10-00";
    for text in no_days.split('|') {
        assert_eq!(parse_date(text.as_bytes()), Err(DateError::NoSuchDay));
    }
    let other_shapes = "|2024-1-01|2024-01-010|2024/01/01|+024-01-01|20240101";
    for text in other_shapes.split('|') {
        assert_eq!(parse_date(text.as_bytes()), Err(DateError::Shape), "{text}");
    }
}

#[test]
fn timestamps_are_held_within_their_bounds_and_a_day_begins_at_midnight_utc() {
    assert_eq!(Timestamp::from_unix(i64::MIN), Timestamp::MIN);
    assert_eq!(Timestamp::from_unix(i64::MAX), Timestamp::MAX);
    assert_eq!(Timestamp::MIN.to_string(), "0001-01-01T00:00:00Z");
    assert_eq!(Timestamp::MAX.to_string(), "9999-12-31T23:59:59Z");
    let billion = Timestamp::from_unix(1_000_000_000);
    assert_eq!(billion.to_string(), "2001-09-09T01:46:40Z");
    assert_eq!(Timestamp::from_unix(-1).date(), date("1969-12-31"));
    assert_eq!(Timestamp::from_unix(86_399).date(), date("1970-01-01"));
    assert_eq!(date("1969-12-31").timestamp().unix(), -86_400);
}

#[test]
fn timestamps_are_whole_seconds_with_any_offset() {
    for (text, unix) in [
        ("1970-01-01t00:00:00z", 0),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1969-12-31T23:30:00-00:30", 0),
        ("1970-01-01T00:00:00.000Z", 0),
        ("2026-11-21T09:00:00Z", 1_795_251_600),
        ("2000-02-29T23:59:59+23:59", 951_782_459),
        ("0001-01-01T00:00:00Z", Timestamp::MIN.unix()),
        ("9999-12-31T23:59:59Z", Timestamp::MAX.unix()),
    ] {
        let time = parse_timestamp(text.as_bytes());
        assert_eq!(time.map(Timestamp::unix), Some(unix), "{text}");
    }
    let others = "2026-11-21|2026-11-21T09:00:00|2026-11-21 09:00:00Z|2026-11-21T09:00Z|2026-11-21T09:00:00.Z|\
        2026-11-21T09:00:00.5Z|2026-11-21T09:00:00+0100|2026-11-21T09:00:00Zz|2026-11-31T09:00:00Z|\
        2026-11-21T24:00:00Z|2026-11-21T09:60:00Z|2026-11-21T23:59:60Z|2026-11-21T09:00:00+24:00|\
        2026-11-21T09:00:00+01:60|0001-01-01T00:00:00+00:01|9999-12-31T23:59:59-00:01";
    for text in others.split('|') {
        assert_eq!(parse_timestamp(text.as_bytes()), None, "{text}");
    }
}

#[test]
fn http_dates_parse_in_all_three_forms_and_render_as_imf_fixdate() {
    let fixdate = "Sun, 06 Nov 1994 08:49:37 GMT";
    let time = Timestamp::from_unix(784_111_777);
    assert_eq!(time.render_http(), fixdate);
    assert_eq!(
        Timestamp::MAX.render_http(),
        "Fri, 31 Dec 9999 23:59:59 GMT"
    );
    assert_eq!(
        Timestamp::MIN.render_http(),
        "Thu, 01 Jan 1970 00:00:00 GMT"
    );
    for text in [
        fixdate,
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
    ] {
        assert_eq!(parse_http_date(text.as_bytes()), Some(time));
    }
    for text in [
        "Mon, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 31 Feb 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:60 GMT",
    ] {
        assert_eq!(parse_http_date(text.as_bytes()), None, "{text}");
    }
}

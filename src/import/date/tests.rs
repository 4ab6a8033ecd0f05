use super::{Evidence, Order, moment, parse};

fn read(text: &str) -> Option<String> {
    parse(text, None, "date").ok().map(|date| date.to_string())
}

fn read_as(text: &str, order: &str) -> Option<String> {
    let order = Order::parse(order).unwrap();
    parse(text, Some(order), "date")
        .ok()
        .map(|date| date.to_string())
}

#[test]
fn dates_with_one_reading_need_no_format() {
    for text in [
        "2024-03-04",
        "2024/03/04",
        "2024.3.4",
        "2024-03-04T23:59:59Z",
        "2024-03-04T00:30:00.123456789+02:00",
        "2024-03-04 10:11:12",
        "2024-03-04 10:11:12 UTC",
        "2024-03-04 9:05 PM",
        "March 4, 2024",
        "Mar 4, 2024",
        "4 March 2024",
        "4th of March 2024",
        "4 Mar 2024",
        "04-Mar-2024",
        "04-Mar-24",
        "Monday, March 4, 2024",
        "Mon, 04 Mar 2024 10:00:00 GMT",
        "Mar. 4, 2024 at 10:11 AM",
        "4. März 2024",
        "4. März 2024 um 10:11 Uhr",
        "4 mars 2024",
        "lundi 4 mars 2024",
        "4 de marzo de 2024",
        "4 marzo 2024",
        "4 de março de 2024",
        "4 maart 2024",
        "4.3.2024",
        "04.03.2024",
        "1709510400",
        "1709510400000",
        " 2024-03-04 ",
        "Mon Mar 4 2024",
        "2024 Mar 4",
    ] {
        assert_eq!(read(text).as_deref(), Some("2024-03-04"), "{text}");
    }
    assert_eq!(read("31/12/2024").as_deref(), Some("2024-12-31"));
    assert_eq!(read("12/31/2024").as_deref(), Some("2024-12-31"));
    assert_eq!(read("12/31/24 11:59 PM").as_deref(), Some("2024-12-31"));
    assert_eq!(read("05/05/2024").as_deref(), Some("2024-05-05"));
    assert_eq!(read("12.31.2024").as_deref(), Some("2024-12-31"));
    assert_eq!(read("mar. 5 mars 2024").as_deref(), Some("2024-03-05"));
}

#[test]
fn dates_with_two_readings_are_refused_until_something_decides() {
    let error = parse("03/04/2024", None, "date").unwrap_err();
    assert_eq!(
        error,
        "date: \"03/04/2024\" could be day/month or month/day: say which with --date-format dmy or mdy"
    );
    assert_eq!(read("3-4-2024"), None);
    assert_eq!(read_as("03/04/2024", "dmy").as_deref(), Some("2024-04-03"));
    assert_eq!(
        read_as("03/04/2024", "%m/%d/%Y").as_deref(),
        Some("2024-03-04")
    );
    assert_eq!(
        read_as("3/4/24", "DD/MM/YYYY").as_deref(),
        Some("2024-04-03")
    );
    assert_eq!(read_as("24/04/03", "ymd").as_deref(), Some("2024-04-03"));
}

#[test]
fn a_year_of_two_digits_may_stand_at_either_end() {
    for text in ["24-03-04", "04.03.24", "3/4/24", "05/05/24", "24/12/04"] {
        let error = parse(text, None, "date").unwrap_err();
        assert!(error.contains("could begin with the year"), "{error}");
    }
    assert_eq!(read_as("24-03-04", "ymd").as_deref(), Some("2024-03-04"));
    assert_eq!(read_as("04.03.24", "dmy").as_deref(), Some("2024-03-04"));
    assert_eq!(read("05/05/05").as_deref(), Some("2005-05-05"));
    assert_eq!(read("12/31/24").as_deref(), Some("2024-12-31"));
    assert_eq!(read("24/03/99").as_deref(), Some("2099-03-24"));
}

#[test]
fn years_before_1990_are_mistakes() {
    assert_eq!(read("1990-01-01").as_deref(), Some("1990-01-01"));
    for text in ["1989-12-31", "13/02/0024", "March 4, 0024", "0024-02-13"] {
        let error = parse(text, None, "date").unwrap_err();
        assert_eq!(error, format!("date: \"{text}\" lies before 1990"));
    }
}

#[test]
fn a_format_does_not_bend_what_it_does_not_fit() {
    assert_eq!(read_as("13/04/2024", "mdy"), None);
    assert_eq!(read_as("04/13/2024", "dmy"), None);
    assert_eq!(read_as("04/03/2024", "ymd"), None);
    assert_eq!(read_as("2024-03-04", "dmy").as_deref(), Some("2024-03-04"));
    assert_eq!(
        read_as("March 4, 2024", "dmy").as_deref(),
        Some("2024-03-04")
    );
}

#[test]
fn what_is_no_day_is_refused() {
    for text in [
        "",
        "soon",
        "a month ago",
        "2024-02-30",
        "2023-02-29",
        "31/31/2024",
        "2024-13-01",
        "0/0/2024",
        "2024",
        "03/2024",
        "2024-03-04x",
        "2024-03-04T25:99",
        "12345",
        "Februar 30, 2024",
        "4/4/4/2024",
        "2024-03-04 10:11:12 <b>",
        "４/３/2024",
        "1/1/202",
    ] {
        assert_eq!(read(text), None, "{text}");
    }
}

#[test]
fn evidence_decides_only_where_it_agrees() {
    let evidence = |dates: &[&str]| {
        let mut evidence = Evidence::default();
        for (line, date) in (1..).zip(dates) {
            evidence.note(date, line);
        }
        evidence
    };
    assert_eq!(
        evidence(&["03/04/2024", "13/04/2024"]).order(),
        Some((Order::DayMonthYear, 2))
    );
    assert_eq!(
        evidence(&["04/13/2024 10:00", "03/04/2024"]).order(),
        Some((Order::MonthDayYear, 1))
    );
    assert_eq!(evidence(&["04/13/2024", "13/04/2024"]).order(), None);
    assert_eq!(evidence(&["03/04/2024"]).order(), None);
    assert_eq!(
        evidence(&["2024-01-13", "13.04.2024", "May 13, 2024", "99/99/2024"]).order(),
        None
    );
    assert_eq!(evidence(&["24-03-13"]).order(), None);
    let mixed = evidence(&["13/04/2024", "24-03-04"]);
    assert_eq!((mixed.order(), mixed.ambiguous()), (None, Some(2)));
    assert_eq!(evidence(&["13/02/0024"]).order(), None);
    assert_eq!(evidence(&["05/05/2024", "03/04/2024"]).ambiguous(), Some(2));
    assert_eq!(evidence(&["05/05/2024", "4.3.2024"]).ambiguous(), None);
    // With points the day comes first, unless it cannot.
    assert_eq!(
        evidence(&["03.04.2024", "03.14.2024"]).order(),
        Some((Order::MonthDayYear, 2))
    );
}

#[test]
fn orders_are_named_in_three_ways() {
    for (text, order) in [
        ("dmy", Order::DayMonthYear),
        ("%m/%d/%Y %H:%M", Order::MonthDayYear),
        ("YYYY-MM-DD", Order::YearMonthDay),
        ("%d %b %Y", Order::DayMonthYear),
    ] {
        assert_eq!(Order::parse(text), Ok(order), "{text}");
    }
    assert!(Order::parse("my").is_err());
    assert!(Order::parse("ydm").is_err());
}

#[test]
fn moments_of_every_notation_sort_by_time() {
    let at = |text| moment(text, None);
    assert_eq!(at("2024-03-04T00:00:00Z"), Some((1_709_510_400, 0)));
    assert_eq!(at("2024-03-04T02:00:00+02:00"), at("1709510400"));
    assert_eq!(at("2024-03-04T00:00:00.5Z"), at("1709510400500"));
    assert!(at("2024-03-04T00:00:00.25Z") < at("2024-03-04T00:00:00.5Z"));
    assert_eq!(at("4 March 2024"), at("2024-03-04T00:00:00Z"));
    assert!(at("13/04/2024") > at("12/31/2023"));
    for text in ["03/04/2024", "yesterday", "", "9"] {
        assert_eq!(at(text), None, "{text}");
    }
}

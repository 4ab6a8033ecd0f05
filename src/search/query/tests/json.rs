//! The same rules for the arguments of a tool.

use super::*;

/// The issues of one JSON argument, or none.
fn json_refusals(parameter: Parameter, value: Value<'_>) -> Vec<(String, Code, String)> {
    let mut buffers = Buffers::default();
    let mut builder = Builder::new(&mut buffers);
    builder.json(parameter, value);
    builder
        .finish()
        .map_or_else(|issues| listed(&issues), |_| Vec::new())
}

#[test]
fn json_values_follow_the_same_rules_by_their_types() {
    use Value::{Null, Number, Other, Text};
    for (parameter, value) in [
        (Parameter::Rating, Number("5")),
        (Parameter::MinRating, Number("4.5")),
        (Parameter::Limit, Number("100")),
        (Parameter::Since, Text("2024-01-01")),
        (Parameter::Query, Text("x")),
        (Parameter::Sort, Text("oldest")),
        (Parameter::Rating, Null),
        (Parameter::Query, Null),
        (Parameter::Query, Text("")),
        (Parameter::Rating, Text("")),
    ] {
        assert_eq!(
            json_refusals(parameter, value),
            [],
            "{parameter:?} {value:?}"
        );
    }
    for (parameter, value, code, received) in [
        (Parameter::Rating, Text("5"), Code::InvalidType, "\"5\""),
        (Parameter::Rating, Number("4.5"), Code::InvalidType, "4.5"),
        (Parameter::Rating, Number("-1"), Code::OutOfRange, "-1"),
        (Parameter::Rating, Number("-1.5"), Code::InvalidType, "-1.5"),
        (
            Parameter::MinRating,
            Number("-0.5"),
            Code::OutOfRange,
            "-0.5",
        ),
        (
            Parameter::MinRating,
            Number("4.1234567"),
            Code::InvalidType,
            "4.1234567",
        ),
        (Parameter::Limit, Number("101"), Code::OutOfRange, "101"),
        (Parameter::Limit, Other("true"), Code::InvalidType, "true"),
        (Parameter::Query, Number("5"), Code::InvalidType, "5"),
        (Parameter::Cursor, Other("[]"), Code::InvalidType, "[]"),
        (Parameter::Since, Text("soon"), Code::InvalidDate, "soon"),
    ] {
        let expected = [(parameter.name().to_owned(), code, received.to_owned())];
        assert_eq!(
            json_refusals(parameter, value),
            expected,
            "{parameter:?} {value:?}"
        );
    }
}

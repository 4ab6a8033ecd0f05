//! Arguments of tools; query strings are compared with a reference in `tests/oracle`, limits in `tests/it/search.rs`.

use serde_json::json;

use super::*;

#[test]
fn json_values_follow_the_same_rules_by_their_types_or_as_strings() {
    let refusals = |parameter: Parameter, value: &Value| -> Vec<(String, Code, String)> {
        let mut buffers = Buffers::default();
        let mut builder = Builder::new(&mut buffers);
        builder.json(parameter, value);
        let issues = builder.finish().err().unwrap_or_default();
        let path = |issue: &Issue| issue.path.as_deref().unwrap_or("").to_owned();
        let listed = |issue: &Issue| (path(issue), issue.code, issue.received.clone());
        issues.iter().map(listed).collect()
    };
    for (parameter, value) in [
        (Parameter::Rating, json!(5)),
        (Parameter::MinRating, json!(4.5)),
        (Parameter::Since, json!("2024-01-01")),
        (Parameter::HasReply, json!(true)),
        (Parameter::HasReply, json!("true")),
        (Parameter::HasReply, json!("False")),
        (Parameter::HasPhotos, json!(true)),
        (Parameter::Rating, json!("5")),
        (Parameter::MinRating, json!("4.5")),
        (Parameter::Limit, json!("10")),
        (Parameter::Rating, json!(null)),
        (Parameter::Rating, json!("")),
    ] {
        assert_eq!(refusals(parameter, &value), [], "{parameter:?} {value:?}");
    }
    let flag = Parameter::HasReply;
    for (parameter, value, received) in [
        (Parameter::Rating, json!("five"), "five"),
        (Parameter::Rating, json!(4.5), "4.5"),
        (Parameter::Rating, json!(-1), "-1"),
        (Parameter::Rating, json!(-1.5), "-1.5"),
        (Parameter::MinRating, json!(-0.5), "-0.5"),
        (Parameter::Limit, json!(true), "true"),
        (flag, json!(1), "1"),
        (Parameter::Query, json!(5), "5"),
        (Parameter::Cursor, json!([]), "an array"),
    ] {
        let name = parameter.name().to_owned();
        let expected = [(name, Code::InvalidType, received.to_owned())];
        let found = refusals(parameter, &value);
        assert_eq!(found, expected, "{parameter:?} {value:?}");
    }
}

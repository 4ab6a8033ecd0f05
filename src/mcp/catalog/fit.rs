//! Making JSON small enough: long lists and texts cut until an answer fits its bound.

use crate::mcp::json::{Value, push_value};

/// Returns `value` as JSON of at most `bytes_max` bytes.
///
/// What is too long loses the ends of its lists first, then of its texts, and gets the member
/// `"shortened": true`. The order of a list says what matters, so the front is what stays.
pub(crate) fn fit(value: &Value<'_>, bytes_max: usize) -> Vec<u8> {
    let mut out = Vec::new();
    push_value(&mut out, value);
    for (items_max, chars_max) in STEPS {
        if out.len() <= bytes_max {
            break;
        }
        let mut shorter = shortened(value, items_max, chars_max);
        if let Value::Object(members) = &mut shorter {
            members.push(("shortened".into(), Value::Bool(true)));
        }
        out.clear();
        push_value(&mut out, &shorter);
    }
    out
}

fn shortened<'a>(value: &Value<'a>, items_max: usize, chars_max: usize) -> Value<'a> {
    let shorter = |value| shortened(value, items_max, chars_max);
    match value {
        Value::String(text) if text.chars().count() > chars_max => {
            Value::String(text.chars().take(chars_max).collect::<String>().into())
        }
        Value::Array(items) => Value::Array(items.iter().take(items_max).map(shorter).collect()),
        Value::Object(members) => {
            let members = members
                .iter()
                .take(MEMBERS_MAX)
                .map(|(key, member)| (key.clone(), shorter(member)));
            Value::Object(members.collect())
        }
        scalar => scalar.clone(),
    }
}

/// Items of a list and characters of a text that are kept, step by step until it fits.
const STEPS: [(usize, usize); 7] = [
    (120, usize::MAX),
    (60, usize::MAX),
    (25, 2_000),
    (10, 1_000),
    (5, 300),
    (2, 100),
    (0, 40),
];
/// Members of an object that are kept once it has to be shortened.
const MEMBERS_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::json::{MESSAGE, parse};

    #[test]
    fn what_fits_is_left_as_it_is() {
        let text = br#"{"a":[1,-2,0.5,null,true,false,"x\n"],"b":{}}"#;
        let value = parse(text, &MESSAGE).expect("JSON");
        assert_eq!(fit(&value, 100), text);
    }

    #[test]
    fn lists_are_cut_before_texts_and_it_is_said() {
        let list = Value::Array((0..100).map(Value::Unsigned).collect());
        let text = Value::String("x".repeat(500).into());
        let value = Value::Object(vec![("list".into(), list), ("text".into(), text)]);
        let cut = fit(&value, 700);
        let cut: serde_json::Value = serde_json::from_slice(&cut).expect("JSON");
        assert_eq!(cut["list"].as_array().map(Vec::len), Some(25));
        assert_eq!(cut["text"].as_str().map(str::len), Some(500));
        assert_eq!(cut["shortened"], true);
        assert!(fit(&value, 200).len() <= 200);
    }
}

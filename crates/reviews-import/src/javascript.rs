//! The data of a JavaScript or TypeScript module, such as `export const reviews = [{ name: "Ann" }];`, as JSON.
//!
//! The first list or object that is assigned, exported or returned and consists of data counts. Template literals become
//! strings; expressions are not evaluated, so a module that computes its data is refused.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::record::ReadError;

/// Largest nesting depth of the data.
const DEPTH_MAX: usize = 64;

/// Assignments that are tried in one module.
const ASSIGNMENTS_MAX: usize = 100;

/// Whether a text is a module rather than a table or JSON.
pub(super) fn is_module(text: &str) -> bool {
    static START: LazyLock<Regex> = LazyLock::new(|| {
        let comments = r"(?s:\s|//[^\n]*\n|/\*.*?\*/)*";
        let words = r#"export\s|const\s|let\s|var\s|import\s|module\.exports|window\.|['"]use strict['"]|interface\s|type\s+\w+\s*="#;
        Regex::new(&format!("^{comments}(?:{words})")).expect("the pattern is valid")
    });
    START.is_match(text.trim_start_matches('\u{feff}'))
}

/// Returns the data of a module as JSON.
///
/// # Errors
/// If it has no list or object that consists of data.
pub(super) fn data(text: &str) -> Result<String, ReadError> {
    static ASSIGNMENT: LazyLock<Regex> = LazyLock::new(|| {
        let pattern = r"(?:=|\bexport\s+default|\breturn)\s*\(?\s*([\[{])";
        Regex::new(pattern).expect("the pattern is valid")
    });
    for found in ASSIGNMENT.captures_iter(text).take(ASSIGNMENTS_MAX) {
        let Some(bracket) = found.get(1) else {
            continue;
        };
        let Some(data_text) = literal(&text[bracket.start()..]) else {
            continue;
        };
        if let Ok(value) = json5::from_str::<Value>(&data_text)
            && !is_empty(&value)
        {
            return Ok(value.to_string());
        }
    }
    Err(ReadError::whole(
        "is a program without a list of plain data: save its reviews as JSON",
    ))
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(values) => values.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => true,
    }
}

/// Returns a list or object up to its closing bracket, with template literals as strings; `None` if it is not closed, too
/// deep, or has a template with an expression.
fn literal(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut depth = 0;
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let taken = match character {
            '"' | '\'' => quoted_length(rest, character)?,
            '`' => {
                let length = quoted_length(rest, '`')?;
                out.push_str(&template(&rest[1..length - 1])?);
                rest = &rest[length..];
                continue;
            }
            '/' if rest.starts_with("//") => {
                rest = &rest[rest.find('\n')?..];
                continue;
            }
            '/' if rest.starts_with("/*") => {
                rest = &rest[rest.find("*/")? + 2..];
                continue;
            }
            _ => character.len_utf8(),
        };
        match character {
            '[' | '{' => depth += 1,
            ']' | '}' => depth -= 1,
            _ => {}
        }
        out.push_str(&rest[..taken]);
        rest = &rest[taken..];
        if depth == 0 {
            return Some(out);
        }
        if depth > DEPTH_MAX {
            return None;
        }
    }
    None
}

/// The length in bytes of a quoted text with its quotation marks.
fn quoted_length(text: &str, mark: char) -> Option<usize> {
    let mut is_escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        if is_escaped {
            is_escaped = false;
        } else if character == '\\' {
            is_escaped = true;
        } else if character == mark {
            return Some(at + 1);
        }
    }
    None
}

/// Renders the inside of a template literal as a string of JSON.
fn template(inside: &str) -> Option<String> {
    if inside.contains("${") {
        return None;
    }
    let plain = inside.replace("\\`", "`").replace("\\\"", "\"");
    Some(Value::from(plain).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_of_a_module_is_json() {
        let expected = r#"[{"a":"it's \"so\"","b":5}]"#;
        for text in [
            r#"export const reviews = [{ a: "it's \"so\"", b: 5 }];"#,
            "// Reviews\nexport const reviews: Review[] = [\n  { a: 'it\\'s \"so\"', b: 5, }, // good ]\n];\n",
            "interface Review { a: string }\nconst reviews = [{ a: `it's \"so\"`, b: 5 }] as const;\nexport default reviews;",
            r#"module.exports = [{"a": "it's \"so\"", "b": 5}]"#,
            "type Review = { a: string };\n/* = [ */ export const list = [{ a: \"it's \\\"so\\\"\", b: 5 }]",
        ] {
            assert!(is_module(text), "{text}");
            assert_eq!(data(text).ok().as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn a_program_is_refused() {
        let deep = format!("export const a = {}{}", "[".repeat(65), "]".repeat(65));
        for text in [
            "export const reviews = load();",
            "export const reviews = [{ date: new Date() }];",
            "export const reviews = [`${name}`];",
            "export const reviews = [{",
            &deep,
        ] {
            assert!(data(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_table_and_json_are_no_modules() {
        for text in [
            "Name,Export const\nexport,b",
            "[1]",
            "{\"export const\": 1}",
            "exported,b",
            "type,Rating\n",
        ] {
            assert!(!is_module(text), "{text}");
        }
    }
}

//! Checks that the server behaves as `/openapi.json` describes.

use std::collections::BTreeSet;

use jsonschema::Validator;
use serde_json::Value;

use crate::help::assert_golden;
use crate::support::service;

/// The keys of all versions so far, with their types, and the parameters of queries.
const KNOWN_KEYS: &str = include_str!("golden/keys.txt");

/// How many objects and lists a schema nests at most; one that contains itself ends here.
const NESTING_MAX: usize = 12;

/// Returns the GET operations of the description, each with its path filled with the examples of its parameters.
fn reads(description: &Value) -> Vec<(&Value, String)> {
    let paths = description["paths"].as_object().expect("paths");
    let filled = |path: &str, item: &Value| {
        let mut target = path.to_owned();
        for parameter in item["parameters"].as_array().into_iter().flatten() {
            let name = parameter["name"].as_str().expect("a name");
            let example = match &parameter["example"] {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            target = target.replace(&format!("{{{name}}}"), &example);
        }
        target
    };
    let reads = paths
        .iter()
        .filter_map(|(path, item)| Some((item.get("get")?, filled(path, item))));
    reads.collect()
}

/// Returns the targets of all GET operations that are described.
pub(crate) fn targets() -> Vec<String> {
    let description = service().get("/openapi.json").json();
    let reads = reads(&description).into_iter();
    reads.map(|(_, target)| target).collect()
}

/// Returns a validator of `schema`, whose references point into the description.
fn validator(description: &Value, schema: &Value) -> Validator {
    let mut schema = schema.clone();
    schema["components"] = description["components"].clone();
    let options = jsonschema::draft202012::options();
    options.build(&schema).expect("a schema")
}

#[test]
fn every_described_read_answers_as_described() {
    let document = service().get("/openapi.json").json();
    let reads = reads(&document);
    assert!(reads.len() > 20, "{reads:?}");
    for (operation, target) in reads {
        // The sample has no pictures of its own and no logo; `media` and `init` test them.
        if operation["operationId"] == "getPicture" || operation["operationId"] == "getLogo" {
            continue;
        }
        let reply = service().get(&target);
        assert_eq!(reply.status, 200, "{target}");
        let answer = &operation["responses"]["200"];
        let content = answer["content"].as_object().expect("a body");
        let (media_type, body) = content.iter().next().expect("a body");
        let sent = reply.field("content-type");
        assert_eq!(sent, Some(media_type.as_str()), "{target}");
        for (name, header) in answer["headers"].as_object().expect("headers") {
            // The header itself, or the target of its reference.
            let reference = header["$ref"].as_str();
            let header = reference.map_or(header, |pointer| {
                document.pointer(&pointer[1..]).expect("a component")
            });
            match (
                reply.field(&name.to_lowercase()),
                header["schema"].get("const"),
            ) {
                (None, _) => assert!(header["required"] != true, "{target} {name}"),
                (Some(value), Some(fixed)) => assert_eq!(fixed, value, "{target} {name}"),
                _ => {}
            }
        }
        if media_type.contains("json") {
            let validator = validator(&document, &body["schema"]);
            let value = reply.json();
            let faults: Vec<_> = validator
                .iter_errors(&value)
                .map(|fault| fault.to_string())
                .collect();
            assert_eq!(faults, [""; 0], "{target}");
        }
    }
}

#[test]
fn errors_are_as_described() {
    let document = service().get("/openapi.json").json();
    for (target, status, name) in [
        ("/api/reviews/search?rating=9&limit=0", 400, "Invalid"),
        ("/api/reviews/since/never", 400, "Invalid"),
        ("/api/reviews/nobody", 404, "NotFound"),
        ("/nowhere", 404, "Refused"),
    ] {
        let reply = service().get(target);
        assert_eq!(reply.status, status, "{target}");
        let described = &document["components"]["responses"][name];
        let schema = &described["content"]["application/json"]["schema"];
        let is_valid = validator(&document, schema).is_valid(&reply.json());
        assert!(is_valid, "{target}");
    }
    let pointer = "/components/responses/Invalid/content/application~1json/example";
    let real = service().get("/api/reviews/search?rating=9").json();
    assert_eq!(document.pointer(pointer), Some(&real));
}

#[test]
fn mcp_messages_are_answered_as_described() {
    let document = service().get("/openapi.json").json();
    let post = &document["paths"]["/mcp"]["post"];
    let [request, response] = [&post["requestBody"], &post["responses"]["200"]]
        .map(|described| &described["content"]["application/json"]);
    let validator = validator(&document, &response["schema"]);
    for (name, example) in request["examples"].as_object().expect("examples") {
        let reply = service().post_mcp(&[], &example["value"].to_string());
        assert_eq!(reply.status, 200, "{name}");
        assert!(validator.is_valid(&reply.json()), "{name}");
    }
}

/// `UPDATE_GOLDEN=1` adds new keys to the file, and removes none: a removed key is a fault until its line is deleted by hand.
#[test]
fn keys_and_parameters_of_reads_are_added_and_neither_removed_nor_changed() {
    let document = service().get("/openapi.json").json();
    let mut keys = BTreeSet::new();
    for (path, item) in document["paths"].as_object().expect("paths") {
        let Some(operation) = item.get("get") else {
            continue;
        };
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let parameter = resolve(&document, parameter);
            if parameter["in"] == "query" {
                let name = parameter["name"].as_str().expect("a name");
                keys.insert(format!("{path} ?{name}"));
            }
        }
        let content = &operation["responses"]["200"]["content"];
        for body in content.as_object().expect("bodies").values() {
            let key = format!("{path} ");
            add_keys(&document, &body["schema"], &key, NESTING_MAX, &mut keys);
        }
    }
    let known: BTreeSet<String> = KNOWN_KEYS.lines().map(str::to_owned).collect();
    let removed: Vec<&String> = known.difference(&keys).collect();
    assert_eq!(removed, [""; 0], "later versions remove and change no key");
    let mut all = String::new();
    for key in known.union(&keys) {
        all += key;
        all.push('\n');
    }
    assert_golden("keys.txt", &all);
}

/// Returns the target of a reference, or the value itself.
fn resolve<'v>(document: &'v Value, value: &'v Value) -> &'v Value {
    match value["$ref"].as_str() {
        Some(reference) => document.pointer(&reference[1..]).expect("a component"),
        None => value,
    }
}

/// Adds the keys of the objects that `schema` describes, each after the key of its object.
fn add_keys(
    document: &Value,
    schema: &Value,
    before: &str,
    nesting: usize,
    keys: &mut BTreeSet<String>,
) {
    if nesting == 0 {
        return;
    }
    let schema = resolve(document, schema);
    for list in ["allOf", "anyOf", "oneOf"] {
        for part in schema[list].as_array().into_iter().flatten() {
            add_keys(document, part, before, nesting - 1, keys);
        }
    }
    if schema["items"].is_object() {
        let before = format!("{}[].", before.trim_end_matches('.'));
        add_keys(document, &schema["items"], &before, nesting - 1, keys);
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        keys.insert(format!("{before}{name}: {}", type_of(document, property)));
        let inner = format!("{before}{name}.");
        add_keys(document, property, &inner, nesting - 1, keys);
    }
}

/// Returns the types that a schema allows; "any" if it is composed of others.
fn type_of(document: &Value, schema: &Value) -> String {
    match &resolve(document, schema)["type"] {
        Value::String(one) => one.clone(),
        Value::Array(several) => several
            .iter()
            .filter_map(Value::as_str)
            .collect::<Vec<_>>()
            .join(" or "),
        _ => "any".to_owned(),
    }
}

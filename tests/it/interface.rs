//! What `/openapi.json` says, held against what the server does.

use serde_json::Value;

use crate::exchange::service;

fn description() -> Value {
    service().get("/openapi.json").json()
}

/// Returns the description's reads: each operation, and its address filled with the examples of its parameters.
pub(crate) fn reads(description: &Value) -> Vec<(&Value, String)> {
    let paths = description["paths"].as_object().expect("paths");
    let filled = |path: &str, item: &Value| {
        let mut target = path.to_owned();
        for parameter in item["parameters"].as_array().into_iter().flatten() {
            let [name, example] = ["name", "example"].map(|key| parameter[key].as_str());
            let name = format!("{{{}}}", name.expect("a name"));
            target = target.replace(&name, example.expect("an example"));
        }
        target
    };
    let reads = paths.iter().filter_map(|(path, item)| {
        let operation = item.get("get")?;
        Some((operation, filled(path, item)))
    });
    reads.collect()
}

/// Returns what `value` stands for, itself or by reference.
fn resolved<'d>(document: &'d Value, value: &'d Value) -> &'d Value {
    let pointer = value.get("$ref").and_then(Value::as_str);
    pointer.map_or(value, |pointer| {
        document.pointer(&pointer[1..]).expect("a component")
    })
}

#[test]
fn every_described_read_answers_as_described() {
    let document = description();
    let reads = reads(&document);
    assert!(reads.len() > 20, "{reads:?}");
    for (operation, target) in reads {
        let reply = service().get(&target);
        assert_eq!(reply.status, 200, "{target}");
        let answer = &operation["responses"]["200"];
        let (media_type, body) = answer["content"]
            .as_object()
            .and_then(|content| content.iter().next())
            .expect("a body");
        assert_eq!(
            reply.field("content-type"),
            Some(media_type.as_str()),
            "{target}"
        );
        for (name, header) in answer["headers"].as_object().expect("headers") {
            let header = resolved(&document, header);
            let value = reply.field(&name.to_lowercase());
            assert!(
                value.is_some() || header["required"] != true,
                "{target} {name}"
            );
            if let (Some(value), Some(fixed)) = (value, header["schema"].get("const")) {
                assert_eq!(fixed, value, "{target} {name}");
            }
        }
        if media_type.contains("json") {
            let mut schema = body["schema"].clone();
            schema["components"] = document["components"].clone();
            let validator = jsonschema::draft202012::options()
                .build(&schema)
                .expect("a schema");
            let faults: Vec<String> = validator
                .iter_errors(&reply.json())
                .map(|fault| format!("{}: {fault}", fault.instance_path()))
                .collect();
            assert_eq!(faults, Vec::<String>::new(), "{target}");
        }
    }
}

#[test]
fn refusals_are_what_is_described() {
    let document = description();
    let components = &document["components"];
    for (target, status, name) in [
        ("/api/reviews/search?rating=9&limit=0", 400, "Invalid"),
        ("/api/reviews/since/never", 400, "Invalid"),
        ("/api/reviews/nobody", 404, "NotFound"),
        ("/nowhere", 404, "Refused"),
    ] {
        let reply = service().get(target);
        assert_eq!(reply.status, status, "{target}");
        let mut schema =
            components["responses"][name]["content"]["application/json"]["schema"].clone();
        schema["components"] = components.clone();
        assert!(
            jsonschema::draft202012::is_valid(&schema, &reply.json()),
            "{target}"
        );
    }
}

#[test]
fn a_message_to_agents_is_answered_as_described() {
    let document = description();
    let post = &document["paths"]["/mcp"]["post"];
    let examples = &post["requestBody"]["content"]["application/json"]["examples"];
    let mut schema = post["responses"]["200"]["content"]["application/json"]["schema"].clone();
    schema["components"] = document["components"].clone();
    let validator = jsonschema::draft202012::options()
        .build(&schema)
        .expect("a schema");
    for (name, example) in examples.as_object().expect("examples") {
        let fields = [("Content-Type", "application/json")];
        let body = example["value"].to_string();
        let mut connection = service().connect();
        connection.request("POST", "/mcp", &fields, body.as_bytes());
        let reply = connection.response("POST");
        assert_eq!(reply.status, 200, "{name}");
        assert!(validator.is_valid(&reply.json()), "{name}");
    }
}

//! What `/openapi.json` says, held against what the server does.

use serde_json::Value;

use crate::exchange::service;

fn description() -> Value {
    service().get("/openapi.json").json()
}

/// Fills the parameters of a path with their examples.
fn target(path: &str, item: &Value) -> String {
    let mut target = path.to_owned();
    for parameter in item["parameters"].as_array().into_iter().flatten() {
        let name = parameter["name"].as_str().expect("a name");
        let example = parameter["example"].as_str().expect("an example");
        target = target.replace(&format!("{{{name}}}"), example);
    }
    target
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
    let mut count = 0;
    for (path, item) in document["paths"].as_object().expect("paths") {
        let Some(operation) = item.get("get") else {
            continue;
        };
        let target = target(path, item);
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
        count += 1;
    }
    assert!(count > 20, "{count}");
}

#[test]
fn every_described_address_has_its_methods() {
    let document = description();
    for (path, item) in document["paths"].as_object().expect("paths") {
        let target = target(path, item);
        let reply = service().send("OPTIONS", &target, &[]);
        let allowed: Vec<&str> = reply.field("allow").expect("Allow").split(", ").collect();
        assert_eq!(reply.status, 204, "{target}");
        for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"] {
            let is_described = item.get(method.to_lowercase()).is_some();
            assert_eq!(allowed.contains(&method), is_described, "{method} {target}");
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

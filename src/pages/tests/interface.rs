//! The OpenAPI document and the files for machines are correct, complete, and safe with any data.

use serde_json::Value;

use super::{HOSTILE, dataset_of, pages, sample, text};
use crate::http::documents::{DOCUMENTS, Links};
use crate::pages::Pages;
use crate::search::query::{Buffers, Parameter, parse_query};

fn description(pages: &Pages) -> Value {
    serde_json::from_str(&text(pages, "/openapi.json")).expect("JSON")
}

/// Collects every value of this key, at any depth.
fn all<'v>(value: &'v Value, key: &str, found: &mut Vec<&'v Value>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                if name == key {
                    found.push(member);
                }
                all(member, key, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| all(item, key, found)),
        _ => {}
    }
}

#[test]
fn placeholders_are_filled_in() {
    for files in [crate::dataset::embedded(), dataset_of("word", 0)] {
        let document = description(&pages(files));
        assert_eq!(document["openapi"], "3.1.1");
        assert_eq!(document["servers"][0]["url"], "https://reviews.example");
        let mut examples = Vec::new();
        all(&document, "example", &mut examples);
        all(&document, "enum", &mut examples);
        assert!(examples.len() > 40, "{}", examples.len());
        for example in examples {
            let is_filled = example.as_str().is_none_or(|text| !text.starts_with('{'));
            assert!(is_filled, "{example}");
        }
    }
}

#[test]
fn examples_of_bodies_are_what_their_schemas_say() {
    for files in [
        crate::dataset::embedded(),
        dataset_of(HOSTILE, 3),
        dataset_of("word", 0),
    ] {
        let document = description(&pages(files));
        let mut checked = 0;
        let mut contents = Vec::new();
        all(&document, "content", &mut contents);
        for content in contents {
            for (media_type, body) in content.as_object().into_iter().flatten() {
                let Some(example) = body.get("example") else {
                    continue;
                };
                let mut schema = body["schema"].clone();
                schema["components"] = document["components"].clone();
                let validator = jsonschema::draft202012::options()
                    .build(&schema)
                    .expect("a schema");
                let faults = validator
                    .iter_errors(example)
                    .map(|fault| format!("{}: {fault}", fault.instance_path()));
                assert_eq!(faults.collect::<Vec<_>>(), [""; 0], "{media_type}");
                checked += 1;
            }
        }
        assert!(checked >= 15, "{checked}");
    }
}

#[test]
fn bounds_are_those_of_the_parser() {
    let document = description(&sample());
    let parameters = document["components"]["parameters"]
        .as_object()
        .expect("parameters");
    for reference in document["paths"]["/api/reviews/search"]["get"]["parameters"]
        .as_array()
        .expect("a list")
    {
        let component = reference["$ref"]
            .as_str()
            .and_then(|text| text.rsplit('/').next());
        let parameter = &parameters[component.expect("a reference")];
        let name = parameter["name"].as_str().expect("a name");
        if parameter["in"] != "query" {
            continue;
        }
        let values = Values::at_the_bounds(name, &parameter["schema"]);
        for value in values.valid {
            assert!(is_taken(name, &value), "{name}={value}");
        }
        for value in values.invalid {
            assert!(!is_taken(name, &value), "{name}={value}");
        }
    }
}

/// Values of a parameter of the search: some that its schema just allows, and some that it just forbids.
struct Values {
    valid: Vec<String>,
    invalid: Vec<String>,
}

impl Values {
    fn at_the_bounds(name: &str, schema: &Value) -> Values {
        if let Some(min) = schema["minimum"].as_u64() {
            let max = schema["maximum"].as_u64().expect("both bounds");
            return Values::new(&[min, max], &[min - 1, max + 1]);
        }
        if schema["format"] == "date" {
            return Values::new(&["2024-02-29"], &["2023-02-29"]);
        }
        if schema["type"] == "boolean" {
            return Values::new(&["true", "false"], &["1"]);
        }
        if let Some(words) = schema["enum"].as_array() {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            return Values::new(&words, &["other"]);
        }
        let bytes_max = schema["maxLength"].as_u64().expect("a length") as usize;
        let longest = "x".repeat(bytes_max);
        let too_long = "x".repeat(bytes_max + 1);
        if name == "cursor" {
            // The format of a cursor is checked, too, so that no text of one letter is valid.
            return Values::new(&[], &[longest, too_long]);
        }
        Values::new(&[longest], &[too_long])
    }

    fn new<T: ToString>(valid: &[T], invalid: &[T]) -> Values {
        Values {
            valid: valid.iter().map(T::to_string).collect(),
            invalid: invalid.iter().map(T::to_string).collect(),
        }
    }
}

/// Tells whether the search takes this parameter.
fn is_taken(name: &str, value: &str) -> bool {
    let mut query = format!("{name}={value}");
    if value == "relevance" {
        // The order by relevance needs words.
        query.push_str("&words=x");
    }
    parse_query(query.as_bytes(), &mut Buffers::default()).is_ok()
}

#[test]
fn search_page_and_widget_take_every_parameter_of_the_search() {
    let document = description(&sample());
    for (path, more) in [
        ("/api/reviews/search", &[][..]),
        ("/", &["lang"]),
        ("/widget.json", &["lang"]),
        ("/widget.html", &["lang", "theme"]),
    ] {
        let listed = document["paths"][path]["get"]["parameters"].as_array();
        let resolved = listed.expect(path).iter().map(|parameter| {
            let pointer = parameter["$ref"].as_str();
            pointer.map_or(parameter, |pointer| {
                document.pointer(&pointer[1..]).expect(pointer)
            })
        });
        let names: Vec<_> = resolved
            .filter(|parameter| parameter["in"] == "query")
            .filter_map(|parameter| parameter["name"].as_str())
            .collect();
        let parser_names = Parameter::all().map(Parameter::name).into_iter();
        assert_eq!(
            names,
            parser_names.chain(more.iter().copied()).collect::<Vec<_>>(),
            "{path}"
        );
    }
}

#[test]
fn hostile_texts_mean_what_they_say() {
    let pages = pages(dataset_of(HOSTILE, 3));
    let document = description(&pages);
    let title = format!("Reviews of {HOSTILE}");
    assert_eq!(document["info"]["title"], title);
    let llms = text(&pages, "/llms.txt");
    assert!(!super::has_markup(&llms));
    assert!(!llms.contains('\u{202e}'));
    assert!(!llms.contains('\u{2066}'));
    // All links lead to this service.
    for rest in llms.split("](").skip(1) {
        assert!(rest.starts_with("https://reviews.example/"), "{rest:.60}");
    }
    let first = llms.lines().next().expect("a title");
    let escaped = "# Reviews of \\</script\\>\\<script\\>alert(1)";
    assert!(first.starts_with(escaped), "{first}");
}

#[test]
fn machines_find_every_address() {
    let pages = sample();
    let llms = text(&pages, "/llms.txt");
    let page = text(&pages, "/developers");
    let document = description(&pages);
    let paths = document["paths"].as_object().expect("paths");
    for (path, item) in paths {
        for method in ["get", "post", "delete"] {
            let Some(operation) = item.get(method) else {
                continue;
            };
            let line = format!("[{} {path}](", method.to_uppercase());
            let is_file = operation["tags"][0] == "Files of the pages";
            assert_eq!(llms.contains(&line), !is_file, "{line}");
            assert!(page.contains(&format!("<code>{path}</code>")), "{line}");
            let id = format!("id={}", operation["operationId"]);
            assert_eq!(page.contains(&id), !is_file, "{line}");
        }
    }
    let catalog: Value =
        serde_json::from_str(&text(&pages, "/.well-known/api-catalog")).expect("JSON");
    let mut links = Vec::new();
    all(&catalog, "href", &mut links);
    assert!(links.len() >= 6);
    for link in links.iter().filter_map(|link| link.as_str()) {
        let path = link.strip_prefix("https://reviews.example").expect("ours");
        let path = path.split('#').next().unwrap_or(path);
        assert!(paths.contains_key(path), "{path}");
    }
    assert!(text(&pages, "/robots.txt").contains("Sitemap: https://reviews.example/sitemap.xml\n"));
    assert!(text(&pages, "/sitemap.xml").contains("<loc>https://reviews.example/sitemaps/1</loc>"));
    let listed = pages.sitemap_part(1);
    assert!(listed.contains("<loc>https://reviews.example/developers</loc>"));
}

#[test]
fn topics_are_those_that_are_pushed() {
    let pages = sample();
    let document = description(&pages);
    let pointer = "/paths/~1api~1websub~1hub/post/requestBody/content/application~1x-www-form-urlencoded\
        /schema/allOf/1/properties/hub.topic/enum";
    let mut described: Vec<&str> = Vec::new();
    let listed = document.pointer(pointer).and_then(Value::as_array);
    described.extend(listed.into_iter().flatten().filter_map(Value::as_str));
    described.sort_unstable();
    let pushed = DOCUMENTS.iter().filter(|row| row.links == Links::Topic);
    let mut pushed: Vec<String> = pushed
        .map(|row| format!("https://reviews.example{}", row.address))
        .collect();
    pushed.sort_unstable();
    assert_eq!(described, pushed);
}

//! The OpenAPI document: `templates/openapi.json`, filled in from the served data.
//!
//! The template is an OpenAPI 3.1 document. A string that consists of one name in braces is a placeholder for a value
//! of the data, so that each example works without changes; it is removed with its key if the data has no value.
//! `{base_url}` and `{name}` are filled in anywhere. HEAD and OPTIONS are left out, as they follow from the other
//! methods. `/developers` and `/llms.txt` list the operations of the same document. Tests compare it with the route
//! table and with the limits of the query parser.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::mentioned;
use super::text::{encoded, newest, people, services};
use crate::model::insights::Insights;
use crate::snapshot::Snapshot;

const TEMPLATE: &str = include_str!("../../templates/openapi.json");

/// The OpenAPI document for one snapshot.
#[derive(Debug)]
pub(super) struct Interface {
    document: Value,
}

/// The operations of one purpose.
pub(super) struct Group<'d> {
    /// The anchor of the group on the page.
    pub(super) id: &'d str,
    pub(super) name: &'d str,
    pub(super) description: &'d str,
    pub(super) operations: Vec<Operation<'d>>,
}

impl Interface {
    /// Fills in the template; takes about 2 ms.
    pub(super) fn new(snapshot: &Snapshot, insights: Option<&Insights>) -> Interface {
        let mut document = serde_json::from_str(TEMPLATE).expect("a test parses the template");
        fill(&mut document, &examples(snapshot, insights), snapshot);
        Interface { document }
    }

    /// Returns the version of the API; within a version, keys are only added to its documents.
    pub(super) fn version(&self) -> &str {
        text(&self.document["info"], "version")
    }

    /// Renders `/openapi.json`.
    pub(super) fn render(&self) -> String {
        self.document.to_string()
    }

    /// Returns all operations by their purpose, in the order of the document.
    pub(super) fn groups(&self) -> impl Iterator<Item = Group<'_>> {
        let tags = self.document["tags"].as_array();
        tags.into_iter().flatten().map(|tag| {
            let name = text(tag, "name");
            let operations = self.operations().filter(|one| one.tag == name);
            Group {
                id: text(tag, "x-anchor"),
                name,
                description: text(tag, "description"),
                operations: operations.collect(),
            }
        })
    }

    fn operations(&self) -> impl Iterator<Item = Operation<'_>> {
        let paths = self.document["paths"].as_object();
        paths.into_iter().flatten().flat_map(move |(path, item)| {
            let methods = ["get", "post", "delete"].into_iter();
            methods.filter_map(move |method| {
                let operation = item.get(method)?;
                let document = &self.document;
                Some(Operation::of(document, path, item, method, operation))
            })
        })
    }
}

type Examples = HashMap<&'static str, Option<Value>>;

/// Returns each placeholder with its value, or `None` if the data has none.
fn examples(snapshot: &Snapshot, insights: Option<&Insights>) -> Examples {
    let review: Option<Value> = newest(snapshot, 1)
        .next()
        .and_then(|row| serde_json::from_slice(snapshot.review(row)).ok());
    let mut id = json!("01J00000000000000000000000");
    let mut date = json!(snapshot.updated_at.date());
    if let Some(review) = &review {
        id = review["id"].clone();
        date = review["date"].clone();
    }
    let aspects = mentioned(insights);
    let service = services(snapshot).next().map(|(id, _)| id);
    let person = people(snapshot).next();
    let aspect = aspects.first().map(|aspect| &*aspect.id);
    HashMap::from([
        ("{id}", Some(id)),
        ("{date}", Some(date)),
        ("{service}", service.map(Value::from)),
        ("{person}", person.map(Value::from)),
        ("{aspect}", aspect.map(Value::from)),
        ("{review}", review),
    ])
}

/// Replaces all placeholders within `value`; false if it is a placeholder itself and the data has no value for it.
fn fill(value: &mut Value, examples: &Examples, snapshot: &Snapshot) -> bool {
    match value {
        Value::String(string) => {
            if let Some(example) = examples.get(string.as_str()) {
                *value = example.clone().unwrap_or_default();
                return example.is_some();
            }
            if string.contains('{') {
                *string = string.replace("{base_url}", &snapshot.base_url);
                *string = string.replace("{name}", &snapshot.business.name);
            }
        }
        Value::Array(items) => items.retain_mut(|item| fill(item, examples, snapshot)),
        Value::Object(members) => {
            members.retain(|_, member| fill(member, examples, snapshot));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    true
}

/// Returns the string at `key`, or "".
fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// One method of one path.
pub(super) struct Operation<'d> {
    /// In upper case.
    pub(super) method: String,
    /// The path, with its parameter in braces.
    pub(super) path: &'d str,
    /// The name in generated clients, and the anchor on the page.
    pub(super) id: &'d str,
    pub(super) summary: &'d str,
    /// Without markup.
    pub(super) description: &'d str,
    tag: &'d str,
    /// The parameters, without the header fields for conditions and codings that all reads share.
    pub(super) parameters: Vec<OperationParameter<'d>>,
    /// Path and query of the example.
    pub(super) target: String,
    /// The JSON of the first example of the body, if the operation takes messages.
    pub(super) message: Option<String>,
    /// The fields of the body with example values, if the operation takes a form.
    pub(super) form: Vec<(&'d str, &'d str)>,
    /// Whether the response is JSON.
    pub(super) is_json: bool,
}

/// A parameter of a request.
pub(super) struct OperationParameter<'d> {
    pub(super) name: &'d str,
    pub(super) description: &'d str,
    /// `path`, `query` or `header`.
    pub(super) location: &'d str,
    pub(super) schema: &'d Value,
    /// The value in the example of the operation; empty if the example does not use it.
    pub(super) example: String,
}

impl<'d> Operation<'d> {
    /// Reads the operation `value` of the path `item`.
    fn of(
        document: &'d Value,
        path: &'d str,
        item: &'d Value,
        method: &str,
        value: &'d Value,
    ) -> Operation<'d> {
        let query = text(value, "x-example-query");
        let lists = [&item["parameters"], &value["parameters"]];
        let all = lists
            .into_iter()
            .filter_map(Value::as_array)
            .flatten()
            .map(|parameter| resolve(document, parameter));
        let own = all.filter(|parameter| {
            let name = text(parameter, "name");
            !name.starts_with("If-") && name != "Accept-Encoding"
        });
        let parameters: Vec<OperationParameter<'d>> = own
            .map(|parameter| OperationParameter::of(parameter, query))
            .collect();
        let (parent, last) = path.rsplit_once('/').unwrap_or_default();
        let in_path = parameters.iter().find(|one| one.location == "path");
        let mut target = match in_path {
            Some(parameter) => encoded(&format!("{parent}/"), &parameter.example),
            None => format!("{parent}/{last}"),
        };
        if !query.is_empty() {
            target.push('?');
            target.push_str(query);
        }
        let content = &value["requestBody"]["content"];
        let messages = content["application/json"]["examples"].as_object();
        let message = messages.and_then(|examples| examples.values().next());
        let form = content["application/x-www-form-urlencoded"]["example"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, value)| (&**name, value.as_str().unwrap_or_default()));
        let responses = value["responses"]["200"]["content"].as_object();
        let media_type = responses.and_then(|content| content.keys().next());
        Operation {
            method: method.to_ascii_uppercase(),
            path,
            id: text(value, "operationId"),
            summary: text(value, "summary"),
            description: text(value, "description"),
            tag: value["tags"][0].as_str().unwrap_or_default(),
            parameters,
            target,
            message: message.map(|example| example["value"].to_string()),
            form: form.collect(),
            is_json: media_type.is_some_and(|media_type| media_type.contains("json")),
        }
    }

    /// Returns whether the operation ends a session, so that its example must open one first.
    pub(super) fn is_delete(&self) -> bool {
        self.method == "DELETE"
    }
}

impl<'d> OperationParameter<'d> {
    fn of(value: &'d Value, query: &str) -> OperationParameter<'d> {
        let name = text(value, "name");
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let example = pairs.find(|(other, _)| *other == name);
        let location = text(value, "in");
        OperationParameter {
            name,
            description: text(value, "description"),
            location,
            schema: &value["schema"],
            example: match location {
                "path" => plain(&value["example"]),
                _ => example.map_or_else(String::new, |(_, value)| value.to_owned()),
            },
        }
    }
}

/// Resolves a `$ref`.
fn resolve<'d>(document: &'d Value, value: &'d Value) -> &'d Value {
    let pointer = value.get("$ref").and_then(Value::as_str);
    let component = pointer.and_then(|pointer| document.pointer(pointer.trim_start_matches('#')));
    component.unwrap_or(value)
}

/// Returns a string without quotation marks, any other value as JSON.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(string) => string.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

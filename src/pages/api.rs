//! The OpenAPI document: `templates/openapi.json`, filled in from the served data.
//!
//! The template is an OpenAPI 3.1 document. A string such as `{id}` is a placeholder: an example from the data takes
//! its place, so that each request works as it is written. Where the data has no example, the placeholder is removed
//! with its key. `{base_url}` and `{name}` are filled in anywhere in a string.
//!
//! HEAD and OPTIONS are left out, as they follow from the other methods. `/developers` and `/llms.txt` list the
//! operations of the same document. Tests compare it with the route table and with the limits of the query parser.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::mentioned_aspects;
use super::text::{encoded, newest, people, services};
use crate::model::insights::Insights;
use crate::snapshot::Snapshot;

const TEMPLATE: &str = include_str!("../../templates/openapi.json");

/// The OpenAPI document for one snapshot.
#[derive(Debug)]
pub(super) struct Interface {
    document: Value,
}

/// The operations with one tag.
pub(super) struct Group<'d> {
    /// The anchor of the group on the page.
    pub(super) id: &'d str,
    pub(super) name: &'d str,
    pub(super) description: &'d str,
    pub(super) operations: Vec<Operation<'d>>,
}

impl Interface {
    /// Fills in the template, which takes about 2 ms.
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

    /// Returns all operations, grouped by their tags, in the order of the document.
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
            methods.filter_map(move |method| Operation::read(&self.document, path, item, method))
        })
    }
}

/// Each placeholder with its example; `None` if the data has none.
type Examples = HashMap<&'static str, Option<Value>>;

/// Returns the examples of the data: those of its newest review, and the first service, person and aspect.
fn examples(snapshot: &Snapshot, insights: Option<&Insights>) -> Examples {
    let review: Option<Value> = newest(snapshot, 1)
        .next()
        .and_then(|row| serde_json::from_slice(snapshot.review_json(row)).ok());
    let mut id = json!("01J00000000000000000000000");
    let mut date = json!(snapshot.updated_at.date());
    if let Some(review) = &review {
        id = review["id"].clone();
        date = review["date"].clone();
    }
    let aspects = mentioned_aspects(insights);
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

/// Replaces all placeholders within `value`. Returns whether `value` stays: false for a placeholder without an example.
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
    /// Reads the operation `method` of the path `item`, whose key in the document is `path`; `None` without the method.
    fn read(
        document: &'d Value,
        path: &'d str,
        item: &'d Value,
        method: &str,
    ) -> Option<Operation<'d>> {
        let value = item.get(method)?;
        let query = text(value, "x-example-query");
        let mut parameters = Vec::new();
        for list in [&item["parameters"], &value["parameters"]] {
            for parameter in list.as_array().into_iter().flatten() {
                let parameter = resolve(document, parameter);
                if !is_shared_field(text(parameter, "name")) {
                    parameters.push(OperationParameter::of(parameter, query));
                }
            }
        }
        let content = &value["requestBody"]["content"];
        let messages = content["application/json"]["examples"].as_object();
        let message = messages.and_then(|examples| examples.values().next());
        let form = content["application/x-www-form-urlencoded"]["example"].as_object();
        let form = form.into_iter().flatten();
        let response_content = value["responses"]["200"]["content"].as_object();
        let media_type = response_content.and_then(|content| content.keys().next());
        Some(Operation {
            method: method.to_ascii_uppercase(),
            path,
            id: text(value, "operationId"),
            summary: text(value, "summary"),
            description: text(value, "description"),
            tag: value["tags"][0].as_str().unwrap_or_default(),
            target: example_target(path, &parameters, query),
            parameters,
            message: message.map(|example| example["value"].to_string()),
            form: form
                .map(|(name, value)| (&**name, value.as_str().unwrap_or_default()))
                .collect(),
            is_json: media_type.is_some_and(|media_type| media_type.contains("json")),
        })
    }

    /// Returns whether the operation ends a session, so that its example must open one first.
    pub(super) fn is_delete(&self) -> bool {
        self.method == "DELETE"
    }
}

impl<'d> OperationParameter<'d> {
    fn of(value: &'d Value, query: &str) -> OperationParameter<'d> {
        let name = text(value, "name");
        let location = text(value, "in");
        let mut example = String::new();
        if location == "path" {
            example = plain(&value["example"]);
        } else {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            if let Some((_, in_query)) = pairs.find(|(other, _)| *other == name) {
                example = in_query.to_owned();
            }
        }
        OperationParameter {
            name,
            description: text(value, "description"),
            location,
            schema: &value["schema"],
            example,
        }
    }
}

/// Tells whether `name` is a header field that all reads share, for conditions or codings; such fields are not listed.
fn is_shared_field(name: &str) -> bool {
    name.starts_with("If-") || name == "Accept-Encoding"
}

/// Returns path and query of the example. A path has at most one parameter, which is its last segment; the example of
/// the parameter takes its place.
fn example_target(path: &str, parameters: &[OperationParameter<'_>], query: &str) -> String {
    let mut target = path.to_owned();
    let in_path = parameters.iter().find(|one| one.location == "path");
    if let Some(parameter) = in_path {
        let (parent, _) = path.rsplit_once('/').unwrap_or_default();
        target = encoded(&format!("{parent}/"), &parameter.example);
    }
    if !query.is_empty() {
        target.push('?');
        target.push_str(query);
    }
    target
}

/// Returns the component that a `$ref` points to, or the value itself.
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

//! The OpenAPI document: `templates/openapi.json`, filled in from the served data.
//!
//! The template is an OpenAPI 3.1 document. A string that is one name in braces stands for a value of the data, so that
//! each example of a request can be tried as it stands; it is removed with its key where the data has none. `{base_url}`
//! and `{name}` are filled in anywhere. HEAD and OPTIONS are left out of the template and added to `/openapi.json`, as
//! they follow from the other methods. `/developers` and `/llms.txt` list the operations of the same document. Tests hold
//! it against the route table and against the bounds of the query parser.

mod operation;

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::mentioned;
use super::text::{newest, people, services};
use crate::model::insights::Insights;
use crate::snapshot::Snapshot;

pub(super) use operation::{Operation, Parameter, plain};

const TEMPLATE: &str = include_str!("../../../templates/openapi.json");

/// The description of the interface for one snapshot.
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
    /// Fills the template in; about 2 ms.
    pub(super) fn new(snapshot: &Snapshot, insights: Option<&Insights>) -> Interface {
        let mut document = serde_json::from_str(TEMPLATE).expect("a test parses the template");
        fill(&mut document, &examples(snapshot, insights), snapshot);
        Interface { document }
    }

    /// Returns the version of the interface: keys are only ever added to its documents.
    pub(super) fn version(&self) -> &str {
        text(&self.document["info"], "version")
    }

    /// Renders `/openapi.json`.
    pub(super) fn render(&self) -> String {
        let mut document = self.document.clone();
        let paths = document["paths"].as_object_mut();
        for item in paths.into_iter().flat_map(Map::values_mut) {
            push_derived_methods(item);
        }
        document.to_string()
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
    let newest = newest(snapshot, 1).next();
    let review = newest.and_then(|row| serde_json::from_slice(snapshot.review(row)).ok());
    let review: Option<Value> = review;
    let known = |key: &str| review.as_ref().and_then(|review| review[key].as_str());
    let day = snapshot.updated_at.date().to_string();
    let aspects = mentioned(insights).into_iter();
    let aspects: Vec<&str> = aspects.map(|aspect| aspect.id.as_str()).collect();
    let service = services(snapshot).next().map(|(id, _)| id);
    let text = |value: Option<&str>| value.map(Value::from);
    HashMap::from([
        (
            "{id}",
            text(known("id").or(Some("01J00000000000000000000000"))),
        ),
        ("{date}", text(known("date").or(Some(&day)))),
        ("{service}", text(service)),
        ("{person}", text(people(snapshot).next())),
        ("{aspect}", text(aspects.first().copied())),
        ("{aspects}", (!aspects.is_empty()).then(|| json!(aspects))),
        ("{review}", review.clone()),
    ])
}

/// Replaces all placeholders within `value`; false if it is one itself and the data has nothing for it.
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

/// Adds OPTIONS, and HEAD beside GET.
fn push_derived_methods(item: &mut Value) {
    let Some(first) = item.get("get").or(item.get("post")).cloned() else {
        return;
    };
    let id = text(&first, "operationId");
    let refused = |name| json!({"$ref": format!("#/components/responses/{name}")});
    if let Some(get) = item.get("get") {
        let mut head = json!({
            "operationId": format!("head_{id}"),
            "tags": get["tags"],
            "summary": format!("{}: header fields alone", text(get, "summary")),
            "parameters": get.get("parameters").cloned().unwrap_or_else(|| json!([])),
            "responses": {"200": refused("HeadOk")},
        });
        if get["responses"].get("304").is_some() {
            head["responses"]["304"] = refused("NotModified");
        }
        head["responses"]["default"] = refused("HeadRefused");
        item["head"] = head;
    }
    item["options"] = json!({
        "operationId": format!("options_{id}"),
        "tags": first["tags"],
        "summary": "The methods of this address",
        "responses": {"204": refused("Options"), "default": refused("Refused")},
    });
}

/// Returns the string at `key`, or nothing.
fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

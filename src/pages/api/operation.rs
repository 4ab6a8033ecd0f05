//! One operation of the OpenAPI document, read for the documentation and its examples.

use serde_json::Value;

use super::text;
use crate::pages::text::encoded;

/// One method of one address.
pub(in crate::pages) struct Operation<'d> {
    /// In upper case.
    pub(in crate::pages) method: String,
    /// The path, with its parameter in braces.
    pub(in crate::pages) path: &'d str,
    /// Its name in generated clients, and its anchor on the page.
    pub(in crate::pages) id: &'d str,
    pub(in crate::pages) summary: &'d str,
    /// Without markup.
    pub(in crate::pages) description: &'d str,
    pub(super) tag: &'d str,
    /// Those that are its own, without the conditional and coding fields that all reads share.
    pub(in crate::pages) parameters: Vec<Parameter<'d>>,
    /// Path and query of its example.
    pub(in crate::pages) target: String,
    /// The JSON of the first example of its body, if it takes messages.
    pub(in crate::pages) message: Option<String>,
    /// The fields of its body, filled in, if it takes a form.
    pub(in crate::pages) form: Vec<(&'d str, &'d str)>,
    /// Whether the response is JSON.
    pub(in crate::pages) is_json: bool,
}

/// A value that a request may carry.
pub(in crate::pages) struct Parameter<'d> {
    pub(in crate::pages) name: &'d str,
    pub(in crate::pages) description: &'d str,
    /// Where it stands: `path`, `query` or `header`.
    pub(in crate::pages) location: &'d str,
    pub(in crate::pages) schema: &'d Value,
    /// Its value in the example of the operation; empty where the example leaves it out.
    pub(in crate::pages) example: String,
}

impl<'d> Operation<'d> {
    /// Reads the operation `value` of the path `item`.
    pub(super) fn of(
        document: &'d Value,
        path: &'d str,
        item: &'d Value,
        method: &str,
        value: &'d Value,
    ) -> Operation<'d> {
        let query = text(value, "x-example-query");
        let lists = [&item["parameters"], &value["parameters"]];
        let all = lists.into_iter().filter_map(Value::as_array).flatten();
        let all = all.map(|parameter| resolve(document, parameter));
        let own = all.filter(|parameter| {
            let name = text(parameter, "name");
            !name.starts_with("If-") && name != "Accept-Encoding"
        });
        let parameters: Vec<Parameter<'d>> = own
            .map(|parameter| Parameter::of(parameter, query))
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
        let form = content["application/x-www-form-urlencoded"]["example"].as_object();
        let form = form.into_iter().flatten();
        let answers = value["responses"]["200"]["content"].as_object();
        let media_type = answers.and_then(|content| content.keys().next());
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
            form: form
                .map(|(name, value)| (name.as_str(), value.as_str().unwrap_or_default()))
                .collect(),
            is_json: media_type.is_some_and(|media_type| media_type.contains("json")),
        }
    }

    /// Returns whether it ends a session, so that its example has to open one.
    pub(in crate::pages) fn is_delete(&self) -> bool {
        self.method == "DELETE"
    }
}

impl<'d> Parameter<'d> {
    fn of(value: &'d Value, query: &str) -> Parameter<'d> {
        let name = text(value, "name");
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let given = pairs.find(|(known, _)| *known == name);
        let location = text(value, "in");
        Parameter {
            name,
            description: text(value, "description"),
            location,
            schema: &value["schema"],
            example: match location {
                "path" => plain(&value["example"]),
                _ => given.map_or_else(String::new, |(_, value)| value.to_owned()),
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
pub(in crate::pages) fn plain(value: &Value) -> String {
    match value {
        Value::String(string) => string.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

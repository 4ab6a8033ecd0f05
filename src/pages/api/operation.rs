//! One operation of the OpenAPI document, read for the documentation and its examples.

use serde_json::Value;

use super::text;
use crate::pages::text::push_encoded;

/// One method of one address.
pub(in crate::pages) struct Operation<'d> {
    document: &'d Value,
    /// The path, with its parameter in braces.
    pub(in crate::pages) path: &'d str,
    item: &'d Value,
    method: &'static str,
    value: &'d Value,
}

/// A value that a request may carry.
pub(in crate::pages) struct Parameter<'d> {
    pub(in crate::pages) name: &'d str,
    pub(in crate::pages) description: &'d str,
    /// Where it stands: `path`, `query` or `header`.
    pub(in crate::pages) location: &'d str,
    pub(in crate::pages) schema: &'d Value,
    example: &'d Value,
}

impl<'d> Operation<'d> {
    pub(super) fn new(
        document: &'d Value,
        path: &'d str,
        item: &'d Value,
        method: &'static str,
        value: &'d Value,
    ) -> Operation<'d> {
        Operation {
            document,
            path,
            item,
            method,
            value,
        }
    }

    /// Returns the operation id: its name in generated clients, and its anchor on the page.
    pub(in crate::pages) fn id(&self) -> &'d str {
        text(self.value, "operationId")
    }

    /// Returns the summary.
    pub(in crate::pages) fn summary(&self) -> &'d str {
        text(self.value, "summary")
    }

    /// Returns the description, without markup.
    pub(in crate::pages) fn description(&self) -> &'d str {
        text(self.value, "description")
    }

    /// Returns the method in upper case.
    pub(in crate::pages) fn method(&self) -> String {
        self.method.to_ascii_uppercase()
    }

    pub(super) fn tag(&self) -> &'d str {
        self.value["tags"][0].as_str().unwrap_or_default()
    }

    /// Returns whether the path ends with a parameter.
    pub(in crate::pages) fn has_path_parameter(&self) -> bool {
        self.path.ends_with('}')
    }

    /// Returns the parameters, without the conditional and coding fields that all reads share.
    pub(in crate::pages) fn parameters(&self) -> impl Iterator<Item = Parameter<'d>> {
        let lists = [self.item.get("parameters"), self.value.get("parameters")];
        let all = lists
            .into_iter()
            .flatten()
            .filter_map(Value::as_array)
            .flatten();
        let all = all.map(|parameter| resolve(self.document, parameter));
        let own = all.filter(|parameter| {
            let name = text(parameter, "name");
            !name.starts_with("If-") && name != "Accept-Encoding"
        });
        own.map(|parameter| Parameter {
            name: text(parameter, "name"),
            description: text(parameter, "description"),
            location: text(parameter, "in"),
            schema: &parameter["schema"],
            example: &parameter["example"],
        })
    }

    /// Returns the value of a parameter in the example of this operation; empty where the example leaves it out.
    pub(in crate::pages) fn example_of(&self, parameter: &Parameter<'_>) -> String {
        if parameter.location == "path" {
            return plain(parameter.example);
        }
        let mut pairs = self.example_query().split('&');
        let value = pairs.find_map(|pair| {
            let (name, value) = pair.split_once('=')?;
            (name == parameter.name).then_some(value)
        });
        value.unwrap_or_default().to_owned()
    }

    /// Returns path and query of its example.
    pub(in crate::pages) fn target(&self) -> String {
        let (parent, last) = self.path.rsplit_once('/').unwrap_or_default();
        let mut target = format!("{parent}/");
        match self
            .parameters()
            .find(|parameter| parameter.location == "path")
        {
            Some(parameter) => push_encoded(&mut target, &plain(parameter.example)),
            None => target.push_str(last),
        }
        if !self.example_query().is_empty() {
            target.push('?');
            target.push_str(self.example_query());
        }
        target
    }

    fn example_query(&self) -> &'d str {
        text(self.value, "x-example-query")
    }

    /// Returns the JSON of the first example of its body, if it takes messages.
    pub(in crate::pages) fn message(&self) -> Option<String> {
        let examples = &self.value["requestBody"]["content"]["application/json"]["examples"];
        let (_, first) = examples.as_object()?.iter().next()?;
        Some(first["value"].to_string())
    }

    /// Returns the fields of its body, filled in, if it takes a form.
    pub(in crate::pages) fn form(&self) -> Option<Vec<(&'d str, &'d str)>> {
        let content = &self.value["requestBody"]["content"];
        let example = content["application/x-www-form-urlencoded"]["example"].as_object()?;
        let fields = example.iter();
        Some(
            fields
                .map(|(name, value)| (name.as_str(), value.as_str().unwrap_or_default()))
                .collect(),
        )
    }

    /// Returns whether the response is JSON.
    pub(in crate::pages) fn is_json(&self) -> bool {
        let content = &self.value["responses"]["200"]["content"];
        let mut types = content
            .as_object()
            .into_iter()
            .flat_map(|content| content.keys());
        types
            .next()
            .is_some_and(|media_type| media_type.contains("json"))
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

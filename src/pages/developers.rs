//! `/developers`: every endpoint with examples to copy and to run, and sections on agents, push and limits.

use askama::Template;
use serde_json::Value;

use super::Context;
use super::api::{Group, Operation, Parameter, plain};
use super::layout::{Layout, rendered};

/// A working subscriber; continuous integration runs it.
const SUBSCRIBER: &str = include_str!("assets/subscriber.py");

pub(super) fn render(context: &Context<'_>) -> String {
    let (layout, interface) = (context.layout, context.interface);
    let base_url = &context.snapshot.base_url;
    let (files, groups): (Vec<_>, Vec<_>) = interface.groups().partition(|one| one.id == FILES);
    let files = files.iter().flat_map(|group| &group.operations);
    rendered(&Developers {
        layout,
        title: format!("For developers – Reviews of {}", layout.title),
        base_url,
        version: interface.version(),
        groups,
        files: files.map(|operation| operation.path).collect(),
        etag: context.snapshot.reviews.etag.as_str(),
        subscriber: SUBSCRIBER.replace("{base_url}", base_url),
    })
}

/// The group of files that pages load, such as stylesheets.
pub(super) const FILES: &str = "files";

/// A field of the form that sends a request.
struct Field<'d> {
    id: String,
    name: &'d str,
    control: Control<'d>,
    value: String,
}

enum Control<'d> {
    Text,
    Number {
        min: String,
        max: String,
        step: &'static str,
    },
    Date,
    Select(Vec<&'d str>),
}

impl<'d> Operation<'d> {
    /// Returns the example as a program in `language`.
    fn sample(&self, language: &str, base_url: &str) -> String {
        let url = &format!("{base_url}{}", self.target);
        rendered(&Sample {
            language,
            url,
            operation: self,
        })
    }

    /// Returns the fields of the form, filled in with the example.
    fn fields(&self) -> Vec<Field<'d>> {
        let id = |name: &str| format!("{}-{name}", self.id);
        let parameters = self.parameters.iter();
        let sendable = parameters.filter(|parameter| parameter.location != "header");
        let sendable = sendable.map(|parameter| Field {
            id: id(parameter.name),
            name: parameter.name,
            control: parameter.control(),
            value: parameter.example.clone(),
        });
        let form = self.form.iter().map(|&(name, value)| Field {
            id: id(name),
            name,
            control: match name {
                "hub.mode" => Control::Select(vec!["subscribe", "unsubscribe"]),
                _ => Control::Text,
            },
            value: value.to_owned(),
        });
        sendable.chain(form).collect()
    }

    /// The form's action, used without the script.
    fn action(&self) -> &str {
        let target = &self.target;
        target.split_once('?').map_or(target, |(path, _)| path)
    }

    /// Whether the form works only with the script.
    fn needs_script(&self) -> bool {
        self.path.ends_with('}') || self.message.is_some()
    }
}

impl<'d> Parameter<'d> {
    /// Describes the allowed values of the parameter.
    fn values(&self) -> String {
        let schema = self.schema;
        let bound = |key: &str| plain(&schema[key]);
        if schema.get("minimum").is_some() {
            let default = schema.get("default");
            let default = default.map_or_else(String::new, |one| format!("; default {one}"));
            format!("{} to {}{default}", bound("minimum"), bound("maximum"))
        } else if schema["format"] == "date" {
            "YYYY-MM-DD".to_owned()
        } else if schema.get("maxLength").is_some() {
            format!("at most {} bytes", bound("maxLength"))
        } else {
            self.words()
                .map_or_else(|| "text".to_owned(), |words| words.join(", "))
        }
    }

    /// Returns the allowed values, if its schema lists them.
    fn words(&self) -> Option<Vec<&'d str>> {
        let words = self.schema.get("enum").or(self.schema.get("examples"))?;
        Some(words.as_array()?.iter().filter_map(Value::as_str).collect())
    }

    fn control(&self) -> Control<'d> {
        let number = |step| Control::Number {
            min: plain(&self.schema["minimum"]),
            max: plain(&self.schema["maximum"]),
            step,
        };
        match (self.schema["type"].as_str(), self.words()) {
            (Some("integer"), _) => number("1"),
            (Some("number"), _) => number("any"),
            _ if self.schema["format"] == "date" => Control::Date,
            (_, Some(words)) => Control::Select(words),
            (_, None) => Control::Text,
        }
    }
}

/// The message that opens the session which the DELETE example ends.
const BEGIN: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"example","version":"1.0"}}}"#;

#[derive(Template)]
#[template(path = "samples/sample.txt")]
struct Sample<'p> {
    language: &'p str,
    url: &'p str,
    operation: &'p Operation<'p>,
}

#[derive(Template)]
#[template(path = "developers.html")]
struct Developers<'p> {
    layout: &'p Layout,
    title: String,
    base_url: &'p str,
    version: &'p str,
    groups: Vec<Group<'p>>,
    files: Vec<&'p str>,
    etag: &'p str,
    subscriber: String,
}

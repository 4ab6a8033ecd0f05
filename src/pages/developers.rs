//! `/developers`: every endpoint with examples to copy and to run, and sections on agents, push and limits.

use askama::Template;

use super::api::{Group, Operation, OperationParameter, plain};
use super::layout::{Frame, rendered};
use super::messages::{Language, Messages};
use super::{PageContext, text as filters};

/// A working subscriber; continuous integration runs it.
const SUBSCRIBER: &str = include_str!("assets/subscriber.py");

/// The anchor of the group of files that pages load, such as stylesheets.
pub(super) const FILES: &str = "files";

/// The message that opens a session, which the example of DELETE then ends.
const BEGIN: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"example","version":"1.0"}}}"#;

/// Renders the page. Files that pages load are listed by their paths only, without examples.
pub(crate) fn render(context: &PageContext<'_>) -> String {
    let layout = &context.pages.layout;
    let interface = &context.interface;
    let base_url = context.base_url();
    let mut groups = Vec::new();
    let mut files = Vec::new();
    for group in interface.groups() {
        if group.id == FILES {
            files.extend(group.operations.iter().map(|operation| operation.path));
        } else {
            groups.push(group);
        }
    }
    rendered(&Developers {
        frame: Frame::english(layout),
        t: Language::DEFAULT.messages(),
        title: format!("For developers – Reviews of {}", layout.title),
        base_url,
        version: interface.version(),
        groups,
        files,
        etag: context.snapshot().reviews.etag.as_str(),
        subscriber: SUBSCRIBER.replace("{base_url}", base_url),
    })
}

/// A text field of the form that sends a request; it also accepts invalid values, so that errors can be tried.
struct FormField<'d> {
    id: String,
    name: &'d str,
    /// The allowed values.
    values: String,
    value: &'d str,
}

impl Operation<'_> {
    /// Returns the example as a program in `language`.
    fn sample(&self, language: &str, base_url: &str) -> String {
        rendered(&Sample {
            language,
            url: &format!("{base_url}{}", self.target),
            operation: self,
        })
    }

    /// Returns the fields of the form, filled in with the example.
    fn fields(&self) -> Vec<FormField<'_>> {
        let mut fields = Vec::new();
        for parameter in &self.parameters {
            if parameter.location != "header" {
                fields.push(self.field(parameter.name, &parameter.example, parameter.values()));
            }
        }
        for (name, value) in &self.form {
            fields.push(self.field(name, value, String::new()));
        }
        fields
    }

    fn field<'d>(&self, name: &'d str, value: &'d str, values: String) -> FormField<'d> {
        FormField {
            id: format!("{}-{name}", self.id),
            name,
            values,
            value,
        }
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

impl OperationParameter<'_> {
    /// Describes the allowed values of the parameter.
    fn values(&self) -> String {
        let schema = self.schema;
        if schema.get("minimum").is_some() {
            let mut range = format!(
                "{} to {}",
                plain(&schema["minimum"]),
                plain(&schema["maximum"])
            );
            if let Some(default) = schema.get("default") {
                range.push_str(&format!("; default {default}"));
            }
            return range;
        }
        if schema["format"] == "date" {
            return "YYYY-MM-DD".to_owned();
        }
        if schema.get("maxLength").is_some() {
            return format!("at most {} bytes", plain(&schema["maxLength"]));
        }
        if let Some(words) = schema.get("enum").or(schema.get("examples")) {
            let words = words.as_array().into_iter().flatten();
            return words.map(plain).collect::<Vec<_>>().join(", ");
        }
        if schema["type"] == "boolean" {
            return "true or false".to_owned();
        }
        "text".to_owned()
    }
}

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
    frame: Frame<'p>,
    t: &'static Messages,
    title: String,
    base_url: &'p str,
    version: &'p str,
    groups: Vec<Group<'p>>,
    files: Vec<&'p str>,
    etag: &'p str,
    subscriber: String,
}

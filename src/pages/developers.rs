//! `/developers`: every endpoint with examples to copy and to run, and sections on agents, push and limits.

use askama::Template;

use super::PageContext;
use super::api::{Group, Operation, OperationParameter, plain};
use super::layout::{Layout, rendered};

/// A working subscriber; continuous integration runs it.
const SUBSCRIBER: &str = include_str!("assets/subscriber.py");

pub(crate) fn render(context: &PageContext<'_>) -> String {
    let layout = &context.pages.layout;
    let interface = &context.interface;
    let base_url = context.base_url();
    let (files, groups): (Vec<_>, Vec<_>) = interface.groups().partition(|one| one.id == FILES);
    let files = files.iter().flat_map(|group| &group.operations);
    rendered(&Developers {
        layout,
        title: format!("For developers – Reviews of {}", layout.title),
        base_url,
        version: interface.version(),
        groups,
        files: files.map(|operation| operation.path).collect(),
        etag: context.snapshot().reviews.etag.as_str(),
        subscriber: SUBSCRIBER.replace("{base_url}", base_url),
    })
}

/// The group of files that pages load, such as stylesheets.
pub(super) const FILES: &str = "files";

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
        let url = &format!("{base_url}{}", self.target);
        rendered(&Sample {
            language,
            url,
            operation: self,
        })
    }

    /// Returns the fields of the form, filled in with the example.
    fn fields(&self) -> impl Iterator<Item = FormField<'_>> {
        let field = |name, value, values| FormField {
            id: format!("{}-{name}", self.id),
            name,
            values,
            value,
        };
        let parameters = self.parameters.iter();
        let sendable = parameters.filter(|parameter| parameter.location != "header");
        let sendable = sendable.map(move |one| field(one.name, &*one.example, one.values()));
        let form = self.form.iter();
        sendable.chain(form.map(move |(name, value)| field(*name, *value, String::new())))
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
        let bound = |key: &str| plain(&schema[key]);
        if schema.get("minimum").is_some() {
            let default = schema.get("default");
            let default = default.map_or_else(String::new, |one| format!("; default {one}"));
            format!("{} to {}{default}", bound("minimum"), bound("maximum"))
        } else if schema["format"] == "date" {
            "YYYY-MM-DD".to_owned()
        } else if schema.get("maxLength").is_some() {
            format!("at most {} bytes", bound("maxLength"))
        } else if let Some(words) = schema.get("enum").or(schema.get("examples")) {
            let words = words.as_array().into_iter().flatten();
            words.map(plain).collect::<Vec<_>>().join(", ")
        } else if schema["type"] == "boolean" {
            "true or false".to_owned()
        } else {
            "text".to_owned()
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

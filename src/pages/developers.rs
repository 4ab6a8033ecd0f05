//! `/developers`: every endpoint with examples to copy and to try, agents, push, and limits.

mod code_samples;

use askama::Template;

use self::code_samples::RequestBody;
use super::Context;
use serde_json::Value;

use super::api::{Operation, Parameter, plain};
use super::layout::{Layout, rendered};

/// Copies and sends the examples; the page can be read without it.
pub(super) const SCRIPT: &str = include_str!("assets/developers.js");
/// A working subscriber; continuous integration runs it.
const SUBSCRIBER: &str = include_str!("assets/subscriber.py");

/// Renders the page.
pub(super) fn render(context: &Context<'_>) -> Vec<u8> {
    let Context {
        layout, interface, ..
    } = context;
    let base_url = &context.snapshot.base_url;
    let groups = interface.groups().filter(|group| group.id != FILES);
    let groups = groups.map(|group| Group {
        id: group.id,
        name: group.name,
        description: group.description,
        endpoints: group
            .operations
            .iter()
            .map(|operation| Endpoint::of(operation, base_url))
            .collect(),
    });
    let files = interface.groups().filter(|group| group.id == FILES);
    let files = files.flat_map(|group| group.operations);
    rendered(&Developers {
        layout,
        title: format!("For developers – Reviews of {}", layout.title),
        base_url,
        version: interface.version(),
        groups: groups.collect(),
        files: files.map(|operation| operation.path).collect(),
        etag: context.snapshot.reviews.etag.as_str(),
        subscriber: SUBSCRIBER.replace("{base_url}", base_url),
        limits: LIMITS,
    })
    .into_bytes()
}

/// The group of files that pages load, such as stylesheets.
pub(super) const FILES: &str = "files";

/// The endpoints of one purpose.
struct Group<'d> {
    id: &'d str,
    name: &'d str,
    description: &'d str,
    endpoints: Vec<Endpoint<'d>>,
}

/// One operation with its examples.
struct Endpoint<'d> {
    id: &'d str,
    method: String,
    path: &'d str,
    summary: &'d str,
    description: &'d str,
    parameters: Vec<Line<'d>>,
    /// A form that sends the request; `None` for requests that need a session.
    form: Option<TryForm<'d>>,
    curl: String,
    script: String,
    python: String,
}

/// One row of the parameter table.
struct Line<'d> {
    name: &'d str,
    description: &'d str,
    values: String,
}

/// A form that sends the request of an example.
struct TryForm<'d> {
    method: String,
    /// The form's action, used without the script.
    action: String,
    /// The path with its parameter in braces, filled in by the script.
    path: &'d str,
    /// Whether the form works only with the script.
    needs_script: bool,
    fields: Vec<Field<'d>>,
    message: String,
}

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

impl<'d> Endpoint<'d> {
    fn of(operation: &Operation<'d>, base_url: &str) -> Endpoint<'d> {
        let url = format!("{base_url}{}", operation.target());
        let sent = RequestBody::of(operation);
        Endpoint {
            id: operation.id(),
            method: operation.method(),
            path: operation.path,
            summary: operation.summary(),
            description: operation.description(),
            parameters: operation.parameters().map(Line::of).collect(),
            form: TryForm::of(operation),
            curl: sent.curl(&url),
            script: sent.script(&url, operation),
            python: sent.python(&url, operation),
        }
    }
}

impl<'d> Line<'d> {
    fn of(parameter: Parameter<'d>) -> Line<'d> {
        let schema = parameter.schema;
        let bound = |key: &str| plain(&schema[key]);
        let values = if schema.get("minimum").is_some() {
            let default = schema
                .get("default")
                .map(|default| format!("; without it {default}"));
            format!(
                "{} to {}{}",
                bound("minimum"),
                bound("maximum"),
                default.unwrap_or_default()
            )
        } else if schema["format"] == "date" {
            "YYYY-MM-DD".to_owned()
        } else if schema.get("maxLength").is_some() {
            format!("at most {} bytes", bound("maxLength"))
        } else {
            match words(&parameter) {
                Some(words) => words.join(", "),
                None => "text".to_owned(),
            }
        };
        Line {
            name: parameter.name,
            description: parameter.description,
            values,
        }
    }
}

/// Returns the allowed values of a parameter, if its schema lists them.
fn words<'d>(parameter: &Parameter<'d>) -> Option<Vec<&'d str>> {
    let schema = parameter.schema;
    let words = schema.get("enum").or_else(|| schema.get("examples"))?;
    Some(words.as_array()?.iter().filter_map(Value::as_str).collect())
}

impl<'d> TryForm<'d> {
    fn of(operation: &Operation<'d>) -> Option<TryForm<'d>> {
        if operation.method() == "DELETE" {
            return None;
        }
        let sendable = operation
            .parameters()
            .filter(|parameter| parameter.location != "header");
        let mut fields: Vec<Field> = sendable
            .map(|parameter| Field::of(operation, &parameter))
            .collect();
        let form = operation.form().into_iter().flatten();
        fields.extend(form.map(|(name, value)| Field {
            id: format!("{}-{name}", operation.id()),
            name,
            control: match name {
                "hub.mode" => Control::Select(vec!["subscribe", "unsubscribe"]),
                _ => Control::Text,
            },
            value: value.to_owned(),
        }));
        let message = operation.message().unwrap_or_default();
        let example = operation.target();
        Some(TryForm {
            method: operation.method().to_ascii_lowercase(),
            action: match example.split_once('?') {
                Some((path, _)) => path.to_owned(),
                None => example,
            },
            path: operation.path,
            needs_script: operation.has_path_parameter() || !message.is_empty(),
            fields,
            message,
        })
    }
}

impl<'d> Field<'d> {
    fn of(operation: &Operation<'d>, parameter: &Parameter<'d>) -> Field<'d> {
        let schema = parameter.schema;
        let number = |step| Control::Number {
            min: plain(&schema["minimum"]),
            max: plain(&schema["maximum"]),
            step,
        };
        Field {
            id: format!("{}-{}", operation.id(), parameter.name),
            name: parameter.name,
            control: match (schema["type"].as_str(), words(parameter)) {
                (Some("integer"), _) => number("1"),
                (Some("number"), _) => number("any"),
                _ if schema["format"] == "date" => Control::Date,
                (_, Some(words)) => Control::Select(words),
                (_, None) => Control::Text,
            },
            value: operation.example_of(parameter),
        }
    }
}

/// Default limits, and what happens at each; the operator may have set others.
const LIMITS: &[(&str, &str)] = &[
    (
        "Reviews of a search's page",
        "20, at most 100; out of bounds is 400",
    ),
    (
        "Parameters of a request",
        "64; query and names 1,024 bytes, a cursor 256 (400)",
    ),
    ("The address of a request", "8 KiB (414)"),
    ("Header fields of a request", "64, together 16 KiB (431)"),
    ("A message to /mcp", "1 MiB (413)"),
    (
        "A form to the hub",
        "8 KiB (413); callback 2,048 bytes, secret under 200 (400)",
    ),
    (
        "Requests to the hub",
        "60 a minute from one address (429 with Retry-After)",
    ),
    (
        "A subscription",
        "10 days unless asked otherwise, 5 minutes to 30 days; three failed deliveries in a row end it",
    ),
    (
        "Reads and messages",
        "no limit of rate unless RateLimit fields tell one; please ask with If-None-Match",
    ),
];

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
    limits: &'static [(&'static str, &'static str)],
}

//! `/developers`: every endpoint with examples to copy and to try, agents, subscribing, and the rules.

mod sent;

use askama::Template;

use self::sent::Sent;
use super::Context;
use super::api::{
    Body, Entry, Examples, Kind, Operation, Parameter, Place, TABLE, Tag, VERSION, Verb,
};
use super::shell::{Shell, rendered};

/// What copies and tries the examples; the page can be read without.
pub(super) const SCRIPT: &str = include_str!("assets/developers.js");
/// A subscriber that works as it stands; a step of the continuous integration runs it.
const SUBSCRIBER: &str = include_str!("assets/subscriber.py");

/// Renders the page.
pub(super) fn render(context: &Context<'_>) -> Vec<u8> {
    let Context {
        shell, examples, ..
    } = context;
    let base_url = &examples.base_url;
    let described = |tag: &Tag| *tag != Tag::Files;
    let groups = Tag::ALL
        .into_iter()
        .filter(described)
        .map(|tag| Group::of(tag, examples))
        .collect();
    let files = TABLE.iter().filter(|entry| entry.tag == Tag::Files);
    rendered(&Developers {
        shell,
        title: format!("For developers – Reviews of {}", shell.title),
        base_url,
        version: VERSION,
        groups,
        files: files.map(Entry::path).collect(),
        etag: context.snapshot.reviews.etag.as_str(),
        subscriber: SUBSCRIBER.replace("{base_url}", base_url),
        limits: LIMITS,
    })
    .into_bytes()
}

/// The endpoints of one purpose.
struct Group {
    id: &'static str,
    name: &'static str,
    description: &'static str,
    endpoints: Vec<Endpoint>,
}

/// One operation with its examples.
struct Endpoint {
    id: &'static str,
    verb: &'static str,
    path: String,
    summary: &'static str,
    description: &'static str,
    parameters: Vec<Line>,
    /// How to try it; nothing for what needs a session.
    form: Option<TryForm>,
    curl: String,
    script: String,
    python: String,
}

/// One parameter, in words.
struct Line {
    name: &'static str,
    description: &'static str,
    values: String,
}

/// A form that sends the request of an example.
struct TryForm {
    method: &'static str,
    /// Where it goes without the script.
    action: String,
    /// Where it goes with the script, which fills in the parameter in braces.
    path: String,
    /// Whether it is of no use without the script.
    needs_script: bool,
    fields: Vec<Field>,
    message: &'static str,
}

struct Field {
    id: String,
    name: &'static str,
    control: Control,
    value: String,
}

enum Control {
    Text,
    Number {
        min: u32,
        max: u32,
        step: &'static str,
    },
    Date,
    Select(&'static [&'static str]),
}

impl Group {
    fn of(tag: Tag, examples: &Examples) -> Group {
        let entries = TABLE.iter().filter(|entry| entry.tag == tag);
        Group {
            id: anchor(tag),
            name: tag.name(),
            description: tag.description(),
            endpoints: entries
                .flat_map(|entry| {
                    let operations = entry.operations.iter();
                    operations.map(|operation| Endpoint::of(entry, operation, examples))
                })
                .collect(),
        }
    }
}

fn anchor(tag: Tag) -> &'static str {
    match tag {
        Tag::Reviews => "reviews",
        Tag::Feeds => "feeds",
        Tag::Agents => "agents",
        Tag::Push => "hub",
        Tag::Pages => "pages",
        Tag::Discovery => "discovery",
        Tag::State => "state",
        Tag::Files => "files",
    }
}

impl Endpoint {
    fn of(entry: &Entry, operation: &'static Operation, examples: &Examples) -> Endpoint {
        let url = format!("{}{}", examples.base_url, examples.target(entry, operation));
        let sent = Sent::of(operation, examples);
        Endpoint {
            id: operation.id,
            verb: operation.verb.name(),
            path: entry.path(),
            summary: operation.summary,
            description: operation.description,
            parameters: operation.parameters.iter().map(Line::of).collect(),
            form: TryForm::of(entry, operation, examples),
            curl: sent.curl(&url),
            script: sent.script(&url, operation),
            python: sent.python(&url, operation),
        }
    }
}

impl Line {
    fn of(parameter: &Parameter) -> Line {
        let values = match parameter.kind {
            Kind::Integer { min, max, default } => {
                let default = default.map(|default| format!("; without it {default}"));
                format!("{min} to {max}{}", default.unwrap_or_default())
            }
            Kind::Decimal { min, max } => format!("{min} to {max}"),
            Kind::Date => "YYYY-MM-DD".to_owned(),
            Kind::Text { bytes_max } => format!("at most {bytes_max} bytes"),
            Kind::Pattern(_) | Kind::Aspect => "text".to_owned(),
            Kind::Choice { words, .. } | Kind::Hint(words) => words.join(", "),
        };
        Line {
            name: parameter.name,
            description: parameter.description,
            values,
        }
    }
}

impl TryForm {
    fn of(entry: &Entry, operation: &'static Operation, examples: &Examples) -> Option<TryForm> {
        if operation.verb == Verb::Delete {
            return None;
        }
        let sendable = operation
            .parameters
            .iter()
            .filter(|parameter| parameter.place != Place::Header);
        let mut fields: Vec<Field> = sendable
            .map(|parameter| Field::of(operation.id, parameter, examples))
            .collect();
        if matches!(operation.body, Body::Form) {
            fields.extend(examples.form().into_iter().map(|(name, value)| Field {
                id: format!("{}-{name}", operation.id),
                name,
                control: match name {
                    "hub.mode" => Control::Select(&["subscribe", "unsubscribe"]),
                    _ => Control::Text,
                },
                value,
            }));
        }
        let message = Examples::message(operation).unwrap_or_default();
        let example = examples.target(entry, operation);
        Some(TryForm {
            method: match operation.verb {
                Verb::Get => "get",
                _ => "post",
            },
            action: match example.split_once('?') {
                Some((path, _)) => path.to_owned(),
                None => example,
            },
            path: entry.path(),
            needs_script: entry.has_parameter() || !message.is_empty(),
            fields,
            message,
        })
    }
}

impl Field {
    fn of(operation: &str, parameter: &Parameter, examples: &Examples) -> Field {
        let value = examples
            .value(parameter.example)
            .filter(|_| parameter.is_shown);
        Field {
            id: format!("{operation}-{}", parameter.name),
            name: parameter.name,
            control: match parameter.kind {
                Kind::Integer { min, max, .. } => Control::Number {
                    min,
                    max,
                    step: "1",
                },
                Kind::Decimal { min, max } => Control::Number {
                    min,
                    max,
                    step: "any",
                },
                Kind::Date => Control::Date,
                Kind::Text { .. } | Kind::Pattern(_) | Kind::Aspect => Control::Text,
                Kind::Choice { words, .. } | Kind::Hint(words) => Control::Select(words),
            },
            value: value.unwrap_or_default().to_owned(),
        }
    }
}

/// What is bounded, and what happens at the bound; the operator may have set others.
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
    shell: &'p Shell,
    title: String,
    base_url: &'p str,
    version: &'static str,
    groups: Vec<Group>,
    files: Vec<String>,
    etag: &'p str,
    subscriber: String,
    limits: &'static [(&'static str, &'static str)],
}

//! `/openapi.json`: the table as OpenAPI 3.1.

use super::TABLE;
use super::examples::Examples;
use super::operation::{Answer, Body, Entry, Kind, Operation, Parameter, Place, Tag};
use crate::wire::json::{Array, Object};
use crate::wire::minify::minified;

/// Version of the interface: keys are only ever added to it.
pub(in crate::pages) const VERSION: &str = "1.0.0";

/// Schemas, header fields, and the answers that many operations share.
const COMPONENTS: &str = include_str!("components.json");
/// What the hub sends to a subscriber.
const CALLBACKS: &str = include_str!("callbacks.json");

/// What the hub takes as a topic; a test holds it against what it pushes.
pub(in crate::pages) const TOPICS: [&str; 3] = ["/reviews.json", "/api/feed.json", "/feed.xml"];

const DESCRIPTION: &str = "Verified reviews of one business, and what they say: read-only, public, without a key. \
     Every GET answers HEAD and pages of any origin, carries a strong ETag and Last-Modified, and honours If-None-Match \
     and If-Modified-Since; the state of the service alone is never stored. Errors of the reads are JSON with a stable \
     word and a message. Keys are only ever added to documents. Examples are made from the data that is served, with \
     lists cut to their first entries.";

/// Renders the description for the practice of this name.
pub(in crate::pages) fn render(name: &str, examples: &Examples) -> Vec<u8> {
    let base_url = &examples.base_url;
    let mut out = Vec::with_capacity(64 << 10);
    let mut document = Object::begin(&mut out);
    document.string("openapi", "3.1.1");
    let mut info = Object::begin(document.key("info"));
    info.string("title", &format!("Reviews of {name}"))
        .string("version", VERSION)
        .string("description", DESCRIPTION);
    info.end();
    let mut servers = Array::begin(document.key("servers"));
    let mut server = Object::begin(servers.item());
    server.string("url", base_url);
    server.end();
    servers.end();
    let mut docs = Object::begin(document.key("externalDocs"));
    docs.string("description", "Documentation with examples to try")
        .string("url", &format!("{base_url}/developers"));
    docs.end();
    document.raw("security", b"[]");
    let mut tags = Array::begin(document.key("tags"));
    for tag in Tag::ALL {
        let mut object = Object::begin(tags.item());
        object
            .string("name", tag.name())
            .string("description", tag.description());
        object.end();
    }
    tags.end();
    let mut paths = Object::begin(document.key("paths"));
    for entry in TABLE {
        push_path(paths.key(&entry.path()), entry, examples);
    }
    paths.end();
    document.raw("components", &minified(COMPONENTS));
    document.end();
    out
}

fn push_path(out: &mut Vec<u8>, entry: &Entry, examples: &Examples) {
    let mut path = Object::begin(out);
    let in_path = parameters(entry, |place| place == Place::Path);
    if !in_path.is_empty() {
        let mut list = Array::begin(path.key("parameters"));
        for parameter in in_path {
            push_parameter(list.item(), parameter, examples);
        }
        list.end();
    }
    for operation in entry.operations {
        push_operation(path.key(operation.verb.key()), entry, operation, examples);
        if operation.verb == super::Verb::Get {
            push_head(path.key("head"), entry, operation, examples);
        }
    }
    push_options(path.key("options"), entry);
    path.end();
}

/// Returns the parameters of the first operation that stand at such places; all operations of an address share its path.
fn parameters(entry: &Entry, is_there: impl Fn(Place) -> bool) -> Vec<&'static Parameter> {
    let first = entry.operations.first();
    let all = first.into_iter().flat_map(|operation| operation.parameters);
    all.filter(|parameter| is_there(parameter.place)).collect()
}

fn push_operation(out: &mut Vec<u8>, entry: &Entry, operation: &Operation, examples: &Examples) {
    let mut object = Object::begin(out);
    object
        .string("operationId", operation.id)
        .strings("tags", [entry.tag.name()])
        .string("summary", operation.summary)
        .string("description", operation.description);
    push_parameters(object.key("parameters"), operation, examples);
    match &operation.body {
        Body::None => {}
        Body::Messages(messages) => push_messages(object.key("requestBody"), messages),
        Body::Form => {
            push_form(object.key("requestBody"), examples);
            object.raw("callbacks", &minified(CALLBACKS));
        }
    }
    let answer = &operation.answer;
    let mut responses = Object::begin(object.key("responses"));
    push_answer(responses.key(answer.status), answer, operation.id, examples);
    for (status, component) in operation.others {
        push_reference(responses.key(status), "responses", component);
    }
    responses.end();
    object.end();
}

/// HEAD is what GET is, without a body.
fn push_head(out: &mut Vec<u8>, entry: &Entry, operation: &Operation, examples: &Examples) {
    let mut object = Object::begin(out);
    object
        .string("operationId", &format!("head_{}", operation.id))
        .strings("tags", [entry.tag.name()])
        .string(
            "summary",
            &format!("{}: header fields alone", operation.summary),
        );
    push_parameters(object.key("parameters"), operation, examples);
    let mut responses = Object::begin(object.key("responses"));
    push_reference(responses.key("200"), "responses", "HeadOk");
    if is_conditional(operation) {
        push_reference(responses.key("304"), "responses", "NotModified");
    }
    push_reference(responses.key("default"), "responses", "HeadRefused");
    responses.end();
    object.end();
}

fn push_options(out: &mut Vec<u8>, entry: &Entry) {
    let id = entry
        .operations
        .first()
        .map_or("", |operation| operation.id);
    let mut object = Object::begin(out);
    object
        .string("operationId", &format!("options_{id}"))
        .strings("tags", [entry.tag.name()])
        .string("summary", "The methods of this address");
    let mut responses = Object::begin(object.key("responses"));
    push_reference(responses.key("204"), "responses", "Options");
    push_reference(responses.key("default"), "responses", "Refused");
    responses.end();
    object.end();
}

fn push_parameters(out: &mut Vec<u8>, operation: &Operation, examples: &Examples) {
    let mut list = Array::begin(out);
    let own = operation.parameters.iter();
    for parameter in own.filter(|parameter| parameter.place != Place::Path) {
        push_parameter(list.item(), parameter, examples);
    }
    let mut shared = Vec::new();
    if is_conditional(operation) {
        shared.extend([
            "IfNoneMatch",
            "IfModifiedSince",
            "IfMatch",
            "IfUnmodifiedSince",
        ]);
    }
    if has_header(operation, "Content-Encoding") {
        shared.push("AcceptEncoding");
    }
    for name in shared {
        push_reference(list.item(), "parameters", name);
    }
    list.end();
}

fn push_parameter(out: &mut Vec<u8>, parameter: &Parameter, examples: &Examples) {
    let place = match parameter.place {
        Place::Path => "path",
        Place::Query => "query",
        Place::Header => "header",
    };
    let mut object = Object::begin(out);
    object
        .string("name", parameter.name)
        .string("in", place)
        .string("description", &format!("{}.", parameter.description));
    if parameter.is_required {
        object.bool("required", true);
    }
    push_schema(object.key("schema"), parameter.kind, examples);
    if let Some(value) = examples.value(parameter.example) {
        match parameter.kind {
            Kind::Integer { .. } | Kind::Decimal { .. } => object.raw("example", value.as_bytes()),
            _ => object.string("example", value),
        };
    }
    object.end();
}

fn push_schema(out: &mut Vec<u8>, kind: Kind, examples: &Examples) {
    let mut schema = Object::begin(out);
    match kind {
        Kind::Integer { min, max, default } => {
            schema
                .string("type", "integer")
                .u64("minimum", u64::from(min))
                .u64("maximum", u64::from(max));
            if let Some(default) = default {
                schema.u64("default", u64::from(default));
            }
        }
        Kind::Decimal { min, max } => {
            schema
                .string("type", "number")
                .u64("minimum", u64::from(min))
                .u64("maximum", u64::from(max))
                .raw("multipleOf", b"0.000001");
        }
        Kind::Date => {
            schema.string("type", "string").string("format", "date");
        }
        Kind::Text { bytes_max } => {
            schema
                .string("type", "string")
                .u64("maxLength", bytes_max as u64);
        }
        Kind::Pattern(pattern) => {
            schema.string("type", "string").string("pattern", pattern);
        }
        Kind::Aspect => {
            schema.string("type", "string");
            if !examples.aspects.is_empty() {
                schema.strings("enum", examples.aspects.iter().map(String::as_str));
            }
        }
        Kind::Hint(words) => {
            schema.string("type", "string");
            if !words.is_empty() {
                schema.strings("examples", words.iter().copied());
            }
        }
        Kind::Choice { words, default } => {
            schema
                .string("type", "string")
                .strings("enum", words.iter().copied());
            if let Some(default) = default {
                schema.string("default", default);
            }
        }
    }
    schema.end();
}

fn push_messages(out: &mut Vec<u8>, messages: &[(&str, &str)]) {
    let mut body = Object::begin(out);
    body.bool("required", true);
    let mut content = Object::begin(body.key("content"));
    let mut json = Object::begin(content.key("application/json"));
    let mut schema = Object::begin(json.key("schema"));
    let mut forms = Array::begin(schema.key("anyOf"));
    push_reference(forms.item(), "schemas", "JsonRpcRequest");
    push_reference(forms.item(), "schemas", "JsonRpcNotification");
    forms.end();
    schema.end();
    let mut examples = Object::begin(json.key("examples"));
    for (name, message) in messages {
        let mut example = Object::begin(examples.key(name));
        example.raw("value", message.as_bytes());
        example.end();
    }
    examples.end();
    json.end();
    content.end();
    body.end();
}

fn push_form(out: &mut Vec<u8>, examples: &Examples) {
    let mut body = Object::begin(out);
    body.bool("required", true);
    let mut content = Object::begin(body.key("content"));
    let mut form = Object::begin(content.key("application/x-www-form-urlencoded"));
    let mut schema = Object::begin(form.key("schema"));
    let mut parts = Array::begin(schema.key("allOf"));
    push_reference(parts.item(), "schemas", "HubForm");
    let mut topics = Object::begin(parts.item());
    let mut properties = Object::begin(topics.key("properties"));
    let mut topic = Object::begin(properties.key("hub.topic"));
    let urls = TOPICS.map(|path| format!("{}{path}", examples.base_url));
    topic.strings("enum", urls.iter().map(String::as_str));
    topic.end();
    properties.end();
    topics.end();
    parts.end();
    schema.end();
    let mut example = Object::begin(form.key("example"));
    for (name, value) in examples.form() {
        example.string(name, &value);
    }
    example.end();
    form.end();
    content.end();
    body.end();
}

fn push_answer(out: &mut Vec<u8>, answer: &Answer, id: &str, examples: &Examples) {
    let mut object = Object::begin(out);
    object.string("description", answer.description);
    if !answer.headers.is_empty() {
        let mut headers = Object::begin(object.key("headers"));
        for (name, component) in answer.headers {
            push_reference(headers.key(name), "headers", component);
        }
        headers.end();
    }
    if !answer.media_type.is_empty() {
        let mut content = Object::begin(object.key("content"));
        let mut body = Object::begin(content.key(answer.media_type));
        push_reference(body.key("schema"), "schemas", answer.schema);
        if let Some(example) = examples.document(answer.example) {
            body.raw("example", example);
        }
        body.end();
        if id == "sendMessage" {
            // The same answer for clients that take events alone.
            content.raw("text/event-stream", br#"{"schema":{"type":"string"}}"#);
        }
        content.end();
    }
    if id == "searchReviews" {
        object.raw("links", &minified(SEARCH_LINKS));
    }
    object.end();
}

/// What a page of the search leads to.
const SEARCH_LINKS: &str = r##"{
    "review": {
        "operationId": "getReview",
        "parameters": {"id": "$response.body#/reviews/0/id"},
        "description": "Each review has an address of its own."
    }
}"##;

fn push_reference(out: &mut Vec<u8>, kind: &str, name: &str) {
    let mut object = Object::begin(out);
    object.string("$ref", &format!("#/components/{kind}/{name}"));
    object.end();
}

/// Tells whether the answer has validators, and so the request may have conditions.
fn is_conditional(operation: &Operation) -> bool {
    has_header(operation, "ETag")
}

fn has_header(operation: &Operation, name: &str) -> bool {
    operation
        .answer
        .headers
        .iter()
        .any(|(known, _)| *known == name)
}

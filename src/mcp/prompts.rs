//! Prompts: requests that a person picks from a menu, written out for the model.

use super::catalog::Catalog;
use super::fixtures;
use super::json::Value;
use super::jsonrpc::{Call, RpcError};
use crate::search::issue::cut;
use crate::wire::json::{Array, Object, push_escaped};

/// Appends the result of `prompts/get`, up to its closing brace.
///
/// # Errors
/// Invalid parameters: an unknown prompt, an argument that is missing, unknown, no string, or names no review.
pub(crate) fn get(
    catalog: &Catalog,
    call: &Call<'_, '_>,
    out: &mut Vec<u8>,
) -> Result<(), RpcError> {
    let Some(name) = call.param("name").and_then(Value::as_str) else {
        return Err(RpcError::params("params.name must be the name of a prompt"));
    };
    let given = Given::read(call)?;
    match name {
        "summarize_reviews" => summarize(&given, out),
        "compare_services" => compare(&given, out),
        "draft_reply" => draft_reply(catalog, &given, out),
        _ if catalog.has_fixtures => match fixtures::prompt(name, call, out) {
            true => Ok(()),
            false => Err(unknown(name)),
        },
        _ => Err(unknown(name)),
    }
}

fn unknown(name: &str) -> RpcError {
    RpcError::params(format!("there is no prompt {:?} here", cut(name)))
}

fn summarize(given: &Given<'_, '_>, out: &mut Vec<u8>) -> Result<(), RpcError> {
    given.check(&["since", "service", "technician", "aspect"])?;
    let mut text = String::from(
        "Summarize what the customer reviews say. Take the figures from get_rating_summary and get_insights, and \
         read reviews with search_reviews, the newest first, page by page until you have enough.",
    );
    let mut add = |condition: &str, value: Option<&str>| {
        if let Some(value) = value {
            text.push_str(&format!(" {condition} {value:?}."));
        }
    };
    add("Look only at reviews since", given.text("since")?);
    add(
        "Look only at reviews that mention the service",
        given.text("service")?,
    );
    add(
        "Look only at reviews that mention",
        given.text("technician")?,
    );
    add(
        "Pay attention above all to the aspect",
        given.text("aspect")?,
    );
    text.push_str(
        " Say what is praised, what is criticized and what changed over time, with numbers, and quote two or three \
         reviews word for word with author and date. Leave nothing unfavorable out.",
    );
    push_prompt(out, "A summary of the reviews", &text);
    Ok(())
}

fn compare(given: &Given<'_, '_>, out: &mut Vec<u8>) -> Result<(), RpcError> {
    given.check(&["first", "second"])?;
    let (first, second) = (given.needed("first")?, given.needed("second")?);
    let text = format!(
        "Compare what customers say about the services {first:?} and {second:?}. Call get_service for each, then \
         search_reviews with mentions_service for the newest and for the lowest rated reviews. Set the number of \
         reviews, the mean rating, praise and complaints side by side in a table, and say where there are too few \
         reviews to judge."
    );
    push_prompt(out, "Two services compared", &text);
    Ok(())
}

fn draft_reply(
    catalog: &Catalog,
    given: &Given<'_, '_>,
    out: &mut Vec<u8>,
) -> Result<(), RpcError> {
    given.check(&["review_id", "tone"])?;
    let id = given.needed("review_id")?;
    let tone = given.text("tone")?.unwrap_or("warm and matter-of-fact");
    let Some(row) = catalog.snapshot.index.row_of_id(id) else {
        return Err(RpcError::params(format!(
            "no published review has the id {:?}",
            cut(id)
        )));
    };
    let text = format!(
        "Draft the owner's public reply to the review below, {tone}, at most 120 words. Thank the author, answer \
         what they say, and admit what went wrong without excuses. Do not confirm that anybody is a client, name \
         no facts of a case, promise no outcome, and offer to talk in private."
    );
    out.extend_from_slice(b"{\"description\":\"A reply to a review\",\"messages\":[");
    push_message(out, &text);
    out.extend_from_slice(
        b",{\"role\":\"user\",\"content\":{\"type\":\"resource\",\"resource\":{\"uri\":",
    );
    crate::wire::json::push_string(out, &format!("reviews://review/{id}"));
    out.extend_from_slice(b",\"mimeType\":\"application/json\",\"text\":\"");
    push_escaped(out, catalog.snapshot.review(row));
    out.extend_from_slice(b"\"}}}]");
    Ok(())
}

fn push_prompt(out: &mut Vec<u8>, description: &str, text: &str) {
    out.push(b'{');
    out.extend_from_slice(b"\"description\":");
    crate::wire::json::push_string(out, description);
    out.extend_from_slice(b",\"messages\":");
    let mut messages = Array::begin(out);
    push_message(messages.item(), text);
    messages.end();
}

fn push_message(out: &mut Vec<u8>, text: &str) {
    let mut message = Object::begin(out);
    message.string("role", "user");
    let mut content = Object::begin(message.key("content"));
    content.string("type", "text").string("text", text);
    content.end();
    message.end();
}

/// The arguments of a prompt: strings, and none besides those of the prompt.
struct Given<'v, 'a>(Option<&'v Value<'a>>);

impl<'v, 'a> Given<'v, 'a> {
    fn read(call: &Call<'v, 'a>) -> Result<Given<'v, 'a>, RpcError> {
        match call.param("arguments") {
            None | Some(Value::Null) => Ok(Given(None)),
            Some(arguments @ Value::Object(_)) => Ok(Given(Some(arguments))),
            Some(_) => Err(RpcError::params("params.arguments must be an object")),
        }
    }

    fn check(&self, known: &[&str]) -> Result<(), RpcError> {
        let members = self.0.and_then(Value::as_object).unwrap_or_default();
        match members
            .iter()
            .find(|(name, _)| !known.contains(&name.as_ref()))
        {
            None => Ok(()),
            Some((name, _)) => Err(RpcError::params(format!(
                "{:?} is not an argument of this prompt, which takes {}",
                cut(name),
                known.join(", ")
            ))),
        }
    }

    fn text(&self, name: &'static str) -> Result<Option<&'v str>, RpcError> {
        match self.0.and_then(|members| members.get(name)) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.is_empty() => Ok(None),
            Some(Value::String(text)) if text.len() <= ARGUMENT_BYTES_MAX => Ok(Some(text)),
            Some(_) => Err(RpcError::params(format!(
                "{name} must be a string of at most {ARGUMENT_BYTES_MAX} bytes"
            ))),
        }
    }

    fn needed(&self, name: &'static str) -> Result<&'v str, RpcError> {
        let text = self.text(name)?;
        text.ok_or_else(|| RpcError::params(format!("the argument {name} must be given")))
    }
}

/// Items of `prompts/list`.
pub(super) const PROMPTS: &str = r#"
{
  "name": "summarize_reviews",
  "title": "Summarize the reviews",
  "description": "What customers praise and criticize, with figures and quotations; for all reviews or a part of them.",
  "arguments": [
    {"name": "since", "title": "Since", "description": "Only reviews on or after this day, YYYY-MM-DD", "required": false},
    {"name": "service", "title": "Service", "description": "Only reviews that mention this service, by id or label", "required": false},
    {"name": "technician", "title": "Person", "description": "Only reviews that mention this person", "required": false},
    {"name": "aspect", "title": "Aspect", "description": "What to look at above all, such as communication", "required": false}
  ]
},
{
  "name": "compare_services",
  "title": "Compare two services",
  "description": "Ratings, praise and complaints of two services side by side.",
  "arguments": [
    {"name": "first", "title": "First service", "description": "Id or label of a service", "required": true},
    {"name": "second", "title": "Second service", "description": "Id or label of another service", "required": true}
  ]
},
{
  "name": "draft_reply",
  "title": "Draft a reply",
  "description": "A draft of the owner's public reply to one review.",
  "arguments": [
    {"name": "review_id", "title": "Review", "description": "Id of the review", "required": true},
    {"name": "tone", "title": "Tone", "description": "How it should sound; warm and matter-of-fact if not given", "required": false}
  ]
}"#;

/// Longest argument of a prompt.
const ARGUMENT_BYTES_MAX: usize = 1_024;

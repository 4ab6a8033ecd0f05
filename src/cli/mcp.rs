//! `reviewd mcp`: the MCP server over standard input and output, for clients that start local servers.
//!
//! One message per line, as in the stdio transport; only responses are written to standard output.

use std::io::{self, BufRead, Read, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use serde_json::{Value, json};

use super::config::data_directory;
use super::exit::{Failure, Status, tell};
use super::read::read_dataset;
use super::values::parse_base_url;
use crate::clock;
use crate::dataset;
use crate::mcp::protocol::Revision;
use crate::mcp::{Catalog, McpSettings, Server};
use crate::search::index::IndexOptions;
use crate::server::files::Stamps;
use crate::server::process::search_memory;
use crate::snapshot::{self, Snapshot};

/// Longest message in bytes; a longer one gets an error.
const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// The error for a longer message; the code is that of an invalid request (JSON-RPC 2.0 §5.1).
const TOO_LONG: &str = "a message must be at most 1048576 bytes";
const INVALID_REQUEST: i32 = -32_600;

/// Bytes of a too long message that are searched for its id; the rest of the line is skipped.
const LINE_BYTES_MAX: usize = 16 << 20;

#[derive(Args)]
pub(super) struct McpArgs {
    /// Directory with reviews.json and the files beside it [default: `data` if that directory exists, else a sample]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Public address that the responses contain
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080", value_parser = parse_base_url)]
    base_url: String,
}

/// Answers messages until standard input ends, from the local files, which are reloaded when they have changed.
///
/// # Errors
/// If the data cannot be used, or standard output is closed.
pub(super) fn run(args: &McpArgs) -> Result<(), Failure> {
    let answer = answer_here(args)?;
    let ended = converse(&mut io::stdin().lock(), &mut io::stdout().lock(), answer);
    ended.map_err(|error| Failure::new(Status::Io, error.to_string()))
}

/// Returns the function that answers from local files.
fn answer_here(args: &McpArgs) -> Result<impl FnMut(&[u8]) -> Option<Vec<u8>>, Failure> {
    let directory = data_directory(args.data.as_deref());
    if directory.is_none() {
        tell(format_args!("responses use sample data: see --data"));
    }
    let mut seen = stamps_of(directory);
    let mut catalog = load(args, directory)?;
    let server = Server::new(McpSettings {
        base_url: args.base_url.clone(),
        allowed_origins: Vec::new(),
        allowed_hosts: Vec::new(),
        body_bytes_max: MESSAGE_BYTES_MAX,
    });
    let mut revision = Revision::ASSUMED;
    Ok(move |line: &[u8]| {
        let now = stamps_of(directory);
        if now != seen {
            seen = now;
            match load(args, directory) {
                Ok(changed) => catalog = changed,
                Err(failure) => tell(format_args!(
                    "the changed data cannot be used, so responses come from the previous data: {failure}"
                )),
            }
        }
        server.answer_line(&catalog, line, &mut revision)
    })
}

/// Returns the stamps of the files of a directory; the sample never changes.
fn stamps_of(directory: Option<&Path>) -> Stamps {
    directory.map(Stamps::of).unwrap_or_default()
}

/// Builds the catalog from the files of a directory, or from the sample.
fn load(args: &McpArgs, directory: Option<&Path>) -> Result<Catalog, Failure> {
    let decoded = match directory {
        Some(directory) => read_dataset(directory)?,
        None => dataset::decode(dataset::embedded(), clock::now())
            .map_err(|problems| Failure::new(Status::Data, problems.to_string()))?,
    };
    let reviews = decoded.dataset.reviews.iter();
    let text_bytes = reviews.map(|review| review.text.len() as u64).sum();
    let settings = snapshot::SnapshotSettings {
        base_url: args.base_url.clone(),
        index: IndexOptions {
            memory_bytes: search_memory(text_bytes),
            threads: NonZeroUsize::MIN,
            tuning: None,
        },
    };
    let snapshot = Snapshot::build(decoded.dataset, &settings);
    Ok(Catalog::new(Arc::new(snapshot)))
}

/// Passes each line to `answer` and writes the result; skips empty lines.
fn converse(
    input: &mut impl BufRead,
    output: &mut impl Write,
    mut answer: impl FnMut(&[u8]) -> Option<Vec<u8>>,
) -> io::Result<()> {
    let mut line = Vec::new();
    while input
        .take(LINE_BYTES_MAX as u64 + 1)
        .read_until(b'\n', &mut line)?
        > 0
    {
        let is_whole = line.ends_with(b"\n") || line.len() <= LINE_BYTES_MAX;
        if !is_whole {
            input.skip_until(b'\n')?;
        }
        let answered = match line.trim_ascii() {
            b"" => None,
            message if message.len() <= MESSAGE_BYTES_MAX => answer(message),
            message => Some(too_long_error(message)),
        };
        if let Some(mut answered) = answered {
            answered.push(b'\n');
            output.write_all(&answered)?;
            output.flush()?;
        }
        line.clear();
    }
    Ok(())
}

/// Renders the error for a message that is too long: for each of its requests, with their ids, or without an id if none
/// can be read.
fn too_long_error(line: &[u8]) -> Vec<u8> {
    let message: Value = serde_json::from_slice(line).unwrap_or_default();
    if let Value::Array(messages) = &message {
        let errors: Vec<Value> = messages.iter().filter_map(error_of).collect();
        if !errors.is_empty() {
            return Value::Array(errors).to_string().into_bytes();
        }
    }
    let error = error_of(&message).unwrap_or_else(|| error_with_id(&Value::Null));
    error.to_string().into_bytes()
}

/// Returns the error for `message`; `None` if it is no request, which gets no response.
fn error_of(message: &Value) -> Option<Value> {
    if !message["method"].is_string() || message["id"].is_null() {
        return None;
    }
    Some(error_with_id(&message["id"]))
}

fn error_with_id(id: &Value) -> Value {
    let mut error =
        json!({"jsonrpc": "2.0", "error": {"code": INVALID_REQUEST, "message": TOO_LONG}});
    if !id.is_null() {
        error["id"] = id.clone();
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conversation(input: &[u8]) -> Vec<String> {
        let mut output = Vec::new();
        let echo = |line: &[u8]| (line != b"quiet").then(|| line.to_vec());
        converse(&mut &input[..], &mut output, echo).unwrap();
        let text = String::from_utf8(output).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn each_line_is_answered_by_a_line_and_notifications_by_none() {
        assert_eq!(conversation(b"a\n\r\n quiet\r\nb"), ["a", "b"]);
        assert!(conversation(b"").is_empty());
    }

    #[test]
    fn a_message_over_a_megabyte_is_refused_by_its_id_and_the_next_one_read() {
        let fits = "x".repeat(MESSAGE_BYTES_MAX);
        let call = format!(r#"{{"method":"ping","params":"{fits}","jsonrpc":"2.0","id":7}}"#);
        let endless = "x".repeat(LINE_BYTES_MAX + 1);
        let input = format!("{fits}\n{fits}y\n{call}\n{endless}\nz\n");
        let lines = conversation(input.as_bytes());
        assert_eq!((lines[0] == fits, lines.len()), (true, 5));
        assert!(lines[1..4].iter().all(|line| line.contains("-32600")));
        let has_id = [1, 2, 3].map(|at| lines[at].ends_with(r#""id":7}"#));
        assert_eq!((has_id, &*lines[4]), ([false, true, false], "z"));
    }
}

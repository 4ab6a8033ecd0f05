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

/// The text of the error for a longer message.
const TOO_LONG: &str = "a message must be at most 1048576 bytes";
/// The code of the error: an invalid request (JSON-RPC 2.0 §5.1).
const INVALID_REQUEST: i32 = -32_600;

/// Longest line that is parsed for the ids of its requests if the message is too long. Of a longer line the rest is
/// skipped, and the error has no id.
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
    let mut session = LocalSession::open(args)?;
    let ended = converse(&mut io::stdin().lock(), &mut io::stdout().lock(), |line| {
        session.answer(line)
    });
    ended.map_err(|error| Failure::new(Status::Io, error.to_string()))
}

/// The session of the client that has started this process.
struct LocalSession<'a> {
    args: &'a McpArgs,
    /// `None` for the sample.
    directory: Option<&'a Path>,
    /// The stamps of the files that were read last.
    stamps: Stamps,
    catalog: Catalog,
    server: Server,
    revision: Revision,
}

impl LocalSession<'_> {
    /// Reads the files, and says on standard error if these are the sample.
    fn open(args: &McpArgs) -> Result<LocalSession<'_>, Failure> {
        let directory = data_directory(args.data.as_deref());
        if directory.is_none() {
            tell(format_args!("responses use sample data: see --data"));
        }
        Ok(LocalSession {
            args,
            directory,
            // Taken before the files are read, so that a change meanwhile is noticed.
            stamps: stamps_of(directory),
            catalog: load(args, directory)?,
            server: Server::new(McpSettings {
                base_url: args.base_url.clone(),
                allowed_origins: Vec::new(),
                allowed_hosts: Vec::new(),
                body_bytes_max: MESSAGE_BYTES_MAX,
            }),
            revision: Revision::ASSUMED,
        })
    }

    /// Returns the response to a message; `None` for a notification. Files that have changed since they were last read
    /// are read again before.
    fn answer(&mut self, line: &[u8]) -> Option<Vec<u8>> {
        let stamps = stamps_of(self.directory);
        if stamps != self.stamps {
            self.stamps = stamps;
            match load(self.args, self.directory) {
                Ok(changed) => self.catalog = changed,
                Err(failure) => tell(format_args!(
                    "the changed data cannot be used, so responses come from the previous data: {failure}"
                )),
            }
        }
        self.server
            .answer_line(&self.catalog, line, &mut self.revision)
    }
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

/// Renders the error for a message that is too long. Each request in it gets one with its id; if no request can be
/// read, there is one error without an id.
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

/// Returns the error for `message`; `None` if it is not a request, as only requests get responses.
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

    /// Answers each line with itself, and "quiet" with nothing.
    fn echo(line: &[u8]) -> Option<Vec<u8>> {
        if line == b"quiet" {
            return None;
        }
        Some(line.to_vec())
    }

    fn conversation(input: &[u8]) -> Vec<String> {
        let mut output = Vec::new();
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
        assert_eq!(lines.len(), 5);
        assert!(lines[0] == fits, "the longest message is answered");
        for line in &lines[1..4] {
            assert!(line.contains("-32600"), "{line}");
        }
        let has_id = [1, 2, 3].map(|at| lines[at].ends_with(r#""id":7}"#));
        assert_eq!(has_id, [false, true, false]);
        assert_eq!(lines[4], "z");
    }
}

//! `sources.json`: which sources a folder is kept up to date from. It never has a token.

use std::collections::HashSet;
use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use url::{Host, Url};

use crate::formats::{SourceFormat, named};
use crate::text::short_message;
use reviewd_data::dataset::is_id;
use reviewd_wire::text::quote;

/// Sources of a folder.
pub const SOURCES_MAX: usize = 100;

/// Bytes of an address.
const URL_BYTES_MAX: usize = 2_048;

/// The sources of a folder, in the order in which they are read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemoteList {
    /// Each with another id.
    pub sources: Vec<RemoteSource>,
}

/// A source that is read over the network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemoteSource {
    /// Its name in reports, 1 to 64 characters of `[A-Za-z0-9_-]`.
    pub id: String,
    /// The platform, or the form of the file.
    pub kind: RemoteKind,
    /// The address of its first page; https, or http to this machine.
    pub url: String,
    /// The environment variable that has the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_env: Option<String>,
    /// The file that has the token; only its owner may read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_file: Option<String>,
    /// The id of the business's location that its reviews are about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// How reviews were verified when the source does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<RemoteVerification>,
}

/// The kind of a source.
#[allow(missing_docs, reason = "the platforms' names")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RemoteKind {
    Google,
    Trustpilot,
    Judgeme,
    Yotpo,
    Shopify,
    Woocommerce,
    /// One JSON document of any form that `import` reads.
    Json,
    /// One table of any form that `import` reads.
    Csv,
}

/// How reviews were verified when the source does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RemoteVerification {
    /// The business has matched the authors with customers.
    Business,
    /// The platform has published them with an account; no author was matched with a customer.
    Account,
}

/// Why `sources.json` is refused.
#[derive(Debug, Error)]
pub enum SpecError {
    /// Not JSON, or of another shape.
    #[error("sources.json: {}", short_message(.0))]
    Json(#[from] serde_json::Error),
    /// More than [`SOURCES_MAX`].
    #[error("sources.json: has {0} sources, more than {SOURCES_MAX}")]
    TooMany(usize),
    /// A value of one source.
    #[error("sources.json: sources[{index}].{key}: {message}")]
    Value {
        /// The position of the source.
        index: usize,
        /// The key.
        key: &'static str,
        /// What is wrong.
        message: String,
    },
}

impl RemoteKind {
    /// All kinds, in the order of the documentation.
    pub const ALL: [RemoteKind; 8] = [
        RemoteKind::Google,
        RemoteKind::Trustpilot,
        RemoteKind::Judgeme,
        RemoteKind::Yotpo,
        RemoteKind::Shopify,
        RemoteKind::Woocommerce,
        RemoteKind::Json,
        RemoteKind::Csv,
    ];

    /// The word in files and on the command line.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            RemoteKind::Google => "google",
            RemoteKind::Trustpilot => "trustpilot",
            RemoteKind::Judgeme => "judgeme",
            RemoteKind::Yotpo => "yotpo",
            RemoteKind::Shopify => "shopify",
            RemoteKind::Woocommerce => "woocommerce",
            RemoteKind::Json => "json",
            RemoteKind::Csv => "csv",
        }
    }

    /// Whether the platform answers only with a token.
    #[must_use]
    pub fn needs_token(self) -> bool {
        !self.is_single_document()
    }

    /// Whether the source is one document, and not pages of a platform.
    #[must_use]
    pub fn is_single_document(self) -> bool {
        matches!(self, RemoteKind::Json | RemoteKind::Csv)
    }

    /// The format of its pages; `None` where it is detected.
    #[must_use]
    pub fn format(self) -> Option<&'static SourceFormat> {
        match self {
            RemoteKind::Google => named("google"),
            RemoteKind::Trustpilot => named("trustpilot-api"),
            RemoteKind::Judgeme => named("judgeme-api"),
            RemoteKind::Yotpo => named("yotpo-api"),
            RemoteKind::Woocommerce => named("woocommerce-api"),
            // `shopify::flatten` turns its answers into this format.
            RemoteKind::Shopify => named("shopify-api"),
            RemoteKind::Json | RemoteKind::Csv => None,
        }
    }
}

impl fmt::Display for RemoteKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())
    }
}

impl RemoteList {
    /// Reads and checks `sources.json`.
    ///
    /// # Errors
    /// The first fault, with its place.
    pub fn parse(json: &[u8]) -> Result<RemoteList, SpecError> {
        let list: RemoteList = serde_json::from_slice(json)?;
        list.check()?;
        Ok(list)
    }

    /// Checks the values.
    ///
    /// # Errors
    /// The first fault, with its place.
    pub fn check(&self) -> Result<(), SpecError> {
        let count = self.sources.len();
        if count > SOURCES_MAX {
            return Err(SpecError::TooMany(count));
        }
        let mut ids = HashSet::new();
        for (index, source) in self.sources.iter().enumerate() {
            if let Err(SourceFault { key, message }) = source.check() {
                return Err(SpecError::Value {
                    index,
                    key,
                    message,
                });
            }
            if !ids.insert(&source.id) {
                return Err(SpecError::Value {
                    index,
                    key: "id",
                    message: format!("{} is also the id of an earlier source", quote(&source.id)),
                });
            }
        }
        Ok(())
    }

    /// Renders `sources.json`.
    #[must_use]
    pub fn render(&self) -> String {
        let text = serde_json::to_string_pretty(self);
        text.expect("texts are JSON") + "\n"
    }
}

/// A wrong value of a source.
struct SourceFault {
    key: &'static str,
    message: String,
}

impl SourceFault {
    fn of(key: &'static str, message: &str) -> SourceFault {
        SourceFault {
            key,
            message: message.to_owned(),
        }
    }
}

impl RemoteSource {
    fn check(&self) -> Result<(), SourceFault> {
        if !is_id(&self.id) {
            return Err(SourceFault::of(
                "id",
                "must be 1 to 64 characters of A-Z, a-z, 0-9, _ and -",
            ));
        }
        if !is_permitted_url(&self.url) {
            return Err(SourceFault::of(
                "url",
                "must be an https address without a name or password, or http to this machine",
            ));
        }
        if self.token_env.is_some() && self.token_file.is_some() {
            return Err(SourceFault::of(
                "token_env",
                "stands beside token_file: one of them has the token",
            ));
        }
        if self.kind.needs_token() && self.token_env.is_none() && self.token_file.is_none() {
            return Err(SourceFault::of(
                "token_env",
                "is missing: this platform answers only with a token",
            ));
        }
        if self
            .location
            .as_deref()
            .is_some_and(|location| location.trim().is_empty())
        {
            return Err(SourceFault::of("location", "is empty"));
        }
        Ok(())
    }
}

/// Whether a token may be sent to this address: over TLS, or without it to this machine only.
#[must_use]
pub fn is_permitted_url(text: &str) -> bool {
    if text.len() > URL_BYTES_MAX {
        return false;
    }
    let Ok(url) = Url::parse(text) else {
        return false;
    };
    if !url.username().is_empty() || url.password().is_some() {
        return false;
    }
    let is_here = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => return false,
    };
    url.scheme() == "https" || (url.scheme() == "http" && is_here)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(source: &str) -> Result<RemoteList, SpecError> {
        RemoteList::parse(format!(r#"{{"sources":[{source}]}}"#).as_bytes())
    }

    #[test]
    fn a_list_is_read_as_it_was_written() {
        let text = r#"{"id":"a","kind":"google","url":"https://g.example/x","token_env":"T","verification":"account"}"#;
        let read = list(text).unwrap();
        assert_eq!(RemoteList::parse(read.render().as_bytes()).unwrap(), read);
    }

    #[test]
    fn a_file_of_one_long_text_has_a_short_message() {
        let long = "x".repeat(10_000);
        let file = format!(r#"{{"sources":"{long}"}}"#);
        let message = RemoteList::parse(file.as_bytes()).unwrap_err().to_string();
        assert!(message.contains("string \"xxx"), "{message}");
        assert_eq!(message.len(), "sources.json: ".len() + 256);
    }

    #[test]
    fn a_wrong_value_is_named_with_its_place() {
        for (source, expected) in [
            (
                r#"{"id":"a b","kind":"json","url":"https://x.example/"}"#,
                "sources.json: sources[0].id: must be 1 to 64 characters of A-Z, a-z, 0-9, _ and -",
            ),
            (
                r#"{"id":"a","kind":"json","url":"http://x.example/"}"#,
                "sources.json: sources[0].url: must be an https address without a name or password, or http to this machine",
            ),
            (
                r#"{"id":"a","kind":"yotpo","url":"https://x.example/"}"#,
                "sources.json: sources[0].token_env: is missing: this platform answers only with a token",
            ),
            (
                r#"{"id":"a","kind":"json","url":"https://x.example/"},{"id":"a","kind":"csv","url":"https://x.example/"}"#,
                "sources.json: sources[1].id: \"a\" is also the id of an earlier source",
            ),
        ] {
            assert_eq!(list(source).unwrap_err().to_string(), expected);
        }
        let unknown =
            list(r#"{"id":"a","kind":"json","url":"https://x.example/","token":"secret"}"#);
        assert!(
            unknown
                .unwrap_err()
                .to_string()
                .contains("unknown field `token`")
        );
    }

    #[test]
    fn tokens_go_only_to_this_machine_without_tls() {
        for (url, is_permitted) in [
            ("https://judge.me/api/v1/reviews", true),
            ("http://127.0.0.1:8080/x", true),
            ("http://[::1]/x", true),
            ("http://localhost/x", true),
            ("http://10.0.0.1/x", false),
            ("http://localhost.example/x", false),
            ("https://me:secret@x.example/", false),
            ("ftp://127.0.0.1/x", false),
            ("/x", false),
        ] {
            assert_eq!(is_permitted_url(url), is_permitted, "{url}");
        }
    }

    #[test]
    fn a_list_has_at_most_100_sources() {
        let source = |number: usize| {
            format!(r#"{{"id":"s{number}","kind":"json","url":"https://x.example/"}}"#)
        };
        for (count, is_accepted) in [(SOURCES_MAX, true), (SOURCES_MAX + 1, false)] {
            let sources: Vec<String> = (0..count).map(source).collect();
            assert_eq!(list(&sources.join(",")).is_ok(), is_accepted, "{count}");
        }
    }

    #[test]
    fn every_kind_has_its_format() {
        for kind in RemoteKind::ALL {
            let is_detected = matches!(kind, RemoteKind::Json | RemoteKind::Csv);
            assert_eq!(kind.format().is_none(), is_detected, "{kind}");
        }
    }
}

//! What the operator gives for a source: a token, or credentials that are exchanged for one at each run.
//!
//! Google's access tokens end after an hour, so a file with `client_id`, `client_secret` and `refresh_token` (OAuth 2.0,
//! RFC 6749 §6; the form of Google's own `application_default_credentials.json`) is exchanged at its token endpoint.
//! Yotpo gives a token for `app_key` and `secret` (RFC 6749 §4.4).

use serde::Deserialize;
use serde_json::{Value, json};
use thiserror::Error;
use url::form_urlencoded;

use super::message::{RemoteBody, RemoteRequest};
use super::spec::{RemoteKind, is_permitted_url};

const GOOGLE_TOKENS: &str = "https://oauth2.googleapis.com/token";
const YOTPO_TOKENS: &str = "https://api.yotpo.com/oauth/token";

/// Why credentials cannot be used, or are not exchanged for a token.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CredentialsError {
    /// Nothing but spaces.
    #[error("they are empty")]
    Empty,
    /// A token with a control character.
    #[error("they have a control character")]
    ControlCharacter,
    /// JSON for a platform that has only tokens.
    #[error("{0} has a token, and no JSON object")]
    OnlyTokens(RemoteKind),
    /// JSON without the keys of Google.
    #[error("an object with client_id, client_secret and refresh_token is wanted")]
    GoogleKeys,
    /// JSON without the keys of Yotpo.
    #[error("an object with app_key and secret is wanted")]
    YotpoKeys,
    /// A token endpoint on another machine without https.
    #[error("token_uri is neither an https address nor one of this machine")]
    TokenUri,
    /// An exchange that gave no token.
    #[error("the answer to the exchange has no access_token")]
    NoAccessToken,
}

/// What the variable or the file has.
pub(super) enum Credentials {
    /// A token that is sent as it is.
    Token(String),
    /// The request that answers with a token.
    Exchange(RemoteRequest),
}

#[derive(Deserialize)]
struct GoogleCredentials {
    client_id: String,
    client_secret: String,
    refresh_token: String,
    token_uri: Option<String>,
}

#[derive(Deserialize)]
struct YotpoCredentials {
    app_key: String,
    secret: String,
    token_uri: Option<String>,
}

impl Credentials {
    /// Reads a token, or the JSON object of a platform that has one.
    pub(super) fn parse(kind: RemoteKind, text: &str) -> Result<Credentials, CredentialsError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(CredentialsError::Empty);
        }
        if !text.starts_with('{') {
            if text.contains(char::is_control) {
                return Err(CredentialsError::ControlCharacter);
            }
            return Ok(Credentials::Token(text.to_owned()));
        }
        match kind {
            RemoteKind::Google => google(text),
            RemoteKind::Yotpo => yotpo(text),
            _ => Err(CredentialsError::OnlyTokens(kind)),
        }
    }
}

fn google(text: &str) -> Result<Credentials, CredentialsError> {
    let keys: GoogleCredentials =
        serde_json::from_str(text).map_err(|_| CredentialsError::GoogleKeys)?;
    let form = form_urlencoded::Serializer::new(String::new())
        .append_pair("grant_type", "refresh_token")
        .append_pair("client_id", &keys.client_id)
        .append_pair("client_secret", &keys.client_secret)
        .append_pair("refresh_token", &keys.refresh_token)
        .finish();
    let body = RemoteBody {
        media_type: "application/x-www-form-urlencoded",
        text: form,
    };
    exchange(keys.token_uri, GOOGLE_TOKENS, body)
}

fn yotpo(text: &str) -> Result<Credentials, CredentialsError> {
    let keys: YotpoCredentials =
        serde_json::from_str(text).map_err(|_| CredentialsError::YotpoKeys)?;
    let message = json!({
        "client_id": keys.app_key,
        "client_secret": keys.secret,
        "grant_type": "client_credentials",
    });
    let body = RemoteBody {
        media_type: "application/json",
        text: message.to_string(),
    };
    exchange(keys.token_uri, YOTPO_TOKENS, body)
}

fn exchange(
    uri: Option<String>,
    usual: &str,
    body: RemoteBody,
) -> Result<Credentials, CredentialsError> {
    let url = uri.unwrap_or_else(|| usual.to_owned());
    if !is_permitted_url(&url) {
        return Err(CredentialsError::TokenUri);
    }
    Ok(Credentials::Exchange(RemoteRequest {
        url,
        fields: Vec::new(),
        body: Some(body),
    }))
}

/// Reads the token in the answer to an exchange (RFC 6749 §5.1).
pub(super) fn read_access_token(body: &[u8]) -> Result<String, CredentialsError> {
    let answer: Value = serde_json::from_slice(body).unwrap_or_default();
    let token = answer["access_token"]
        .as_str()
        .ok_or(CredentialsError::NoAccessToken)?;
    Ok(token.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns why the text cannot be used.
    fn refusal(kind: RemoteKind, text: &str) -> CredentialsError {
        match Credentials::parse(kind, text) {
            Ok(_) => panic!("{text} is taken"),
            Err(error) => error,
        }
    }

    #[test]
    fn what_cannot_be_used_is_refused_with_what_is_wanted() {
        let elsewhere = r#"{"app_key":"a","secret":"s","token_uri":"http://tokens.example/"}"#;
        for (kind, text, expected) in [
            (RemoteKind::Judgeme, " \n", CredentialsError::Empty),
            (
                RemoteKind::Judgeme,
                "to\nken",
                CredentialsError::ControlCharacter,
            ),
            (
                RemoteKind::Judgeme,
                "{}",
                CredentialsError::OnlyTokens(RemoteKind::Judgeme),
            ),
            (RemoteKind::Google, "{}", CredentialsError::GoogleKeys),
            (
                RemoteKind::Yotpo,
                r#"{"app_key":"a"}"#,
                CredentialsError::YotpoKeys,
            ),
            (RemoteKind::Yotpo, elsewhere, CredentialsError::TokenUri),
        ] {
            assert_eq!(refusal(kind, text), expected, "{text}");
        }
    }

    #[test]
    fn the_keys_of_yotpo_are_exchanged_at_its_token_endpoint() {
        let keys = r#"{"app_key":"a","secret":"s"}"#;
        let Ok(Credentials::Exchange(request)) = Credentials::parse(RemoteKind::Yotpo, keys) else {
            panic!("no exchange");
        };
        assert_eq!(request.url, YOTPO_TOKENS);
        let body = request.body.expect("a POST");
        assert_eq!(body.media_type, "application/json");
        let sent: Value = serde_json::from_str(&body.text).expect("JSON");
        let expected =
            json!({"client_id": "a", "client_secret": "s", "grant_type": "client_credentials"});
        assert_eq!(sent, expected);
    }
}

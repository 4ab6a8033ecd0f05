//! The example of an operation in three languages.

use crate::pages::api::Operation;

/// What begins the session that an example ends.
const BEGIN: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"example","version":"1.0"}}}"#;

/// What the example of an operation sends.
pub(super) enum Sent<'d> {
    Nothing,
    Message(String),
    Form(Vec<(&'d str, &'d str)>),
    Delete,
}

impl<'d> Sent<'d> {
    pub(super) fn of(operation: &Operation<'d>) -> Sent<'d> {
        if operation.method() == "DELETE" {
            return Sent::Delete;
        }
        match (operation.form(), operation.message()) {
            (Some(form), _) => Sent::Form(form),
            (None, Some(message)) => Sent::Message(message),
            (None, None) => Sent::Nothing,
        }
    }

    pub(super) fn curl(&self, url: &str) -> String {
        match self {
            Sent::Nothing => format!("curl --compressed '{url}'"),
            Sent::Message(json) => {
                format!("curl '{url}' \\\n  -H 'Content-Type: application/json' \\\n  -d '{json}'")
            }
            Sent::Form(fields) => {
                let mut command = format!("curl -i '{url}'");
                for (name, value) in fields {
                    command.push_str(&format!(" \\\n  --data-urlencode '{name}={value}'"));
                }
                command
            }
            Sent::Delete => format!(
                "SESSION=$(curl -si '{url}' -H 'Content-Type: application/json' \\\n  -d '{BEGIN}' \\\n  \
                 | sed -n 's/^mcp-session-id: //Ip' | tr -d '\\r')\n\
                 curl -i -X DELETE '{url}' -H \"Mcp-Session-Id: $SESSION\""
            ),
        }
    }

    pub(super) fn script(&self, url: &str, operation: &Operation<'_>) -> String {
        let read = if operation.is_json() { "json" } else { "text" };
        let options = match self {
            Sent::Nothing => String::new(),
            Sent::Message(json) => format!(
                ", {{\n  method: 'POST',\n  headers: {{ 'Content-Type': 'application/json' }},\n  \
                 body: JSON.stringify({json}),\n}}"
            ),
            Sent::Form(fields) => {
                let lines = fields
                    .iter()
                    .map(|(name, value)| format!("    '{name}': '{value}',\n"));
                let lines: String = lines.collect();
                format!(
                    ", {{\n  method: 'POST',\n  body: new URLSearchParams({{\n{lines}  }}),\n}}"
                )
            }
            Sent::Delete => {
                ", {\n  method: 'DELETE',\n  headers: { 'Mcp-Session-Id': session },\n}".to_owned()
            }
        };
        let before = match self {
            Sent::Delete => format!(
                "const begun = await fetch('{url}', {{\n  method: 'POST',\n  headers: {{ 'Content-Type': \
                 'application/json' }},\n  body: JSON.stringify({BEGIN}),\n}});\n\
                 const session = begun.headers.get('Mcp-Session-Id');\n"
            ),
            Sent::Nothing | Sent::Message(_) | Sent::Form(_) => String::new(),
        };
        format!(
            "{before}const reply = await fetch('{url}'{options});\nconsole.log(reply.status, await reply.{read}());"
        )
    }

    pub(super) fn python(&self, url: &str, operation: &Operation<'_>) -> String {
        let (import, read) = match operation.is_json() {
            true => ("import json\n", "json.load(reply)"),
            false => ("", "reply.read().decode()"),
        };
        let (before, request) = match self {
            Sent::Nothing => (String::new(), format!("\"{url}\"")),
            Sent::Message(json) => (
                format!(
                    "message = '{json}'\nrequest = Request(\"{url}\", message.encode(), {{\"Content-Type\": \"application/json\"}})\n"
                ),
                "request".to_owned(),
            ),
            Sent::Form(fields) => {
                let lines = fields
                    .iter()
                    .map(|(name, value)| format!("    \"{name}\": \"{value}\",\n"));
                let lines: String = lines.collect();
                (
                    format!("fields = {{\n{lines}}}\n"),
                    format!("\"{url}\", urlencode(fields).encode()"),
                )
            }
            Sent::Delete => (
                format!(
                    "begin = '{BEGIN}'\nrequest = Request(\"{url}\", begin.encode(), {{\"Content-Type\": \
                     \"application/json\"}})\nwith urlopen(request) as reply:\n    session = \
                     reply.headers[\"Mcp-Session-Id\"]\n\
                     request = Request(\"{url}\", headers={{\"Mcp-Session-Id\": session}}, method=\"DELETE\")\n"
                ),
                "request".to_owned(),
            ),
        };
        let modules = match self {
            Sent::Nothing => "from urllib.request import urlopen\n",
            Sent::Form(_) => {
                "from urllib.parse import urlencode\nfrom urllib.request import urlopen\n"
            }
            Sent::Message(_) | Sent::Delete => "from urllib.request import Request, urlopen\n",
        };
        format!(
            "{import}{modules}\n{before}with urlopen({request}) as reply:\n    print(reply.status, {read})"
        )
    }
}

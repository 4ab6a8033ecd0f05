//! An example request of an operation for curl, JavaScript and Python.

use crate::pages::api::Operation;

/// Opens the session that the DELETE example ends.
const BEGIN: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"example","version":"1.0"}}}"#;

/// The body of an example request.
pub(super) enum RequestBody<'d> {
    Nothing,
    Message(String),
    Form(Vec<(&'d str, &'d str)>),
    Delete,
}

impl<'d> RequestBody<'d> {
    pub(super) fn of(operation: &Operation<'d>) -> RequestBody<'d> {
        if operation.method() == "DELETE" {
            return RequestBody::Delete;
        }
        match (operation.form(), operation.message()) {
            (Some(form), _) => RequestBody::Form(form),
            (None, Some(message)) => RequestBody::Message(message),
            (None, None) => RequestBody::Nothing,
        }
    }

    pub(super) fn curl(&self, url: &str) -> String {
        match self {
            RequestBody::Nothing => format!("curl --compressed '{url}'"),
            RequestBody::Message(json) => {
                format!("curl '{url}' \\\n  -H 'Content-Type: application/json' \\\n  -d '{json}'")
            }
            RequestBody::Form(fields) => {
                let mut command = format!("curl -i '{url}'");
                for (name, value) in fields {
                    command.push_str(&format!(" \\\n  --data-urlencode '{name}={value}'"));
                }
                command
            }
            RequestBody::Delete => format!(
                "SESSION=$(curl -si '{url}' -H 'Content-Type: application/json' \\\n  -d '{BEGIN}' \\\n  \
                 | sed -n 's/^mcp-session-id: //Ip' | tr -d '\\r')\n\
                 curl -i -X DELETE '{url}' -H \"Mcp-Session-Id: $SESSION\""
            ),
        }
    }

    pub(super) fn script(&self, url: &str, operation: &Operation<'_>) -> String {
        let read = if operation.is_json() { "json" } else { "text" };
        let options = match self {
            RequestBody::Nothing => String::new(),
            RequestBody::Message(json) => format!(
                ", {{\n  method: 'POST',\n  headers: {{ 'Content-Type': 'application/json' }},\n  \
                 body: JSON.stringify({json}),\n}}"
            ),
            RequestBody::Form(fields) => {
                let lines = fields
                    .iter()
                    .map(|(name, value)| format!("    '{name}': '{value}',\n"));
                let lines: String = lines.collect();
                format!(
                    ", {{\n  method: 'POST',\n  body: new URLSearchParams({{\n{lines}  }}),\n}}"
                )
            }
            RequestBody::Delete => {
                ", {\n  method: 'DELETE',\n  headers: { 'Mcp-Session-Id': session },\n}".to_owned()
            }
        };
        let before = match self {
            RequestBody::Delete => format!(
                "const begun = await fetch('{url}', {{\n  method: 'POST',\n  headers: {{ 'Content-Type': \
                 'application/json' }},\n  body: JSON.stringify({BEGIN}),\n}});\n\
                 const session = begun.headers.get('Mcp-Session-Id');\n"
            ),
            RequestBody::Nothing | RequestBody::Message(_) | RequestBody::Form(_) => String::new(),
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
            RequestBody::Nothing => (String::new(), format!("\"{url}\"")),
            RequestBody::Message(json) => (
                format!(
                    "message = '{json}'\nrequest = Request(\"{url}\", message.encode(), {{\"Content-Type\": \"application/json\"}})\n"
                ),
                "request".to_owned(),
            ),
            RequestBody::Form(fields) => {
                let lines = fields
                    .iter()
                    .map(|(name, value)| format!("    \"{name}\": \"{value}\",\n"));
                let lines: String = lines.collect();
                (
                    format!("fields = {{\n{lines}}}\n"),
                    format!("\"{url}\", urlencode(fields).encode()"),
                )
            }
            RequestBody::Delete => (
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
            RequestBody::Nothing => "from urllib.request import urlopen\n",
            RequestBody::Form(_) => {
                "from urllib.parse import urlencode\nfrom urllib.request import urlopen\n"
            }
            RequestBody::Message(_) | RequestBody::Delete => {
                "from urllib.request import Request, urlopen\n"
            }
        };
        format!(
            "{import}{modules}\n{before}with urlopen({request}) as reply:\n    print(reply.status, {read})"
        )
    }
}

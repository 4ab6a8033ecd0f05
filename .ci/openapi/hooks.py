"""What schemathesis cannot know: cursors are made by the server, callbacks are called, and pages are text."""

import schemathesis

# Nothing listens there, so a verification fails at once and nobody else is asked.
CALLBACK = "https://127.0.0.1:9999/callback"
CURSOR_LENGTH_MAX = 256


@schemathesis.deserializer("text/html", "text/css", "text/javascript")
def text(_context, response):
    return response.content.decode("utf-8")


@schemathesis.hook
def before_call(_context, case, _kwargs):
    # A cursor that was not made by the server is an issue, even one that no schema can tell from another.
    cursor = (case.query or {}).get("cursor")
    if isinstance(cursor, str) and len(cursor) <= CURSOR_LENGTH_MAX:
        del case.query["cursor"]
    body = case.body
    if isinstance(body, dict) and str(body.get("hub.callback", "")).startswith("https://"):
        body["hub.callback"] = CALLBACK

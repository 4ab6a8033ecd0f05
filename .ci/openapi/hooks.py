"""Facts that schemathesis cannot know: the server creates cursors, calls callbacks, and serves pages as text."""

import schemathesis

# Nothing listens there, so a verification fails at once and no other machine gets a request.
CALLBACK = "https://127.0.0.1:9999/callback"
CURSOR_LENGTH_MAX = 256


@schemathesis.deserializer("text/html", "text/css", "text/javascript")
def text(_context, response):
    return response.content.decode("utf-8")


@schemathesis.hook
def filter_query(_context, query):
    # A parameter without a value is ignored, because HTML forms send them, so it is never invalid.
    return not isinstance(query, dict) or "" not in query.values()


@schemathesis.hook
def filter_body(_context, body):
    # The hub ignores these two in a request to unsubscribe.
    unread = {"hub.lease_seconds", "hub.secret"}
    return not isinstance(body, dict) or body.get("hub.mode") != "unsubscribe" or not unread & set(body)


@schemathesis.hook
def before_call(_context, case, _kwargs):
    # The server refuses a cursor that it has not created, which no schema can express.
    for name in ("cursor", "after"):
        cursor = (case.query or {}).get(name)
        if isinstance(cursor, str) and len(cursor) <= CURSOR_LENGTH_MAX:
            del case.query[name]
    # Nor that an order by relevance needs words.
    query = case.query or {}
    if query.get("sort") == "relevance" and not query.get("words"):
        del case.query["sort"]
    body = case.body
    if not isinstance(body, dict):
        return
    if str(body.get("hub.callback", "")).startswith("https://"):
        body["hub.callback"] = CALLBACK
    # JSON Schema accepts 1.0 as an integer; an id is compared as it is written, so the fraction is removed.
    if isinstance(body.get("id"), float) and body["id"].is_integer():
        body["id"] = int(body["id"])

"""Makes a program that counts what it executes answer requests as clients make them: documents, searches, MCP, errors.

Usage: train.py PROGRAM DATA STATE. Starts the program, and stops it with SIGTERM, so that it writes its counts. The
requests differ from those that benches/compare measures. They are drawn by a fixed seed. Most are sent over HTTP/1.1.
"""

import json
import pathlib
import random
import re
import socket
import subprocess
import sys
import time

CONNECTIONS = 32
ROUNDS = 1_500
HTTP2_CONNECTIONS = 8
HTTP2_ROUNDS = 150
HTTP2_STREAMS = 8
SECONDS_TO_START = 600

# Types and flags of HTTP/2's frames (RFC 9113 §6), and windows that no responses fill.
DATA, HEADERS, RST_STREAM, SETTINGS, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 7, 8
ACK = END_STREAM = 1
END_HEADERS = 4
WINDOW = (1 << 30).to_bytes(4, "big")

DOCUMENTS = ["/", "/insights.json", "/api/feed.json", "/feed.xml", "/badge.svg", "/widget.js", "/llms.txt", "/sitemap.xml"]
CODINGS = ["", "Accept-Encoding: gzip\r\n", "Accept-Encoding: gzip, deflate, br, zstd\r\n"]
ERRORS = ["/api/reviews/search?limit=0", "/api/reviews/search?color=red", "/nothing-here", "/api/reviews/since/yesterday"]
FILTERS = ["min_rating=2", "max_rating=3", "since=2024-01-01", "has_reply=true", "limit=5", "limit=50"]
ORDERS = ["sort=newest", "sort=oldest", "sort=lowest"]


def receive(connection):
    """Returns the next bytes of a response."""
    received = connection.recv(1 << 18)
    if not received:
        sys.exit("the program closed a connection")
    return received


def read_response(connection):
    """Reads one response with Content-Length; returns its status line and header fields, and its body."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += receive(connection)
    head, _, body = received.partition(b"\r\n\r\n")
    found = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
    length = int(found[1]) if found else 0
    while len(body) < length:
        body += receive(connection)
    return head.decode(), body


def get(path, fields=""):
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: train\r\nAccept: */*\r\n{fields}\r\n".encode()


def call(method, parameters):
    """Returns a request to MCP."""
    message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters})
    fields = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-06-18\r\n"
    return f"POST /mcp HTTP/1.1\r\nHost: localhost\r\n{fields}Content-Length: {len(message)}\r\n\r\n{message}".encode()


def search_path(words):
    """Returns a search by a filter, often with words or a part of a text."""
    parameters = [random.choice(FILTERS)]
    if random.random() < 0.2:
        parameters.append(random.choice(ORDERS))
    kind = random.random()
    if kind < 0.4:
        parameters.append("words=" + "+".join(random.sample(words, random.choice([1, 2, 3]))))
    elif kind < 0.7:
        parameters.append("query=" + random.choice(words))
    return "/api/reviews/search?" + "&".join(parameters)


def mcp_request(words):
    if random.random() < 0.2:
        return call("ping", {})
    if random.random() < 0.1:
        return call("tools/list", {})
    tool, arguments = random.choice([
        ("search_reviews", {"query": " ".join(random.sample(words, 2)), "limit": 10}),
        ("search_reviews", {"min_rating": 4, "limit": 10}),
        ("search", {"query": f"is the {random.choice(words)} good"}),
        ("get_insights", {}),
        ("get_rating_summary", {}),
    ])
    return call("tools/call", {"name": tool, "arguments": arguments})


def requests(words, dates, tags):
    """Yields requests without end, in shares that favor documents and searches."""
    while True:
        kind = random.random()
        if kind < 0.35:
            yield get(random.choice(DOCUMENTS), random.choice(CODINGS))
        elif kind < 0.50:
            path = random.choice(list(tags))
            yield get(path, f"If-None-Match: {tags[path]}\r\n")
        elif kind < 0.80:
            yield get(search_path(words))
        elif kind < 0.87:
            yield get(f"/api/reviews/since/{random.choice(dates)}")
        elif kind < 0.90:
            yield get(random.choice(ERRORS))
        else:
            yield mcp_request(words)


def address_in(log):
    """Returns host and port of the public address once the log has it."""
    for line in log.read_text().splitlines():
        event = json.loads(line)
        if event.get("message") == "serving":
            host, _, port = event["address"].removeprefix("http://").rpartition(":")
            return host, int(port)
    return None


def tag_of(connection, path):
    """Returns the entity-tag of a document; waits for the insights, which are derived while the program already serves."""
    until = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < until:
        connection.sendall(get(path))
        head, _ = read_response(connection)
        if head.startswith("HTTP/1.1 503"):
            time.sleep(1)
            continue
        found = re.search(r"(?i)\r\netag: (.*?)\r\n", head)
        if head.startswith("HTTP/1.1 200") and found:
            return found[1]
        break
    return sys.exit(f"{path}: {head}")


def train(address, data):
    reviews = json.loads((data / "reviews.json").read_text())["reviews"]
    words = sorted({word for review in reviews for word in re.findall(r"[a-z]{3,}", (review["text"] or "").lower())})
    dates = sorted(review["date"][:10] for review in reviews)[-200:]
    connections = [socket.create_connection(address, timeout=60) for _ in range(CONNECTIONS)]
    tags = {path: tag_of(connections[0], path) for path in DOCUMENTS}
    stream = requests(words, dates, tags)
    statuses = {}
    for _ in range(ROUNDS):
        for connection in connections:
            connection.sendall(next(stream))
        for connection in connections:
            status = read_response(connection)[0].split(" ", 2)[1]
            statuses[status] = statuses.get(status, 0) + 1
    print("answers by status:", dict(sorted(statuses.items())))
    for _ in range(HTTP2_CONNECTIONS):
        train_http2(address, words)


def train_http2(address, words):
    """Requests documents and searches over HTTP/2, several at a time; of the responses only their ends are looked for."""
    connection = socket.create_connection(address, timeout=60)
    windows = frame(SETTINGS, 0, 0, b"\x00\x04" + WINDOW) + frame(WINDOW_UPDATE, 0, 0, WINDOW)
    connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + windows)
    received = connection.makefile("rb")
    for number in range(HTTP2_ROUNDS):
        for lane in range(HTTP2_STREAMS):
            path = random.choice(DOCUMENTS) if random.random() < 0.7 else search_path(words)
            # A longer value would need another form of its length (RFC 7541 §5.1).
            path = path if len(path) < 127 else DOCUMENTS[0]
            connection.sendall(http2_get(2 * (number * HTTP2_STREAMS + lane) + 1, path))
        under_way = HTTP2_STREAMS
        while under_way > 0:
            head = received.read(9)
            if len(head) < 9 or head[3] in (RST_STREAM, GOAWAY):
                sys.exit("the program ended a stream or a connection of HTTP/2")
            payload = received.read(int.from_bytes(head[:3], "big"))
            # The status 200 is in the static table (RFC 7541, appendix A).
            if head[3] == HEADERS and payload[:1] != b"\x88":
                sys.exit(f"over HTTP/2 a request was not answered by 200: {payload[:40]!r}")
            if head[3] == SETTINGS and not head[4] & ACK:
                connection.sendall(frame(SETTINGS, ACK, 0, b""))
            if head[3] in (DATA, HEADERS) and head[4] & END_STREAM:
                under_way -= 1


def http2_get(stream, path):
    """Returns a request without Huffman coding: GET, http and the codings from the static table (RFC 7541), then literals."""
    literals = [(1, "localhost"), (4, path)]
    block = b"\x82\x86" + b"".join(bytes([name, len(value)]) + value.encode() for name, value in literals) + b"\x90"
    return frame(HEADERS, END_STREAM | END_HEADERS, stream, block)


def frame(kind, flags, stream, payload):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def main():
    program, data, state = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    random.seed(1)
    state.mkdir(parents=True)
    log = state / "log"
    command = [program, "serve", "--data", data, "--state", state, "--listen", "127.0.0.1:0", "--no-hub", "--poll", "0",
               "--log-format", "json", "--read-rate", "0", "--mcp-rate", "0"]
    with log.open("w") as into:
        server = subprocess.Popen(command, stdout=into, stderr=subprocess.STDOUT)
    try:
        until = time.monotonic() + SECONDS_TO_START
        while (address := address_in(log)) is None:
            if server.poll() is not None or time.monotonic() > until:
                sys.exit(f"the program did not start: {log.read_text()}")
            time.sleep(0.2)
        train(address, data)
    finally:
        server.terminate()
        server.wait(timeout=60)


if __name__ == "__main__":
    main()

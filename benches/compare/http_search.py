#!/usr/bin/env python3
"""Searches against a stored document of the same size, end to end, under the same load.

    benches/compare/http_search.py HOST:PORT [SECONDS [CONNECTIONS]]

Each connection is a process of its own that sends one request after another: random searches of all classes for
pages about as large as /api/feed.json, and between them that document itself, so that both meet the same load. The
times are those of a client, from the first byte sent to the last one read. Only the standard library is needed.
"""
import json
import multiprocessing
import random
import socket
import sys
import time
from urllib.parse import quote

DOCUMENT = "/api/feed.json"


class Client:
    """A connection that is kept."""

    def __init__(self, address):
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = bytearray()

    def get(self, target):
        self.socket.sendall(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        while (end := self.buffer.find(b"\r\n\r\n")) < 0:
            self.receive()
        head = bytes(self.buffer[:end]).decode("latin-1").lower()
        assert head.startswith("http/1.1 200"), f"{target}: {head}"
        length = int(head.split("content-length:")[1].split("\r\n")[0])
        while len(self.buffer) < end + 4 + length:
            self.receive()
        body = bytes(self.buffer[end + 4 : end + 4 + length])
        del self.buffer[: end + 4 + length]
        return body

    def receive(self):
        part = self.socket.recv(1 << 18)
        assert part, "the server has closed the connection"
        self.buffer += part


def searches(client, rng):
    """Draws targets without end, with words of the newest and the oldest reviews and those of some years."""
    targets = ["/api/reviews/search?limit=100"] + [
        f"/api/reviews/search?limit=100&sort=oldest&since={year}-01-01" for year in range(2010, 2026)
    ]
    reviews = [review for target in targets for review in json.loads(client.get(target))["reviews"]]
    texts = [review["text"] for review in reviews if len(review["text"].split()) > 3]
    while True:
        words = rng.choice(texts).split()
        at = rng.randrange(len(words) - 1)
        word, pair = words[at], " ".join(words[at : at + 2])
        day = rng.choice(reviews)["date"]
        yield rng.choice([
            f"query={quote(word[0])}",
            f"query={quote(word[:2])}",
            f"query={quote(word)}",
            f"query={quote(pair)}",
            f"query={quote(word[1:-1] or word)}",
            f"query={quote(' '.join(words[:6])[:200])}",
            f"query={quote(word)}qqq",
            f"query={quote(word)}&min_rating={rng.randint(2, 5)}",
            f"query={quote(word)}&until={day}",
            f"rating={rng.randint(1, 5)}&since={day}",
            f"query={quote(word)}&sort={rng.choice(['oldest', 'highest', 'lowest'])}",
        ])


def work(address, seconds, limit, seed, results):
    rng = random.Random(seed)
    client = Client(address)
    draw = searches(client, rng)
    times = {"search": [], "document": []}
    sizes = {"search": 0, "document": 0}
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        # Before the server's bound of requests on one connection is met.
        if len(times["search"]) % 4000 == 3999:
            client = Client(address)
        for kind in ("search", "document"):
            target = DOCUMENT if kind == "document" else f"/api/reviews/search?limit={limit}&{next(draw)}"
            began = time.perf_counter()
            body = client.get(target)
            times[kind].append(time.perf_counter() - began)
            sizes[kind] += len(body)
    results.put((times, sizes))


def main():
    address = sys.argv[1]
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 10
    connections = int(sys.argv[3]) if len(sys.argv) > 3 else 4
    client = Client(address)
    document = len(client.get(DOCUMENT))
    page = client.get("/api/reviews/search?limit=100")
    limit = max(1, min(100, round(document / (len(page) / len(json.loads(page)["reviews"])))))
    results = multiprocessing.Queue()
    workers = [
        multiprocessing.Process(target=work, args=(address, seconds, limit, seed, results))
        for seed in range(connections)
    ]
    for worker in workers:
        worker.start()
    parts = [results.get() for _ in workers]
    p99 = {}
    for kind in ("search", "document"):
        times = sorted(took for part, _ in parts for took in part[kind])
        size = sum(sizes[kind] for _, sizes in parts) / len(times)
        at = lambda share: times[min(len(times) - 1, int(len(times) * share))] * 1e6
        p99[kind] = at(0.99)
        print(f"{kind:9} {len(times):8} requests of {size:7.0f} bytes: "
              f"p50 {at(0.5):6.0f} us, p99 {at(0.99):6.0f} us, p99.9 {at(0.999):6.0f} us, max {at(1):6.0f} us")
    print(f"p99 of searches by that of the document: {p99['search'] / p99['document']:.2f}")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Latency of searches over HTTP at a fixed rate: at rest, while a changed dataset is read, while its insights are derived.

    benches/compare/http_latency.py DATA [PROGRAM [ROUNDS [CLIENTS]]]

DATA holds a reviews.json of more than a megabyte of text; a copy of it gets one review more in each round. Each client is
a process that sends a random search every 10 ms on a connection of its own; a time is that from the first byte sent to
the last one read. The output is lines of group, series, run and value, for benches/figures.py. Only the standard library is needed.
"""
import json
import multiprocessing
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from urllib.parse import quote

# Seconds between two searches of a client, and seconds of the phase at rest.
PAUSE, REST = 0.01, 20
# Requests on one connection, fewer than the service allows.
REQUESTS_MAX = 4000
PERCENTILES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}


class Client:
    """A keep-alive connection."""

    def __init__(self, address):
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def get(self, target):
        self.socket.sendall(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        received = b""
        while b"\r\n\r\n" not in received:
            received += self.socket.recv(1 << 18)
        head, body = received.split(b"\r\n\r\n", 1)
        assert head.startswith(b"HTTP/1.1 200"), f"{target}: {head}"
        length = int(re.search(rb"(?i)content-length: (\d+)", head)[1])
        while len(body) < length:
            body += self.socket.recv(1 << 18)
        return body


def searches(reviews, rng):
    """Draws targets without end: parts of words, words, phrases and filters of the given reviews."""
    texts = [review["text"].split() for review in reviews if len(review["text"].split()) > 3]
    while True:
        words, day, stars = rng.choice(texts), rng.choice(reviews)["date"], rng.randint(1, 5)
        at = rng.randrange(len(words) - 1)
        query = quote(rng.choice([words[at][:2], words[at], " ".join(words[at : at + 2]), " ".join(words[:6])[:200]]))
        narrowed = rng.choice(["", f"&min_rating={stars}", f"&until={day}", "&sort=oldest"])
        parameters = rng.choice([f"query={query}{narrowed}", f"words={query}", f"rating={stars}&since={day}"])
        yield f"/api/reviews/search?{parameters}"


def search(address, seed, words, results):
    """Sends searches between two messages on the pipe, and puts their times into the queue."""
    reviews = json.loads(Client(address).get("/api/reviews/search?limit=100"))["reviews"]
    draw = searches(reviews, random.Random(seed))
    while True:
        words.recv()
        times = []
        while not words.poll():
            if len(times) % REQUESTS_MAX == 0:
                client = Client(address)
            time.sleep(PAUSE)
            target, began = next(draw), time.perf_counter()
            client.get(target)
            times.append((time.perf_counter() - began) * 1000)
        words.recv()
        results.put(times)


class Service:
    """A running service over a copy of the data."""

    def __init__(self, program, folder, data):
        copy = os.path.join(folder, "data")
        shutil.copytree(data, copy)
        self.path = os.path.join(copy, "reviews.json")
        flags = ["--data", copy, "--state", os.path.join(folder, "state"), "--no-hub", "--poll", "0"]
        flags += ["--listen", "127.0.0.1:0", "--log-format", "json"]
        self.process = subprocess.Popen([program, "serve", *flags], stderr=subprocess.PIPE, text=True)
        line = self.wait_for("serving")
        self.address, self.reviews = line["address"], line["reviews"]
        self.wait_for("the insights are served")

    def wait_for(self, message):
        return next(line for line in map(json.loads, self.process.stderr) if line["message"] == message)

    def change(self):
        """Inserts a copy of the first review under another id; as text: parsing a million reviews takes gigabytes."""
        with open(self.path, encoding="utf-8") as file:
            text = file.read()
        start = re.search(r'"reviews"\s*:\s*\[\s*', text).end()
        review, _ = json.JSONDecoder().raw_decode(text, start)
        review["id"] = f"added-{time.time_ns()}"
        with open(self.path + ".new", "w", encoding="utf-8") as file:
            file.write(text[:start] + json.dumps(review, ensure_ascii=False) + "," + text[start:])
        os.rename(self.path + ".new", self.path)

    def reload(self):
        self.process.send_signal(signal.SIGHUP)
        self.wait_for("a changed dataset is served")


def main():
    data, program = sys.argv[1], (sys.argv[2:] or ["target/dist/reviewd"])[0]
    rounds, clients = (int(number) for number in (sys.argv[3:5] + ["3", "2"][len(sys.argv[3:5]) :]))
    with tempfile.TemporaryDirectory() as folder:
        service = Service(program, folder, data)
        try:
            measure(service, program, rounds, clients)
        finally:
            service.process.terminate()
            service.process.wait()


def measure(service, program, rounds, clients):
    results, pipes = multiprocessing.Queue(), []
    for seed in range(clients):
        ours, theirs = multiprocessing.Pipe()
        arguments = (service.address, seed, theirs, results)
        multiprocessing.Process(target=search, args=arguments, daemon=True).start()
        pipes.append(ours)
    turns = {
        "at rest": lambda: time.sleep(REST),
        "a reload": service.reload,
        "insights derived": lambda: service.wait_for("the insights are served"),
    }
    for number in range(1, rounds + 1):
        service.change()
        # Time for the compression after the previous round.
        time.sleep(REST)
        for turn, wait in turns.items():
            began = time.monotonic()
            for pipe in pipes:
                pipe.send("begin")
            wait()
            for pipe in pipes:
                pipe.send("end")
            took = time.monotonic() - began
            times = sorted(one for _ in pipes for one in results.get())
            for name, share in PERCENTILES.items():
                print(f"{name},{turn},{number},{times[int(len(times) * share)]:.2f}", flush=True)
            print(f"{turn}: {took:.1f} s, {len(times)} searches", file=sys.stderr)


if __name__ == "__main__":
    main()

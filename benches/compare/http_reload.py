#!/usr/bin/env python3
"""Searches over HTTP while the service reloads, beside those while it does nothing else, in turns on one process.

    benches/compare/http_reload.py CORPUS [PROGRAM [ROUNDS [CONNECTIONS]]]

CORPUS holds a reviews.json; it is copied, and each reload finds one review more in the copy and a later date. Each
connection is a process of its own that sends random searches of all classes, one every 10 ms, so that the cores have
room for both; a time is that of the client, from the first byte sent to the last one read. A round is a turn in which
the service rests; one from SIGHUP until the new dataset is served; and one of what follows, when documents are compressed
(20 s of it at most). What a client that only sleeps gets late tells what of a tail is the
machine's. At the end the threads' processor time and the ratio of the p99. Only the standard library is needed.
"""
import json
import multiprocessing
import os
import queue
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from http_search import Client, searches

# Between two searches of one connection.
PAUSE = 0.01
# Of a turn at rest, and the most of what follows a reload.
TURN_SECONDS = 20
TURNS = ("rest", "reload", "after")
# Of waiting for a service that rests, or for a reload.
WAIT_SECONDS = 900


def search(address, seed, calls, results):
    """Searches from one word on the pipe to the next, and hands the times of each turn over."""
    draw = searches(Client(address), random.Random(seed))
    # Reads its words now, as the service closes a connection that asks for nothing.
    next(draw)
    while True:
        calls.recv()
        client, times, late = Client(address), [], []
        while not calls.poll():
            began = time.perf_counter()
            time.sleep(PAUSE)
            late.append(time.perf_counter() - began - PAUSE)
            if len(times) % 4000 == 3999:
                client = Client(address)
            target = f"/api/reviews/search?{next(draw)}"
            began = time.perf_counter()
            client.get(target)
            times.append(time.perf_counter() - began)
        calls.recv()
        results.put((times, late))


class Searchers:
    """The processes that search."""

    def __init__(self, address, connections):
        self.results = multiprocessing.Queue()
        self.calls = []
        for seed in range(connections):
            ours, theirs = multiprocessing.Pipe()
            process = multiprocessing.Process(target=search, args=(address, seed, theirs, self.results), daemon=True)
            process.start()
            self.calls.append(ours)

    def turn(self, wait):
        """Returns the times of searches, and by how much sleeps were late, while `wait` lasts."""
        for word in ("begin", "end"):
            for call in self.calls:
                call.send(word)
            if word == "begin":
                wait()
        parts = [self.results.get() for _ in self.calls]
        return [[took for part in parts for took in part[kind]] for kind in (0, 1)]


class Service:
    """A running service over a dataset of which each reload finds another."""

    def __init__(self, program, folder, corpus):
        self.path = os.path.join(folder, "data", "reviews.json")
        shutil.copytree(corpus, os.path.dirname(self.path))
        command = [program, "serve", "--data", os.path.dirname(self.path), "--state", os.path.join(folder, "state")]
        command += ["--no-hub", "--poll", "0", "--listen", "127.0.0.1:0"]
        self.process = subprocess.Popen(command + ["--log-format", "json"], stderr=subprocess.PIPE, text=True)
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()
        self.address = self.wait_for("serving")["address"]

    def read(self):
        for line in self.process.stderr:
            self.lines.put(json.loads(line))

    def wait_for(self, message):
        while True:
            line = self.lines.get(timeout=WAIT_SECONDS)
            if line["message"] == message:
                return line

    def change(self):
        """Puts the newest review there once more, under another id, and a later date; text by text, as a million reviews
        are gigabytes of Python's values."""
        with open(self.path, encoding="utf-8") as file:
            text = file.read()
        start = re.search(r'"reviews"\s*:\s*\[\s*', text).end()
        review, _ = json.JSONDecoder().raw_decode(text, start)
        review["id"] = f"reload-{time.time_ns()}"
        text = text[:start] + json.dumps(review, ensure_ascii=False) + "," + text[start:]
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        text, changes = re.subn(r'("updated_at"\s*:\s*)"[^"]*"', rf'\1"{now}"', text, count=1)
        assert changes == 1, "reviews.json tells no updated_at"
        with open(self.path + ".new", "w", encoding="utf-8") as file:
            file.write(text)
        os.rename(self.path + ".new", self.path)

    def reload(self):
        self.process.send_signal(signal.SIGHUP)
        self.took = self.wait_for("a changed dataset is served")["elapsed_ms"] / 1000

    def processor(self):
        """Returns the seconds of processor time of its threads by the beginnings of their names."""
        found = {}
        for task in os.listdir(f"/proc/{self.process.pid}/task"):
            with open(f"/proc/{self.process.pid}/task/{task}/stat", encoding="utf-8") as file:
                head, fields = file.read().rsplit(")", 1)
            name, fields = head.split("(", 1)[1].split("-")[0], fields.split()
            found[name] = found.get(name, 0) + (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return found

    def rests(self):
        """Tells whether it took less than a tenth of a core in the last second."""
        before = sum(self.processor().values())
        time.sleep(1)
        return sum(self.processor().values()) - before < 0.1

    def wait_until_it_rests(self):
        until = time.monotonic() + WAIT_SECONDS
        while not self.rests():
            assert time.monotonic() < until, "the service is still at work"


def line(name, times, late):
    times.sort()
    late.sort()
    at = lambda values, share: values[min(len(values) - 1, int(len(values) * share))] * 1000
    return at(times, 0.99), (
        f"{name:7} {len(times):6} searches: p50 {at(times, 0.5):6.2f} ms, p99 {at(times, 0.99):6.2f}, "
        f"p99.9 {at(times, 0.999):6.2f}, max {at(times, 1):7.2f}; sleeps late by p50 {at(late, 0.5):5.2f} ms, "
        f"p99 {at(late, 0.99):6.2f}"
    )


def main():
    corpus, program = sys.argv[1], (sys.argv[2:] or ["target/dist/reviewd"])[0]
    rounds, connections = (int(number) for number in (sys.argv[3:5] + ["3", "2"][len(sys.argv[3:5]) :]))
    with tempfile.TemporaryDirectory() as folder:
        service = Service(program, folder, corpus)
        try:
            measure(service, rounds, connections)
        finally:
            service.process.terminate()
            service.process.wait()


def measure(service, rounds, connections):
    service.wait_until_it_rests()
    searchers = Searchers(service.address, connections)
    waits = {
        "rest": lambda: time.sleep(TURN_SECONDS),
        "reload": service.reload,
        "after": lambda: time.sleep(TURN_SECONDS),
    }
    all_times = {turn: ([], []) for turn in TURNS}
    for _ in range(rounds):
        service.change()
        service.wait_until_it_rests()
        for turn in TURNS:
            before = service.processor()
            found = searchers.turn(waits[turn])
            used = {name: seconds - before.get(name, 0) for name, seconds in service.processor().items()}
            used = ", ".join(f"{name} {seconds:.2f}" for name, seconds in sorted(used.items()) if seconds >= 0.05)
            print(f"{line(turn, *found)[1]}; processor s: {used}", flush=True)
            for known, values in zip(all_times[turn], found):
                known.extend(values)
        print(f"reloaded in {service.took:.1f} s", flush=True)
    p99 = {}
    print("all rounds")
    for turn in TURNS:
        p99[turn], text = line(turn, *all_times[turn])
        print(text)
    print(f"p99 during a reload by that at rest: {p99['reload'] / p99['rest']:.2f}; after it: {p99['after'] / p99['rest']:.2f}")


if __name__ == "__main__":
    main()

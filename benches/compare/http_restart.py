#!/usr/bin/env python3
"""A first start, a restart and a reload of a large dataset: when they answer, what they take, and searches meanwhile.

    benches/compare/http_restart.py CORPUS [PROGRAM]

CORPUS holds a reviews.json; it is copied, and a hundred reviews of the copy change for the reload. One search is sent
every 10 ms on one connection, and its time taken by the client. Only the standard library is needed.
"""
import http.client
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from email.utils import parsedate_to_datetime
from itertools import cycle

SEARCHES = cycle(
    [f"/api/reviews/search?limit=10&query={words}" for words in ("great", "probate", "slow", "called+back", "zzz")]
    + ["/api/reviews/search?min_rating=4&limit=50", "/api/reviews/search?rating=1&query=wait"]
)


class Service:
    """A running service, and one connection to it."""

    def __init__(self, program, data, state):
        self.began = time.perf_counter()
        command = [program, "serve", "--data", data, "--state", state, "--no-hub"]
        command += ["--listen", "127.0.0.1:0", "--log-format", "json"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        log = map(json.loads, self.process.stderr)
        address = next(line["address"] for line in log if line["message"] == "serving")
        threading.Thread(target=lambda: [None for _ in log], daemon=True).start()
        self.connection = http.client.HTTPConnection(address)

    def get(self, target, method="GET"):
        self.connection.request(method, target)
        response = self.connection.getresponse()
        return response, response.read()

    def figures(self, since=0.0):
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as file:
            status = file.read()
        now, peak = (int(re.search(rf"{key}:\s+(\d+)", status)[1]) // 1024 for key in ("VmRSS", "VmHWM"))
        return f"{self.processor() - since:.1f} s of processor time, {now} MiB, peak {peak}"

    def processor(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="utf-8") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def search_until(self, is_over):
        times = []
        while not (len(times) % 20 == 19 and is_over()):
            began = time.perf_counter()
            response, _ = self.get(next(SEARCHES))
            times.append((time.perf_counter() - began) * 1000)
            assert response.status == 200, response.status
            time.sleep(0.01)
        times.sort()
        at = lambda share: times[int(len(times) * share)]
        self.p99 = at(0.99)
        return f"{len(times)} searches: p50 {at(0.5):.2f} ms, p99 {self.p99:.2f}, maximum {times[-1]:.2f}"

    def insights(self):
        response, body = self.get("/insights.json")
        return json.loads(body)["generated_at"] if response.status == 200 else None

    def watch_start(self, name):
        while self.get("/readyz")[0].status != 200:
            time.sleep(0.01)
        self.get(next(SEARCHES))
        print(f"{name}: first search after {time.perf_counter() - self.began:.1f} s, {self.figures()}")
        meanwhile = self.search_until(lambda: self.insights() is not None)
        print(f"{name}: insights after {time.perf_counter() - self.began:.1f} s, {self.figures()}; {meanwhile}")
        time.sleep(8)
        rest = time.perf_counter() + 10
        print(f"{name}: at rest {self.figures()}; {self.search_until(lambda: time.perf_counter() > rest)}", flush=True)
        self.p99_at_rest = self.p99

    def watch_reload(self, data):
        path = os.path.join(data, "reviews.json")
        with open(path, encoding="utf-8") as file:
            changed = json.load(file)
        for review in changed["reviews"][:100]:
            review["text"] = (review["text"] or "") + " They answered at once."
        changed["updated_at"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump(changed, file, ensure_ascii=False)
        wanted = changed["updated_at"]
        del changed
        began, used = time.perf_counter(), self.processor()
        os.rename(path + ".new", path)

        def is_there():
            modified = self.get("/reviews.json", "HEAD")[0].getheader("Last-Modified")
            stamp = parsedate_to_datetime(modified).strftime("%Y-%m-%dT%H:%M:%SZ")
            return stamp == wanted and self.insights() == wanted

        meanwhile = self.search_until(is_there)
        seconds = time.perf_counter() - began
        print(f"reload: new content and insights after {seconds:.1f} s, {self.figures(used)}; {meanwhile}")
        print(f"p99 during the reload by that at rest: {self.p99 / self.p99_at_rest:.2f}", flush=True)

    def end(self):
        self.process.terminate()
        self.process.wait()


def main():
    corpus, program = sys.argv[1], (sys.argv[2:] or ["target/dist/reviewd"])[0]
    with tempfile.TemporaryDirectory() as folder:
        data, state = os.path.join(folder, "data"), os.path.join(folder, "state")
        shutil.copytree(corpus, data)
        for name in ("first start", "restart"):
            service = Service(program, data, state)
            service.watch_start(name)
            if name == "restart":
                service.watch_reload(data)
            service.end()


main()

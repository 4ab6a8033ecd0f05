#!/usr/bin/env python3
"""Starts with datasets of several sizes, in turn: processor time until ready and until the insights exist, and memory.

    benches/compare/http_start.py PROGRAM FOLDER RUNS SIZE...

FOLDER/SIZE holds a reviews.json of SIZE reviews, as `cargo run --release --example generate -- --reviews SIZE --into
FOLDER/SIZE` makes it. Each line of the output is size, run, seconds until ready, processor time until then, processor
time until idle, MiB at rest, and the peak. Only the standard library is needed.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

# Seconds between two checks of a service.
PAUSE = 0.01


def processor(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_for(url):
    while True:
        try:
            with urllib.request.urlopen(url):
                return
        except urllib.error.HTTPError:
            time.sleep(PAUSE)


def start(program, data):
    with tempfile.TemporaryDirectory() as state:
        command = [program, "serve", "--data", data, "--state", state, "--no-hub", "--poll", "0"]
        command += ["--listen", "127.0.0.1:0", "--log-format", "json"]
        began = time.perf_counter()
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        address = next(line["address"] for line in map(json.loads, process.stderr) if line["message"] == "serving")
        wait_for(f"http://{address}/readyz")
        ready, used = time.perf_counter() - began, processor(process.pid)
        wait_for(f"http://{address}/insights.json")
        # Then documents are compressed in the background.
        before = 0
        while (now := processor(process.pid)) - before > 0.02:
            before = now
            time.sleep(3)
        with open(f"/proc/{process.pid}/status", encoding="utf-8") as file:
            status = file.read()
        rest, peak = (int(re.search(rf"{key}:\s+(\d+)", status)[1]) / 1024 for key in ("VmRSS", "VmHWM"))
        process.terminate()
        process.wait()
        return f"{ready:.2f},{used:.2f},{now:.2f},{rest:.1f},{peak:.1f}"


def main():
    program, folder, runs = sys.argv[1:4]
    for run in range(1, int(runs) + 1):
        for size in sys.argv[4:]:
            print(f"{size},{run},{start(program, os.path.join(folder, size))}", flush=True)


if __name__ == "__main__":
    main()

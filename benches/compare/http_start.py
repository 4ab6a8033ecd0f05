#!/usr/bin/env python3
"""Starts with datasets of several sizes, in turn: processor time until ready and until the insights exist, and memory.

The largest one, which must be the last, then gets a review more: seconds until that is served, and until its insights
are, and the peak of memory from then on.

    benches/compare/http_start.py PROGRAM FOLDER RUNS SIZE...

FOLDER/SIZE holds a reviews.json of SIZE reviews, as `cargo run --release --example generate -- --reviews SIZE --into
FOLDER/SIZE` makes it. Each line of the output is size, run, seconds until ready, processor time until then, processor
time until idle, MiB at rest, and the peak; or `reload`, run, seconds until served, seconds until the insights, and the
peak. Only the standard library is needed.
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

from http_latency import Service

# Seconds between two checks of a service.
PAUSE = 0.01
# Seconds for the compression in the background, and for the return of freed memory.
REST = 10


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


def memory(pid, key):
    """Returns a value of /proc/PID/status in MiB."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return int(re.search(rf"{key}:\s+(\d+)", file.read())[1]) / 1024


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
        rest, peak = memory(process.pid, "VmRSS"), memory(process.pid, "VmHWM")
        process.terminate()
        process.wait()
        return f"{ready:.2f},{used:.2f},{now:.2f},{rest:.1f},{peak:.1f}"


def reload(program, data):
    with tempfile.TemporaryDirectory() as folder:
        service = Service(program, folder, data)
        pid = service.process.pid
        try:
            time.sleep(REST)
            service.change()
            # Sets VmHWM to what is used now (proc_pid_clear_refs(5)).
            with open(f"/proc/{pid}/clear_refs", "w", encoding="utf-8") as file:
                file.write("5")
            began = time.perf_counter()
            service.reload()
            served = time.perf_counter() - began
            service.wait_for("the insights are served")
            insights = time.perf_counter() - began
            time.sleep(REST)
            return f"{served:.2f},{insights:.2f},{memory(pid, 'VmHWM'):.1f}"
        finally:
            service.process.terminate()
            service.process.wait()


def main():
    program, folder, runs = sys.argv[1:4]
    sizes = sys.argv[4:]
    for run in range(1, int(runs) + 1):
        for size in sizes:
            print(f"{size},{run},{start(program, os.path.join(folder, size))}", flush=True)
        print(f"reload,{run},{reload(program, os.path.join(folder, sizes[-1]))}", flush=True)


if __name__ == "__main__":
    main()

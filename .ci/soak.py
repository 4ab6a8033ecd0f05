"""Mixed load on one server: reads, searches, MCP, hub requests, and a changed dataset every ten seconds.

Prints a table, a line for each half minute, and fails if memory still grows after the warm-up, an answer is wrong,
or a reload is missed. Usage: soak.py PROGRAM SECONDS
"""

import http.client
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

program, seconds = sys.argv[1], int(sys.argv[2])
work = pathlib.Path(tempfile.mkdtemp(prefix="reviewd-soak-"))
data = work / "data"
data.mkdir()
sample = json.loads(pathlib.Path("data/reviews.json").read_text())
for name in ("taxonomy.json", "editorial.json"):
    source = pathlib.Path("data") / name
    if source.exists():
        (data / name).write_text(source.read_text())


def write(number):
    """Writes another dataset: one review's text differs, and the date is a second later."""
    changed = json.loads(json.dumps(sample))
    changed["updated_at"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(began_at - 86_400 + number))
    changed["reviews"][0]["text"] = f"Version {number} of this review."
    beside = data / "reviews.json.new"
    beside.write_text(json.dumps(changed))
    beside.rename(data / "reviews.json")


began_at = time.time()
write(0)
log = open(work / "log", "w")
server = subprocess.Popen(
    [program, "serve", "--data", data, "--state", work / "state", "--listen", "127.0.0.1:0", "--admin-listen",
     "127.0.0.1:0", "--log-format", "json", "--poll", "1s", "--hub-rate", "0", "--access-log", work / "access.log"],
    stdout=log, stderr=subprocess.STDOUT)


def addresses():
    """Finds the two addresses in the log."""
    found = {}
    for line in (work / "log").read_text().splitlines():
        event = json.loads(line) if line.startswith("{") else {}
        if event.get("message") == "serving":
            found["public"] = event["address"]
        if event.get("message", "").startswith("metrics and health"):
            found["admin"] = event["address"]
    return found


while len(addresses()) < 2:
    assert server.poll() is None and time.time() - began_at < 60, (work / "log").read_text()
    time.sleep(0.1)
public, admin = addresses()["public"], addresses()["admin"]

stop = threading.Event()
lock = threading.Lock()
counts, wrong = {}, []


def client(kind, requests):
    """Sends requests repeatedly on one connection."""
    connection, number = http.client.HTTPConnection(public, timeout=20), 0
    while not stop.is_set():
        method, target, body, fields, expected = requests[number % len(requests)](number)
        number += 1
        try:
            connection.request(method, target, body, fields)
            response = connection.getresponse()
            response.read()
            outcome = response.status
        except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
            # The connection has reached its limit of requests. The next request opens another one; this one is not
            # repeated, as a POST may have been handled.
            connection.close()
            continue
        with lock:
            counts[kind] = counts.get(kind, 0) + 1
            if outcome not in expected and len(wrong) < 20:
                wrong.append(f"{kind}: {method} {target}: {outcome}")
        time.sleep(0.002)


def get(target, *expected):
    return lambda number: ("GET", target.format(number), None, {"Accept-Encoding": "gzip"}, expected or (200,))


def tool(name, arguments):
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    body = json.dumps(call)
    return lambda number: ("POST", "/mcp", body, {"Content-Type": "application/json"}, (200,))


def hub(mode):
    def request(number):
        form = urllib.parse.urlencode({"hub.mode": mode, "hub.topic": f"http://{public}/feed.xml",
                                       "hub.callback": f"https://s{number % 500}.subscriber.example/cb"})
        # 429 and 503 are expected: pending requests are limited, and none is ever confirmed here.
        return "POST", "/api/websub/hub", form, {"Content-Type": "application/x-www-form-urlencoded"}, (202, 429, 503)
    return request


loads = {
    "reads": [get("/reviews.json"), get("/feed.xml"), get("/"), get("/insights.json", 200, 503), get("/nowhere/{}", 404)],
    "searches": [get("/api/reviews/search?query=will&limit=5"), get("/api/reviews/search?min_rating=4&limit=100"),
                 get("/?query=probate"), get("/api/reviews/since/2024-01-01"), get("/api/reviews/search?limit=0", 400)],
    "mcp": [tool("search_reviews", {"query": "estate", "limit": 5}), tool("get_business", {}), tool("no_such_tool", {})],
    "hub": [hub("subscribe"), hub("unsubscribe")],
}
clients = [threading.Thread(target=client, args=(kind, requests)) for kind, requests in loads.items()
           for _ in range(2 if kind == "reads" else 1)]
for thread in clients:
    thread.start()


def metric(text, name):
    return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines()
               if line.startswith((name + "{", name + " ")))


def look():
    connection = http.client.HTTPConnection(admin, timeout=20)
    connection.request("GET", "/metrics")
    return connection.getresponse().read().decode()


def note():
    text = look()
    row = (time.time() - began_at, metric(text, "process_resident_memory_bytes") / 1e6,
           metric(text, "process_open_fds"), metric(text, "process_threads"),
           metric(text, "reviewd_http_requests_total"),
           metric(text, 'reviewd_reloads_total{outcome="replaced"}'),
           sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines()
               if line.startswith("reviewd_http_requests_total") and 'status="5xx"' in line))
    rows.append(row)
    print(f"{row[0]:5.0f} {row[1]:7.1f} {row[2]:5.0f} {row[3]:7.0f} {row[4]:9.0f} {row[5]:7.0f} {row[6]:5.0f}",
          flush=True)


print(f"{'s':>5} {'MB':>7} {'fds':>5} {'threads':>7} {'requests':>9} {'reloads':>7} {'5xx':>5}", flush=True)
rows, reloads = [], 0
interval = min(30, max(5, seconds // 20))
try:
    next_reload = next_row = time.time()
    while time.time() - began_at < seconds:
        assert server.poll() is None, "the server has ended"
        if time.time() >= next_reload:
            reloads += 1
            write(reloads)
            next_reload += 10
        if time.time() >= next_row:
            note()
            next_row += interval
        time.sleep(0.2)
    # The newest dataset is served after one poll and the build.
    time.sleep(3)
    note()
finally:
    stop.set()
    for thread in clients:
        thread.join()
    server.terminate()
    status = server.wait(timeout=60)

early_row = next(row for row in rows if row[0] >= seconds / 3)
print(f"after the warm-up {early_row[1]:.1f} MB, {early_row[2]:.0f} descriptors, {early_row[3]:.0f} threads; "
      f"at the end {rows[-1][1]:.1f} MB, {rows[-1][2]:.0f}, {rows[-1][3]:.0f}")
print(f"requests: {sum(counts.values())}, wrong answers: {len(wrong)}, 5xx: {rows[-1][6]:.0f} (the hub's when it is full)")
print("answered:", ", ".join(f"{kind} {count}" for kind, count in sorted(counts.items())))
assert status == 0, f"the server ended with {status}"
assert not wrong, wrong
assert rows[-1][5] >= reloads - 2, f"{rows[-1][5]:.0f} of {reloads} reloads"
# The first third fills caches and the allocator's pools. Afterwards memory may grow by a tenth, and 8 MB for reloads.
settled = [row for row in rows if row[0] >= seconds / 3]
half = len(settled) // 2
early, late = max(row[1] for row in settled[:half]), max(row[1] for row in settled[half:])
print(f"memory at most {early:.1f} MB in the second third, {late:.1f} MB in the last")
assert late <= early * 1.1 + 8, "memory grows"
assert settled[-1][2] <= settled[0][2] + 16, "descriptors grow"
# The hub keeps the threads of a burst of deliveries as long as each gets work within ten seconds.
early, late = max(row[3] for row in settled[:half]), max(row[3] for row in settled[half:])
print(f"threads at most {early} in the second third, {late} in the last")
assert late <= early + 8, "threads grow"

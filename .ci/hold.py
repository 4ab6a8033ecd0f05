"""Clients that make the server hold what they do not read or send, under a limit of its memory, while others are served.

hold.py PROGRAM SECONDS: in each round the server may have 512 MiB of data (RLIMIT_DATA), has to answer other clients, and
may grow by what docs/design/limits.md computes for them.
"""

import http.client
import json
import random
import resource
import selectors
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

PROGRAM, SECONDS = sys.argv[1], float(sys.argv[2])
DATA_BYTES = 512 << 20
# The default limit of connections with that memory, and what all clients together may hold, in MiB.
CONNECTIONS, CLIENTS_MIB = 2_048, 279
STREAMS = 16
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS, HEADERS, DATA, PING = 4, 1, 0, 6
SEARCH = "/api/reviews/search?limit=100"
CALL = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "search_reviews", "arguments": {"limit": 100}}}
BATCH = json.dumps([{**CALL, "id": number} for number in range(12)]).encode()
WORDS = "the attorney will probate estate quick helped family calm office hand other clear price fair slow phone".split()


def write_reviews(folder):
    chosen = random.Random(1)
    reviews = [{
        "id": f"r{number:05}", "author": f"Author {number}", "author_avatar_url": None, "rating": 1 + number % 5,
        "date": f"{2019 + number // 336 % 6}-{1 + number // 28 % 12:02}-{1 + number % 28:02}",
        "text": " ".join(chosen.choices(WORDS, k=180)), "source": "google", "source_url": None, "owner_reply": None,
        "verified": True,
    } for number in range(1_500)]
    address = {"street_address": "1 Main Street", "locality": "Springfield", "region": "IL", "postal_code": "62701",
               "country": "US"}
    business = {"name": "Example", "type": "LegalService", "description": "For tests.", "url": "https://practice.example",
                "telephone": "+1 555 0100", "email": "office@practice.example", "address": address, "geo": None,
                "opening_hours": [], "service_areas": [], "services": [], "technicians": [], "same_as": []}
    with open(f"{folder}/reviews.json", "w") as file:
        json.dump({"business": business, "disclaimer": None, "updated_at": "2026-01-01T00:00:00Z", "reviews": reviews}, file)


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def block(method, path):
    fields = bytes([0x83 if method == "POST" else 0x82, 0x86])
    for name, value in ((b"\x04", path), (b"\x01", "localhost")):
        fields += name + bytes([len(value)]) + value.encode()
    name, value = b"content-type", b"application/json"
    return fields + b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


def requests_never_read():
    """Sixteen requests for large responses, on a connection whose windows stay shut."""
    out = PREFACE + frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 0))
    for number in range(STREAMS):
        stream = 1 + 2 * number
        if number % 2:
            out += frame(HEADERS, 5, stream, block("GET", SEARCH))
        else:
            out += frame(HEADERS, 4, stream, block("POST", "/mcp")) + frame(DATA, 1, stream, BATCH)
    return out


def half_a_body():
    return b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{"


def unread_documents():
    return b"GET /reviews.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 4


class Attack:
    """Holds `count` connections, each from one of the addresses, and replaces those that the server closes."""

    def __init__(self, port, count, first, answers_pings, more=b""):
        self.port, self.count, self.first, self.answers_pings, self.more = port, count, first, answers_pings, more
        self.selector, self.opened, self.closed = selectors.DefaultSelector(), 0, 0

    def open(self):
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.bind((f"127.0.1.{2 + self.opened % 41}", 0))
        self.opened += 1
        connection.settimeout(2)
        try:
            connection.connect(("127.0.0.1", self.port))
            connection.sendall(self.first)
        except OSError:
            connection.close()
            return
        connection.setblocking(False)
        # Only connections that answer pings are read; the others would read their responses.
        self.selector.register(connection, selectors.EVENT_READ if self.answers_pings else selectors.EVENT_WRITE)

    def drop(self, connection):
        self.selector.unregister(connection)
        connection.close()
        self.closed += 1

    def read(self, connection):
        try:
            received = connection.recv(1 << 16)
            while len(received) >= 9:
                length = int.from_bytes(received[:3], "big")
                if received[3] == PING and not received[4] & 1:
                    connection.send(frame(PING, 1, 0, received[9:9 + length]))
                received = received[9 + length:]
                if not received:
                    return
        except BlockingIOError:
            return
        except OSError:
            pass
        self.drop(connection)

    def step(self):
        held = [key.fileobj for key in self.selector.get_map().values()]
        if self.answers_pings:
            for key, _ in self.selector.select(0.01):
                self.read(key.fileobj)
        else:
            for connection in held:
                try:
                    if self.more:
                        connection.send(self.more)
                    # Without reading: an error of the socket tells that the server has reset it.
                    elif connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                        self.drop(connection)
                except BlockingIOError:
                    pass
                except OSError:
                    self.drop(connection)
            time.sleep(0.2)
        for _ in range(min(self.count - len(self.selector.get_map()), 1_000)):
            self.open()


class Others:
    """Clients that read what they ask for, each time on a new connection."""

    TARGETS = ("/healthz", "/api/reviews/search?query=probate&limit=20", "/reviews.json", "/feed.xml")

    def __init__(self, port):
        self.port, self.times, self.failures, self.stopped = port, [], [], False
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        number = 0
        while not self.stopped:
            target = self.TARGETS[number % len(self.TARGETS)]
            number += 1
            began = time.monotonic()
            try:
                client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
                client.request("GET", target)
                response = client.getresponse()
                response.read()
                if response.status != 200:
                    self.failures.append(f"{target}: {response.status}")
                client.close()
            except OSError as error:
                self.failures.append(f"{target}: {error!r}")
            self.times.append(time.monotonic() - began)
            time.sleep(0.05)

    def stop(self):
        self.stopped = True
        self.thread.join()


def limit():
    resource.setrlimit(resource.RLIMIT_DATA, (DATA_BYTES, DATA_BYTES))


def memory(pid):
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) // 1024 for line in file if line.startswith("VmHWM"))


def wait_until_served(server, port):
    for _ in range(600):
        if server.poll() is not None:
            break
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=10):
                return
        except OSError:
            time.sleep(0.1)
    sys.exit("the server does not start")


def round_of(name, count, first, answers_pings, seconds, more=b""):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        write_reviews(folder)
        log = open(f"{folder}/log", "w+")
        arguments = [PROGRAM, "serve", "--no-hub", "--data", folder, "--listen", f"127.0.0.1:{port}"]
        server = subprocess.Popen(arguments, preexec_fn=limit, stderr=log, stdout=subprocess.DEVNULL)
        try:
            wait_until_served(server, port)
            before = memory(server.pid)
            attack = Attack(port, count, first, answers_pings, more)
            while attack.opened < count:
                attack.step()
            # A connection gives way when it has made no progress for a second.
            settled = time.monotonic() + 3
            while time.monotonic() < settled:
                attack.step()
            others = Others(port)
            until = time.monotonic() + seconds
            while time.monotonic() < until and server.poll() is None:
                attack.step()
            others.stop()
            ended = server.poll()
            if ended is not None:
                log.seek(0)
                sys.exit(f"{name}: the server ended with {ended}: {log.read()[-2000:]}")
            times = sorted(others.times)
            print(f"{name}: {attack.opened} connections, {attack.closed} closed by the server; memory {before} MiB, at most "
                  f"{memory(server.pid)} MiB; {len(times)} requests of others, {len(others.failures)} failed, median "
                  f"{times[len(times) // 2] * 1e3:.0f} ms, worst {times[-1] * 1e3:.0f} ms", flush=True)
            if memory(server.pid) > before + CLIENTS_MIB:
                sys.exit(f"{name}: grown by more than {CLIENTS_MIB} MiB")
            # A new connection is closed if all that it is compared with are younger than a second.
            if len(others.failures) > 2 + len(times) // 20:
                sys.exit(f"{name}: others failed: {others.failures[:10]}")
        finally:
            server.kill()
            server.wait()


soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
crowd = min(CONNECTIONS + 152, hard - 500)
round_of("large responses never read, HTTP/2", 60, requests_never_read(), True, SECONDS)
round_of("half a body on all places", crowd, half_a_body(), False, SECONDS / 2, b" ")
round_of("unread documents on all places", crowd, unread_documents(), False, SECONDS / 2)

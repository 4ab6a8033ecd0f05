"""The subscriber of /developers as the page shows it: extracted, run, confirmed, and notified of a change.

Arguments: the http address of the server, its public https address (served here by a TLS terminator), the
certificate and key for 127.0.0.1, and the data directory. SSL_CERT_FILE names the authority.
"""

import html
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

from outside import terminate_tls, wait

upstream, public, certificate, key, data = sys.argv[1:]
server, outside = urllib.parse.urlsplit(upstream), urllib.parse.urlsplit(public)
terminate_tls(outside.port, (server.hostname, server.port), certificate, key)

page = urllib.request.urlopen(f"{upstream}/developers", timeout=10).read().decode()
found = re.search(r'<p class="label soft">subscriber\.py</p><pre><code>(.*?)</code>', page, re.DOTALL)
program = pathlib.Path(tempfile.mkdtemp()) / "subscriber.py"
program.write_text(html.unescape(found.group(1)))

with socket.create_server(("127.0.0.1", 0)) as free:
    port = free.getsockname()[1]
environment = {
    **os.environ,
    "CALLBACK": f"https://127.0.0.1:{port}/reviews",
    "PORT": str(port),
    "CERTIFICATE": certificate,
    "KEY": key,
}
subscriber = subprocess.Popen(
    [sys.executable, str(program)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
)
lines = []
threading.Thread(target=lambda: lines.extend(iter(subscriber.stdout.readline, "")), daemon=True).start()


def said(words):
    return any(line.startswith(words) for line in lines)


try:
    wait("the hub takes the request", lambda: said("202 accepted"), lines)
    wait("the callback is confirmed", lambda: said("subscribed for "), lines)
    path = pathlib.Path(data) / "reviews.json"
    document = json.loads(path.read_text())
    newest = max((one for one in document["reviews"] if one["verified"]), key=lambda one: (one["date"], one["id"]))
    newest["text"] += " Changed."
    # A second later than any earlier change, and not in the future.
    time.sleep(1.1)
    document["updated_at"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    beside = path.with_suffix(".new")
    beside.write_text(json.dumps(document))
    beside.rename(path)
    wait("it tells of the change", lambda: said("changed: "), lines)
    assert any(newest["id"] in line for line in lines if line.startswith("changed: ")), lines
finally:
    subscriber.terminate()
    subscriber.wait(10)
print("the subscriber of /developers: confirmed, and told of a change with a signature that holds")

"""Runs nginx and Caddy with the recipes of docs/deploying.md before a running server, and checks what they serve."""

import gzip
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

upstream, folder = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
docs = pathlib.Path("docs/deploying.md").read_text()


def recipe(heading):
    """The first code block below a heading."""
    section = docs.split(f"## {heading}\n", 1)[1]
    return re.search(r"```\w*\n(.*?)```", section, re.DOTALL).group(1)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def nginx(port):
    """The recipe without TLS, in a configuration that an ordinary user can run."""
    text = recipe("Behind nginx").replace("http://127.0.0.1:8080", upstream)
    text = text.replace("listen 443 ssl;", f"listen 127.0.0.1:{port};")
    text = re.sub(r"\n *ssl_certificate.*", "", text)
    paths = "".join(
        f"{name}_temp_path {folder}/{name};\n"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    config = folder / "nginx.conf"
    config.write_text(
        f"pid {folder}/nginx.pid;\nerror_log stderr;\nevents {{}}\nhttp {{\naccess_log off;\n{paths}{text}\n}}\n"
    )
    return ["nginx", "-p", str(folder), "-c", str(config), "-g", "daemon off;"]


def caddy(port):
    text = recipe("Behind Caddy").replace("127.0.0.1:8080", upstream.removeprefix("http://"))
    text = text.replace("reviews.example", f"http://127.0.0.1:{port}")
    config = folder / "Caddyfile"
    config.write_text("{\n\tadmin off\n}\n" + text)
    return ["caddy", "run", "--adapter", "caddyfile", "--config", str(config)]


def get(url, **headers):
    """The status, the headers and the body as sent."""
    request = urllib.request.Request(url, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=5) as response:
            return response.status, response.headers, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


def wait_until_ready(url):
    for _ in range(100):
        try:
            if get(url)[0] == 200:
                return
        except OSError:
            pass
        time.sleep(0.1)
    sys.exit(f"{url} does not answer")


def check(name, base_url):
    for path in ("/api/reviews/search?limit=50", "/api/reviews/since/2024-01-01", "/reviews.json"):
        status, headers, body = get(base_url + path, **{"Accept-Encoding": "gzip"})
        assert status == 200, f"{name} {path}: {status}"
        assert headers["Content-Encoding"] == "gzip", f"{name} {path}: {headers}"
        plain = gzip.decompress(body)
        assert len(body) * 2 < len(plain), f"{name} {path}: {len(body)} of {len(plain)} bytes"
        assert "reviews" in json.loads(plain), f"{name} {path}"
        assert plain == get(upstream + path)[2], f"{name} {path}: the proxy changes the document"
        again = get(base_url + path, **{"Accept-Encoding": "gzip", "If-None-Match": headers["ETag"]})
        assert again[0] == 304, f"{name} {path}: {again[0]} for a current copy"
    print(f"{name}: searches and documents are compressed, and current copies get 304")


for name, command in (("nginx", nginx), ("caddy", caddy)):
    port = free_port()
    environment = os.environ | {"HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    log = open(folder / f"{name}.log", "wb")
    process = subprocess.Popen(command(port), stdout=log, stderr=log, env=environment)
    try:
        wait_until_ready(f"http://127.0.0.1:{port}/healthz")
        check(name, f"http://127.0.0.1:{port}")
    except (AssertionError, SystemExit):
        print((folder / f"{name}.log").read_text())
        raise
    finally:
        process.terminate()
        process.wait(timeout=20)

#!/usr/bin/env python3
"""Runs a client of a server, which it restarts with another state directory whenever the client requests it.

    restarting.py REVIEWD CLIENT ARGUMENT...

The client gets file descriptors by RESTART_ASK and RESTART_DONE: it writes a byte to the first and reads one from the
second once the new server is ready. The server is configured by its environment variables.
"""

import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request


def start(reviewd, state):
    server = subprocess.Popen([reviewd, "serve"], env=os.environ | {"REVIEWD_STATE": state},
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(150):
        try:
            urllib.request.urlopen(os.environ["REVIEWD_BASE_URL"] + "/readyz", timeout=2)
            return server
        except OSError:
            assert server.poll() is None, "the server has ended"
            time.sleep(0.2)
    raise SystemExit("the server did not become ready")


def main(reviewd, *client):
    with tempfile.TemporaryDirectory() as states:
        servers = [start(reviewd, f"{states}/0")]
        ask_read, ask_write = os.pipe()
        done_read, done_write = os.pipe()

        def restart():
            while os.read(ask_read, 1):
                servers[-1].terminate()
                servers[-1].wait()
                servers.append(start(reviewd, f"{states}/{len(servers)}"))
                os.write(done_write, b".")

        environment = os.environ | {"RESTART_ASK": str(ask_write), "RESTART_DONE": str(done_read)}
        threading.Thread(target=restart, daemon=True).start()
        try:
            status = subprocess.run(client, env=environment, pass_fds=(ask_write, done_read)).returncode
        finally:
            servers[-1].terminate()
            servers[-1].wait()
        assert len(servers) > 1, "the client asked for no restart"
        return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

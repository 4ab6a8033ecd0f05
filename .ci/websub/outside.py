"""Shared by the subscribers of this folder: the TLS terminator in front of the server, and waiting for a condition."""

import socket
import ssl
import sys
import threading
import time


def pump(source, sink):
    try:
        while block := source.recv(65536):
            sink.sendall(block)
    except OSError:
        pass
    finally:
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def terminate_tls(port, target, certificate, key):
    """Serves the http address `target` as https on `port` of this machine until the process ends."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    listener = socket.create_server(("127.0.0.1", port))

    def accept():
        while True:
            plain, _ = listener.accept()
            try:
                outer = context.wrap_socket(plain, server_side=True)
            except OSError:
                continue
            inner = socket.create_connection(target)
            threading.Thread(target=pump, args=(outer, inner), daemon=True).start()
            threading.Thread(target=pump, args=(inner, outer), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


def wait(what, condition, seen):
    """Waits a minute for a condition; else ends the program, and says what was `seen` instead."""
    for _ in range(600):
        if condition():
            return
        time.sleep(0.1)
    sys.exit(f"not within a minute: {what}; seen: {str(seen)[:2000]}")

"""Flask-WebSub against the hub: discover, subscribe, a signed notification, renew, unsubscribe.

Arguments: the http address of the server, its public https address (served here by a TLS terminator), the
certificate and key for 127.0.0.1, and the data directory.
"""

import json
import pathlib
import ssl
import sys
import tempfile
import threading
import time
import urllib.parse

from flask import Flask
from flask_websub.subscriber import SQLite3SubscriberStorage, SQLite3TempSubscriberStorage, Subscriber, discover
from outside import terminate_tls, wait
from werkzeug.serving import make_server

upstream, public, certificate, key, data = sys.argv[1:]
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
server, outside = urllib.parse.urlsplit(upstream), urllib.parse.urlsplit(public)
terminate_tls(outside.port, (server.hostname, server.port), certificate, key)

app = Flask("subscriber")
store = str(pathlib.Path(tempfile.mkdtemp()) / "subscriber.sqlite3")
subscriber = Subscriber(SQLite3SubscriberStorage(store), SQLite3TempSubscriberStorage(store))
app.register_blueprint(subscriber.build_blueprint(url_prefix="/callbacks"))
confirmed, received = [], []
subscriber.add_success_handler(lambda topic, callback, mode: confirmed.append(mode))
subscriber.add_listener(lambda topic, callback, body: received.append(body))
listening = make_server("127.0.0.1", 0, app, threaded=True, ssl_context=context)
app.config["SERVER_NAME"] = f"127.0.0.1:{listening.server_port}"
app.config["PREFERRED_URL_SCHEME"] = "https"
threading.Thread(target=listening.serve_forever, daemon=True).start()


def change(number):
    path = pathlib.Path(data) / "reviews.json"
    document = json.loads(path.read_text())
    document["disclaimer"] = f"changed {number} times"
    document["updated_at"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    beside = path.with_suffix(".new")
    beside.write_text(json.dumps(document))
    beside.rename(path)


def wait_for_body(number):
    """The hub may send a notification again if an answer came late, so that only its presence counts."""
    wait(
        f"change {number} arrives with a signature that holds",
        lambda: any(body_of(number) in body for body in received),
        received,
    )


def body_of(number):
    return f"changed {number} times".encode()


with app.app_context():
    found = discover(f"{public}/reviews.json")
    assert found["hub_url"] == f"{public}/api/websub/hub", found
    assert found["topic_url"] == f"{public}/reviews.json", found
    # Because the hub is https, the library generates a secret, and passes on only bodies with a valid signature.
    callback = subscriber.subscribe(**found)
    wait("subscribed", lambda: "subscribe" in confirmed, confirmed)
    assert subscriber.storage[callback]["secret"]
    time.sleep(1)
    change(1)
    wait_for_body(1)
    confirmed.clear()
    subscriber.renew(callback)
    wait("renewed", lambda: "subscribe" in confirmed, confirmed)
    time.sleep(1.1)
    change(2)
    wait_for_body(2)
    subscriber.unsubscribe(callback)
    wait("unsubscribed", lambda: "unsubscribe" in confirmed, confirmed)
    time.sleep(1.1)
    change(3)
    time.sleep(3)
    assert not any(body_of(3) in body for body in received), "a notification after the end"
print("Flask-WebSub: discovered, subscribed, 2 signed notifications, renewed, unsubscribed")

"""Prints the newest review whenever the reviews change. Python 3.9 or later, nothing to install.

CALLBACK is the https address under which the world reaches this program: a reverse proxy or a tunnel that ends at
PORT, or the program itself with a CERTIFICATE and its KEY.
"""
import hashlib
import hmac
import http.server
import json
import os
import secrets
import ssl
import threading
import urllib.parse
import urllib.request

HUB = "{base_url}/api/websub/hub"
TOPIC = "{base_url}/api/feed.json"
# Only the hub is told the key, so what comes without it is about a subscription that this program did not ask for.
KEY = secrets.token_hex(16)
CALLBACK = os.environ["CALLBACK"] + ("&" if "?" in os.environ["CALLBACK"] else "?") + "key=" + KEY
SECRET = secrets.token_hex(32)
BODY_BYTES_MAX = 64 << 20
RETRY_S = float(os.environ.get("RETRY", "60"))


def tell(*words):
    """Prints a line in one piece, as several threads print."""
    print(" ".join(map(str, words)) + "\n", end="", flush=True)


def subscribe():
    fields = {"hub.mode": "subscribe", "hub.topic": TOPIC, "hub.callback": CALLBACK, "hub.secret": SECRET}
    try:
        with urllib.request.urlopen(HUB, data=urllib.parse.urlencode(fields).encode(), timeout=30) as reply:
            tell(reply.status, reply.read().decode().strip())
        # Where no verification follows, it is asked again; one that is confirmed sets a later time.
        subscribe_in(10 * RETRY_S)
    except OSError as error:
        tell("the hub cannot be asked:", error)
        subscribe_in(RETRY_S)


def subscribe_in(seconds):
    """Subscribes after this time, whatever time was set before."""
    global timer
    timer.cancel()
    timer = threading.Timer(seconds, subscribe)
    timer.daemon = True
    timer.start()


class Subscriber(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        """The hub asks whether we asked: yes is its challenge, no is 404; or it tells that a subscription has ended."""
        query = self.query()
        if query.get("key") == KEY and query.get("hub.mode") == "subscribe" and query.get("hub.topic") == TOPIC:
            lease = int(query["hub.lease_seconds"])
            tell("subscribed for", lease, "seconds")
            subscribe_in(lease / 2)
            self.answer(200, query["hub.challenge"])
        elif query.get("key") == KEY and query.get("hub.mode") == "denied" and query.get("hub.topic") == TOPIC:
            # The hub has ended the subscription: it is asked for another.
            tell("denied:", query.get("hub.reason", ""))
            subscribe_in(RETRY_S)
            self.answer(200)
        else:
            tell("refused:", query.get("hub.mode"), query.get("hub.topic"), query.get("hub.reason", ""))
            self.answer(404)

    def do_POST(self):
        """The topic has changed: its whole new content, signed with our secret."""
        if self.query().get("key") != KEY:
            # From before a restart, or not ours: 410 Gone ends that subscription.
            return self.answer(410)
        length = int(self.headers.get("Content-Length", 0))
        if length > BODY_BYTES_MAX:
            return self.answer(413)
        body = self.rfile.read(length)
        signature = "sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
        if hmac.compare_digest(signature, self.headers.get("X-Hub-Signature", "")):
            newest = json.loads(body)["items"][0]
            tell("changed:", newest["title"], newest["url"])
        # A wrong signature is not from the hub: acknowledged all the same, so that the sender learns nothing.
        self.answer(200)

    def query(self):
        return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))

    def answer(self, status, text=""):
        self.send_response(status)
        self.send_header("Content-Type", "text/plain")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("", int(os.environ.get("PORT", "8000"))), Subscriber)
if "CERTIFICATE" in os.environ:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(os.environ["CERTIFICATE"], os.environ["KEY"])
    server.socket = context.wrap_socket(server.socket, server_side=True)
timer = threading.Timer(1, subscribe)
timer.daemon = True
timer.start()
server.serve_forever()

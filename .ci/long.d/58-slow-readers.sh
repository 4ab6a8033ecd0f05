#!/usr/bin/env bash
# A client that reads 12 kB a second gets a whole large document; one that reads nothing is disconnected.
# limit: 1800 s
source "$(dirname "$0")/../step.sh"

need curl curl
need python3 python3
[ -x target/release/reviewd ] || cargo build --quiet --locked --release
work=$ci_dir/slow
rm -rf "$work"
cargo run --quiet --locked --release --example generate -- --from data --reviews 4000 --into "$work"
start_server REVIEWD_DATA="$work"
bytes=$(curl --silent --fail "$base_url/reviews.json" | wc -c)
echo "a document of $bytes bytes at 12 kB a second"
got=$(curl --silent --fail --limit-rate 12k "$base_url/reviews.json" | wc -c)
[ "$got" = "$bytes" ] || fail "$got of $bytes bytes came"
python3 - "$base_url" <<'PY'
import socket, sys, time
from urllib.parse import urlsplit

address = urlsplit(sys.argv[1])
with socket.create_connection((address.hostname, address.port)) as reader:
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    reader.sendall(f"GET /reviews.json HTTP/1.1\r\nHost: {address.netloc}\r\n\r\n".encode() * 8)
    time.sleep(90)
    try:
        while reader.recv(1 << 16):
            pass
        sys.exit("the connection was closed in good order")
    except ConnectionResetError:
        print("a client that read nothing for 90 s was reset")
PY

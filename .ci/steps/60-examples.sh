#!/usr/bin/env bash
# The examples: the agent cites reviews, the mirror has all, the page shows them, and generated reviews can be served.
# limit: 300 s
source "$(dirname "$0")/../step.sh"

need chromium chromium
[ -x target/release/reviewd ] || cargo build --quiet --locked --release

start_server REVIEWD_STATE="$ci_dir/examples-state"
python3 examples/clients/agent.py "$base_url" "Do they call back?" | tee "$ci_dir/agent.txt"
cited=$(grep -c "^  $base_url/reviews/" "$ci_dir/agent.txt") || true
[ "$cited" -eq 3 ] || fail "the agent cites $cited reviews, not 3"

rm -f "$ci_dir/copy.json"
python3 examples/clients/mirror.py "$base_url" "$ci_dir/copy.json"
curl -fsS "$base_url/reviews.json" | python3 -c '
import json, sys
copy = json.load(open(sys.argv[1]))["reviews"]
served = {review["id"]: review for review in json.load(sys.stdin)["reviews"]}
sys.exit(copy != served)' "$ci_dir/copy.json" || fail "the mirror differs from /reviews.json"
echo "the mirror equals /reviews.json"

# A service that ends amid a response ends one try of the mirror, and not the mirror.
timeout --foreground 20 python3 - "$ci_dir/broken.json" <<'END' || fail "a broken response ends the mirror"
import socket, subprocess, sys, threading
server = socket.create_server(("127.0.0.1", 0))
def answer():
    while True:
        connection, _ = server.accept()
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
        connection.close()
threading.Thread(target=answer, daemon=True).start()
command = [sys.executable, "examples/clients/mirror.py", f"http://127.0.0.1:{server.getsockname()[1]}", sys.argv[1]]
mirror = subprocess.Popen([*command, "--every", "1"], stdout=subprocess.PIPE, text=True)
tries = [mirror.stdout.readline() for _ in range(2)]
mirror.kill()
sys.exit(not all("IncompleteRead" in line for line in tries))
END
echo "the mirror goes on after a broken response"

mkdir -p "$ci_dir/examples-home"
shown=$(HOME=$ci_dir/examples-home timeout --foreground 60 chromium --headless --no-sandbox --virtual-time-budget=5000 --dump-dom \
    "file://$PWD/examples/clients/page.html?service=$base_url" 2>/dev/null | grep -o '<article>' | wc -l)
[ "$shown" -eq 10 ] || fail "the page shows $shown reviews, not 10"
echo "the page shows 10 reviews"

rm -rf "$ci_dir/generated"
cargo run --quiet --locked --example generate -- --reviews 300 --seed 1 --into "$ci_dir/generated"
target/release/reviewd check "$ci_dir/generated"

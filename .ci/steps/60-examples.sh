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

mkdir -p "$ci_dir/examples-home"
shown=$(HOME=$ci_dir/examples-home timeout --foreground 60 chromium --headless --no-sandbox --virtual-time-budget=5000 --dump-dom \
    "file://$PWD/examples/clients/page.html?service=$base_url" 2>/dev/null | grep -o '<article>' | wc -l)
[ "$shown" -eq 10 ] || fail "the page shows $shown reviews, not 10"
echo "the page shows 10 reviews"

rm -rf "$ci_dir/generated"
cargo run --quiet --locked --example generate -- --reviews 300 --seed 1 --into "$ci_dir/generated"
target/release/reviewd check "$ci_dir/generated"

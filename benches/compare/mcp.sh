#!/usr/bin/env bash
# Compares the CPU that tools/call search_reviews costs in reviewd and in rmcp's server with the same tool.
#
#   benches/compare/mcp.sh               both servers, three calls, 5 rounds of 2 s each; about a minute and a half
#   benches/compare/mcp.sh sessions      reviewd's memory before and after 10,000 sessions, and after as many again
#
# Needs Linux, two cores, taskset and curl. Servers run on core 0 with one thread, one after the other, and
# the client on core 1. Both serve the same 500 generated reviews, and have to give the same answer before they are
# measured. The figure that holds on a machine with other work is the ratio of CPU per request (utime and stime of
# the server's process); requests a second need two idle cores. Everything stays on loopback, and only processes that
# were started here are ended.
#
#   ROUNDS=5 SECONDS_EACH=2              rounds of each server and call, and their length
#   REVIEWD=target/release/reviewd       a reviewd that is built already; without it, it is built here
#   PORT=18600                           this port and the next are listened on
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

rounds=${ROUNDS:-5} seconds=${SECONDS_EACH:-2} port=${PORT:-18600}
work=$(mktemp -d)
started=()
clean_up() {
    for pid in "${started[@]}"; do
        kill "$pid" 2>/dev/null || continue
        wait "$pid" 2>/dev/null || true
    done
    rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

if [ -z "${REVIEWD:-}" ]; then
    cargo build --release --locked --quiet --bin reviewd
    REVIEWD=target/release/reviewd
fi
peers=benches/compare/target/release
cargo build --release --locked --quiet --manifest-path benches/compare/Cargo.toml --package mcp-load --package mcp-peer
"$REVIEWD" generate --reviews 500 --seed 1 --into "$work/data" >/dev/null

# Starts a server on core 0 and waits until its port is open; its process is the last of `started`.
start() { # name, port, command...
    local name=$1 at=$2
    shift 2
    taskset -c 0 "$@" >"$work/$name.log" 2>&1 &
    started+=($!)
    for _ in $(seq 100); do
        # Any answer will do: the peer serves nothing but /mcp.
        if curl --silent --max-time 1 --output /dev/null "http://127.0.0.1:$at/readyz"; then return; fi
        kill -0 "${started[-1]}" 2>/dev/null || break
        sleep 0.1
    done
    echo "$name did not start:" >&2
    tail -5 "$work/$name.log" >&2
    exit 1
}

start reviewd "$port" "$REVIEWD" serve --data "$work/data" --state "$work/state" --listen "127.0.0.1:$port" \
    --threads 1 --no-hub --no-watch --poll 0 --log-level warn
ours=${started[-1]}@127.0.0.1:$port

case ${1:-compare} in
compare)
    start peer "$((port + 1))" "$peers/mcp-peer" "$work/data/reviews.json" "127.0.0.1:$((port + 1))"
    theirs=${started[-1]}@127.0.0.1:$((port + 1))
    # Three calls, two servers, the rounds and a quarter of one before them.
    limit=$((3 * 2 * (rounds + 1) * seconds + 30))
    timeout "$limit" taskset -c 1 "$peers/mcp-load" compare "$seconds" "$rounds" "$ours" "$theirs"
    ;;
sessions)
    timeout 120 taskset -c 1 "$peers/mcp-load" sessions 10000 "$ours"
    ;;
*)
    echo "usage: benches/compare/mcp.sh [sessions]" >&2
    exit 64
    ;;
esac

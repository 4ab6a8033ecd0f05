#!/usr/bin/env bash
# Compares the CPU that tools/call search_reviews costs in reviewd, in rmcp's server with the same tool, and as a search
# of reviewd's REST interface.
#
#   benches/compare/mcp.sh               both servers, three calls, 5 rounds of 2 s each; about two minutes
#   benches/compare/mcp.sh sessions      reviewd's memory before and after 10,000 sessions, and after as many again
#
# Needs Linux, two cores, taskset and curl. Servers run on core 0 with one thread, one after the other, and
# the client on core 1. Both serve the same 500 generated reviews, and have to give the same answer before they are
# measured. The figure that holds on a machine with other work is the ratio of CPU per request (utime and stime of
# the server's process); requests a second need two idle cores. Everything stays on loopback, and only processes that
# were started here are ended.
#
#   ROUNDS=5 SECONDS_EACH=2              rounds of each server and call, and their length
#   REVIEWD=target/dist/reviewd          a reviewd that is built already; without it, it is built here
#   PORT=18600                           this port and the next are listened on
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

source benches/compare/common.sh

rounds=${ROUNDS:-5} seconds=${SECONDS_EACH:-2} port=${PORT:-18600}
build mcp-load mcp-peer
cargo run --quiet --release --example generate -- --reviews 500 --seed 1 --into "$work/data" >/dev/null
start_reviewd data "$port"
ours=${started[-1]}@127.0.0.1:$port

case ${1:-compare} in
compare)
    start peer "$((port + 1))" any:/readyz "$peers/mcp-peer" "$work/data/reviews.json" "127.0.0.1:$((port + 1))"
    theirs=${started[-1]}@127.0.0.1:$((port + 1))
    # Three calls, two servers and the same search by REST, the rounds and a quarter of one before them.
    limit=$((3 * 3 * (rounds + 1) * seconds + 30))
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

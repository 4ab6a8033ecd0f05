#!/usr/bin/env bash
# Compares the CPU cost of tools/call search_reviews in reviewd, of the same tool in rmcp's server, and of the same
# search by reviewd's REST interface.
#
#   benches/compare/mcp.sh               both servers, three calls, 5 rounds of 2 s each; about two minutes
#   benches/compare/mcp.sh sessions      reviewd's memory before and after two seconds of some 10,000 new sessions each
#
# Needs Linux, two cores, taskset, curl and python3. Servers run on core 0 with one thread, one after the other, and
# the client on core 1. Both serve the same 500 generated reviews, and must give the same response before they are
# measured. On a machine with other work, only the ratio of CPU per request is reliable (utime and stime of the
# server's process); requests per second need two idle cores. Everything stays on loopback, and only processes
# started by this script are stopped.
#
#   ROUNDS=5 SECONDS_EACH=2              rounds of each server and call, and their length
#   REVIEWD=target/dist/reviewd          a built reviewd; without it, reviewd is built here
#   PORT=18600                           the first of two ports to listen on
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

source benches/compare/common.sh

rounds=${ROUNDS:-5} seconds=${SECONDS_EACH:-2} port=${PORT:-18600}
build load mcp-peer
cargo run --quiet --release --example generate -- --reviews 500 --seed 1 --into "$work/data" >/dev/null
start_reviewd data "$port"
ours=${started[-1]}@127.0.0.1:$port

# Writes a request to a file, and its header fields and body to files beside it, for curl.
request() { # name, method, parameters, more header fields...
    local call=$work/$1
    printf '{"jsonrpc":"2.0","id":1,"method":"%s","params":%s}' "$2" "$3" >"$call.body"
    printf '%s\r\n' "Content-Type: application/json" "Accept: application/json, text/event-stream" "${@:4}" >"$call.fields"
    {
        printf 'POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: %s\r\n' "$(wc -c <"$call.body")"
        cat "$call.fields"
        printf '\r\n'
        cat "$call.body"
    } >"$call"
}
client='{"name":"load","version":"0.0.0"}'
# The last revision with a handshake, and the one without.
handshake=2025-11-25 stateless=2026-07-28
meta="{\"io.modelcontextprotocol/protocolVersion\":\"$stateless\",\"io.modelcontextprotocol/clientInfo\":$client,\
\"io.modelcontextprotocol/clientCapabilities\":{}}"
search() { printf '{"name":"search_reviews","arguments":{%s,"limit":10}%s}' "$1" "${2:-}"; } # filter, more members

# Fails unless both servers give the same ten reviews, as text and as values. Cursors are opaque, and only reviewd tells the
# address of each review and the language that it detects.
agree() { # call, addresses
    local address
    for address in "${@:2}"; do
        curl --silent --fail --header "@$work/$1.fields" --data-binary "@$work/$1.body" "http://$address/mcp"
        echo
    done | python3 -c '
import json, sys
pages = []
for line in filter(str.strip, sys.stdin):
    result = json.loads(line)["result"]
    page = result["structuredContent"]
    assert json.loads(result["content"][0]["text"]) == page, "text and structuredContent differ"
    assert len(page["reviews"]) == 10, "the page has not ten reviews"
    page["next_cursor"] = isinstance(page.get("next_cursor"), str)
    for review in page["reviews"]:
        review.pop("url", None)
        review.pop("language", None)
    pages.append(page)
assert len(pages) == 2 and pages[0] == pages[1], "the servers answer differently"
'
}

case ${1:-compare} in
compare)
    start peer "$((port + 1))" any:/readyz "$peers/mcp-peer" "$work/data/reviews.json" "127.0.0.1:$((port + 1))"
    theirs=${started[-1]}@127.0.0.1:$((port + 1))
    request "$handshake, rating" tools/call "$(search '"rating":5')" "MCP-Protocol-Version: $handshake"
    request "$stateless, rating" tools/call "$(search '"rating":5' ",\"_meta\":$meta")" \
        "MCP-Protocol-Version: $stateless" "Mcp-Method: tools/call" "Mcp-Name: search_reviews"
    request "$handshake, query" tools/call "$(search '"query":"call"')" "MCP-Protocol-Version: $handshake"
    echo "32 connections, $rounds rounds of $seconds s each, in turn; medians; CPU in µs per request; ratio: CPU of reviewd by that"
    echo "of the other, which is rmcp, or the same search by REST"
    echo
    echo "| call | bytes | server | CPU | ratio | requests/s |"
    echo "|---|---:|---|---:|---:|---:|"
    for call in "$handshake, rating" "$stateless, rating" "$handshake, query"; do
        case $call in *rating) filter=rating=5 ;; *) filter=query=call ;; esac
        printf 'GET /api/reviews/search?%s&limit=10 HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n\r\n' \
            "$filter" >"$work/rest"
        agree "$call" "${ours#*@}" "${theirs#*@}"
        # Time for the rounds, and for warm-ups of a quarter round.
        timeout "$((3 * (rounds + 1) * seconds + 30))" taskset -c 1 "$peers/load" "$seconds" "$rounds" "$call" \
            "reviewd=$ours=$work/$call" "rmcp=$theirs=$work/$call" "REST=$ours=$work/rest"
    done
    ;;
sessions)
    request initialize initialize "{\"protocolVersion\":\"$handshake\",\"capabilities\":{},\"clientInfo\":$client}"
    memory() { echo "resident memory $1:$(sed -n 's/^VmRSS://p' "/proc/${ours%@*}/status")"; }
    memory "at the start"
    # Growth in the first second is buffers; growth in the second one would be sessions.
    for turn in "the first" "the second"; do
        timeout 60 taskset -c 1 "$peers/load" 1 1 initialize "reviewd=$ours=$work/initialize"
        memory "after $turn second"
    done
    ;;
*)
    echo "usage: benches/compare/mcp.sh [sessions]" >&2
    exit 64
    ;;
esac

#!/usr/bin/env bash
# MCP: the official conformance suite for three revisions, the Inspector, and clients of four SDKs.
# limit: 900 s
source "$(dirname "$0")/../step.sh"

[ -x target/release/reviewd ] || cargo build --quiet --locked --release

# Node is installed from npm, as the suite needs a newer version than Debian has.
need_npm mcp
# The suite needs tools and texts of its own, which this example adds to the server; step 30 has built it.
cargo build --quiet --locked --example conformance
# Clients write files to this HOME; cargo needs the real one.
export HOME=$tools/home
mkdir -p "$HOME"
node=$tools/node_modules/.bin/node
"$node" --version >/dev/null || skip "npm's node does not run here"
packages=$tools/node_modules/@modelcontextprotocol
suite=("$node" "$packages/conformance/dist/index.js" server)

server_command=(target/debug/examples/conformance)
start_server REVIEWD_STATE="$tools/state"
conformance() {
    local revision=$1 log=$tools/conformance-$1.log
    shift
    if ! timeout --foreground 120 "${suite[@]}" --url "$base_url/mcp" -o "$tools/results" "$@" >"$log" 2>&1; then
        tail -n 60 "$log"
        fail "conformance $revision"
    fi
    echo "conformance $revision: $(grep -m 1 -E '^(Total|Passed):' "$log"), no failure that is not expected"
}
for revision in 2025-11-25 2026-07-28; do
    conformance "$revision" --requirements "$revision" --expected-failures ".ci/mcp/expected-$revision.yml"
done
conformance 2025-06-18 --spec-version 2025-06-18 --expected-failures .ci/mcp/expected-2025-06-18.yml
for scenario in http-header-validation server-session-lifecycle caching; do
    conformance "$scenario" --scenario "$scenario"
done
end_started
started_pids=()
server_command=(target/release/reviewd serve)

start_server REVIEWD_STATE="$tools/state"
for era in legacy modern; do
    timeout --foreground 60 "$node" "$packages/inspector/clients/launcher/build/index.js" --cli "$base_url/mcp" \
        --transport http --method tools/list --strict --format json -q --protocol-era "$era" >"$tools/inspector.json" ||
        fail "the Inspector has findings on the tools: $(cat "$tools/inspector.json")"
done
echo "inspector: strict, no finding in either era"

# Each client continues after a restart of the server with another state directory, which it does with this command.
end_started
started_pids=()
restarted() {
    REVIEWD_DATA=data REVIEWD_BASE_URL="$base_url" REVIEWD_LISTEN="${base_url#http://}" timeout --foreground 120 \
        .ci/mcp/restarting.py target/release/reviewd "$@"
}
cp .ci/mcp/check_typescript.mjs "$tools/"
restarted "$node" "$tools/check_typescript.mjs" "$base_url/mcp"

for client in mcp1 mcp2 fastmcp; do
    venv=$tools/venv-$client
    make_venv "$venv" ".ci/mcp/requirements-$client.txt"
    restarted "$venv/bin/python" .ci/mcp/check_python.py "$client" "$base_url/mcp"
done

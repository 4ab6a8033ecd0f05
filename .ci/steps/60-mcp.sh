# MCP: the official conformance suite for three revisions, the Inspector, and clients of four SDKs.
# limit: 900 s

need npm npm
[ -x target/release/reviewd ] || cargo build --quiet --locked --release

# Node is installed from npm, as the suite needs a newer version than Debian has.
tools=$ci_dir/mcp
mkdir -p "$tools"
if ! cmp -s .ci/mcp/package.json "$tools/package.json" || ! [ -e "$tools/installed" ]; then
    rm -rf "$tools/node_modules" "$tools/installed"
    cp .ci/mcp/package.json "$tools/package.json"
    retry 3 timeout --foreground 180 npm --prefix "$tools" install --silent --no-audit --no-fund ||
        skip "the packages of .ci/mcp/package.json could not be installed"
    touch "$tools/installed"
fi
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

need python3 python3 python3-venv
for client in mcp1 mcp2 fastmcp; do
    venv=$tools/venv-$client
    if ! cmp -s ".ci/mcp/requirements-$client.txt" "$venv/installed"; then
        rm -rf "$venv"
        python3 -m venv "$venv" || skip "python3 has no venv module"
        retry 3 timeout --foreground 180 "$venv/bin/pip" install --quiet -r ".ci/mcp/requirements-$client.txt" ||
            skip "the python packages of $client could not be installed"
        cp ".ci/mcp/requirements-$client.txt" "$venv/installed"
    fi
    restarted "$venv/bin/python" .ci/mcp/check_python.py "$client" "$base_url/mcp"
done

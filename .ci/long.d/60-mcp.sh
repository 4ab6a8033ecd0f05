#!/usr/bin/env bash
# MCP test tools that take long to build: the Rust SDK as a client, mcp-tester with old and new protocol revisions, tooltest with 200 cases.
# limit: 5400 s
source "$(dirname "$0")/../step.sh"

[ -x target/release/reviewd ] || cargo build --quiet --locked --release
root=$ci_dir/mcp-testers
for tool in mcp-tester@0.8.0 tooltest@0.4.2; do
    [ -x "$root/bin/${tool%@*}" ] || retry 3 cargo install --quiet --locked --root "$root" "$tool" ||
        skip "$tool could not be installed"
done
start_server REVIEWD_STATE="$ci_dir/mcp-testers/state"
CARGO_TARGET_DIR=$root/rmcp cargo build --quiet --locked --manifest-path .ci/mcp/rmcp/Cargo.toml
timeout --foreground 60 "$root/rmcp/debug/check-rmcp" "$base_url/mcp"
"$root/bin/mcp-tester" conformance "$base_url/mcp" --dual-run
RUST_LOG=error "$root/bin/tooltest" --cases 200 --json --lenient-sourcing --in-band-error-forbidden \
    http --url "$base_url/mcp"

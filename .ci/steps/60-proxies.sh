#!/usr/bin/env bash
# The recipes of docs/deploying.md for nginx and Caddy: they proxy, and compress searches and documents.
# limit: 300 s
source "$(dirname "$0")/../step.sh"

need nginx nginx-light
need caddy caddy
need python3 python3
[ -x target/release/reviewd ] || cargo build --quiet --locked --release
start_server
folder=$ci_dir/proxies
rm -rf "$folder"
mkdir -p "$folder"
python3 .ci/check_proxies.py "$base_url" "$folder"

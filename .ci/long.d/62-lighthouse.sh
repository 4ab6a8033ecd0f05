#!/usr/bin/env bash
# Lighthouse on the front page, a review and a search: performance, accessibility, best practices, search engines.
# limit: 900 s
source "$(dirname "$0")/../step.sh"

need node nodejs
need chromium chromium
[ -x target/release/reviewd ] || cargo build --quiet --locked --release
need_npm lighthouse
cp .ci/lighthouse/lighthouse.mjs "$tools/"
CHROMIUM=$(command -v chromium)
export CHROMIUM HOME=$tools/home
mkdir -p "$HOME"
start_server REVIEWD_STATE="$tools/state"
timeout --foreground 600 node "$tools/lighthouse.mjs" "$base_url"

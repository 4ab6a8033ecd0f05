#!/usr/bin/env bash
# The pages in a real browser: search, keyboard, no JavaScript, dark, phone, axe-core, security policy, other sites.
# limit: 600 s
source "$(dirname "$0")/../step.sh"

need node nodejs
need chromium chromium
[ -x target/release/reviewd ] || cargo build --quiet --locked --release

need_npm browser
# Node searches modules beside the scripts.
cp .ci/browser/*.mjs "$tools/"
CHROMIUM=$(command -v chromium)
export CHROMIUM HOME=$tools/home
mkdir -p "$HOME"

start_server REVIEWD_STATE="$tools/state"
timeout --foreground 300 node "$tools/check.mjs" "$base_url"
mkdir -p "$tools/screenshots"
timeout --foreground 60 node "$tools/screenshots.mjs" "$base_url" "$tools/screenshots"
# README shows copies of them in docs/screenshots, made smaller by `pngquant --quality 70-95`.
echo "screenshots in $tools/screenshots"

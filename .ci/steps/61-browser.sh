#!/usr/bin/env bash
# The pages in real browsers: search, keyboard, no JavaScript, dark, phone, axe-core, security policy, other sites, Firefox;
# and the exported pages, from files and below a path of a plain server.
# limit: 900 s
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

# A second business, for pages with the elements of two services.
start_server REVIEWD_STATE="$tools/other-state" REVIEWD_DATA=tests/fixtures/questions/restaurant
other_base_url=$base_url
start_server REVIEWD_STATE="$tools/state"
timeout --foreground 300 node "$tools/check.mjs" "$base_url" "$other_base_url"
if command -v firefox-esr >/dev/null || install_debian firefox-esr; then
    FIREFOX=$(command -v firefox-esr) timeout --foreground 180 node "$tools/firefox.mjs" "$base_url" "$other_base_url"
else
    echo "SKIPPED in Firefox: firefox-esr is missing, and could not be installed"
fi
# The same pages as files.
rm -rf "$tools/site"
target/release/reviewd export data --site "$tools/site" --base-url https://www.example/reviews
timeout --foreground 300 node "$tools/site.mjs" "$tools/site"
mkdir -p "$tools/screenshots"
timeout --foreground 60 node "$tools/screenshots.mjs" "$base_url" "$tools/screenshots"
# README shows copies of them in docs/screenshots, made smaller by `pngquant --quality 70-95`.
echo "screenshots in $tools/screenshots"

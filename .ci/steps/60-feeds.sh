#!/usr/bin/env bash
# The feeds of the sample data, as a feed reader and a validator see them.
# limit: 300 s
source "$(dirname "$0")/../step.sh"

need_venv
[ -x target/release/reviewd ] || cargo build --quiet --locked --release
start_server
python .ci/check_feeds.py "$base_url"

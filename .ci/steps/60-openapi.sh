#!/usr/bin/env bash
# The OpenAPI description is valid, and schemathesis finds no fault in the server that it describes.
# limit: 420 s
source "$(dirname "$0")/../step.sh"

need_venv
[ -x target/release/reviewd ] || cargo build --quiet --locked --release

work=$ci_dir/openapi
rm -rf "$work"
mkdir -p "$work"
start_server REVIEWD_STATE="$work/state" REVIEWD_ALLOW_PRIVATE_CALLBACKS=true REVIEWD_HUB_RATE=0 \
    REVIEWD_SUBSCRIPTIONS_MAX=10000000 REVIEWD_SUBSCRIPTIONS_PER_HOST=10000000
python -c 'import sys, urllib.request as u; sys.stdout.buffer.write(u.urlopen(sys.argv[1], timeout=10).read())' \
    "$base_url/openapi.json" >"$work/openapi.json"
openapi-spec-validator "$work/openapi.json"
cp .ci/openapi/* "$work/"
# It stores its findings there.
cd "$work"
SCHEMATHESIS_HOOKS=hooks PYTHONPATH=$work timeout --foreground 300 schemathesis run "$base_url/openapi.json" \
    >"$work/report.txt" 2>&1 || { cat "$work/report.txt"; fail "schemathesis"; }
sed -n '/^=* SUMMARY/,$p' "$work/report.txt"

#!/usr/bin/env bash
# The memory for each byte of reviews.json, at rest and during a reload, is what docs/deploying.md says.
# limit: 3600 s
source "$(dirname "$0")/../step.sh"

need python3 python3
[ -x target/release/reviewd ] || cargo build --quiet --locked --release
folder=$ci_dir/bytes
rm -rf "$folder"
cargo run --quiet --locked --release --example generate -- --reviews 100000 --into "$folder/short/100000"
python3 .ci/check_bytes.py target/release/reviewd "$folder"
rm -rf "$folder"

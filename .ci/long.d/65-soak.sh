#!/usr/bin/env bash
# Mixed load with a changed dataset every ten seconds for SOAK_SECONDS (600): memory and file descriptors do not grow.
# limit: 5400 s
source "$(dirname "$0")/../step.sh"

need python3 python3
[ -x target/release/reviewd ] || cargo build --quiet --locked --release
python3 .ci/soak.py target/release/reviewd "${SOAK_SECONDS:-600}"

#!/usr/bin/env bash
# Clients that read or send nothing further, for HOLD_SECONDS (120), against a server with 512 MiB: it is not killed, and
# answers others.
# limit: 1800 s
source "$(dirname "$0")/../step.sh"

need python3 python3
# Each connection needs a file descriptor here and one in the server.
ulimit -n 32768 2>/dev/null || ulimit -n "$(ulimit -Hn)"
[ -x target/release/reviewd ] || cargo build --quiet --locked --release
python3 .ci/hold.py target/release/reviewd "${HOLD_SECONDS:-120}"

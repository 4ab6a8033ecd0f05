#!/usr/bin/env bash
# 14,000 idle kept connections: the memory of each, and that all are served afterwards.
# limit: 1800 s
source "$(dirname "$0")/../step.sh"

# Each connection needs a file descriptor here and one in the server.
ulimit -n 32768 2>/dev/null || ulimit -n "$(ulimit -Hn)"
[ -x target/release/reviewd ] || cargo build --quiet --locked --release
# Only the server is measured, so the client needs no release build.
REVIEWD_TEST_PROGRAM=$PWD/target/release/reviewd REVIEWD_IDLE_CONNECTIONS=${IDLE_CONNECTIONS:-4000} \
    cargo test --quiet --locked --test it idle:: -- --nocapture

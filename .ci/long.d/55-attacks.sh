#!/usr/bin/env bash
# Attacks over raw sockets, each for ATTACK_SECONDS (60), against the release build; the table is in the output.
# limit: 5400 s
source "$(dirname "$0")/../step.sh"

# 10,000 connections at a time: each needs a file descriptor here and one in the server.
ulimit -n 32768 2>/dev/null || ulimit -n "$(ulimit -Hn)"
[ -x target/release/reviewd ] || cargo build --quiet --locked --release
# The attackers need no release build: they have a lower priority, and only the server is measured.
REVIEWD_TEST_PROGRAM=$PWD/target/release/reviewd REVIEWD_ATTACK_SECONDS=${ATTACK_SECONDS:-60} \
    cargo test --quiet --locked --test it attacks::measured -- --nocapture

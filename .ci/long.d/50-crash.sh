#!/usr/bin/env bash
# The hub killed with SIGKILL at random moments, repeatedly for CRASH_SECONDS (600); the figures are in the output.
# limit: 3600 s
source "$(dirname "$0")/../step.sh"

REVIEWD_CRASH_SECONDS=${CRASH_SECONDS:-600} cargo test --quiet --locked --test it hub::crash -- --nocapture

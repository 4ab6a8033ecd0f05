#!/usr/bin/env bash
# Callbacks and verifications that hang delay honest subscribers by 3 s at most, and a renewal by 1 s.
# limit: 1800 s
source "$(dirname "$0")/../step.sh"

# 20 honest subscribers beside 1,500 newcomers that hang, and a renewal and a newcomer beside 1,000 verifications; the
# figures are in the output.
ulimit -n 32768 2>/dev/null || ulimit -n "$(ulimit -Hn)"
export REVIEWD_HUB_GOALS=yes
REVIEWD_HUB_NEWCOMERS=${HUB_NEWCOMERS:-1500} \
    cargo test --quiet --locked --test it hub::neighbors::new_content -- --nocapture
cargo test --quiet --locked --test it hub::neighbors::beside_a_thousand -- --nocapture

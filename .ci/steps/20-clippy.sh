#!/usr/bin/env bash
# Lints, warnings as errors.
# limit: 900 s
# quick: yes
source "$(dirname "$0")/../step.sh"

cargo clippy --version >/dev/null 2>&1 || skip "clippy is not installed"
cargo clippy --quiet --locked --all-targets -- -D warnings

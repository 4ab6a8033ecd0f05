#!/usr/bin/env bash
# Documentation, warnings as errors.
# limit: 600 s
source "$(dirname "$0")/../step.sh"

RUSTDOCFLAGS="-D warnings" cargo doc --quiet --locked --no-deps
# The examples in the documentation.
cargo test --quiet --locked --doc

#!/usr/bin/env bash
# Builds the program without its features, the import and the hub's store in PostgreSQL; step 30 tests it with both.
# limit: 300 s
source "$(dirname "$0")/../step.sh"

# With the examples, so that most dependencies have the features with which step 20 has checked them.
cargo clippy --quiet --locked --package reviewd --no-default-features --lib --bins --examples -- -D warnings

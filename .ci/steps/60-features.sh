#!/usr/bin/env bash
# Compiles the program and its tests without the features, the import and the hub's store in PostgreSQL; step 20 does so with
# both, and `.ci/long --only 60-features` with each alone.
# limit: 600 s
source "$(dirname "$0")/../step.sh"

# The program as others build it, without warnings. With the examples, so that most dependencies have the features with
# which step 20 has checked them.
cargo clippy --quiet --locked --package reviewd --no-default-features --lib --bins --examples -- -D warnings
cargo check --quiet --locked --package reviewd --no-default-features --lib --test it

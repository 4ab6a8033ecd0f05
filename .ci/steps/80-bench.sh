#!/usr/bin/env bash
# Runs every bench once, to check its answers.
# limit: 1800 s
source "$(dirname "$0")/../step.sh"

compgen -G 'benches/*.rs' >/dev/null || skip "there are no benches yet"
# Their times do not matter here, so they are built like the tests, and nothing is built twice.
cargo bench --quiet --locked --profile dev -- --test
# These are not part of a plain `cargo bench`.
cargo bench --quiet --locked --profile dev --bench dearest --bench fanout --bench search_random -- --test
# Plots and tables match the data.
if command -v python3 >/dev/null; then python3 benches/figures.py check; fi
# The lock files of comparisons and fuzz targets must be up to date, or these do not build.
cargo metadata --locked --format-version 1 --manifest-path benches/compare/Cargo.toml >/dev/null
cargo metadata --locked --format-version 1 --manifest-path fuzz/Cargo.toml >/dev/null

#!/usr/bin/env bash
# Compiles the program, its tests, benches and examples without features and with each of them alone: the import, the hub's
# store in PostgreSQL, and what systems other than Linux get. Step 20 does so with the default ones.
# limit: 900 s
source "$(dirname "$0")/../step.sh"

# The program as others build it, without warnings.
cargo clippy --quiet --locked --package reviewd --no-default-features --lib --bins --examples -- -D warnings
for features in "" import postgres portable; do
    echo "features: ${features:-none}"
    cargo check --quiet --locked --no-default-features --features "$features" --all-targets
done

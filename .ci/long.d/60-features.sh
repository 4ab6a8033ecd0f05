#!/usr/bin/env bash
# Compiles the program, its tests, benches and examples with each feature alone: the import, the hub's store in PostgreSQL,
# and what systems other than Linux get.
# limit: 1800 s
source "$(dirname "$0")/../step.sh"

for features in import postgres portable; do
    echo "features: $features"
    cargo check --quiet --locked --no-default-features --features "$features" --all-targets
done

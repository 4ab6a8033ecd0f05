#!/usr/bin/env bash
# The property tests on new random inputs, ten times.
# limit: 14400 s
source "$(dirname "$0")/../step.sh"

rounds=${PROPERTY_ROUNDS:-10}
for round in $(seq "$rounds"); do
  export PROPTEST_RNG_SEED=$((RANDOM << 15 | RANDOM))
  echo "round $round of $rounds: PROPTEST_RNG_SEED=$PROPTEST_RNG_SEED"
  cargo test --quiet --locked --no-fail-fast
done

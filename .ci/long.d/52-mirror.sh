#!/usr/bin/env bash
# A mirror through a random life of 1,000 changes, with two replicas that are killed and restarted.
# limit: 3600 s
source "$(dirname "$0")/../step.sh"

REVIEWD_TEST_LIFE=${LIFE_CHANGES:-1000} cargo test --quiet --locked --test it changes::life -- --nocapture

#!/usr/bin/env bash
# 1,000 changes of reviews (NOTICE_CHANGES) told to a receiver that fails one in three, with kills; the figures are in the output.
# limit: 3600 s
source "$(dirname "$0")/../step.sh"

REVIEWD_NOTICE_CHANGES=${NOTICE_CHANGES:-1000} cargo test --quiet --locked --test it notices::chaos -- --nocapture

#!/usr/bin/env bash
# Ranked search of questions in 100,000 and a million reviews, and every tool beside a ping.
# limit: 7200 s
source "$(dirname "$0")/../step.sh"

# Without a corpus, the reviews are recombined from the sample's sentences.
REVIEWD_BENCH_REVIEWS=100000,1000000 cargo bench --quiet --locked --bench answers

#!/usr/bin/env bash
# Every fuzz target, one hour in all; with FUZZ_SECONDS=41400, on two cores, one hour each.
# limit: 46800 s
source "$(dirname "$0")/../step.sh"

FUZZ_SECONDS=${FUZZ_SECONDS:-3600} FUZZ_SANITIZER=${FUZZ_SANITIZER:-address} .ci/steps/70-fuzz.sh

#!/usr/bin/env bash
# The fuzz targets, or those named as arguments: one hour in all; FUZZ_SECONDS=34200 gives each an hour on two cores.
# limit: 46800 s
source "$(dirname "$0")/../step.sh"

FUZZ_SECONDS=${FUZZ_SECONDS:-3600} FUZZ_SANITIZER=${FUZZ_SANITIZER:-address} .ci/steps/70-fuzz.sh "$@"

# Every fuzz target, all together an hour; with FUZZ_SECONDS=41400, on two cores, an hour each.
# limit: 46800 s

FUZZ_SECONDS=${FUZZ_SECONDS:-3600}
source .ci/steps/70-fuzz.sh

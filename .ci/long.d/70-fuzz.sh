# Every fuzz target, all together an hour.
# limit: 7200 s

FUZZ_SECONDS=${FUZZ_SECONDS:-3600}
source .ci/steps/70-fuzz.sh

# Every fuzz target with the address sanitizer, all together an hour; with FUZZ_SECONDS=41400, on two cores, an hour each.
# limit: 46800 s

FUZZ_SECONDS=${FUZZ_SECONDS:-3600}
FUZZ_SANITIZER=${FUZZ_SANITIZER:-address}
source .ci/steps/70-fuzz.sh

# Requests made by a grammar and then spoilt, over sockets, for FUZZ_HTTP_SECONDS (3600), others each time.
# limit: 5400 s

export PROPTEST_RNG_SEED=${PROPTEST_RNG_SEED:-$((RANDOM << 15 | RANDOM))}
echo "PROPTEST_RNG_SEED=$PROPTEST_RNG_SEED"
REVIEWD_FUZZ_SECONDS=${FUZZ_HTTP_SECONDS:-3600} cargo test --quiet --locked --test it any_bytes:: -- --nocapture

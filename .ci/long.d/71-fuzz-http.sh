# Requests made by a grammar and then spoilt, over sockets, for FUZZ_HTTP_SECONDS (3600).
# limit: 5400 s

REVIEWD_FUZZ_SECONDS=${FUZZ_HTTP_SECONDS:-3600} cargo test --quiet --locked --test it any_bytes:: -- --nocapture

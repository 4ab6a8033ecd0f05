# Documentation, warnings as errors.
# limit: 600 s

RUSTDOCFLAGS="-D warnings" cargo doc --quiet --locked --no-deps
# There are no documentation tests so far; future ones would run here.
cargo test --quiet --locked --doc

# Documentation, warnings as errors.
# limit: 600 s

RUSTDOCFLAGS="-D warnings" cargo doc --quiet --locked --no-deps
# Nothing there is to be run so far; what comes to be is run here.
cargo test --quiet --locked --doc

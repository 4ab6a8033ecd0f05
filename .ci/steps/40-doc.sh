# Documentation, warnings as errors.
# limit: 600 s

RUSTDOCFLAGS="-D warnings" cargo doc --quiet --locked --no-deps
# The examples in the documentation.
cargo test --quiet --locked --doc

# Builds the program without the hub's store in PostgreSQL; step 30 tests it with that store.
# limit: 300 s

cargo clippy --quiet --locked --no-default-features --lib --bins -- -D warnings

# Builds the program without the hub's store in PostgreSQL; step 30 tests it with that store.
# limit: 300 s

# With the examples, so that most dependencies have the features with which step 20 has checked them.
cargo clippy --quiet --locked --no-default-features --lib --bins --examples -- -D warnings

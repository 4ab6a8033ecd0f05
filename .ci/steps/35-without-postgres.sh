# The program without the hub's store in PostgreSQL, whose tests are among those of step 30.
# limit: 300 s

cargo clippy --quiet --locked --no-default-features --lib --bins -- -D warnings

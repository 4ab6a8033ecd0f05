# Unit, property and socket tests, the rules of the house, and all fuzz corpora.
# limit: 1500 s
# quick: yes

# The documentation has no tests of its own to run; to look for them takes as long as to document everything.
cargo test --quiet --locked --no-fail-fast --lib --bins --examples --tests

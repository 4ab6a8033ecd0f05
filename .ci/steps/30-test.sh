# Unit, property and socket tests, the rules of the house, and all fuzz corpora.
# limit: 1500 s
# quick: yes

# The documentation has no tests of its own to run; to look for them takes as long as to document everything.
cargo test --quiet --locked --no-fail-fast --lib --bins --examples --tests
# Once more without the fast path, what it answers when it is there.
REVIEWD_TEST_NO_FAST_PATH=1 cargo test --quiet --locked --test it -- bodies:: conditional:: cors:: documents:: feeds:: negotiation:: pages:: raw:: reload:: serving:: timeouts::

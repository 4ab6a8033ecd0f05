# Unit, property and socket tests, the rules of the house, and all fuzz corpora.
# limit: 1500 s
# quick: yes

cargo test --quiet --locked --no-fail-fast

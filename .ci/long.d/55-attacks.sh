# Attacks over raw sockets, each for ATTACK_SECONDS (60), against the release build; the table is in the output.
# limit: 5400 s

# Crowds of 10,000, of which each connection is a descriptor here and one of the server's.
ulimit -n 32768 2>/dev/null || ulimit -n "$(ulimit -Hn)"
REVIEWD_ATTACK_SECONDS=${ATTACK_SECONDS:-60} cargo test --quiet --locked --release --test it attacks:: -- --nocapture

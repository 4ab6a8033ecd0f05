# 20 honest subscribers beside 1,500 newcomers that hang, with real TLS; the figures are in the output.
# limit: 1800 s

ulimit -n 32768 2>/dev/null || ulimit -n "$(ulimit -Hn)"
REVIEWD_HUB_NEWCOMERS=${HUB_NEWCOMERS:-1500} \
    cargo test --quiet --locked --test it hub::neighbours::new_content -- --nocapture

# 14,000 kept connections that say nothing: what each costs the server, and that they are served.
# limit: 1800 s

ulimit -n 32768 2>/dev/null || ulimit -n "$(ulimit -Hn)"
REVIEWD_IDLE_CONNECTIONS=${IDLE_CONNECTIONS:-4000} cargo test --quiet --locked --release --test it fast_path::idle -- --nocapture

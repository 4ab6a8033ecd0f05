# 14,000 kept connections that say nothing: what each costs the server, and that they are served.
# limit: 1800 s

# Each connection is a descriptor here and one of the server's.
ulimit -n 32768 2>/dev/null || ulimit -n "$(ulimit -Hn)"
[ -x target/release/reviewd ] || cargo build --quiet --locked --release
# What is measured is the server; the client needs no release build.
REVIEWD_TEST_PROGRAM=$PWD/target/release/reviewd REVIEWD_IDLE_CONNECTIONS=${IDLE_CONNECTIONS:-4000} \
    cargo test --quiet --locked --test it idle:: -- --nocapture

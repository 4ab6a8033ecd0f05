# The hub's store in PostgreSQL, with three replicas that are killed; and the program without it.
# limit: 1200 s

compgen -G "/usr/lib/postgresql/*/bin/initdb" >/dev/null || skip "PostgreSQL is not installed (Debian's package postgresql)"
REVIEWD_NEED_POSTGRES=yes cargo test --quiet --locked --test it hub::postgres -- --nocapture
REVIEWD_NEED_POSTGRES=yes cargo test --quiet --locked --test it hub::replicas -- --nocapture
cargo check --quiet --locked --no-default-features --lib --bins

#!/usr/bin/env bash
# Unit, property and socket tests, the rules of tests/tidy.rs, and all fuzz corpora.
# limit: 1500 s
# quick: yes
source "$(dirname "$0")/../step.sh"

# If PostgreSQL is installed, a test that cannot use it fails.
if compgen -G "/usr/lib/postgresql/*/bin/initdb" >/dev/null; then
    export REVIEWD_NEED_POSTGRES=yes
else
    echo "PostgreSQL is not installed (Debian's package postgresql): its tests are skipped"
fi
# Step 60-rustdoc runs the examples in the documentation: searching for them takes as long as building it.
cargo test --quiet --locked --no-fail-fast --lib --bins --examples --tests

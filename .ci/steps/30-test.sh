# Unit, property and socket tests, the rules of the house, and all fuzz corpora.
# limit: 1500 s
# quick: yes

# Where PostgreSQL is installed, a test that cannot use it has failed.
if compgen -G "/usr/lib/postgresql/*/bin/initdb" >/dev/null; then
    export REVIEWD_NEED_POSTGRES=yes
else
    echo "PostgreSQL is not installed (Debian's package postgresql): its tests are skipped"
fi
# The documentation has no tests of its own to run; to look for them takes as long as to document everything.
cargo test --quiet --locked --no-fail-fast --lib --bins --examples --tests

# Every bench once, as a test of its answers.
# limit: 1800 s

compgen -G 'benches/*.rs' >/dev/null || skip "there are no benches yet"
# Their numbers do not matter here, so they are built as the tests were, and nothing is built twice.
cargo bench --quiet --locked --profile dev -- --test
# These two are left out of a plain `cargo bench`.
cargo bench --quiet --locked --profile dev --bench fanout --bench search_random -- --test
# The plots are those of the data.
if command -v python3 >/dev/null; then python3 benches/plot.py --check; fi
# A dependency that only the package's own lock file has would stop the comparisons and fuzz targets from building.
cargo metadata --locked --format-version 1 --manifest-path benches/compare/Cargo.toml >/dev/null
cargo metadata --locked --format-version 1 --manifest-path fuzz/Cargo.toml >/dev/null

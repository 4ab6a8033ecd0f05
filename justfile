# The usual commands as recipes for just (https://just.systems): `just` lists them.

_list:
    @just --list --unsorted

# Serve the sample on http://127.0.0.1:8080
run *arguments:
    cargo run --release -- {{arguments}}

# All tests
test *arguments:
    cargo test {{arguments}}

# Formatting, lints and tests: before a commit
check:
    .ci/run --quick

# Everything that CI does
ci *arguments:
    .ci/run {{arguments}}

# Formats the code
fmt:
    cargo fmt --all

# Rewrites golden files and docs/configuration.md after a wanted change
golden:
    UPDATE_GOLDEN=1 cargo test --test it

# Criterion benches, some minutes; `just bench query` one of them
bench *filter:
    cargo bench -- {{filter}}

# Measures what README and docs state, and writes it there: all, or `just figures requests`
figures *names:
    benches/figures.py measure {{names}}

# One fuzz target, such as `just fuzz query`; needs cargo-fuzz
fuzz target seconds="60":
    RUSTC_BOOTSTRAP=1 cargo fuzz run {{target}} -- -max_total_time={{seconds}}

# The crate's documentation
doc:
    cargo doc --no-deps --open

# Archive, Debian package and checksums, in target/package
package *target:
    deploy/package/build.sh {{target}}

# The container image
image:
    docker build -f deploy/container/Dockerfile -t reviewd .

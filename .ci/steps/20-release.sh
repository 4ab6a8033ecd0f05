#!/usr/bin/env bash
# The release build, as in README.
# limit: 900 s
source "$(dirname "$0")/../step.sh"

# Only the program, as `cargo run` builds it: with the library as a second target, all code is generated twice.
cargo build --quiet --locked --release --bin reviewd
ls -l target/release/reviewd

#!/usr/bin/env bash
# The static program (musl) passes the tests over sockets.
# limit: 5400 s
source "$(dirname "$0")/../step.sh"

need musl-gcc musl-tools
target=$(uname -m)-unknown-linux-musl
rustup target list --installed 2>/dev/null | grep -qx "$target" || rustup target add "$target" || skip "rustup cannot add $target"
cargo build --quiet --locked --release --target "$target" --bin reviewd
REVIEWD_TEST_PROGRAM=$PWD/target/$target/release/reviewd cargo test --quiet --locked --test it

#!/usr/bin/env bash
# Formatting.
# limit: 120 s
# quick: yes
source "$(dirname "$0")/../step.sh"

cargo fmt --version >/dev/null 2>&1 || skip "rustfmt is not installed"
cargo fmt --all --check
cargo fmt --manifest-path fuzz/Cargo.toml --check
cargo fmt --manifest-path benches/compare/Cargo.toml --all --check

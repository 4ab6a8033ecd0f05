#!/usr/bin/env bash
# Installs what the build needs: a C and C++ compiler, and the sources of all dependencies.
# limit: 600 s
source "$(dirname "$0")/../step.sh"

need cc build-essential
need c++ build-essential
# PostgreSQL is for the tests of the hub's store; without it they are skipped, and step 30 says so.
compgen -G "/usr/lib/postgresql/*/bin/initdb" >/dev/null ||
    install_debian postgresql || echo "PostgreSQL could not be installed"
rustc --version
cargo --version
retry 3 timeout --foreground 180 cargo fetch --quiet --locked
retry 3 timeout --foreground 180 cargo fetch --quiet --locked --manifest-path fuzz/Cargo.toml

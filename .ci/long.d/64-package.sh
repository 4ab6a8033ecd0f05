#!/usr/bin/env bash
# The release files: archive, Debian package and list of crates of the dist build, checked as in .ci/run.
# limit: 5400 s
source "$(dirname "$0")/../step.sh"

need_cargo_tool cargo-deb 3.8.0
need_cargo_tool cargo-cyclonedx 0.5.9
PROFILE=dist .ci/steps/60-package.sh
if rustup target list --installed 2>/dev/null | grep -qx "$(uname -m)-unknown-linux-musl" && command -v musl-gcc >/dev/null; then
    deploy/package/build.sh "$(uname -m)-unknown-linux-musl"
    .ci/package.sh
else
    echo "no static build: the target or musl-gcc is missing"
fi

#!/usr/bin/env bash
# Licenses, sources and advisories of the dependencies, if cargo-deny is installed; .ci/long installs it.
# limit: 300 s
source "$(dirname "$0")/../step.sh"

deny=$(compgen -G "$ci_dir/tools/cargo-deny-*/bin" || true)
PATH=${deny:+$deny:}$PATH
command -v cargo-deny >/dev/null || skip "cargo-deny is not installed; .ci/long --only 25 builds it"
source .ci/supply.sh

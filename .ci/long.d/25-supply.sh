#!/usr/bin/env bash
# Licenses, sources and advisories of the dependencies, by cargo-deny and cargo-audit, which are built first.
# limit: 3600 s
source "$(dirname "$0")/../step.sh"

need_cargo_tool cargo-deny 0.20.2
need_cargo_tool cargo-audit 0.22.2
source .ci/supply.sh

#!/usr/bin/env bash
# Every measurement of README and docs once, with small sizes.
# limit: 7200 s
source "$(dirname "$0")/../step.sh"

benches/figures.py try

#!/usr/bin/env bash
# The weight of stars in the insights, and the tables about it in docs/design/insights.md, are what the fitting script computes.
# limit: 120 s
source "$(dirname "$0")/../step.sh"

need python3 python3
python3 tests/fixtures/polarity/fit.py --check

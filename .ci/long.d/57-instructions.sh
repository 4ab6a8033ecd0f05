#!/usr/bin/env bash
# Instructions of reviewd's own code for each kind of request: a table to compare two commits.
# limit: 3600 s
source "$(dirname "$0")/../step.sh"

need valgrind valgrind
benches/instructions.sh

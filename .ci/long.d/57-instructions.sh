#!/usr/bin/env bash
# Instructions of requests and searches are within 2 % of the committed figures (benches/instructions.txt).
# limit: 5400 s
source "$(dirname "$0")/../step.sh"

need valgrind valgrind
status=0
benches/instructions.sh || status=$?
[ "$status" -ne 77 ] || skip "the figures are those of another compiler, C library or processor"
exit "$status"

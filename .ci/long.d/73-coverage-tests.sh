#!/usr/bin/env bash
# How much of the code the tests reach: lines and regions of our crates, and the files with less than 85 % of their lines.
# limit: 7200 s
source "$(dirname "$0")/../step.sh"

source .ci/coverage.sh
mapfile -t programs < <(build_tests)
[ "${#programs[@]}" -gt 0 ] || fail "no tests were built"
rm -f "$work"/tests-*.profraw
# A test that fails under this load still shows what it reaches. `%4m`: programs that run at the same time share files.
LLVM_PROFILE_FILE=$work/tests-%4m.profraw cargo test --locked --no-fail-fast >"$work/tests.log" 2>&1 ||
    grep -E '^test .* FAILED' "$work/tests.log" || true
"$tools/llvm-profdata" merge --sparse -o "$work/tests.profdata" "$work"/tests-*.profraw
objects=()
for program in "${programs[@]:1}"; do objects+=(--object "$program"); done
"$tools/llvm-cov" report "${programs[0]}" "${objects[@]}" --instr-profile "$work/tests.profdata" --sources src crates \
    --ignore-filename-regex '/tests\.rs|/tests/' >"$work/tests.txt"
awk '$1 ~ /\.rs$/ && $10 + 0 < 85 { printf "%-50s regions %7s of %5d   lines %7s of %5d\n", $1, $4, $2, $10, $8 }
    $1 == "TOTAL" { printf "%-50s regions %7s of %5d   lines %7s of %5d\n", "all", $4, $2, $10, $8 }' "$work/tests.txt"

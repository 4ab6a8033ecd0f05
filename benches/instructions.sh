#!/usr/bin/env bash
# Counts the instructions that a request costs in our own code, from the parsed head to the reply that hyper sends.
#
#   benches/instructions.sh              every case of benches/request.rs, over 1,000 reviews; a minute after the build
#   benches/instructions.sh BINARY       the same with a bench that is already built, such as another profile's
#
# Needs valgrind. The counts do not depend on other work of the machine, but on the compiler and on the processor that
# valgrind emulates: it has AVX2 and no SHA extensions. Instructions are not time: copying 10 kB takes few of them.
#
# Under valgrind rustix finds no clock in the vDSO and crashes, so the bench is built to use the C library,
# by RUSTFLAGS="--cfg rustix_use_libc", in target/instructions. A BINARY has to be built so, too.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

command -v valgrind >/dev/null || { echo "valgrind is not installed" >&2; exit 69; }
binary=${1:-}
if [ -z "$binary" ]; then
    export RUSTFLAGS="${RUSTFLAGS:-} --cfg rustix_use_libc"
    export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target/instructions}
    binary=$(cargo bench --locked --bench request --no-run --message-format=json 2>/dev/null |
        sed -n 's/.*"name":"request".*"executable":"\([^"]*\)".*/\1/p' | tail -1)
fi
[ -x "$binary" ] || { echo "there is no bench at '$binary'" >&2; exit 66; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

times=100
# Only the handling of requests is counted, not their creation and checks; the counts are written after each case.
REVIEWD_BENCH_COUNTED=$times valgrind --quiet --tool=callgrind --callgrind-out-file="$work/counts" \
    --toggle-collect='*request::ask*' --toggle-collect='*request::ask_mcp*' --dump-after='*request::end_of_case*' \
    "$binary" --bench >"$work/names"
printf '| %-20s | %12s |\n|---|---:|\n' "request" "instructions"
place=0
while read -r name; do
    place=$((place + 1))
    count=$(awk '/^(summary|totals):/ { sum = $2 } END { print sum }' "$work/counts.$place")
    printf '| %-20s | %12d |\n' "$name" $((count / times))
done <"$work/names"

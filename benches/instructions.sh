#!/usr/bin/env bash
# Counts the instructions of our own code, and compares them with the committed figures in benches/instructions.txt.
#
#   benches/instructions.sh              fails if a count differs from its figure by more than 2 %
#   benches/instructions.sh --bless      writes the figures instead; commit them with the change that moved them
#   benches/instructions.sh --requests   only prints the counts of requests, as a table
#
# Requests: from the parsed head to the response that hyper sends, the mean of 400, over 1,000 reviews (benches/request.rs):
# with fewer, the first allocations of a case move its count by more than 1 %. Searches: the
# mean of 40 of each class, over 100,000 reviews (benches/search_random.rs).
#
# Needs valgrind. Counts do not depend on other work of the machine, but on what the first line of the figures names: the
# compiler, the C library, and the processor that valgrind emulates. Where one of them differs, nothing is compared, and
# the status is 77. Instructions are not time: copying 10 kB takes few of them.
#
# Under valgrind rustix finds no clock in the vDSO and crashes, so the benches are built to use the C library, by
# RUSTFLAGS="--cfg rustix_use_libc", in target/instructions.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

figures=benches/instructions.txt
mode=${1:-}
command -v valgrind >/dev/null || { echo "valgrind is not installed" >&2; exit 69; }
export RUSTFLAGS="${RUSTFLAGS:-} --cfg rustix_use_libc"
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target/instructions}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What counts depend on; the C library chooses its functions by the features of the processor.
environment() {
    local features
    features=$(grep -m1 '^flags' /proc/cpuinfo | tr ' ' '\n' | grep -xE 'sse4_2|avx2|bmi2' | sort | tr '\n' ' ')
    echo "$(rustc --version), $(ldd --version | head -1), $(valgrind --version), $(uname -m) ${features% }"
}

# count BENCH TIMES FUNCTION…: appends `name count` for each case of a bench; only calls of the functions are counted.
count() {
    local bench=$1 times=$2 binary case=0 name instructions function toggles=()
    shift 2
    for function in "$@"; do toggles+=("--toggle-collect=*$bench::$function*"); done
    binary=$(cargo bench --locked --bench "$bench" --no-run --message-format=json 2>"$work/build" |
        sed -n "s/.*\"name\":\"$bench\".*\"executable\":\"\([^\"]*\)\".*/\1/p" | tail -1)
    [ -x "$binary" ] || { cat "$work/build" >&2; exit 66; }
    # The counts are written after each case.
    REVIEWD_BENCH_COUNTED=$times valgrind --quiet --tool=callgrind --callgrind-out-file="$work/$bench" \
        "${toggles[@]}" --dump-after="*$bench::end_of_case*" "$binary" --bench >"$work/names"
    while IFS= read -r name; do
        case=$((case + 1))
        instructions=$(awk '/^(summary|totals):/ { sum = $2 } END { print sum }' "$work/$bench.$case")
        echo "$name $((instructions / times))"
    done < <(grep -E '^[a-z0-9-]+$' "$work/names") >>"$work/counted"
}

if [ "$mode" = --requests ]; then
    count request 400 ask ask_mcp
    printf '| %-22s | %12s |\n|---|---:|\n' request instructions
    while read -r name instructions; do printf '| %-22s | %12d |\n' "$name" "$instructions"; done <"$work/counted"
    exit
fi

environment >"$work/counted"
if [ "$mode" != --bless ] && ! cmp -s <(head -1 "$figures") "$work/counted"; then
    printf 'not compared: the figures are those of\n  %s\nand this is\n  %s\n' "$(head -1 "$figures")" "$(cat "$work/counted")" >&2
    exit 77
fi
count request 400 ask ask_mcp
REVIEWD_BENCH_REVIEWS=100000 count search_random 40 search_once
if [ "$mode" = --bless ]; then
    cp "$work/counted" "$figures"
    cat "$figures"
    exit
fi
# A case that only one of the two files has differs as well.
awk '
    FNR == 1 { next }
    FNR == NR { figure[$1] = $2; next }
    {
        change = figure[$1] ? 100 * ($2 / figure[$1] - 1) : 100
        is_far = change > 2 || change < -2
        far += is_far
        printf "%-22s %12d %12d %+7.2f %%%s\n", $1, figure[$1], $2, change, is_far ? "  <--" : ""
        delete figure[$1]
    }
    END {
        for (name in figure) { print name ": not counted any more"; far++ }
        if (far) { print far " counts differ by more than 2 %: find the cause, or renew the figures with --bless"; exit 1 }
    }' "$figures" "$work/counted"

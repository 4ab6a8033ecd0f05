#!/usr/bin/env bash
# How much of the code the fuzz targets reach: lines and regions of our crates, by target and by file.
# limit: 3600 s
source "$(dirname "$0")/../step.sh"

source .ci/coverage.sh
program=$(build_tests --test fuzz_corpus | grep fuzz_corpus)

# replay NAME [TARGET]: runs the inputs of one target, or of all, both from the repository and found by fuzzing.
replay() {
    LLVM_PROFILE_FILE=$work/$1.profraw REVIEWD_FUZZ_ONLY=${2:-} REVIEWD_FUZZ_FOUND=$ci_dir/fuzz-corpus \
        "$program" --quiet every_corpus_file_passes >"$work/$1.log" || { cat "$work/$1.log"; fail "$1"; }
    "$tools/llvm-profdata" merge --sparse -o "$work/$1.profdata" "$work/$1.profraw"
    "$tools/llvm-cov" report "$program" --instr-profile "$work/$1.profdata" --sources src crates >"$work/$1.txt"
}

printf '%-18s %10s %10s\n' target regions lines
for file in fuzz/fuzz_targets/*.rs; do
    target=$(basename "$file" .rs)
    replay "$target" "$target"
    awk -v name="$target" '$1 == "TOTAL" { printf "%-18s %10d %10d\n", name, $2 - $3, $8 - $9 }' "$work/$target.txt"
done
replay all
echo
echo "all of them, of the files that they reach:"
awk '$1 ~ /\.rs$/ && $2 > $3 { printf "%-40s regions %7s of %5d   lines %7s of %5d\n", $1, $4, $2, $10, $8 }' "$work/all.txt"

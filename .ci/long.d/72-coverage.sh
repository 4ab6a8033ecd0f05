#!/usr/bin/env bash
# How much of the code the fuzz targets reach: lines and regions of our crates, by target and by file.
# limit: 3600 s
source "$(dirname "$0")/../step.sh"

tools=$(rustc --print sysroot)/lib/rustlib/$(rustc -vV | sed -n 's/^host: //p')/bin
[ -x "$tools/llvm-cov" ] || rustup component add llvm-tools >/dev/null 2>&1 || true
[ -x "$tools/llvm-cov" ] || skip "llvm-tools of the toolchain are missing (rustup component add llvm-tools)"
work=$ci_dir/coverage
mkdir -p "$work"

# Only our packages are instrumented; their dependencies are built as for any other test.
wrapper=$work/rustc
printf '#!/bin/sh\nexec "$@" -Cinstrument-coverage\n' >"$wrapper"
chmod +x "$wrapper"
export RUSTC_WORKSPACE_WRAPPER=$wrapper LLVM_PROFILE_FILE=$work/build-%p.profraw
program=$(cargo test --locked --no-run --test fuzz_corpus --message-format json 2>"$work/build.log" |
    sed -n 's/.*"executable":"\([^"]*fuzz_corpus[^"]*\)".*/\1/p' | tail -n 1)
[ -x "$program" ] || { cat "$work/build.log"; fail "the corpora cannot be replayed"; }

# replay NAME [TARGET]: runs the inputs of one target, or of all, both from the repository and found by fuzzing.
replay() {
    LLVM_PROFILE_FILE=$work/$1.profraw REVIEWD_FUZZ_ONLY=${2:-} REVIEWD_FUZZ_FOUND=$ci_dir/fuzz-corpus \
        "$program" --quiet every_corpus_file_passes >"$work/$1.log" || { cat "$work/$1.log"; fail "$1"; }
    "$tools/llvm-profdata" merge --sparse -o "$work/$1.profdata" "$work/$1.profraw"
    "$tools/llvm-cov" report "$program" --instr-profile "$work/$1.profdata" --sources src crates >"$work/$1.txt"
}

# Columns of llvm-cov: 2 to 4 are regions, missed regions, covered part; 8 to 10 the same for lines.
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

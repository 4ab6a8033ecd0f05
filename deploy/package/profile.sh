#!/usr/bin/env bash
# Makes the profile by which the compiler optimizes the released program: target/package-profile/reviewd.profdata.
#
#   deploy/package/profile.sh                            for this machine
#   deploy/package/profile.sh x86_64-unknown-linux-musl  for this machine, static
#   PROFILE_DATA=target/package-profile/reviewd.profdata deploy/package/build.sh
#
# Names of functions depend on the target, so build.sh needs the profile of the same target.
#
# Builds a program that counts what it executes, and lets it read 20,000 generated reviews and answer the requests of
# train.py. The counts differ a little from one run to the next. So a release has its profile beside it: with the same
# profile, the same commit gives the same bytes.
#
# Needs python3, and llvm-profdata of the compiler's own version (`rustup component add llvm-tools`).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

host=$(rustc -vV | sed -n 's/^host: //p')
arguments=(--locked --profile dist --bin reviewd)
folder=dist
if [ "${1:-$host}" != "$host" ]; then
    arguments+=(--target "$1")
    folder=$1/dist
fi
profdata=$(rustc --print sysroot)/lib/rustlib/$host/bin/llvm-profdata
[ -x "$profdata" ] || { echo "llvm-profdata is missing: rustup component add llvm-tools" >&2; exit 1; }
out=$PWD/target/package-profile
rm -rf "$out/counts" "$out/data" "$out/state"
mkdir -p "$out"

RUSTFLAGS="-Cprofile-generate=$out/counts" cargo build --quiet "${arguments[@]}" --target-dir "$out/build"
# Build scripts and macros were counted, too.
rm -rf "$out/counts"
cargo run --quiet --locked --release --example generate -- --reviews 20000 --seed 2 --into "$out/data" >/dev/null
python3 deploy/package/train.py "$out/build/$folder/reviewd" "$out/data" "$out/state"

"$profdata" merge -o "$out/reviewd.profdata" "$out"/counts/*.profraw
rm -rf "$out/counts" "$out/data" "$out/state"
ls -l "$out/reviewd.profdata"

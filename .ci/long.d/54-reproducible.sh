#!/usr/bin/env bash
# Builds the release files twice, in two folders, and compares them byte by byte.
# limit: 5400 s
source "$(dirname "$0")/../step.sh"

commit=$(git rev-parse --short HEAD)
work=$ci_dir/reproducible
rm -rf "$work"
# As deploy/package/build.sh: compiled C code contains the time.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct "$commit")
export SOURCE_DATE_EPOCH
build() {
    local folder=$work/$1
    mkdir -p "$folder"
    git archive "$commit" | tar -x -C "$folder"
    (
        cd "$folder"
        RUSTFLAGS="--remap-path-prefix=$folder=/reviewd --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo" \
            CARGO_TARGET_DIR="$folder/target" cargo build --quiet --locked --profile dist --bin reviewd
    )
    sha256sum <"$folder/target/dist/reviewd"
}
first=$(build one)
second=$(build a-longer-second)
echo "$first"
[ "$first" = "$second" ] || fail "two builds of $commit differ: $first $second"
rm -rf "$work"

#!/bin/sh
# As RUSTC_WRAPPER: compiles our own packages with the coverage that libFuzzer follows, as cargo-fuzz compiles everything,
# and dependencies as they are, so that those of the release build serve. RUSTC_BOOTSTRAP makes a stable compiler accept
# the unstable flags. cargo does not notice a change of this file: remove target/release/.fingerprint/reviewd-* after one.
case $CARGO_PKG_NAME in
reviewd | reviewd-data | reviewd-wire | reviews-import | substring-index | websub-hub | reviewd-oracle | reviewd-fuzz)
    export RUSTC_BOOTSTRAP=1
    exec "$@" --cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
        -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
        -Cllvm-args=-sanitizer-coverage-trace-compares -Cllvm-args=-simplifycfg-branch-fold-threshold=0
    ;;
esac
exec "$@"

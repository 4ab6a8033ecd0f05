# What the two measurements of coverage share: sourced by a step, after `step.sh`.

tools=$(rustc --print sysroot)/lib/rustlib/$(rustc -vV | sed -n 's/^host: //p')/bin
[ -x "$tools/llvm-cov" ] || rustup component add llvm-tools >/dev/null 2>&1 || true
[ -x "$tools/llvm-cov" ] || skip "llvm-tools of the toolchain are missing (rustup component add llvm-tools)"
work=$ci_dir/coverage
mkdir -p "$work"

# A folder of its own: otherwise the instrumented program would stay in `target/debug`, where other steps start it.
export CARGO_TARGET_DIR=$work/target
# Only our packages are instrumented, because coverage of dependencies takes time and is of no use.
wrapper=$work/rustc
printf '#!/bin/sh\nexec "$@" -Cinstrument-coverage\n' >"$wrapper"
chmod +x "$wrapper"
export RUSTC_WORKSPACE_WRAPPER=$wrapper LLVM_PROFILE_FILE=$work/build-%p.profraw

# build_tests ARGUMENT…: builds tests, and prints the paths of their programs.
build_tests() {
    cargo test --locked --no-run --message-format json "$@" 2>"$work/build.log" |
        sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' || { cat "$work/build.log" >&2; return 1; }
}

# Columns of llvm-cov's report: 2 to 4 are regions, missed regions, covered part; 8 to 10 the same for lines.

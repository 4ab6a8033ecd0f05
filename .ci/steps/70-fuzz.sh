#!/usr/bin/env bash
# Every fuzz target, or those that the arguments name, FUZZ_SECONDS (90) of fuzzing in all.
# limit: 1500 s
source "$(dirname "$0")/../step.sh"

# Our code has no unsafe blocks, so fuzzing finds panics, differences and hangs there, which need no sanitizer. .ci/long
# builds with cargo-fuzz and its sanitizer of addresses, for the dependencies.
if [ -n "${FUZZ_SANITIZER:-}" ]; then
    export RUSTC_BOOTSTRAP=1
    need_cargo_tool cargo-fuzz 0.13.2
    cargo fuzz build --sanitizer "$FUZZ_SANITIZER" || fail "the fuzz targets do not build"
    programs=fuzz/target/$(rustc -vV | sed -n 's/^host: //p')/release
else
    RUSTC_WRAPPER=$PWD/.ci/fuzz-rustc.sh cargo build --quiet --locked --release --manifest-path fuzz/Cargo.toml \
        --target-dir target || fail "the fuzz targets do not build"
    programs=target/release
fi

# Two targets at a time on two cores, so that each gets twice its share of the time.
targets=(fuzz/fuzz_targets/*.rs)
if [ $# -gt 0 ]; then
    targets=("${@/#/fuzz/fuzz_targets/}")
    targets=("${targets[@]/%/.rs}")
fi
cores=$(nproc)
[ "$cores" -le "${#targets[@]}" ] || cores=${#targets[@]}
seconds=$((${FUZZ_SECONDS:-90} * cores / ${#targets[@]}))
[ "$seconds" -ge 1 ] || seconds=1
echo "${#targets[@]} targets, $cores at a time, $seconds s each"

# As in `cargo fuzz run`: the sanitizer would report each global of bundled C code as registered twice.
export ASAN_OPTIONS=detect_odr_violation=0
# The corpus of the repository is only read; new inputs go to target/.
fuzz_one() {
    local name=$1 log=$ci_dir/fuzz-$1.log found=$ci_dir/fuzz-corpus/$1
    mkdir -p "$found" "fuzz/artifacts/$name"
    if timeout --foreground --kill-after=10 $((seconds + 60)) "$programs/$name" \
        -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="fuzz/artifacts/$name/" "$found" "fuzz/corpus/$name" >"$log" 2>&1; then
        # Its last line of state: edges, features (edges and how often), inputs that it keeps.
        awk -v name="$name" -v inputs="$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")" '
            match($0, /\([0-9]+ inline/) { edges = substr($0, RSTART + 1, RLENGTH - 8) }
            / cov: / { for (i = 1; i < NF; i++) { if ($i == "cov:") cov = $(i + 1); if ($i == "ft:") ft = $(i + 1)
                if ($i == "corp:") kept = $(i + 1) } }
            END { printf "%-16s %10d inputs %6d of %7d edges %7d features %s kept\n", name, inputs, cov, edges, ft, kept }
        ' "$log"
    else
        tail -n 40 "$log"
        echo "$name: FAILED"
        return 1
    fi
}

failed=0
for ((first = 0; first < ${#targets[@]}; first += cores)); do
    pids=()
    for target in "${targets[@]:first:cores}"; do
        fuzz_one "$(basename "$target" .rs)" &
        pids+=("$!")
        started_pids+=("$!")
    done
    for pid in "${pids[@]}"; do wait "$pid" || failed=$((failed + 1)); done
    # These have ended; their ids may belong to other processes by now.
    started_pids=()
done
[ "$failed" -eq 0 ] || fail "$failed fuzz targets found something; see fuzz/artifacts"

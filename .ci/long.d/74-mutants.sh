#!/usr/bin/env bash
# Mutation testing: each changed operator, value or condition of the rules makes a test fail. Goes on where it stopped.
# limit: 21600 s
source "$(dirname "$0")/../step.sh"

need_cargo_tool cargo-mutants 27.1.0
status=0
# mutate NAME ARGUMENT…: changes the files of `.cargo/mutants.toml` that the arguments name; not again what a test has found.
mutate() {
    local output=$ci_dir/mutants/$1
    shift
    mkdir -p "$output"
    nice cargo mutants --iterate --no-shuffle --jobs 1 --colors never --output "$output" "$@" || status=$?
}
mutate rules --package reviewd-wire --package substring-index --package websub-hub
# The tests of the other crates are enough for these; of this one they are the unit tests.
mutate http --package reviewd -- --lib http::
exit "$status"

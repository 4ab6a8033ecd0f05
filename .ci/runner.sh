# Runs the steps of a folder, each in a separate shell, with a time limit and without standard input.
# Sourced by .ci/run and .ci/long.

# The process of the step that is running; only this one is ever killed.
step_pid=

# run_steps FOLDER BUDGET_S [--quick | --only PREFIX | --list]
run_steps() {
    local folder=$1 budget_s=$2 mode=${3:-} prefix=
    shift 2
    case $mode in
        "" | --quick | --list) [ $# -le 1 ] || usage ;;
        --only)
            [ $# -eq 2 ] || usage
            prefix=$2
            ;;
        *) usage ;;
    esac
    trap 'end_step' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP

    local passed=0 failed=0 skipped=0 rows=() deadline=$((SECONDS + budget_s)) step
    for step in "$folder"/*.sh; do
        local name title
        name=$(basename "$step" .sh)
        title=$(sed -n '1s/^# *//p' "$step")
        if [ "$mode" = --list ]; then
            printf '%-16s %s\n' "$name" "$title"
            continue
        fi
        if [ "$mode" = --quick ] && ! grep -q '^# quick: yes$' "$step"; then continue; fi
        if [ -n "$prefix" ] && [[ $name != "$prefix"* ]]; then continue; fi
        run_step "$step" "$name" "$title" "$deadline"
    done
    [ "$mode" != --list ] || return 0

    printf '\n== summary\n'
    if [ ${#rows[@]} -gt 0 ]; then printf '%s\n' "${rows[@]}"; fi
    printf 'in %s s\n\n%s passed, %s failed, %s skipped\n' "$SECONDS" "$passed" "$failed" "$skipped"
    [ "$failed" -eq 0 ] && [ $((passed + skipped)) -gt 0 ]
}

# Runs one step and adds its outcome to the counters of run_steps.
run_step() {
    local step=$1 name=$2 title=$3 deadline=$4 limit_s started status=0 outcome
    limit_s=$(sed -n 's/^# limit: \([0-9]*\) s$/\1/p' "$step")
    limit_s=${limit_s:-300}
    if [ $((deadline - SECONDS)) -lt "$limit_s" ]; then limit_s=$((deadline - SECONDS)); fi
    printf '\n== %s: %s\n' "$name" "$title"
    started=$SECONDS
    if [ "$limit_s" -le 0 ]; then
        echo "the whole run's time is used up"
        status=124
    else
        # `timeout` leads a separate process group, and stops all of it, with everything that the step has started.
        timeout --kill-after=20 "$limit_s" bash -c 'set -euo pipefail; source .ci/step.sh; source "$1"' \
            step "$step" </dev/null 2>&1 &
        step_pid=$!
        wait "$step_pid" || status=$?
        step_pid=
    fi
    case $status in
        0) outcome=passed passed=$((passed + 1)) ;;
        77) outcome=skipped skipped=$((skipped + 1)) ;;
        124 | 137) outcome="FAILED (over its limit of ${limit_s} s)" failed=$((failed + 1)) ;;
        *) outcome="FAILED (status $status)" failed=$((failed + 1)) ;;
    esac
    printf -- '-- %s: %s in %s s\n' "$name" "$outcome" "$((SECONDS - started))"
    rows+=("$(printf '%-16s %5s s  %s' "$name" "$((SECONDS - started))" "$outcome")")
}

# Stops the running step, if there is one; `timeout` passes the signal on to the step's own processes.
end_step() {
    [ -n "$step_pid" ] || return 0
    kill -TERM "$step_pid" 2>/dev/null || true
    wait "$step_pid" 2>/dev/null || true
    step_pid=
}

usage() {
    echo "usage: $0 [--quick | --only PREFIX | --list]" >&2
    exit 64
}

# Runs the steps of a folder, each in a separate shell, with a time limit and without standard input. Steps whose names
# begin with the same number run at the same time, as many as there are cores. Sourced by .ci/run and .ci/long.

# The steps that are running, by process id; only these processes are ever killed.
declare -A running=()

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
    trap 'end_steps' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP

    local passed=0 failed=0 skipped=0 rows=() deadline=$((SECONDS + budget_s)) step name group=() number=
    local -A started=() limits=()
    for step in "$folder"/*.sh; do
        name=$(basename "$step" .sh)
        if [ "$mode" = --list ]; then
            printf '%-16s %s\n' "$name" "$(title "$step")"
            continue
        fi
        if [ "$mode" = --quick ] && ! grep -q '^# quick: yes$' "$step"; then continue; fi
        if [ -n "$prefix" ] && [[ $name != "$prefix"* ]]; then continue; fi
        if [ "${name%%-*}" != "$number" ]; then run_group; fi
        number=${name%%-*}
        group+=("$step")
    done
    run_group
    [ "$mode" != --list ] || return 0

    printf '\n== summary\n'
    if [ ${#rows[@]} -gt 0 ]; then printf '%s\n' "${rows[@]}"; fi
    printf 'in %s s\n\n%s passed, %s failed, %s skipped\n' "$SECONDS" "$passed" "$failed" "$skipped"
    [ "$failed" -eq 0 ] && [ $((passed + skipped)) -gt 0 ]
}

# title STEP: its first line.
title() {
    sed -n '1s/^# *//p' "$1"
}

# Runs the steps in `group`, and empties it.
run_group() {
    local step
    for step in ${group[@]+"${group[@]}"}; do
        if [ ${#running[@]} -ge "$(nproc)" ]; then finish_step; fi
        start_step "$step"
    done
    while [ ${#running[@]} -gt 0 ]; do finish_step; done
    group=()
}

# log_of STEP: where a step that is not alone writes its output, so that it can be shown as one piece.
log_of() {
    echo "target/ci/log-$(basename "$1")"
}

start_step() {
    local step=$1 limit_s output
    limit_s=$(sed -n 's/^# limit: \([0-9]*\) s$/\1/p' "$step")
    limit_s=${limit_s:-300}
    if [ $((deadline - SECONDS)) -lt "$limit_s" ]; then limit_s=$((deadline - SECONDS)); fi
    printf '\n== %s: %s\n' "$(basename "$step" .sh)" "$(title "$step")"
    if [ ${#group[@]} -eq 1 ]; then
        exec {output}>&1
    else
        mkdir -p target/ci
        exec {output}>"$(log_of "$step")"
    fi
    if [ "$limit_s" -le 0 ]; then
        (echo "the whole run's time is used up"; exit 124) >&"$output" &
    else
        # `timeout` leads a separate process group, and stops all of it, with everything that the step has started.
        timeout --kill-after=20 "$limit_s" bash -c 'set -euo pipefail; source .ci/step.sh; source "$1"' \
            step "$step" </dev/null >&"$output" 2>&1 &
    fi
    running[$!]=$step started[$!]=$SECONDS limits[$!]=$limit_s
    exec {output}>&-
}

# Waits for a running step to end, and adds its outcome to the counters of run_steps.
finish_step() {
    local pid status=0 step name outcome
    wait -n -p pid "${!running[@]}" || status=$?
    step=${running[$pid]}
    unset "running[$pid]"
    name=$(basename "$step" .sh)
    show "$step"
    case $status in
        0) outcome=passed passed=$((passed + 1)) ;;
        77) outcome=skipped skipped=$((skipped + 1)) ;;
        124 | 137) outcome="FAILED (over its limit of ${limits[$pid]} s)" failed=$((failed + 1)) ;;
        *) outcome="FAILED (status $status)" failed=$((failed + 1)) ;;
    esac
    printf -- '-- %s: %s in %s s\n' "$name" "$outcome" "$((SECONDS - started[$pid]))"
    rows+=("$(printf '%-16s %5s s  %s' "$name" "$((SECONDS - started[$pid]))" "$outcome")")
}

# Prints the output of a step that was not alone.
show() {
    [ ${#group[@]} -eq 1 ] || sed "s|^|$(basename "$1" .sh): |" "$(log_of "$1")"
}

# Stops the running steps; `timeout` passes the signal on to the processes of each.
end_steps() {
    local pids=("${!running[@]}") step
    [ ${#pids[@]} -gt 0 ] || return 0
    kill -TERM "${pids[@]}" 2>/dev/null || true
    wait "${pids[@]}" 2>/dev/null || true
    for step in "${running[@]}"; do show "$step"; done
}

usage() {
    echo "usage: $0 [--quick | --only PREFIX | --list]" >&2
    exit 64
}

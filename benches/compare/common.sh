# Functions shared by http.sh, mcp.sh and profile.sh, which source this file in the package's root with `set -euo pipefail`.

# A directory for all files of a comparison, removed at the end.
work=$(mktemp -d)
# Processes that the comparison has started; only these are stopped at the end.
started=()
clean_up() {
    for pid in "${started[@]}"; do
        kill "$pid" 2>/dev/null || continue
        wait "$pid" 2>/dev/null || true
    done
    rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

peers=benches/compare/target/release

# Builds reviewd, unless REVIEWD names a built one, and packages of the peers' workspace.
build() { # package...
    if [ -z "${REVIEWD:-}" ]; then
        cargo build --profile dist --locked --quiet --bin reviewd
        REVIEWD=target/dist/reviewd
    fi
    local packages=() package
    for package; do packages+=(--package "$package"); done
    build_peers "${packages[@]}"
}

# Builds parts of the peers' workspace.
build_peers() { # cargo's arguments...
    cargo build --release --locked --quiet --manifest-path benches/compare/Cargo.toml "$@"
}

# Starts a server on core 0 and waits until it answers a GET of the path without an error status, or, for `any:PATH`,
# with any status. Its process is the last of `started`.
start() { # name, port, path, command...
    local name=$1 at=$2 path=${3#*:} how
    case $3 in
    any:*) how=() ;;
    *) how=(--fail) ;;
    esac
    shift 3
    taskset -c 0 "$@" >"$work/$name.log" 2>&1 &
    started+=($!)
    for _ in $(seq 600); do
        if curl --silent "${how[@]}" --max-time 1 --output /dev/null "http://127.0.0.1:$at$path"; then return; fi
        kill -0 "${started[-1]}" 2>/dev/null || break
        sleep 0.1
    done
    echo "$name did not start:" >&2
    tail -5 "$work/$name.log" >&2
    exit 1
}

# Starts reviewd with one thread, without hub and polling.
start_reviewd() { # data below $work, port
    # shellcheck disable=SC2086 # FLAGS holds several words.
    start "reviewd-$1" "$2" /insights.json "$REVIEWD" serve --data "$work/$1" --state "$work/$1-state" \
        --listen "127.0.0.1:$2" --threads 1 --no-hub --poll 0 --log-level warn \
        ${FLAGS:-}
}

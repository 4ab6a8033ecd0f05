# What http.sh and mcp.sh share; sourced by them, in the package's root, with `set -euo pipefail`.

# Everything that a comparison writes, gone with it.
work=$(mktemp -d)
# Processes that it has started, and none other, end with it.
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

# Builds reviewd, if REVIEWD names none that is built already, and packages of the peers' workspace.
build() { # package...
    if [ -z "${REVIEWD:-}" ]; then
        cargo build --profile dist --locked --quiet --bin reviewd
        REVIEWD=target/dist/reviewd
    fi
    local packages=() package
    for package; do packages+=(--package "$package"); done
    cargo build --release --locked --quiet --manifest-path benches/compare/Cargo.toml "${packages[@]}"
}

# Starts a server on core 0 and waits until it answers a GET of the path: with 200, or where it is `any:PATH`, with
# whatever it likes. Its process is the last of `started`.
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

# Starts reviewd with one thread and nothing that works in the background.
start_reviewd() { # data below $work, port
    # shellcheck disable=SC2086 # FLAGS holds several words.
    start "reviewd-$1" "$2" /insights.json "$REVIEWD" serve --data "$work/$1" --state "$work/$1-state" \
        --listen "127.0.0.1:$2" --threads 1 --no-hub --poll 0 --log-level warn \
        ${FLAGS:-}
}

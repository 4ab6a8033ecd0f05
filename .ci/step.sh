# What steps share: each begins with `source "$(dirname "$0")/../step.sh"`, and then runs in the root of the repository.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export CARGO_TERM_COLOR=never CARGO_NET_RETRY=5 DEBIAN_FRONTEND=noninteractive
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
# The folder of rustup, in case no login shell has added it to PATH.
command -v cargo >/dev/null || PATH=$PATH:$HOME/.cargo/bin
# Incremental builds cost time and disk, and a fresh clone gains nothing from them. A clone that has used them keeps them.
if [ "${CI:-}" = true ] || ! [ -d target/debug/incremental ]; then export CARGO_INCREMENTAL=0; fi

# Where steps keep the tools that they install and the files that they make, except build directories of cargo.
ci_dir=$PWD/target/ci
mkdir -p "$ci_dir"
server_log=$ci_dir/server-$(basename "$0" .sh).log

# Background processes that the step has started; these, and no others, are stopped when it ends.
started_pids=()
end_started() {
    local pid
    for pid in ${started_pids[@]+"${started_pids[@]}"}; do kill -TERM "$pid" 2>/dev/null || true; done
    for pid in ${started_pids[@]+"${started_pids[@]}"}; do wait "$pid" 2>/dev/null || true; done
}
trap end_started EXIT

# skip REASON: ends the step as skipped, with the reason in the output.
skip() {
    echo "SKIPPED: $*"
    exit 77
}

# fail REASON
fail() {
    echo "FAILED: $*"
    exit 1
}

# retry TIMES COMMAND…: for commands that may fail because of the network.
retry() {
    local times=$1 attempt
    shift
    for ((attempt = 1; attempt <= times; attempt++)); do
        if "$@"; then return 0; fi
        echo "attempt $attempt of $times failed: $*"
        if [ "$attempt" -lt "$times" ]; then sleep $((attempt * 5)); fi
    done
    return 1
}

# need COMMAND PACKAGE…: installs Debian packages if the command is missing, or skips the step.
need() {
    local command=$1
    shift
    if command -v "$command" >/dev/null; then return 0; fi
    install_debian "$@" || skip "$command is missing, and Debian's $* could not be installed"
    command -v "$command" >/dev/null || skip "$command is missing, even with Debian's $*"
}

# install_debian PACKAGE…
install_debian() {
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then return 1; fi
    # Other steps may be installing at the same time.
    local apt_get=(flock "$ci_dir/apt.lock" apt-get -qq -o Dpkg::Use-Pty=0)
    retry 3 timeout --foreground 300 "${apt_get[@]}" update || return 1
    retry 3 timeout --foreground 600 "${apt_get[@]}" -y install --no-install-recommends "$@"
}

# need_npm NAME: installs the packages of .ci/NAME/package.json into the folder `tools`.
need_npm() {
    need npm npm
    tools=$ci_dir/$1
    mkdir -p "$tools"
    if cmp -s ".ci/$1/package.json" "$tools/package.json" && [ -e "$tools/installed" ]; then return 0; fi
    rm -rf "$tools/node_modules" "$tools/installed"
    cp ".ci/$1/package.json" "$tools/package.json"
    retry 3 timeout --foreground 180 npm --prefix "$tools" install --silent --no-audit --no-fund ||
        skip "the packages of .ci/$1/package.json could not be installed"
    touch "$tools/installed"
}

# make_venv FOLDER REQUIREMENTS: makes a Python environment with the packages of a file.
make_venv() {
    need python3 python3 python3-venv
    if cmp -s "$2" "$1/installed"; then return 0; fi
    rm -rf "$1"
    # Debian's python3 lacks the module that installs pip into a virtual environment.
    if ! python3 -m venv "$1" >/dev/null 2>&1; then
        install_debian python3-venv || skip "python3 has no venv module, and python3-venv could not be installed"
        rm -rf "$1"
        python3 -m venv "$1" || fail "python3 -m venv"
    fi
    retry 3 timeout --foreground 180 "$1/bin/pip" install --quiet -r "$2" ||
        skip "the python packages of $2 could not be installed"
    cp "$2" "$1/installed"
}

# need_venv: makes the environment that steps share, and puts it first in PATH.
need_venv() {
    local lock
    # Another step may be making it.
    exec {lock}>"$ci_dir/venv.lock"
    flock "$lock"
    make_venv "$ci_dir/venv" .ci/requirements.txt
    exec {lock}>&-
    PATH=$ci_dir/venv/bin:$PATH
}

# need_cargo_tool CRATE VERSION: builds a tool from crates.io once and puts it in PATH.
need_cargo_tool() {
    local crate=$1 version=$2 root=$ci_dir/tools/$1-$2
    if ! [ -x "$root/bin/$crate" ]; then
        echo "installing $crate $version"
        # In a permanent folder, so that a second attempt continues where the first one timed out.
        retry 3 timeout --foreground 600 env CARGO_TARGET_DIR="$ci_dir/tools/build" \
            cargo install --quiet --locked --debug --root "$root" "$crate@$version" ||
            skip "$crate $version could not be installed"
        rm -rf "$ci_dir/tools/build"
    fi
    PATH=$root/bin:$PATH
}

# start_server [ENVIRONMENT=VALUE…]: starts the release build, or the command in `server_command`, on the sample data
# and a free port, waits until it is ready, and leaves its address in `base_url`.
server_command=(target/release/reviewd serve)
start_server() {
    need python3 python3
    local port attempt
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    base_url=http://127.0.0.1:$port
    env REVIEWD_DATA=data REVIEWD_LISTEN="127.0.0.1:$port" REVIEWD_BASE_URL="$base_url" "$@" \
        "${server_command[@]}" >"$server_log" 2>&1 &
    local pid=$!
    started_pids+=("$pid")
    for ((attempt = 0; attempt < 150; attempt++)); do
        if python3 -c 'import sys, urllib.request as u; u.urlopen(sys.argv[1], timeout=2)' \
            "$base_url/readyz" 2>/dev/null; then
            return 0
        fi
        if ! kill -0 "$pid" 2>/dev/null; then break; fi
        sleep 0.2
    done
    cat "$server_log"
    fail "the server did not become ready at $base_url"
}

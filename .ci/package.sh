#!/usr/bin/env bash
# Checks the files that deploy/package/build.sh has made in target/package: checksums, archive, and the Debian package. It
# installs the package into an empty root and starts the command of its unit there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

out=$PWD/target/package
work=$(mktemp -d)
started=
clean_up() {
    if [ -n "$started" ]; then kill "$started" 2>/dev/null && wait "$started" 2>/dev/null || true; fi
    rm -rf "$work"
}
trap clean_up EXIT
fail() {
    echo "FAILED: $*" >&2
    exit 1
}

(cd "$out" && sha256sum --quiet --check SHA256SUMS)

# serve PROGRAM ARGUMENTS…: starts it on a free port with the settings in `settings`, and checks that it gets ready.
settings=()
serve() {
    local port
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    env -i "${settings[@]}" REVIEWD_LISTEN="127.0.0.1:$port" "$@" >"$work/log" 2>&1 &
    started=$!
    for _ in $(seq 150); do
        if env -i "$1" healthcheck "http://127.0.0.1:$port/readyz" 2>/dev/null; then break; fi
        kill -0 "$started" 2>/dev/null || break
        sleep 0.2
    done
    env -i "$1" healthcheck "http://127.0.0.1:$port/readyz" || { cat "$work/log" >&2; fail "$1 does not serve"; }
    kill "$started" && wait "$started" || fail "$1 does not end well"
    started=
}

for archive in "$out"/*.tar.gz; do
    tar --extract --gzip --file="$archive" --directory="$work"
    name=$(basename "$archive" .tar.gz)
    for file in man/reviewd.1 man/reviewd-serve.1 completions/reviewd.bash systemd/reviewd.service README.md LICENSE-MIT; do
        [ -s "$work/$name/$file" ] || fail "$name has no $file"
    done
    if readelf --sections "$work/$name/bin/reviewd" | grep -q '\.debug_info\|\.symtab'; then fail "$name is not stripped"; fi
    settings=(REVIEWD_STATE="$work/state-archive" REVIEWD_DATA="$PWD/data")
    serve "$work/$name/bin/reviewd" serve
    echo "$name: $(stat --format=%s "$work/$name/bin/reviewd") bytes, serves"
done

for package in "$out"/*.deb; do
    [ -e "$package" ] || { echo "no Debian package to check"; break; }
    command -v dpkg >/dev/null || { echo "no dpkg to check the Debian package with"; break; }
    root=$work/root
    mkdir -p "$root"/var/lib/dpkg/{info,updates,triggers} "$root/srv"
    touch "$root"/var/lib/dpkg/{status,available}
    # The empty root lacks the C library on which the package depends.
    dpkg --root="$root" --force-depends --force-not-root --force-bad-path --install "$package" >"$work/dpkg" 2>&1 ||
        { cat "$work/dpkg" >&2; fail "dpkg"; }
    unit=$root/usr/lib/systemd/system/reviewd.service
    for file in "$unit" "${unit%.service}.socket" "$root"/usr/share/man/man1/reviewd.1* \
        "$root/usr/share/bash-completion/completions/reviewd" "$root/usr/share/zsh/vendor-completions/_reviewd"; do
        [ -s "$file" ] || fail "the package has no $file"
    done
    read -r program arguments < <(sed -n 's/^ExecStart=//p' "$unit")
    program=$root/usr/bin/${program##*/}
    [ -x "$program" ] || fail "the program of the unit is not in the package"
    cp -r data "$root/srv/reviewd"
    # The settings of the unit, with its folders below the root.
    mapfile -t settings < <(sed -n "s#^Environment=##p" "$unit" | sed "s#=/srv#=$root/srv#; s#=%S#=$root/var/lib#; /ADMIN_LISTEN/d")
    mkdir -p "$root/var/lib"
    # shellcheck disable=SC2086 # The arguments are words.
    serve "$program" $arguments
    echo "$(basename "$package"): installed into an empty root, its unit's command serves"
done

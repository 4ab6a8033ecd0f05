#!/usr/bin/env bash
# Builds the release files in target/package: an archive, a Debian package, debug information, a list of crates, checksums.
#
#   deploy/package/build.sh                              for this machine
#   deploy/package/build.sh x86_64-unknown-linux-musl    static; needs the target (`rustup target add`) and musl-gcc
#
# PROFILE_DATA=FILE optimizes by a profile of profile.sh, and puts it beside the release files: with it, the same commit
# gives the same bytes.
#
# Needs objcopy and strip (Debian: binutils). The Debian package needs cargo-deb, the list of crates cargo-cyclonedx; without
# its tool each is left out, with a message. PROFILE=release packs the release build, which takes less time.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

host=$(rustc -vV | sed -n 's/^host: //p')
target=${1:-$host}
profile=${PROFILE:-dist}
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -1)
name=reviewd-$version-$target
out=$PWD/target/package
stage=$out/stage
# The profile may be among the files of an earlier build.
given_profile=
if [ -n "${PROFILE_DATA:-}" ]; then
    given_profile=$(mktemp)
    cp "$PROFILE_DATA" "$given_profile"
fi
rm -rf "$out"
mkdir -p "$stage/bin"

# The date of the commit, so that the same commit gives the same bytes.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}

built=target/$profile/reviewd
arguments=(--locked --profile "$profile" --bin reviewd)
if [ "$target" != "$host" ]; then
    arguments+=(--target "$target")
    built=target/$target/$profile/reviewd
fi
if [ "$profile" = dist ]; then
    # Compiled C code contains the date. For other profiles it would cause a complete rebuild.
    export SOURCE_DATE_EPOCH
    export RUSTFLAGS="--remap-path-prefix=$PWD=/reviewd --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo"
    if [ -n "$given_profile" ]; then
        mv "$given_profile" "$out/$name.profdata"
        RUSTFLAGS+=" -Cprofile-use=$out/$name.profdata"
    fi
fi
cargo build --quiet "${arguments[@]}"
export SOURCE_DATE_EPOCH
case $target in
*-musl)
    if readelf --program-headers "$built" | grep -q INTERP; then
        echo "$built is not static" >&2
        exit 1
    fi
    ;;
esac

objcopy --only-keep-debug "$built" "$out/$name.debug"
strip --strip-all -o "$stage/bin/reviewd" "$built"
(cd "$out" && objcopy --add-gnu-debuglink="$name.debug" stage/bin/reviewd)

# For this machine, also if the package is for another.
env -u RUSTFLAGS cargo run --quiet --locked --example manual -- "$stage"
cp README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE "$stage/"
cp -r LICENSES deploy/systemd "$stage/"

tar --create --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --directory="$out" \
    --transform="s#^stage#$name#" stage | gzip --no-name -9 >"$out/$name.tar.gz"

if cargo deb --version >/dev/null 2>&1; then
    cargo deb --quiet --no-build --no-strip --target "$target" --output "$out/"
else
    echo "no Debian package: cargo-deb is not installed" >&2
fi
if cargo cyclonedx --version >/dev/null 2>&1; then
    cargo cyclonedx --quiet --format json --target "$target" --override-filename "$name.cdx"
    # Removes the path of this build from the list.
    sed "s#path+file://$PWD#path+file:///reviewd#g" "$name.cdx.json" >"$out/$name.cdx.json"
    rm "$name.cdx.json"
else
    echo "no list of crates: cargo-cyclonedx is not installed" >&2
fi

rm -rf "$stage"
(cd "$out" && sha256sum -- * >SHA256SUMS && cat SHA256SUMS && ls -l)

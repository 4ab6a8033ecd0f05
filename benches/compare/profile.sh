#!/usr/bin/env bash
# Builds bare hyper, optimized by a profile of what it executes, as target/peer-profile/release/bare-hyper:
#
#   benches/compare/profile.sh
#   BARE_HYPER=target/peer-profile/release/bare-hyper benches/compare/http.sh bare-hyper
#
# Its documents are made here: like reviewd's (deploy/package/profile.sh), the profile is of other requests than those
# that http.sh measures. Needs llvm-profdata of the compiler's own version (`rustup component add llvm-tools`).
#
#   PORT=18620                           the port to listen on
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

source benches/compare/common.sh

port=${PORT:-18620}
profdata=$(rustc --print sysroot)/lib/rustlib/$(rustc -vV | sed -n 's/^host: //p')/bin/llvm-profdata
[ -x "$profdata" ] || { echo "llvm-profdata is missing: rustup component add llvm-tools" >&2; exit 1; }
out=$PWD/target/peer-profile
build_peers --package load
RUSTFLAGS="-Cprofile-generate=$out/counts" build_peers --bin bare-hyper --target-dir "$out"
# Build scripts and macros were counted, too.
rm -rf "$out/counts"

# Documents as http.sh records them, and a request of each over HTTP/1.1 and HTTP/2.
for size in 100 1000 5000 20000 100000; do
    head -c "$size" /dev/zero >"$work/$size"
    printf 'content-type: text/plain\netag: "%s"\nlink: </>; rel="up"\n' "$size" >"$work/$size.fields"
    printf 'cache-control: no-cache\nvary: Accept\nx-content-type-options: nosniff\n' >>"$work/$size.fields"
    cp "$work/$size.fields" "$work/$size.304"
    printf '/%s\t%s\t-\t200\n' "$size" "$size" >>"$work/index.tsv"
    for version in 1.1 2; do
        printf 'GET /%s HTTP/%s\r\nHost: localhost\r\nAccept: text/plain\r\n\r\n' "$size" "$version" >"$work/$size.http$version"
    done
done
start bare-hyper "$port" /100 "$out/release/bare-hyper" "$work" "127.0.0.1:$port"
for request in "$work"/*.http*; do
    timeout 60 taskset -c 1 "$peers/load" 1 1 "${request##*/}" "bare-hyper=${started[-1]}@127.0.0.1:$port=$request"
done
kill "${started[-1]}"
wait "${started[-1]}"
# cargo does not notice that a profile has changed.
rm -rf "$out/release"
"$profdata" merge -o "$out/bare-hyper.profdata" "$out"/counts/*.profraw
RUSTFLAGS="-Cprofile-use=$out/bare-hyper.profdata" build_peers --bin bare-hyper --target-dir "$out"

#!/usr/bin/env bash
# The pages, checked by the Nu HTML checker of the W3C.
# limit: 300 s
source "$(dirname "$0")/../step.sh"

command -v java >/dev/null || skip "java is missing, in which the Nu HTML checker is written"
need python3 python3
[ -x target/release/reviewd ] || cargo build --quiet --locked --release

need_npm html

start_server REVIEWD_STATE="$tools/state"
# From files, as the checker does not fetch from loopback addresses.
rm -rf "$tools/pages"
mkdir "$tools/pages"
pages=()
for path in / '/?query=probate' '/?aspect=fees&polarity=negative' '/?rating=1&sort=oldest' /developers \
    /widget.html '/widget.html?limit=1'; do
    page=$tools/pages/$((${#pages[@]} + 1)).html
    python3 -c 'import sys, urllib.request as u; sys.stdout.buffer.write(u.urlopen(sys.argv[1], timeout=10).read())' \
        "$base_url$path" >"$page"
    pages+=("$page")
done
timeout --foreground 120 java -jar "$tools/node_modules/vnu-jar/build/dist/vnu.jar" --Werror "${pages[@]}"
echo "${#pages[@]} pages, nothing found"

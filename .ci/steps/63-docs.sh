# The commands of README and docs that need no network, run as they are written.
# limit: 300 s

need curl curl
need python3 python3
[ -x target/release/reviewd ] || cargo build --quiet --locked --release

# Blocks whose fence reads ```sh server run beside a server on the sample; those with ```sh test need none. All of a page
# run in one shell, in a folder of its own that has a copy of the sample; the first that fails ends it.
work=$ci_dir/docs
rm -rf "$work"
mkdir -p "$work"
PATH=$PWD/target/release:$PATH
start_server REVIEWD_STATE="$work/state"
pages=(README.md docs/*.md docs/design/*.md)
run=0
for page in "${pages[@]}"; do
    name=${page//\//-}
    # The address that the pages name becomes the one that was free.
    awk '/^```sh (server|test)$/ { on = 1; next } /^```/ { on = 0 } on' "$page" |
        sed "s#http://127\.0\.0\.1:8080#$base_url#g; s#^curl #curl --fail --silent --show-error #" >"$work/$name.sh"
    [ -s "$work/$name.sh" ] || continue
    mkdir "$work/$name"
    cp -r data "$work/$name/data"
    (cd "$work/$name" && timeout --foreground 60 bash -euo pipefail "$work/$name.sh" >"$work/$name.log" 2>&1) ||
        { cat "$work/$name.sh" "$work/$name.log"; fail "$page: a command does not work as written"; }
    run=$((run + 1))
done
[ "$run" -ge 3 ] || fail "only $run pages have blocks to run"
echo "$run pages with commands, all of which work as written"

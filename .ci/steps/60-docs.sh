#!/usr/bin/env bash
# Runs the commands of README and docs that need no network, as they are written.
# limit: 300 s
source "$(dirname "$0")/../step.sh"

need curl curl
need python3 python3
need openssl openssl
[ -x target/release/reviewd ] || cargo build --quiet --locked --release

# Blocks with the fence ```sh server run with a server of the sample; those with ```sh test need no server. All blocks of a
# page run in one shell, in a folder of their own with a copy of the sample and the files that the page names, until a
# command fails. Blocks with ```sh elsewhere need something that CI lacks, such as a container engine: only their flags of
# reviewd and the files that they name are checked. tests/tidy/docs.rs allows no other fence.
work=$ci_dir/docs
rm -rf "$work"
mkdir -p "$work"
PATH=$PWD/target/release:$PATH
export REVIEWD_LISTEN=127.0.0.1:0
start_server REVIEWD_STATE="$work/state"
pages=(README.md docs/*.md docs/design/*.md)
run=0

# commands WORDS PAGE: prints the lines of the blocks with one of these words. Replaces the addresses by that of the server
# here and the data folder by the sample's, and stops each service after three seconds.
commands() {
    awk -v fence="^\`\`\`sh ($1)\$" '$0 ~ fence { on = 1; next } /^```/ { on = 0 } on' "$2" |
        sed -E "s#http://127\.0\.0\.1:8080#$base_url#g; s#^curl #curl --fail --silent --show-error #; s#/srv/reviews#data#g
            /^reviewd( serve.*)?\$/s#^#timeout --preserve-status 3 #; /^ *(curl|-d|--data-urlencode) /s#https://reviews\.example#$base_url#g"
}

# Makes the files that a page presumes: exports, and a data folder unless the page makes it.
prepare() {
    local fixtures=$PWD/tests/fixtures/import
    cp -r data "$work/$name/data"
    (
        cd "$work/$name"
        grep -q '^reviewd init' "$work/$name.sh" ||
            reviewd init my-reviews --name 'Bright Smile Dental' --trade dental --site https://brightsmile.example
        mkdir -p Takeout/Google/account-1/location-1
        cp "$fixtures/takeout.json" Takeout/Google/account-1/location-1/reviews.json
        cp "$fixtures/google.json" google-export.json
        cp "$fixtures/trustpilot.csv" trustpilot.csv
        cp "$fixtures/american.csv" FILE
        printf 'Name,Points,Date,What they said\nAnn Lee,5,01/03/2026,Kind and quick.\n' >reviews.csv
        printf 'Name,Stars,Date,Review,Status\nAnn Lee,5,2026-03-01,Kind and quick.,live\n' >moderated.csv
        python3 -m zipfile -c takeout.zip Takeout
        printf '{"data":[{"created_time":"2026-03-01T10:00:00+0000","recommendation_type":"positive","review_text":"Kind.","reviewer":{"name":"Ann Lee"}}]}' >ratings.json
    ) >"$work/$name.log" 2>&1
}

for page in "${pages[@]}"; do
    name=${page//\//-}
    commands 'server|test' "$page" >"$work/$name.sh"
    if [ -s "$work/$name.sh" ]; then
        mkdir "$work/$name"
        prepare
        (cd "$work/$name" && timeout --foreground 60 bash -euo pipefail "$work/$name.sh" >>"$work/$name.log" 2>&1) ||
            { cat "$work/$name.sh" "$work/$name.log"; fail "$page: a command does not work as written"; }
        run=$((run + 1))
    fi
    commands elsewhere "$page" >"$work/$name.elsewhere"
    bash -n "$work/$name.elsewhere" || fail "$page: a block is not a script"
    while read -r flag command; do
        # shellcheck disable=SC2086 # A command may be two words.
        reviewd $command --help | grep -e "$flag\b" >/dev/null || fail "$page: reviewd $command has no $flag"
    done < <(grep -oE '^reviewd .*' "$work/$name.elsewhere" | sed 's/#.*//' |
        awk '{ command = $2 ~ /^(hub|notify|source|render)$/ ? $2 " " $3 : $2; for (i = 3; i <= NF; i++) if ($i ~ /^--/) print $i, command }')
    for file in $(grep -oE '(deploy|\.ci|benches)/[A-Za-z0-9_./-]+' "$work/$name.elsewhere"); do
        [ -e "$file" ] || fail "$page: there is no $file"
    done
done
[ "$run" -ge 8 ] || fail "only $run pages have blocks to run"
echo "$run pages with commands, all of which work as written"

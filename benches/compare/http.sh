#!/usr/bin/env bash
# Compares the cost of the same documents in reviewd, nginx, bare hyper, axum and actix-web.
#
#   benches/compare/http.sh              all servers, 5 rounds of 1 s for each of twelve requests; about 13 minutes
#   benches/compare/http.sh reviewd bare-hyper            only these; reviewd always comes first
#
# Needs Linux, two cores, taskset and GNU's tools, curl with HTTP/2, and nginx for its rows, which are left out without it.
# Servers run on core 0 with one thread, one after the other, and the client on core 1. The peers serve recorded bytes
# and header fields of reviewd, and every response is compared before it is measured. The client never sleeps while CPU
# is measured and copies no large body, so no server pays for waking it, and every server that is not faster than the
# client is busy all the time. Over HTTP/2, which only reviewd and bare hyper speak here, a connection has eight requests
# in flight.
# On a machine with other work, only the ratio of CPU per request is reliable (utime and stime of the server's process);
# requests per second need two idle cores. The system's TCP congestion control affects every figure: Linux's default is
# cubic, and bbr, which sets a timer for each train of packets, doubles the cost of a megabyte on loopback.
# Everything stays on loopback, and only processes started by this script are stopped.
#
#   ROUNDS=5 SECONDS_EACH=1              rounds of each server and request, and their length
#   ONLY=""                              only the requests whose name contains it, such as "large document"
#   CSV=""                               a file to which each round is appended, for benches/figures.py
#   REVIEWS=100000                       reviews of the service that answers the searches
#   REVIEWD=target/dist/reviewd          a built reviewd; without it, reviewd is built here
#   BARE_HYPER=FILE                      a built bare hyper, such as profile.sh's; without it, it is built here
#   FLAGS="--flag value"                 more flags for reviewd
#   PORT=18620                           the first of ten ports to listen on
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

source benches/compare/common.sh

rounds=${ROUNDS:-5} seconds=${SECONDS_EACH:-1} port=${PORT:-18620}
servers=${*:-reviewd nginx bare-hyper axum actix}
build load http-peers
# 2,200 reviews are a megabyte.
cargo run --quiet --release --example generate -- --reviews 2200 --seed 1 --into "$work/documents" >/dev/null
cargo run --quiet --release --example generate -- --reviews "${REVIEWS:-100000}" --seed 1 --into "$work/search" >/dev/null

start_reviewd documents "$port"
documents=${started[-1]}@127.0.0.1:$port
start_reviewd search "$((port + 1))"
search=${started[-1]}@127.0.0.1:$((port + 1))
# Waits until a server is idle: it compresses its documents in the background.
settle() { # process@address
    local before=-1 now
    for _ in $(seq 120); do
        now=$(awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/${1%@*}/stat")
        if [ "$now" = "$before" ]; then return; fi
        before=$now
        sleep 1
    done
}
settle "$documents"
settle "$search"

# Finds a day since which there are about 20 reviews, among the days of the newest reviews.
for day in $(curl --silent --fail "${documents#*@}/api/reviews/search?limit=100" | grep -o '"date":"[0-9-]*' | cut -d '"' -f 4); do
    count=$(curl --silent --fail "${documents#*@}/api/reviews/since/$day" | grep -o '"verified"' | wc -l)
    if ((count >= 15 && count <= 40)); then break; fi
    day=
done
[ -n "$day" ] || { echo "no day since which there are about 20 reviews" >&2; exit 1; }

review=$(curl --silent --fail "${documents#*@}/api/reviews/search?limit=1" | grep -o '"id":"[^"]*' | head -n 1 | cut -d '"' -f 4)
[ -n "$review" ] || { echo "no review" >&2; exit 1; }

# The requests: name, target, instance of reviewd (`documents` or `search`), and what is not as usual: nothing, a header
# field (`gzip` or `tag`), or the protocol (`http2`).
cases=(
    "small document|/favicon.svg|documents|"
    "small document, HTTP/2|/favicon.svg|documents|http2"
    "document of 5 to 10 KB|/reviews.jsonld|documents|"
    "304|/reviews.jsonld|documents|tag"
    "large document|/reviews.json|documents|"
    "large document, gzip|/reviews.json|documents|gzip"
    "one review|/api/reviews/$review|documents|"
    "since, about 20|/api/reviews/since/$day|documents|"
    "search, filters|/api/reviews/search?min_rating=4&limit=20|search|"
    "search, text|/api/reviews/search?query=call&limit=20|search|"
    "search, three words|/api/reviews/search?words=call+the+to&limit=20|search|"
    "search, refused|/api/reviews/search?rating=9|search|"
)
gzip="Accept-Encoding: gzip"

# Requests a target; sets `status`, writes the body to `$work/body`, and the document's own header fields to `$work/fields`.
ask() { # address, target, curl's arguments...
    status=$(curl --silent --show-error --max-time 10 --dump-header "$work/head" --output "$work/body" \
        --write-out '%{http_code}' "${@:3}" "$1$2") &&
        sed -E '1d; s/\r$//; s/^[^:]+/\L&/; /^(date|content-length|connection|server)?(:|$)/d' "$work/head" >"$work/fields"
}
tag_of() { sed -n 's/^etag: //p' "$1"; }

# Records the responses of reviewd for the peers. Each line of `index.tsv` is a document: its target, its file, the file
# of its gzip variant or `-`, and its status. `FILE.fields` has its header fields, `FILE.304` those of the 304, and
# `root` has the documents that a file server can serve, under their own names.
recorded=$work/recorded
mkdir -p "$recorded/root"
for case in "${cases[@]}"; do
    IFS='|' read -r _ target service _ <<<"$case"
    address=${!service#*@} file=$(wc -l 2>/dev/null <"$recorded/index.tsv" || echo 0)
    if cut -f 1 "$recorded/index.tsv" 2>/dev/null | grep -qxF "$target"; then continue; fi
    ask "$address" "$target"
    recorded_status=$status
    mv "$work/fields" "$recorded/$file.fields"
    mv "$work/body" "$recorded/$file"
    ask "$address" "$target" --header "If-None-Match: $(tag_of "$recorded/$file.fields")"
    mv "$work/fields" "$recorded/$file.304"
    ask "$address" "$target" --header "$gzip"
    variant=-
    if ! cmp --quiet "$work/body" "$recorded/$file"; then
        variant=$file.gz
        mv "$work/body" "$recorded/$variant"
    fi
    case $target in
    /api/*) ;;
    *)
        cp "$recorded/$file" "$recorded/root$target"
        if [ "$variant" != - ]; then cp "$recorded/$variant" "$recorded/root$target.gz"; fi
        ;;
    esac
    printf '%s\t%s\t%s\t%s\n' "$target" "$file" "$variant" "$recorded_status" >>"$recorded/index.tsv"
done
contenders=("reviewd=$documents")

start_nginx() { # port
    local nginx
    nginx=$(PATH=$PATH:/usr/sbin command -v nginx) || { echo "nginx: is not installed, left out" >&2; return; }
    local locations="" target file
    while IFS=$'\t' read -r target file _; do
        [ -e "$recorded/root$target" ] || continue
        # nginx sets validators, length and media type itself.
        locations+="location = $target { $(sed -nE '/^(etag|last-modified|content-type): /d; s/"/\\"/g; s/^([^:]+): (.*)$/add_header \1 "\2";/p' \
            "$recorded/$file.fields") }
"
    done <"$recorded/index.tsv"
    cat >"$work/nginx.conf" <<CONF
daemon off; master_process off; pid $work/nginx.pid; error_log $work/nginx.error;
events { worker_connections 2048; }
http {
    types { image/svg+xml svg; application/ld+json jsonld; application/json json; }
    access_log off; sendfile on; tcp_nodelay on; gzip_static on; keepalive_requests 1000000000;
    open_file_cache max=100 inactive=1h; open_file_cache_valid 1h;
    client_body_temp_path $work/nginx-1; proxy_temp_path $work/nginx-2; fastcgi_temp_path $work/nginx-3;
    uwsgi_temp_path $work/nginx-4; scgi_temp_path $work/nginx-5;
    server {
        listen 127.0.0.1:$1;
        root $recorded/root;
        $locations
    }
}
CONF
    start nginx "$1" /favicon.svg "$nginx" -c "$work/nginx.conf" -p "$work"
    contenders+=("nginx=${started[-1]}@127.0.0.1:$1")
}

next=$((port + 2))
for server in $servers; do
    case $server in
    reviewd) continue ;;
    nginx) start_nginx "$next" ;;
    *)
        program=$peers/$server
        if [ "$server" = bare-hyper ]; then program=${BARE_HYPER:-$program}; fi
        start "$server" "$next" /favicon.svg "$program" "$recorded" "127.0.0.1:$next"
        contenders+=("$server=${started[-1]}@127.0.0.1:$next")
        ;;
    esac
    next=$((next + 1))
done

sysctl net.ipv4.tcp_congestion_control 2>/dev/null || true
# Writes the request of a case for a server, after a check that its response has the bytes and the header fields of
# reviewd's, except for a file server's validators. Fails if the server has no such document, or no HTTP/2.
prepare() { # contender's name, address, target, what is not as usual
    local file variant recorded_status options=() expected version=1.1
    IFS=$'\t' read -r _ file variant recorded_status < <(grep -F "$3"$'\t' "$recorded/index.tsv")
    expected=$recorded/$file
    case $4 in
    gzip)
        options=(--header "$gzip")
        expected=$recorded/$variant
        ;;
    http2)
        options=(--http2-prior-knowledge)
        version=2
        ;;
    esac
    ask "$2" "$3" "${options[@]}" 2>/dev/null || return 1
    [ "$status" = "$recorded_status" ] || return 1
    cmp "$work/body" "$expected" >&2 || exit 1
    if grep -vE '^(etag|last-modified): ' "$recorded/$file.fields" | grep -vxFf "$work/fields" >&2; then
        echo "$1 answers $3 without these header fields" >&2
        exit 1
    fi
    {
        printf 'GET %s HTTP/%s\r\nHost: localhost\r\nUser-Agent: load\r\nAccept: */*\r\n' "$3" "$version"
        case $4 in
        gzip) printf '%s\r\n' "$gzip" ;;
        tag) printf 'If-None-Match: %s\r\n' "$(tag_of "$work/fields")" ;;
        esac
        printf '\r\n'
    } >"$work/$1.request"
}

echo "32 connections, $rounds rounds of $seconds s each, in turn; medians; CPU in µs per request; ratio: CPU of reviewd by that"
echo "of the other"
echo
echo "| request | bytes | server | CPU | ratio | requests/s |"
echo "|---|---:|---|---:|---:|---:|"
for case in "${cases[@]}"; do
    IFS='|' read -r name target service unusual <<<"$case"
    case $name in *"${ONLY:-}"*) ;; *) continue ;; esac
    loaded=()
    for contender in "${contenders[@]}"; do
        server=${contender%%=*} at=${contender#*=}
        if [ "$server" = reviewd ]; then at=${!service}; fi
        if prepare "$server" "${at#*@}" "$target" "$unusual"; then loaded+=("$server=$at=$work/$server.request"); fi
    done
    # Time for the rounds of each server, and for a warm-up of a quarter round.
    timeout "$((${#loaded[@]} * (rounds + 2) * seconds + 60))" \
        taskset -c 1 "$peers/load" "$seconds" "$rounds" "$name" "${loaded[@]}"
done

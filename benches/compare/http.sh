#!/usr/bin/env bash
# Compares what the same documents cost in reviewd, nginx, bare hyper, axum and actix-web.
#
#   benches/compare/http.sh              all servers, 5 rounds of 1 s for each of eight requests; about ten minutes
#   benches/compare/http.sh reviewd bare-hyper            only these; reviewd always comes first
#
# Needs Linux, two cores, taskset and curl, and nginx for its rows, which are left out without it.
# Servers run on core 0 with one thread, one after the other, and the client on core 1. The peers serve the bytes and
# the header fields that reviewd was seen to serve, and every answer is compared before it is measured. The client
# never sleeps while CPU is measured and copies no large body, so no server pays for waking it, and all that are
# not faster than it are busy all the time.
# The figure that holds on a machine with other work is the ratio of CPU per request (utime and stime of the server's
# process); requests a second need two idle cores. The system's congestion control is part of every figure:
# Linux's default is cubic, and bbr, which sets a timer for each train of packets, doubles what a megabyte costs on
# loopback. Everything stays on loopback, and only processes that were started here are ended.
#
#   ROUNDS=5 SECONDS_EACH=1              rounds of each server and request, and their length
#   ONLY=""                              only the requests whose name contains it, such as "large document"
#   CSV=""                               a file to which each round is appended, for docs/benchmarks/data/requests.csv
#   REVIEWS=100000                       reviews of the service whose searches are asked for
#   REVIEWD=target/dist/reviewd          a reviewd that is built already; without it, it is built here
#   FLAGS="--flag value"                 more flags for reviewd
#   PORT=18620                           this port and the nine after it are listened on
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

source benches/compare/common.sh

rounds=${ROUNDS:-5} seconds=${SECONDS_EACH:-1} port=${PORT:-18620}
servers=${*:-reviewd nginx bare-hyper axum actix}
build http-load http-peers
# 2,200 reviews are a megabyte.
cargo run --quiet --release --example generate -- --reviews 2200 --seed 1 --into "$work/documents" >/dev/null
cargo run --quiet --release --example generate -- --reviews "${REVIEWS:-100000}" --seed 1 --into "$work/search" >/dev/null

start_reviewd documents "$port"
documents=${started[-1]}
start_reviewd search "$((port + 1))"
search=${started[-1]}
"$peers/http-load" record "$work/recorded" "127.0.0.1:$port" "127.0.0.1:$((port + 1))"
ticks() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat"; }
# Waits until a server has nothing more to do: it makes variants of its documents in the background.
settle() { # process
    local before=-1 now
    for _ in $(seq 120); do
        now=$(ticks "$1")
        if [ "$now" = "$before" ]; then return; fi
        before=$now
        sleep 1
    done
}
settle "$documents"
settle "$search"
contenders=("reviewd=$documents@127.0.0.1:$port,$search@127.0.0.1:$((port + 1))")

start_nginx() { # port
    local nginx
    nginx=$(PATH=$PATH:/usr/sbin command -v nginx) || { echo "nginx: is not installed, left out" >&2; return; }
    local locations="" target file
    while IFS=$'\t' read -r target file _; do
        [ -e "$work/recorded/root$target" ] || continue
        # Its validators, length and media type are nginx's own.
        locations+="location = $target { $(sed -nE '/^(etag|last-modified|content-type): /d; s/"/\\"/g; s/^([^:]+): (.*)$/add_header \1 "\2";/p' \
            "$work/recorded/$file.fields") }
"
    done <"$work/recorded/index.tsv"
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
        root $work/recorded/root;
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
        start "$server" "$next" /favicon.svg "$peers/$server" "$work/recorded" "127.0.0.1:$next"
        contenders+=("$server=${started[-1]}@127.0.0.1:$next")
        ;;
    esac
    next=$((next + 1))
done

sysctl net.ipv4.tcp_congestion_control 2>/dev/null || true
# Eight requests; each server's rounds, and a quarter of one before them.
limit=$((8 * ${#contenders[@]} * (rounds + 2) * seconds + 60))
timeout "$limit" taskset -c 1 "$peers/http-load" compare "$work/recorded" "$seconds" "$rounds" "${contenders[@]}"

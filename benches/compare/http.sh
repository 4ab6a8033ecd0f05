#!/usr/bin/env bash
# Compares what the same documents cost in reviewd, nginx, bare hyper, axum, actix-web and a bare epoll loop.
#
#   benches/compare/http.sh              all servers, 5 rounds of 1 s for each of eight requests; about six minutes
#   benches/compare/http.sh reviewd bare-hyper epoll      only these; reviewd always comes first
#
# Needs Linux, two cores, taskset and curl, and nginx for its rows (it is left out, with a line, where it is missing).
# Servers run on core 0 with one thread, one after the other, and the client on core 1. The peers serve the bytes that
# reviewd was seen to serve, and every answer is compared before it is measured. The figure that holds on a machine
# with other work is the ratio of CPU per request (utime and stime of the server's process); requests a second and
# times need two idle cores. Everything stays on loopback, and only processes that were started here are ended.
#
#   ROUNDS=5 SECONDS_EACH=1              rounds of each server and request, and their length
#   REVIEWS=100000                       reviews of the service whose searches are asked for
#   REVIEWD=target/release/reviewd       a reviewd that is built already; without it, it is built here
#   FLAGS="--flag value"                 more flags for reviewd
#   PORT=18620                           this port and the six after it are listened on
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

rounds=${ROUNDS:-5} seconds=${SECONDS_EACH:-1} port=${PORT:-18620}
servers=${*:-reviewd nginx bare-hyper axum actix epoll}
work=$(mktemp -d)
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

if [ -z "${REVIEWD:-}" ]; then
    cargo build --release --locked --quiet --bin reviewd
    REVIEWD=target/release/reviewd
fi
peers=benches/compare/target/release
cargo build --release --locked --quiet --manifest-path benches/compare/Cargo.toml --package http-load --package http-peers
# 2,200 reviews are a megabyte.
"$REVIEWD" generate --reviews 2200 --seed 1 --into "$work/documents" >/dev/null
"$REVIEWD" generate --reviews "${REVIEWS:-100000}" --seed 1 --into "$work/search" >/dev/null

# Starts a server on core 0 and waits until its port answers; its process is the last of `started`.
start() { # name, port, path, command...
    local name=$1 at=$2 path=$3
    shift 3
    taskset -c 0 "$@" >"$work/$name.log" 2>&1 &
    started+=($!)
    for _ in $(seq 600); do
        if curl --silent --fail --max-time 1 --output /dev/null "http://127.0.0.1:$at$path"; then return; fi
        kill -0 "${started[-1]}" 2>/dev/null || break
        sleep 0.1
    done
    echo "$name did not start:" >&2
    tail -5 "$work/$name.log" >&2
    exit 1
}

reviewd() { # data, port
    # shellcheck disable=SC2086 # FLAGS holds several words.
    start "reviewd-$1" "$2" /insights.json "$REVIEWD" serve --data "$work/$1" --state "$work/$1-state" \
        --listen "127.0.0.1:$2" --threads 1 --no-hub --no-watch --poll 0 --log-level warn \
        --connection-requests 4000000000 ${FLAGS:-}
}

reviewd documents "$port"
documents=${started[-1]}
reviewd search "$((port + 1))"
search=${started[-1]}
"$peers/http-load" record "$work/recorded" "127.0.0.1:$port" "127.0.0.1:$((port + 1))"
contenders=("reviewd=$documents@127.0.0.1:$port,$search@127.0.0.1:$((port + 1))")

start_nginx() { # port
    local nginx
    nginx=$(PATH=$PATH:/usr/sbin command -v nginx) || { echo "nginx: is not installed, left out" >&2; return; }
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
        add_header Cache-Control "public, max-age=60, stale-while-revalidate=600";
        add_header Vary Accept-Encoding;
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

# Eight requests; each server's rounds, a quarter of one before them, and one at half of the rate.
limit=$((8 * ${#contenders[@]} * (rounds + 2) * seconds + 60))
timeout "$limit" taskset -c 1 "$peers/http-load" compare "$work/recorded" "$seconds" "$rounds" "${contenders[@]}"

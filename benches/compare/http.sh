#!/usr/bin/env bash
# Compares what the same documents cost in reviewd, nginx, bare hyper, axum and actix-web, and over
# HTTP/2 in reviewd and bare hyper, that as it is and with the bound that reviewd's sockets have.
#
#   benches/compare/http.sh              all servers, 5 rounds of 1 s for each of eight requests; about ten minutes
#   benches/compare/http.sh reviewd bare-hyper            only these; reviewd always comes first
#
# Needs Linux, two cores, taskset and curl, nginx for its rows, and h2load (Debian: nghttp2-client) for HTTP/2; what is
# missing is left out, with a line.
# Servers run on core 0 with one thread, one after the other, and the client on core 1. The peers serve the bytes and
# the header fields that reviewd was seen to serve, and every answer is compared before it is measured. The client of
# HTTP/1.1 never sleeps while CPU is measured and copies no large body, so no server pays for waking it, and all that are
# not faster than it are busy all the time.
# The figure that holds on a machine with other work is the ratio of CPU per request (utime and stime of the server's
# process); requests a second need two idle cores. The system's congestion control is part of every figure:
# Linux's default is cubic, and bbr, which sets a timer for each train of packets, doubles what a megabyte costs on
# loopback. Everything stays on loopback, and only processes that were started here are ended.
#
#   ROUNDS=5 SECONDS_EACH=1              rounds of each server and request, and their length
#   ONLY=""                              only the requests over HTTP/1.1 whose name contains it, such as "large document"
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

# HTTP/2: one connection with 100 streams, whose client is h2load.
command -v h2load >/dev/null || { echo "h2load: is not installed (Debian: nghttp2-client), HTTP/2 left out" >&2; exit 0; }
start bare-hyper-h2 "$next" h2:/favicon.svg "$peers/bare-hyper" "$work/recorded" "127.0.0.1:$next" --http2
hyper=${started[-1]}
# A peer that reads nothing costs 135 kB of the kernel's memory and not megabytes, and every large reply some CPU.
start bare-hyper-bounded "$((next + 1))" h2:/favicon.svg "$peers/bare-hyper" "$work/recorded" "127.0.0.1:$((next + 1))" --http2 --bounded
bounded=${started[-1]}

median() { sort -n | awk '{ all[NR] = $1 } END { print (all[int((NR + 1) / 2)] + all[int(NR / 2) + 1]) / 2 }'; }

# Loads a server for one round and appends its CPU per body in microseconds and the bodies a second. What counts are the
# bytes that came: of a large document a hundred are under way when the round ends.
h2_round() { # name, process, port, target, bytes of the body
    local before after
    before=$(ticks "$2")
    taskset -c 1 h2load -c 1 -m 100 -D "$seconds" --warm-up-time 0 "http://127.0.0.1:$3$4" \
        >"$work/h2" 2>&1
    after=$(ticks "$2")
    # `requests: 51234 total, 51234 started, 51134 done, 51134 succeeded, 0 failed, 0 errored, 0 timeout`
    # `traffic: 12.03MB (12612345) total, 0B (0) headers (space savings 0.00%), 11.93MB (12512345) data`
    awk -v ticks=$((after - before)) -v cpu="$work/$1.cpu" -v rate="$work/$1.rate" -v bytes="$5" '
        /^requests: / { if ($10 + $12 + $14 > 0) { print "h2load:", $0 > "/dev/stderr"; exit 1 } }
        /^traffic: / { gsub(/[()]/, ""); done = $(NF - 1) / bytes }
        /^finished in / { seconds = $3 }
        END { print ticks * 10000 / done >> cpu; print done / (seconds + 0) >> rate }' "$work/h2"
}

printf '\nHTTP/2, 1 connection, 100 streams, %s rounds of %s s each, in turn; medians; CPU in us per request\n\n' "$rounds" "$seconds"
printf '| request | server | CPU | ratio | requests/s |\n|---|---|---:|---:|---:|\n'
for target in /favicon.svg /reviews.jsonld /reviews.json; do
    rm -f "$work"/*.cpu "$work"/*.rate
    bytes=$(curl --silent "http://127.0.0.1:$port$target" | wc -c)
    for _ in $(seq "$rounds"); do
        h2_round ours "$documents" "$port" "$target" "$bytes"
        h2_round hyper "$hyper" "$next" "$target" "$bytes"
        h2_round bounded "$bounded" "$((next + 1))" "$target" "$bytes"
    done
    ours=$(median <"$work/ours.cpu")
    for name in ours hyper bounded; do
        cpu=$(median <"$work/$name.cpu") rate=$(median <"$work/$name.rate")
        case $name in ours) server=reviewd ;; hyper) server=bare-hyper ;; *) server="bare-hyper, bounded" ;; esac
        awk -v target="$target" -v server="$server" -v cpu="$cpu" -v ours="$ours" -v rate="$rate" 'BEGIN {
            printf "| %s | %s | %.2f | %.2f | %.0f |\n", target, server, cpu, ours / cpu, rate }'
    done
done

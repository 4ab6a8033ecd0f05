#!/usr/bin/env bash
# WebSub: a third-party subscriber library over TLS, from discovery to unsubscription, and the subscriber of /developers.
# limit: 300 s
source "$(dirname "$0")/../step.sh"

need openssl openssl
[ -x target/release/reviewd ] || cargo build --quiet --locked --release

work=$ci_dir/websub
venv=$work/venv
mkdir -p "$work"
make_venv "$venv" .ci/websub/requirements.txt

# A temporary authority, and a certificate for 127.0.0.1 that hub and subscriber both use.
(
    cd "$work"
    rm -rf data state
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj "/CN=check" \
        -addext "basicConstraints=critical,CA:TRUE" -keyout ca.key -out ca.pem
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=127.0.0.1" -keyout leaf.key -out leaf.csr
    printf 'subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth\n' >leaf.ext
    openssl x509 -req -in leaf.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 1 -extfile leaf.ext -out leaf.pem
) 2>"$work/openssl.log" || { cat "$work/openssl.log"; fail "openssl"; }
cp -r data "$work/data"

tls_port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
public=https://127.0.0.1:$tls_port
start_server REVIEWD_DATA="$work/data" REVIEWD_STATE="$work/state" REVIEWD_BASE_URL="$public" \
    REVIEWD_CALLBACK_CA="$work/ca.pem" REVIEWD_ALLOW_PRIVATE_CALLBACKS=true REVIEWD_POLL=1s
REQUESTS_CA_BUNDLE=$work/ca.pem timeout --foreground 120 "$venv/bin/python" .ci/websub/check_flask.py \
    "$base_url" "$public" "$work/leaf.pem" "$work/leaf.key" "$work/data" ||
    { tail -n 40 "$server_log"; fail "Flask-WebSub"; }
SSL_CERT_FILE=$work/ca.pem timeout --foreground 150 python3 .ci/websub/check_developers.py \
    "$base_url" "$public" "$work/leaf.pem" "$work/leaf.key" "$work/data" ||
    { tail -n 40 "$server_log"; fail "the subscriber of /developers"; }

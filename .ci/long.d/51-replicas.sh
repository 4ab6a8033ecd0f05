#!/usr/bin/env bash
# Three replicas on one PostgreSQL, killed and disconnected repeatedly for CRASH_SECONDS (600); the figures are in the output.
# limit: 3600 s
source "$(dirname "$0")/../step.sh"

compgen -G "/usr/lib/postgresql/*/bin/initdb" >/dev/null || install_debian postgresql
REVIEWD_NEED_POSTGRES=yes REVIEWD_REPLICAS_SECONDS=${CRASH_SECONDS:-600} \
    cargo test --quiet --locked --test it hub::replicas -- --nocapture
echo "the same with a synchronous standby that takes over"
REVIEWD_NEED_POSTGRES=yes REVIEWD_REPLICAS_STANDBY=yes REVIEWD_REPLICAS_SECONDS=${CRASH_SECONDS:-600} \
    cargo test --quiet --locked --test it hub::replicas -- --nocapture

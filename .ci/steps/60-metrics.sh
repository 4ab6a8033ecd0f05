#!/usr/bin/env bash
# The metrics, as a strict parser of OpenMetrics sees them, and the memory that the sample needs.
# limit: 300 s
source "$(dirname "$0")/../step.sh"

need_venv
[ -x target/release/reviewd ] || cargo build --quiet --locked --release
admin_port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
start_server REVIEWD_ADMIN_LISTEN="127.0.0.1:$admin_port" REVIEWD_STATE="$ci_dir/metrics-state"
python .ci/check_metrics.py "$base_url" "http://127.0.0.1:$admin_port"

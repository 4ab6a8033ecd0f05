#!/usr/bin/env bash
# Installs what later steps need from Debian, npm and PyPI, which waits for the network while step 20-release compiles.
# limit: 900 s
source "$(dirname "$0")/../step.sh"

# A step whose tools are missing tries once more, and is skipped without them; so nothing fails here.
install() {
    if ! ("$@") >"$ci_dir/install.log" 2>&1; then
        echo "not installed by $*:"
        tail -n 3 "$ci_dir/install.log"
    fi
}
command -v chromium >/dev/null || install install_debian chromium
command -v firefox-esr >/dev/null || install install_debian firefox-esr
for name in mcp browser html; do install need_npm "$name"; done
install need_venv
for client in mcp1 mcp2 fastmcp; do
    install make_venv "$ci_dir/mcp/venv-$client" ".ci/mcp/requirements-$client.txt"
done

#!/usr/bin/env bash
# The systemd units, checked by systemd: no warning, and an exposure of at most 1.5.
# limit: 600 s
source "$(dirname "$0")/../step.sh"

command -v systemd-analyze >/dev/null || skip "systemd-analyze is missing"
[ -x target/release/reviewd ] || cargo build --quiet --locked --release

work=$ci_dir/units
rm -rf "$work"
mkdir -p "$work"
cp deploy/systemd/*.service deploy/systemd/*.socket deploy/systemd/*.timer "$work/"
# The program that a unit starts must exist.
sed -i "s#^ExecStart=reviewd #ExecStart=$PWD/target/release/reviewd #" "$work"/*.service
systemd-analyze verify --man=no "$work"/*.service "$work"/*.socket "$work"/*.timer >"$work/verify.log" 2>&1 || true
version=$(systemd-analyze --version | sed -n '1s/^systemd \([0-9]*\).*/\1/p')
if [ -s "$work/verify.log" ]; then
    cat "$work/verify.log"
    fail "systemd $version has complaints"
fi
# The threshold is in tenths.
systemd-analyze security --offline=true --threshold=15 --no-pager "$work/reviewd.service" >"$work/security.log" 2>&1 || {
    cat "$work/security.log"
    fail "the unit is more exposed than it was"
}
sed -n 's/^→ *//p' "$work/security.log"

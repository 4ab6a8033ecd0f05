#!/usr/bin/env bash
# The minimum Rust version: no dependency needs a newer one, and the code compiles with it if rustup has it.
# limit: 900 s
source "$(dirname "$0")/../step.sh"

need python3 python3
wanted=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)
cargo metadata --locked --format-version 1 >"$ci_dir/metadata.json"
python3 - "$wanted" "$ci_dir/metadata.json" <<'PYTHON'
import json, sys

def version(text):
    return tuple(int(part) for part in (text.split(".") + ["0", "0"])[:3])

wanted, path = sys.argv[1:]
packages = json.load(open(path))["packages"]
newer = [p for p in packages if p.get("rust_version") and version(p["rust_version"]) > version(wanted)]
for package in newer:
    print(f"{package['name']} {package['version']} needs Rust {package['rust_version']}, and we say {wanted}")
said = sum(1 for p in packages if p.get("rust_version"))
print(f"{len(packages)} packages, {said} say what they need, {len(newer)} of them more than {wanted}")
sys.exit(bool(newer))
PYTHON
if rustup run "$wanted" rustc --version 2>/dev/null; then
    CARGO_TARGET_DIR=$ci_dir/msrv rustup run "$wanted" cargo check --quiet --locked --all-targets
else
    echo "NOT COMPILED WITH $wanted: rustup does not have it here; clippy's incompatible_msrv holds our own code to it"
fi

#!/usr/bin/env bash
# The Compose and Kubernetes files and the workflows are YAML whose parts fit together.
# limit: 300 s
source "$(dirname "$0")/../step.sh"

need_venv
python .ci/check_deploy.py

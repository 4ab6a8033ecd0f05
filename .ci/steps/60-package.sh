#!/usr/bin/env bash
# Makes the archive and Debian package of the release build, unpacks and installs them, and starts the program.
# limit: 900 s
source "$(dirname "$0")/../step.sh"

need python3 python3
need objcopy binutils
# The tools are built by .ci/long --only 64; without them there is an archive and no Debian package.
for folder in "$ci_dir"/tools/cargo-{deb,cyclonedx}-*/bin; do
    if [ -d "$folder" ]; then PATH=$folder:$PATH; fi
done
PROFILE=${PROFILE:-release} deploy/package/build.sh
.ci/package.sh

# Archive and Debian package of the release build: made, unpacked and installed, and what is in them serves.
# limit: 900 s

need python3 python3
need objcopy binutils
need_cargo_tool cargo-deb 3.8.0
PROFILE=release deploy/package/build.sh
.ci/package.sh

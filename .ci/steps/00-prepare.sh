# What the build needs: a C and C++ compiler, and the sources of all dependencies.
# limit: 600 s

need cc build-essential
need c++ build-essential
rustc --version
cargo --version
retry 3 timeout --foreground 180 cargo fetch --quiet --locked
retry 3 timeout --foreground 180 cargo fetch --quiet --locked --manifest-path fuzz/Cargo.toml

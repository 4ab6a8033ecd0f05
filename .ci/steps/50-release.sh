# The release build, as README has it.
# limit: 900 s

# The program alone, as `cargo run` has it: with the library as a goal of its own all code is generated twice.
cargo build --quiet --locked --release --bin reviewd
ls -l target/release/reviewd

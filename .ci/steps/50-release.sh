# The release build, as a newcomer makes it.
# limit: 900 s

cargo build --quiet --locked --release
ls -l target/release/reviewd

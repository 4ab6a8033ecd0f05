#!/usr/bin/env bash
# Compares searches by reviewd's index, SQLite FTS5 (trigrams), tantivy (n-grams) and a plain scan with SIMD.
#
#   benches/compare/search.sh            10,000 reviews made of the sample's sentences; a minute or two
#   REVIEWD_CORPUS=DIR benches/compare/search.sh 100000 1000000
#                                        real ones; a million take 15 minutes and 8 GB of memory
#   benches/compare/search.sh words 10000
#                                        three words that must all occur, in separate word indexes of the peers: the
#                                        median and the 99th percentile
#
# All engines hold the same folded texts in memory and answer the same searches of every class in one process, on
# one thread. Before the table is printed, their exact numbers and newest 20 rows are compared; one that differs
# fails the run. REVIEWD_BENCH_MEMORY is the limit of the index in bytes per review; CSV is a file to which the
# figures are appended, for benches/figures.py. On a shared machine read the ratios.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# .cargo/config.toml leaves out SQLite's full-text search, which is compared here.
export LIBSQLITE3_FLAGS=
cargo build --release --locked --quiet --manifest-path benches/compare/Cargo.toml --package search-peers
what=()
if [ "${1:-}" = words ]; then
    what=(words)
    shift
fi
sizes=${*:-10000}
REVIEWD_BENCH_REVIEWS=${sizes// /,} exec benches/compare/target/release/search-peers "${what[@]}"

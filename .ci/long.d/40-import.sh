#!/usr/bin/env bash
# An import of 200 MB: every review is imported, and a second import changes nothing.
# limit: 1800 s
source "$(dirname "$0")/../step.sh"

need python3 python3
[ -x target/release/reviewd ] || cargo build --quiet --locked --release
work=$ci_dir/import
rm -rf "$work"
mkdir -p "$work"

# Writes rows of different reviews until the file has 2 x 10^8 bytes.
python3 - "$work/reviews.csv" <<'PYTHON'
import sys
words = "They called back at once, explained every form, and the bill was what they had said. ".split(" ")
written = row = 0
with open(sys.argv[1], "w", newline="") as out:
    written += out.write("id,author,rating,date,text\n")
    while written < 2 * 10**8:
        text = " ".join(words[(row + at) % len(words)] for at in range(60))
        date = f"20{10 + row % 15}-{1 + row % 12:02}-{1 + row % 28:02}"
        written += out.write(f'{row},Author {row},{1 + row % 5},{date},"{text}"\n')
        row += 1
print(f"{written} bytes, {row} reviews")
PYTHON

target/release/reviewd init "$work/into" --name Import --trade law --site https://import.example
for counter in added unchanged; do
    [ "$counter" = added ] || cp "$work/into/reviews.json" "$work/first.json"
    time target/release/reviewd import "$work/reviews.csv" --into "$work/into" --verified --format json >"$work/report.json"
    python3 - "$work" "$counter" <<'PYTHON'
import json, sys
work, counter = sys.argv[1:]
report = json.load(open(f"{work}/report.json"))
rows = sum(1 for _ in open(f"{work}/reviews.csv")) - 1
source = report["sources"][0]
assert source[counter] == rows and report["refused_count"] == 0, source
assert report["written"] == (counter == "added"), report["written"]
PYTHON
done
cmp "$work/first.json" "$work/into/reviews.json"
target/release/reviewd check "$work/into"
rm -r "$work"

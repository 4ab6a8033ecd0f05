"""Checks how much memory reviewd needs for each byte of reviews.json, as docs/deploying.md says it.

    .ci/check_bytes.py PROGRAM FOLDER

FOLDER/short/100000 holds 100,000 generated reviews. The same texts are also tried in a fifth as many reviews.
"""

import json
import os
import shutil
import subprocess
import sys

AT_REST_MAX = 9
DURING_RELOAD_MAX = 21

program, folder = sys.argv[1:3]
short = os.path.join(folder, "short", "100000")
long = os.path.join(folder, "long", "20000")

with open(os.path.join(short, "reviews.json"), encoding="utf-8") as file:
    document = json.load(file)
reviews = document["reviews"]
joined = []
for first in range(0, len(reviews), 5):
    text = "\n".join(review["text"] for review in reviews[first:first + 5])
    joined.append({**reviews[first], "text": text})
document["reviews"] = joined
os.makedirs(long)
shutil.copy(os.path.join(short, "taxonomy.json"), long)
with open(os.path.join(long, "reviews.json"), "w", encoding="utf-8") as file:
    json.dump(document, file, ensure_ascii=False, separators=(",", ":"))

failed = False
for data in (short, long):
    parent, size = os.path.split(data)
    command = ["benches/compare/http_start.py", program, parent, "1", size]
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    start, reload = (line.split(",") for line in lines)
    file_bytes = os.path.getsize(os.path.join(data, "reviews.json"))
    at_rest = float(start[5]) * 2**20 / file_bytes
    during_reload = float(reload[4]) * 2**20 / file_bytes
    print(f"{size} reviews, {file_bytes} bytes: for each {at_rest:.1f} bytes of memory at rest, {during_reload:.1f} during a reload")
    failed |= at_rest > AT_REST_MAX or during_reload > DURING_RELOAD_MAX
sys.exit(failed)

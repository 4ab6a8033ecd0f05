# Tables of a gigabyte: imported twice in an address space that would not hold a quarter of it, or refused in time.
# limit: 1800 s

need python3 python3
[ -x target/release/reviewd ] || cargo build --quiet --locked --release
work=$ci_dir/import
rm -rf "$work"
mkdir -p "$work"

# write_table FILE REVIEWS PADDING: rows with ids 0 to REVIEWS - 1, over and over, until there are 10^9 bytes; a column
# that no import reads has PADDING bytes.
write_table() {
    python3 - "$@" <<'EOF'
import sys
path, reviews, padding = sys.argv[1], int(sys.argv[2]), "x" * int(sys.argv[3])
words = "They called back at once, explained every form, and the bill was what they had said. ".split(" ")
written = row = 0
with open(path, "w", newline="") as out:
    written += out.write("id,author,rating,date,text,raw\n")
    while written < 10**9:
        one = row % reviews
        text = " ".join(words[(one + at) % len(words)] for at in range(60))
        date = f"20{10 + one % 15}-{1 + one % 12:02}-{1 + one % 28:02}"
        written += out.write(f'{one},Author {one},{1 + one % 5},{date},"{text}",{padding}\n')
        row += 1
print(f"{path}: {written} bytes, {row} rows")
EOF
}

# import STATUS KIB TABLE [FLAG…]: imports in an address space of KIB, and prints time and peak.
import() {
    python3 - "$@" "$work/into" <<'EOF'
import resource, subprocess, sys, time
status, kib, table, *flags, into = sys.argv[1:]
limit = int(kib) * 1024
began = time.monotonic()
done = subprocess.run(
    ["target/release/reviewd", "import", table, "--into", into, *flags],
    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    stderr=subprocess.PIPE, text=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(done.stderr.splitlines()[-1] if done.stderr else "")
print(f"{time.monotonic() - began:.1f} s, {used.ru_utime + used.ru_stime:.1f} s of processor time, "
      f"peak {used.ru_maxrss / 1024:.0f} MiB of {int(kib) // 1024}, status {done.returncode}")
sys.exit(done.returncode != int(status))
EOF
}

write_table "$work/repeated.csv" 50000 3000
import 0 $((256 << 10)) "$work/repeated.csv" --verified
import 0 $((256 << 10)) "$work/repeated.csv" --verified
target/release/reviewd check "$work/into" --allow no_disclaimer,no_taxonomy,no_editorial
rm "$work/repeated.csv"
write_table "$work/different.csv" 1000000000 0
import 65 $((1 << 20)) "$work/different.csv" --dry-run
rm -r "$work"

#!/usr/bin/env python3
"""Measures the figures that README and docs state, and writes them there.

    benches/figures.py list                 every measurement: its time, and the commit of its figures
    benches/figures.py measure [NAME...]    measures these, or all, into docs/benchmarks/data, then writes them
    benches/figures.py try [NAME...]        the same with small sizes and without writing: shows that each still works
    benches/figures.py write                draws the plots and fills the tables from docs/benchmarks/data
    benches/figures.py check [--release]    fails if a plot or a table is not what the data give; tells which figures are
                                            older than the code that they are about, and with --release fails for these

A figure belongs to a commit, so `measure` refuses changed files. Measure on a machine that does nothing else: the load
at the beginning is stored beside the figures. Reviews are generated, so anyone can repeat everything.

A data file has lines `# key: value`, then the columns group, series, run and value. In the docs its medians are the
table between `<!-- figures: NAME -->` and `<!-- end of figures -->`, a row for each group and a column for each series.
Needs Linux, and for some measurements valgrind, nginx or taskset; one whose tools are missing is left out with a message.
"""

import csv
import dataclasses
import datetime
import os
import pathlib
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable

import plot

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "docs" / "benchmarks" / "data"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TABLE = re.compile(r"(<!-- figures: (?P<name>[a-z-]+) -->\n).*?(<!-- end of figures -->)", re.DOTALL)
# What every figure depends on.
COMMON_CODE = ["Cargo.lock", "Cargo.toml", ".cargo/config.toml"]
# What no figure depends on: tests, pages, and lines that are empty or comments.
NO_CODE = [":!*/tests.rs", ":!*/tests/*", ":!*.md"]
CODE_LINE = r"^\s*([^/#[:space:]]|/[^/]|#[^ ])"
SECONDS_MAX = 4 * 3600


@dataclasses.dataclass
class Row:
    """One run's value of a series, such as a server, in a group, such as a request."""

    group: str
    series: str
    run: int
    value: float


@dataclasses.dataclass
class Figure:
    """A data file, and how it is shown."""

    title: str
    note: str
    unit: str
    is_plotted: bool = False
    is_logarithmic: bool = False


@dataclasses.dataclass
class Measurement:
    """Something that is run once and gives one or more data files."""

    minutes: int
    tools: list[str]
    code: list[str]
    figures: dict[str, Figure]
    # Takes whether to use small sizes; returns the rows of each figure.
    run: Callable[[bool], dict[str, list[Row]]]


def output(command, **environment):
    """Runs a command in the root of the repository and returns what it prints."""
    print("$", " ".join(f"{key}={value}" for key, value in environment.items()), *command, file=sys.stderr, flush=True)
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True, timeout=SECONDS_MAX)
    if done.returncode != 0:
        sys.exit(f"{command[0]} failed:\n{done.stdout}")
    return done.stdout


def program():
    """Builds the program that is released, and returns its path."""
    output(["cargo", "build", "--quiet", "--locked", "--profile", "dist", "--bin", "reviewd"])
    return str(ROOT / "target" / "dist" / "reviewd")


def generate(folder, size):
    output(["cargo", "run", "--quiet", "--locked", "--release", "--example", "generate", "--", "--reviews", str(size), "--seed", "1", "--into", folder])


def comparison(script, arguments, **environment):
    """Runs a script of benches/compare that appends rows to the file CSV; returns these."""
    with tempfile.NamedTemporaryFile(suffix=".csv") as file:
        output([f"benches/compare/{script}", *arguments], CSV=file.name, **environment)
        text = pathlib.Path(file.name).read_text(encoding="utf-8")
    return rows_of(text.splitlines())


def rows_of(lines):
    """Returns the rows of the lines of a data file, without its head."""
    columns = ["group", "series", "run", "value"]
    return [Row(row["group"], row["series"], int(row["run"]), float(row["value"])) for row in csv.DictReader(lines, columns)]


def number(cell):
    """Returns the number at the beginning of a cell, such as 2.5 of `2.5 s`."""
    return float(cell.strip().replace(",", "").split()[0])


def with_separators(group):
    """Returns the name of a group with the thousands of its reviews separated, such as `p50, 1,000,000 reviews`."""
    return re.sub(r"\d+(?= reviews$)", lambda found: f"{int(found[0]):,}", group)


def requests(is_small):
    size = {"REVIEWS": "1000", "ROUNDS": "1"} if is_small else {"REVIEWS": "10000", "ROUNDS": "5"}
    rows = comparison("http.sh", [], REVIEWD=program(), **size)
    is_made = {row.group: row.group.startswith(("search", "since", "one review")) for row in rows}
    return {
        "requests": [row for row in rows if not is_made[row.group]],
        "made": [row for row in rows if is_made[row.group]],
    }


def search(is_small):
    sizes = ["2000"] if is_small else ["100000", "1000000"]
    rows = comparison("search.sh", sizes)
    for row in rows:
        row.group = with_separators(row.group).removesuffix(" reviews")
    shown = ("common word,", "phrase,", "filters and text,")
    return {
        "search": [row for row in rows if row.group.startswith(shown)],
        "search-classes": rows,
    }


def words(is_small):
    rows = comparison("search.sh", ["words", *(["2000"] if is_small else ["100000", "1000000"])])
    for row in rows:
        row.group = with_separators(row.group).removeprefix("three words ")
    return {"words": rows}


def mcp(is_small):
    size = {"ROUNDS": "1", "SECONDS_EACH": "1"} if is_small else {"ROUNDS": "5"}
    return {"mcp": comparison("mcp.sh", [], REVIEWD=program(), **size)}


def answers(is_small):
    flags = ["--", "--test"] if is_small else []
    sizes = {} if is_small else {"REVIEWD_BENCH_REVIEWS": "100000,1000000"}
    text = output(["cargo", "bench", "--quiet", "--locked", "--profile", "release", "--bench", "answers", *flags], **sizes)
    ranked = re.findall(r"^ranked, (\d+) reviews: (\S+) +([\d.]+) µs", text, re.MULTILINE)
    calls = re.findall(r"^(\S.*?) +([\d.]+) µs +([\d.]+)$", text, re.MULTILINE)
    return {
        "ranked": [Row(f"{int(size):,} reviews", name, 1, float(value)) for size, name, value in ranked],
        "calls": [Row(name, series, 1, float(value)) for name, *cells in calls for series, value in zip(("µs", "pings"), cells)],
    }


def starts(is_small):
    # Insights of less than a megabyte of text are derived before the service begins, so the largest has more.
    sizes = [200, 5_000] if is_small else [200, 1_000, 10_000, 100_000]
    runs = 1 if is_small else 5
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            generate(f"{folder}/{size}", size)
        lines = output(["benches/compare/http_start.py", program(), folder, str(runs), *map(str, sizes)]).split()
    ready, memory, clock = [], [], []
    for line in lines:
        size, run, *values = line.split(",")
        values, run = list(map(float, values)), int(run)
        if size == "reload":
            columns = zip(("a reload is served, s", "its insights are, s", "peak of the reload, MiB"), values)
            clock += [Row(f"{sizes[-1]:,} reviews", name, run, value) for name, value in columns]
            continue
        group = f"{int(size):,} reviews"
        by_clock, used_ready, used, at_rest, peak = values
        clock.append(Row(group, "ready, s", run, by_clock))
        ready += [Row(group, "until ready", run, used_ready), Row(group, "until insights are there", run, used)]
        memory += [Row(group, "at rest", run, at_rest), Row(group, "peak of the start", run, peak)]
    return {"ready": ready, "memory": memory, "clock": clock}


def latency(is_small):
    with tempfile.TemporaryDirectory() as folder:
        generate(folder, 5_000 if is_small else 100_000)
        text = output(["benches/compare/http_latency.py", folder, program(), "1" if is_small else "3"])
    return {"latency": rows_of(text.splitlines())}


def deliveries(is_small):
    flags = ["--", "--test"] if is_small else []
    text = output(["cargo", "bench", "--quiet", "--locked", "--bench", "fanout", *flags], REVIEWD_BENCH_SUBSCRIBERS="1000,9000")
    rows = []
    names = ["first, s", "median, s", "p99, s", "last, s", "CPU each, µs", "peak memory, MiB"]
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("| ").split("|")]
        if cells[0].isdigit():
            group = f"{int(cells[0]):,}, one in ten {'hangs' if cells[1] == 'hang' else 'is as others'}"
            rows += [Row(group, name, 1, number(cell)) for name, cell in zip(names, cells[3:9])]
    return {"deliveries": rows}


def instructions(_is_small):
    text = output(["benches/instructions.sh", "--requests"])
    pairs = re.findall(r"^\| (\S+) +\| +(\d+) \|$", text, re.MULTILINE)
    return {"instructions": [Row(name, "instructions", 1, float(value)) for name, value in pairs]}


def build(is_small):
    """A build from nothing, with sources that are already fetched; the small one checks only that the command is valid."""
    if is_small:
        output(["cargo", "build", "--help"])
        return {"build": [Row("cargo build --release", "CPU, s", 1, 1)]}
    rows = []
    for profile in ("release", "dist"):
        with tempfile.TemporaryDirectory(dir=ROOT / "target") as folder:
            before, began = os.times(), datetime.datetime.now()
            output(["cargo", "build", "--quiet", "--locked", "--offline", "--profile", profile, "--bin", "reviewd"], CARGO_TARGET_DIR=folder)
            after, elapsed = os.times(), datetime.datetime.now() - began
            used = after.children_user - before.children_user + after.children_system - before.children_system
            size = (pathlib.Path(folder) / profile / "reviewd").stat().st_size
        group = f"profile {profile}"
        rows += [Row(group, "wall time, s", 1, elapsed.total_seconds()), Row(group, "CPU time, s", 1, used), Row(group, "program, MB", 1, size / 1e6)]
    return {"build": rows}


HTTP = ["src/http", "src/server", "crates/reviewd-wire/src"]
SEARCH = ["src/search", "crates/substring-index", "benches/compare/search-peers", "benches/compare/search.sh"]
START = ["src/server", "src/search", "src/snapshot", "src/insights", "src/pages", "crates/substring-index", "crates/reviewd-data",
         # No measured folder has sync.json.
         ":!crates/reviewd-data/src/model/sync.rs"]
MEASUREMENTS = {
    "requests": Measurement(12, ["taskset", "curl", "nginx"], [*HTTP, "benches/compare/http-peers", "benches/compare/http.sh"], {
        "requests": Figure("Requests per second and core", "equal bytes and header fields; median of five rounds in turn, lines: least and most", "per second of CPU", is_plotted=True),
        "made": Figure("Responses made for a request, beside stored ones of the same bytes", "median of five rounds in turn", "per second of CPU"),
    }, requests),
    "search": Measurement(20, [], SEARCH, {
        "search": Figure("One search in 100,000 and in 1,000,000 reviews", "median of 31 searches, equal answers, one thread; logarithmic", "µs", is_plotted=True, is_logarithmic=True),
        "search-classes": Figure("One search of each class", "median of 31 searches, equal answers, one thread", "µs"),
    }, search),
    "words": Measurement(15, [], SEARCH, {
        "words": Figure("Three words that must all occur", "301 searches, equal answers, one thread", "µs"),
    }, words),
    "answers": Measurement(10, [], ["src/mcp", *SEARCH[:2], "benches/answers.rs"], {
        "ranked": Figure("Ranked search of 141 questions", "CPU time of one thread", "µs"),
        "calls": Figure("Every MCP tool on the sample", "CPU time of the server, and times that of a ping in turn", "µs and pings"),
    }, answers),
    "mcp": Measurement(4, ["taskset", "curl"], ["src/mcp", *HTTP, "benches/compare/mcp-peer", "benches/compare/mcp.sh"], {
        "mcp": Figure("MCP calls per second and core", "search_reviews, 10 of 500 reviews; median of five rounds in turn, lines: least and most", "per second of CPU", is_plotted=True),
    }, mcp),
    "starts": Measurement(10, [], [*START, "benches/compare/http_start.py"], {
        "ready": Figure("Processor time of a start", "median of five starts, lines: least and most; logarithmic", "seconds", is_plotted=True, is_logarithmic=True),
        "memory": Figure("Memory at rest and at the peak of a start", "median of five starts, lines: least and most; logarithmic", "MiB", is_plotted=True, is_logarithmic=True),
        "clock": Figure("Start and reload by the clock", "the reload adds a review; median of five", "units in the headings"),
    }, starts),
    "latency": Measurement(4, [], [*START, "benches/compare/http_latency.py"], {
        "latency": Figure("Searches by two clients, one every 10 ms each, in 100,000 reviews", "median of three rounds, lines: least and most; logarithmic", "milliseconds", is_plotted=True, is_logarithmic=True),
    }, latency),
    "deliveries": Measurement(8, [], ["src/server/hub.rs", "crates/websub-hub", "benches/fanout.rs"], {
        "deliveries": Figure("A changed feed of 29 kB to HTTPS subscribers", "each a host of its own, on the same cores", "units in the headings"),
    }, deliveries),
    "instructions": Measurement(8, ["valgrind"], [*HTTP, "src/mcp", "src/pages", "src/search", "benches/request.rs"], {
        "instructions": Figure("Instructions of reviewd's own code for a request", "1,000 reviews, callgrind, mean of 400 requests", "instructions"),
    }, instructions),
    # Of our own code a commit changes too little to make this figure older.
    "build": Measurement(15, [], ["crates/*/Cargo.toml"], {
        "build": Figure("A build from nothing", "sources already fetched", "units in the headings"),
    }, build),
}


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60).stdout.strip()


def machine():
    """Describes this machine in a few words."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = re.search(r"model name\s*: (.*)", file.read())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    compiler = output(["rustc", "--version"]).split()[1]
    name = model[1] if model else platform.machine()
    return f"{os.cpu_count()} cores of {name}, {memory:.0f} GiB, Linux {platform.release()}, Rust {compiler}"


def missing_tools(measurement):
    paths = os.environ["PATH"] + ":/usr/sbin"
    return [tool for tool in measurement.tools if shutil.which(tool, path=paths) is None]


def figure_text(figure, name, rows, facts):
    """Returns the content of a data file."""
    head = {"title": figure.title, "note": figure.note, "unit": figure.unit, **facts, "command": f"benches/figures.py measure {name}"}
    if figure.is_plotted:
        head["plot"] = "yes"
    if figure.is_logarithmic:
        head["scale"] = "log"
    lines = [f"# {key}: {value}" for key, value in head.items()]
    lines.append("group,series,run,value")
    lines += [f'"{row.group}","{row.series}",{row.run},{row.value:.6g}' for row in rows]
    return "\n".join(lines) + "\n"


def measure(names, is_small):
    """Runs measurements; writes their data files unless the sizes are small."""
    if not is_small and git("status", "--porcelain"):
        sys.exit("there are changed files: a figure belongs to a commit, so commit them first")
    for name in names:
        measurement = MEASUREMENTS[name]
        if missing := missing_tools(measurement):
            print(f"{name}: left out, {', '.join(missing)} missing", file=sys.stderr)
            continue
        facts = {
            "commit": git("rev-parse", "--short=8", "HEAD"),
            "date": datetime.date.today().isoformat(),
            "machine": machine(),
            "load": f"{os.getloadavg()[0]:.1f} at the beginning",
        }
        measured = measurement.run(is_small)
        for figure_name, figure in measurement.figures.items():
            rows = measured[figure_name]
            if not rows:
                sys.exit(f"{name}: no rows of {figure_name} in the output")
            if not is_small:
                path = DATA / f"{figure_name}.csv"
                path.write_text(figure_text(figure, name, rows, facts), encoding="utf-8")
        print(f"{name}: {sum(map(len, measured.values()))} values", file=sys.stderr)
    if not is_small:
        write()


def table_of(path):
    """Returns the table of a data file: medians, a row for each group and a column for each series."""
    head, groups = plot.read(path)
    names = list(dict.fromkeys(series for values in groups.values() for series in values))
    lines = [f"| {head['unit']} | {' | '.join(names)} |", "|---|" + "---:|" * len(names)]
    for group, values in groups.items():
        cells = [plot.figure(statistics.median(values[name])) if name in values else "" for name in names]
        lines.append(f"| {group} | {' | '.join(cells)} |")
    source = f"{head['title']}: {head['note']}. `{head['command']}`, {head['commit']}, {head['date']}, {head['machine']}; other load: {head['load']}."
    return "\n".join(lines) + f"\n\n{source}\n"


def filled(page):
    """Returns the text of a page with the tables of today's data."""
    return TABLE.sub(lambda found: found[1] + "\n" + table_of(DATA / f"{found['name']}.csv") + found[3], page.read_text(encoding="utf-8"))


def write():
    for path, drawn in plot.drawings():
        path.write_text(drawn, encoding="utf-8")
    for page in PAGES:
        page.write_text(filled(page), encoding="utf-8")


def changes_since(commit, paths):
    """Returns how many commits have changed code of the paths since the commit; None if this clone does not have it."""
    try:
        return len(git("log", "--format=%h", f"-G{CODE_LINE}", f"{commit}..HEAD", "--", *paths, *NO_CODE).split())
    except subprocess.CalledProcessError:
        return None


def old_figures():
    """Returns a line for each data file that is older than the code that it is about."""
    lines = []
    for name, measurement in MEASUREMENTS.items():
        for figure_name in measurement.figures:
            path = DATA / f"{figure_name}.csv"
            if not path.is_file():
                lines.append(f"{figure_name}: never measured")
                continue
            commit = plot.read(path)[0]["commit"]
            count = changes_since(commit, [*measurement.code, *COMMON_CODE])
            if count is None:
                lines.append(f"{figure_name}: of {commit}, which this clone does not have")
            elif count:
                lines.append(f"{figure_name}: of {commit}, and {count} commits have changed its code since: benches/figures.py measure {name}")
    return lines


def check(is_release):
    stale = [path for path, drawn in plot.drawings() if not path.is_file() or path.read_text(encoding="utf-8") != drawn]
    stale += [page for page in PAGES if page.read_text(encoding="utf-8") != filled(page)]
    if stale:
        names = ", ".join(str(path.relative_to(ROOT)) for path in stale)
        sys.exit(f"not what the data would give, run benches/figures.py write: {names}")
    old = old_figures()
    print("\n".join(old) or "every figure is as new as its code")
    if old and is_release:
        sys.exit(1)


def show():
    for name, measurement in MEASUREMENTS.items():
        paths = [DATA / f"{figure}.csv" for figure in measurement.figures]
        commits = {plot.read(path)[0]["commit"] for path in paths if path.is_file()}
        print(f"{name:14} {measurement.minutes:3} min  {', '.join(sorted(commits)) or 'never measured'}")


def main():
    command, *names = sys.argv[1:] or ["help"]
    if unknown := set(names) - set(MEASUREMENTS) - {"--release"}:
        sys.exit(f"no measurement is called {', '.join(sorted(unknown))}: {', '.join(MEASUREMENTS)}")
    if command == "list":
        show()
    elif command in ("measure", "try"):
        measure(names or list(MEASUREMENTS), is_small=command == "try")
    elif command == "write":
        write()
    elif command == "check":
        check(is_release="--release" in names)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()

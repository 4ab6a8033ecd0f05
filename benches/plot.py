"""Draws the plots of README and docs as SVG, light and dark, from the files in docs/benchmarks/data, for figures.py.

A data file has the columns group, series, run and value, one row for each run. A bar is as long as the median of its
runs; with several runs a line reaches from the least to the most. Lines that begin with `# key: value` give title,
note, unit, where the figures come from, and `scale: log`. Needs nothing but Python.
"""

import csv
import math
import pathlib
import statistics
from xml.sax.saxutils import escape

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "docs" / "benchmarks"

WIDTH = 720
LEFT = 200  # where bars begin
RIGHT = 84  # space for the figure behind a bar
BAR = 16
GAP = 4
GROUP_GAP = 18
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"

THEMES = {
    "light": {"text": "#1f2328", "soft": "#59636e", "grid": "#d1d9e0", "bars": ["#0969da", "#8c959f", "#bf8700", "#cf222e", "#1a7f37", "#8250df"]},
    "dark": {"text": "#f0f6fc", "soft": "#9198a1", "grid": "#3d444d", "bars": ["#4493f8", "#7d8590", "#d29922", "#f85149", "#3fb950", "#ab7df8"]},
}


def read(path):
    """Returns the head of a data file and its values: {group: {series: [value of each run]}}."""
    head, rows = {}, []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            key, _, value = line[2:].partition(": ")
            head[key] = value
        else:
            rows.append(line)
    groups = {}
    for row in csv.DictReader(rows):
        groups.setdefault(row["group"], {}).setdefault(row["series"], []).append(float(row["value"]))
    return head, groups


def figure(value):
    """Returns the value with three digits and thousands separators."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value >= 10 else f"{value:.2f}"


def source(head):
    """Returns where the figures come from, in one line."""
    return ", ".join(head[key] for key in ("commit", "date", "machine", "command") if key in head)


def scale(head, values):
    """Returns a function from values to positions, and the values of the grid lines."""
    room = WIDTH - LEFT - RIGHT
    most = max(values)
    if head.get("scale") != "log":
        step = 10 ** math.floor(math.log10(most))
        step = next(step * part for part in (0.25, 0.5, 1, 2) if most / (step * part) <= 6)
        ticks = [step * count for count in range(int(most / step) + 1)]
        return (lambda value: LEFT + room * value / most), ticks
    low = math.floor(math.log10(min(values)))
    high = math.log10(most)
    ticks = [10**power for power in range(low, math.floor(high) + 1)]
    return (lambda value: LEFT + room * (math.log10(value) - low) / (high - low)), ticks


def draw(head, groups, theme):
    """Returns the SVG of one plot."""
    colors = THEMES[theme]
    parts = []

    def text(x, y, words, size=13, anchor="start", fill="text", weight="normal"):
        parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" font-weight="{weight}" '
            f'fill="{colors[fill]}">{escape(words)}</text>'
        )

    names = list(dict.fromkeys(name.split(",")[0] for series in groups.values() for name in series))
    values = [value for series in groups.values() for runs in series.values() for value in runs]
    place, ticks = scale(head, values)
    top = 62
    bottom = top + sum(len(series) * (BAR + GAP) + GROUP_GAP for series in groups.values()) - GROUP_GAP + 4
    text(0, 20, head["title"], size=17, weight="600")
    text(0, 40, f'{head["unit"]}; {head["note"]}', size=12, fill="soft")
    for tick in ticks:
        x = place(tick)
        parts.append(f'<line x1="{x:.1f}" y1="{top - 6}" x2="{x:.1f}" y2="{bottom}" stroke="{colors["grid"]}"/>')
        label = f"{tick:,.0f}" if tick >= 1 and tick == int(tick) else f"{tick:g}"
        text(x, bottom + 16, label, size=11, anchor="middle", fill="soft")
    y = top
    for group, series in groups.items():
        text(0, y + BAR - 4, group, weight="600", size=12)
        for name, runs in series.items():
            middle = statistics.median(runs)
            color = colors["bars"][names.index(name.split(",")[0]) % len(colors["bars"])]
            end = place(middle)
            parts.append(f'<rect x="{LEFT}" y="{y}" width="{max(end - LEFT, 1):.1f}" height="{BAR}" rx="2" fill="{color}"/>')
            label = end
            if len(runs) > 1:
                low, high = place(min(runs)), place(max(runs))
                center = y + BAR / 2
                parts.append(
                    f'<path d="M{low:.1f} {center}H{high:.1f}M{low:.1f} {center - 4}v8M{high:.1f} {center - 4}v8" '
                    f'stroke="{colors["text"]}" fill="none"/>'
                )
                label = high
            text(label + 6, y + BAR - 4, figure(middle), size=12)
            y += BAR + GAP
        y += GROUP_GAP
    legend, x = bottom + 40, 0
    for number, name in enumerate(names):
        color = colors["bars"][number % len(colors["bars"])]
        parts.append(f'<rect x="{x}" y="{legend - 10}" width="12" height="12" rx="2" fill="{color}"/>')
        text(x + 18, legend, name, size=12)
        x += 34 + 7 * len(name)
    text(0, legend + 24, source(head), size=11, fill="soft")
    height = legend + 34
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" height="{height:.0f}" '
        f'role="img" font-family="{FONT}">\n<title>{escape(head["title"])}</title>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def drawings():
    """Yields the path and the content of every plot, for the data files that say `# plot: yes`."""
    for path in sorted((OUT / "data").glob("*.csv")):
        head, groups = read(path)
        if head.get("plot") == "yes":
            for theme in THEMES:
                yield OUT / f"{path.stem}-{theme}.svg", draw(head, groups, theme)

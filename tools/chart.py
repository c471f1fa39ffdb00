#!/usr/bin/env python3
"""The chart of README.md, of the figures in docs/benchmarks-latest.md: requests a second beside Redis.
Usage: tools/chart.py [check]   (writes docs/ui/requests.svg; check: ends with 1 when that is another)"""

import os
import re
import sys

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
SOURCE, TARGET = "docs/benchmarks-latest.md", "docs/ui/requests.svg"
ROWS = ["KV.SET, durable, 50 clients", "KV.SET, durable, 50 clients, pipelined by 16", "KV.GET, 50 clients",
        "KV.GET, 50 clients, pipelined by 16"]
WIDTH, LEFT, BAR, GAP, TOP = 760, 230, 18, 14, 64
FULL = WIDTH - LEFT - 130
COLOURS = {"tupled": "#3451d1", "Redis": "#9aa3b2"}


def figures():
    """[(work, tupled a second, Redis a second)], and the day and the machine."""
    if not os.path.exists(SOURCE):
        sys.exit(f"chart: {SOURCE} is not there")
    with open(SOURCE, encoding="utf-8") as f:
        text = f.read()
    found = []
    for work in ROWS:
        row = re.search(rf"^\| {re.escape(work)} \| (\d+)[^|]*\| (\d+)", text, flags=re.M)
        if row:
            found.append((work.replace("KV.", "").replace(", durable", ""), int(row[1]), int(row[2])))
    where = re.search(r"(\d+ \w+ \d{4}), commit.*?^Machine: (\d+ x [\w ]+)", text, flags=re.M | re.S)
    if len(found) < len(ROWS) or where is None:
        sys.exit(f"chart: {SOURCE} has no such figures")
    return found, f"{where[1]}, {where[2].strip()} for server and clients; Redis 7 with appendfsync always"


def bar(y, name, value, most):
    width = max(2, round(FULL * value / most))
    return (f'<rect x="{LEFT}" y="{y}" width="{width}" height="{BAR}" rx="3" fill="{COLOURS[name]}"/>'
            f'<text x="{LEFT + width + 8}" y="{y + 14}">{value:,} {name}</text>')


def drawn():
    rows, where = figures()
    y, parts = TOP, []
    for work, ours, theirs in rows:
        parts.append(f'<text x="{LEFT - 12}" y="{y + BAR + 5}" text-anchor="end">{work}</text>')
        parts.append(bar(y, "tupled", ours, max(ours, theirs)))
        parts.append(bar(y + BAR + 3, "Redis", theirs, max(ours, theirs)))
        y += 2 * BAR + 3 + GAP
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y + 8}" viewBox="0 0 {WIDTH} {y + 8}" '
            'font-family="system-ui, sans-serif" font-size="13" fill="#1c2330" role="img">\n'
            "<title>Requests a second beside Redis</title>\n"
            f'<rect width="{WIDTH}" height="{y + 8}" rx="8" fill="#ffffff"/>\n'
            '<text x="20" y="28" font-size="16" font-weight="600">Requests a second: every write on disk before its reply</text>\n'
            f'<text x="20" y="48" fill="#5b6475" font-size="12">{where}</text>\n')
    return head + "\n".join(parts) + "\n</svg>\n"


if sys.argv[1:] == ["check"]:
    wanted = drawn()
    with open(TARGET, encoding="utf-8") as f:
        if f.read() != wanted:
            sys.exit(f"chart: {TARGET} is not what {SOURCE} says: run tools/chart.py")
elif len(sys.argv) > 1:
    sys.exit(__doc__)
else:
    made = drawn()
    with open(TARGET, "w", encoding="utf-8") as f:
        f.write(made)

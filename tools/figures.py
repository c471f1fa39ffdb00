#!/usr/bin/env python3
"""README.md's table of figures, of docs/benchmarks-latest.md. Usage: tools/figures.py [check]
(writes it between its marks; check: ends with 1 when README.md has another one)"""

import os
import re
import sys

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
SOURCE, TARGET = "docs/benchmarks-latest.md", "README.md"
BEGIN, END = "<!-- figures: tools/figures.py -->\n", "<!-- end of figures -->\n"
ROWS = [
    ("SET, 50 clients; pipelined by 16", ["KV.SET, durable, 50 clients", "KV.SET, durable, 50 clients, pipelined by 16"]),
    ("GET, 50 clients; pipelined by 16", ["KV.GET, 50 clients", "KV.GET, 50 clients, pipelined by 16"]),
    ("HSET of ten fields, 50 clients; pipelined by 16", ["HSET of 10 fields, packed"] * 2),
    ("a job: enqueued, dequeued, acknowledged, compared with a stream with a group",
     ["KV.ENQUEUE + KV.DEQUEUE + KV.ACK, durable, 50 clients, jobs/s, beside XADD + XREADGROUP + XACK"]),
    ("a check and two writes in one transaction, compared with Deno KV's file",
     ["KV.ATOMIC check + 2 sets, 50 clients (beside: Deno KV's local atomic().check().set().set())"]),
]


OPTIONAL = ROWS[-1][1]  # where Deno cannot be fetched


def ratios(text, work):
    """The ratios of all rows of that work, in their order."""
    found = re.findall(rf"^\| {re.escape(work)} \| [^|]*\| [^|]*\| \**([\d.]+)\**", text, flags=re.M)
    if not found and work not in OPTIONAL:
        sys.exit(f"figures: {SOURCE} has no row '{work}'")
    return found


def table():
    if not os.path.exists(SOURCE):
        sys.exit(f"figures: {SOURCE} is not there")
    with open(SOURCE, encoding="utf-8") as f:
        text = f.read()
    lines = ["| | ratio |", "| --- | --- |"]
    for title, works in ROWS:
        found = ratios(text, works[0]) if len(set(works)) == 1 else [ratios(text, work)[0] for work in works]
        if found:
            lines.append(f"| {title} | {'; '.join(found[:len(works)])} |")
    return "\n".join(lines) + "\n"


def main():
    made = table()
    with open(TARGET, encoding="utf-8") as f:
        text = f.read()
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit(f"figures: {TARGET} has not the marks {BEGIN.strip()} and {END.strip()}")
    wanted = before + begin + made + end + after
    if sys.argv[1:] == ["check"]:
        if text != wanted:
            sys.exit(f"figures: {TARGET} is not what {SOURCE} says: run tools/figures.py")
    elif len(sys.argv) > 1:
        sys.exit(__doc__)
    else:
        with open(TARGET, "w", encoding="utf-8") as f:
            f.write(wanted)


main()

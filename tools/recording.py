#!/usr/bin/env python3
"""The recording of a terminal in README.md: plays docs/ui/terminal.txt at a server with redis-cli, and draws what was
typed and answered, line by line, as docs/ui/terminal.svg.
Usage: tools/recording.py <port> [check]   (a server without data; check: ends with 1 when the file shows something else,
but for versionstamps and receipts)"""

import os
import re
import shlex
import subprocess
import sys
from xml.sax.saxutils import escape

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
SOURCE, TARGET = "docs/ui/terminal.txt", "docs/ui/terminal.svg"
WIDTH, LINE, LEFT, TOP, COLUMNS = 860, 20, 20, 52, 100
TYPED_S, ANSWERED_S = 1.1, 0.35  # until the next line
COLOURS = {"text": "#8fa1b8", "command": "#e6edf6", "answer": "#7fd1a5"}


def ask(port, words):
    """What redis-cli prints for a person."""
    said = subprocess.run(["redis-cli", "-p", port, "--no-raw", *words], capture_output=True, text=True, check=False)
    if said.returncode != 0 or said.stdout.startswith("(error)"):
        sys.exit(f"recording: {' '.join(words)}: {said.stdout}{said.stderr}")
    return said.stdout.rstrip("\n").split("\n")


def folded(line, first, rest):
    """In lines of at most COLUMNS."""
    out, before = [], first
    while len(before + line) > COLUMNS:
        at = (before + line).rfind(" ", 0, COLUMNS) - len(before)
        out.append(before + line[:at])
        line, before = line[at + 1:], rest
    return [*out, before + line]


def played(port):
    """[(kind, line)]"""
    lines, receipt = [], ""  # the receipt is the last of what KV.DEQUEUE answers
    with open(SOURCE, encoding="utf-8") as f:
        script = f.read().split("\n")[1:]
    for line in filter(None, script):
        if line.startswith("# "):
            lines += [("text", x) for x in folded(line, "", "# ")]
            continue
        command = line.removeprefix("$ ").replace("$receipt", receipt)
        lines += [("command", x) for x in folded(command, "127.0.0.1:6379> ", "    ")]
        answer = ask(port, shlex.split(command))
        if "DEQUEUE" in command:
            receipt = answer[-1].split('"')[1]
        lines += [("answer", y) for x in answer for y in folded(x, "", "   ")]
    return lines


def drawn(lines):
    height = TOP + LINE * len(lines) + 14
    at_s, parts = 0.6, []
    for i, (kind, line) in enumerate(lines):
        parts.append(f'<text x="{LEFT}" y="{TOP + LINE * i}" fill="{COLOURS[kind]}" class="l" '
                     f'style="animation-delay:{at_s:.2f}s" xml:space="preserve">{escape(line)}</text>')
        at_s += ANSWERED_S if kind == "answer" else TYPED_S
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
            'font-family="ui-monospace, DejaVu Sans Mono, monospace" font-size="13.5" role="img">\n'
            "<title>redis-cli talks to tupled</title>\n"
            f"<style>.l{{opacity:0;animation:show .15s forwards}}@keyframes show{{to{{opacity:1}}}}"
            f"@media (prefers-reduced-motion:reduce){{.l{{opacity:1;animation:none}}}}</style>\n"
            f'<rect width="{WIDTH}" height="{height}" rx="10" fill="#141a24"/>\n'
            + "".join(f'<circle cx="{22 + 18 * i}" cy="20" r="5.5" fill="{c}"/>'
                      for i, c in enumerate(("#ec6a5e", "#f4bf4f", "#61c554")))
            + "\n" + "\n".join(parts) + "\n</svg>\n")


def masked(text):
    """Without what is another one each time."""
    return re.sub(r'"[0-9a-f]{20,24}"|[0-9A-Za-z_-]{30,}', "?", text)


def main():
    if len(sys.argv) < 2 or sys.argv[2:] not in ([], ["check"]):
        sys.exit(__doc__)
    made = drawn(played(sys.argv[1]))
    if sys.argv[2:]:
        with open(TARGET, encoding="utf-8") as f:
            if masked(f.read()) != masked(made):
                sys.exit(f"recording: {TARGET} is not what a server says today: tools/recording.py <port> draws it anew")
        return
    with open(TARGET, "w", encoding="utf-8") as f:
        f.write(made)


main()

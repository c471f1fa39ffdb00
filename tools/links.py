#!/usr/bin/env python3
"""Whether every link of the documents leads somewhere: to a file of the repository, and to a heading of it.
Links to other hosts are not followed. Usage: tools/links.py   (ends with 1 when one is wrong, or there is none)"""

import os
import re
import subprocess
import sys

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
LINK = re.compile(r"\]\(([^)\s]+)\)")


def text_of(path):
    """Without blocks of code, which may hold what looks like a link or a heading."""
    with open(path, encoding="utf-8") as f:
        return re.sub(r"^```.*?^```", "", f.read(), flags=re.S | re.M)


def anchors_of(path):
    """As GitHub makes them of headings."""
    found = set()
    for title in re.findall(r"^#+ (.*)", text_of(path), flags=re.M):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title.strip().lower())
        found.add(re.sub(r"[^\w\- ]", "", title).replace(" ", "-"))
    return found


def fault_of(page, link):
    path, _, anchor = link.partition("#")
    target = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
    if not os.path.exists(target):
        return "no such file"
    if anchor and target.endswith(".md") and anchor not in anchors_of(target):
        return "no such heading"
    return None


pages = subprocess.run(["git", "ls-files", "*.md"], capture_output=True, text=True, check=True).stdout.split()
count = faults = 0
for page in pages:
    for link in LINK.findall(text_of(page)):
        if re.match(r"[a-z]+:", link):
            continue
        count += 1
        fault = fault_of(page, link)
        if fault is not None:
            faults += 1
            print(f"{page}: {link}: {fault}")
if count == 0:
    print("links: no links are found")
sys.exit(1 if faults or count == 0 else 0)

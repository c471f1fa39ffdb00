#!/usr/bin/env python3
"""Whether every link of the documents leads somewhere: to a file of the repository, and to a heading of it.
Links to other hosts are not followed. Usage: tools/links.py   (ends with 1 when one is wrong, or there is none)"""

import os
import re
import subprocess
import sys

from markdown_pages import FENCE, LINK, anchor

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))


def text_of(path):
    """Without blocks of code, which may hold what looks like a link or a heading."""
    with open(path, encoding="utf-8") as f:
        return FENCE.sub("", f.read())


def anchors_of(path):
    return {anchor(title) for title in re.findall(r"^#+ (.*)", text_of(path), flags=re.M)}


def fault_of(page, link):
    path, _, place = link.partition("#")
    target = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
    if not os.path.exists(target):
        return "no such file"
    if place and target.endswith(".md") and place not in anchors_of(target):
        return "no such heading"
    return None


pages = subprocess.run(["git", "ls-files", "*.md"], capture_output=True, text=True, check=True).stdout.split()
count = faults = 0
for page in pages:
    for _, link, _ in LINK.findall(text_of(page)):
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

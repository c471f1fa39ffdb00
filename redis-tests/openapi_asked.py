#!/usr/bin/env python3
"""Which operations of an OpenAPI document (standard input), below a path, were never answered with 2xx?

    openapi_asked.py <path> <file with lines: method, path below it, status>
"""
import json
import re
import sys

below, asked = sys.argv[1:]
good = []
with open(asked, encoding="utf-8") as f:
    for line in f:
        method, path, status = line.rstrip("\n").split(" ")
        if status.startswith("2"):
            good.append((method.lower(), below + path.split("?")[0]))

missing = []
for path, operations in json.load(sys.stdin)["paths"].items():
    if not path.startswith(below + "/"):
        continue
    pattern = re.compile(re.sub(r"\\\{key\\\}", ".+", re.sub(r"\\\{(?!key)\w+\\\}", "[^/]+", re.escape(path))))
    for method in operations:
        if not any(m == method and pattern.fullmatch(p) for m, p in good):
            missing.append(f"{method} {path}")

print("\n".join(missing))
sys.exit(1 if missing else 0)

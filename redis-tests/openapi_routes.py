#!/usr/bin/env python3
"""Is an OpenAPI document (standard input) true of the server at a URL? Each operation answers something else than
404 and 405 of a route that is not there; a member that a body does not know is refused; one that must be there is
missed.

    openapi_routes.py <base URL>
"""
import json
import sys
import urllib.error
import urllib.request

base = sys.argv[1]
document = json.load(sys.stdin)
wrong = []


def ask(method, path, body=None):
    request = urllib.request.Request(base + path, method=method.upper(), data=body)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, ""
    except urllib.error.HTTPError as e:
        return e.code, e.read().decode()


for path, operations in document["paths"].items():
    for method, operation in operations.items():
        place = path.replace("{path}", "openapi/x").replace("{id}", "000000000000000100000000")
        place = place.replace("{key}", "openapi/x").replace("{queue}", "openapi").replace("{name}", "openapi")
        what = f"{method} {path}"
        status, text = ask(method, place + "?nosuch=1")
        if status != 400 or "nosuch" not in text:
            wrong.append(f"{what}: an unknown parameter gets {status} {text}")
        schema = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
        if "properties" not in schema:
            continue
        status, text = ask(method, place, b'{"nosuch":1}')
        if status != 400 or "nosuch" not in text:
            wrong.append(f"{what}: an unknown member gets {status} {text}")
        status, text = ask(method, place, json.dumps({name: [] for name in schema["properties"]}).encode())
        if "which is not known here" in text:
            wrong.append(f"{what}: its own member gets {text}")
        if schema["required"]:
            status, text = ask(method, place, b"{}")
            if status != 400:
                wrong.append(f"{what}: without {schema['required']} it gets {status} {text}")

print("\n".join(wrong))
sys.exit(1 if wrong else 0)

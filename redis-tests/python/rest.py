"""requests (HTTP/1.1) and httpx (HTTP/2) over REST as user alice:secret: `ok - name` or `not ok - name` for each case.

    rest.py <url of the server>
"""
import json
import sys
import threading
import traceback

import httpx
import requests

URL = sys.argv[1]
BASE = URL + "/keyval/api"
AUTH = ("alice", "secret")
failures = 0


def test(name, run):
    global failures
    try:
        run()
        print(f"ok - {name}")
    except Exception:
        failures += 1
        print(f"not ok - {name}")
        print("  " + traceback.format_exc().replace("\n", "\n  "))


def scenario(session, name):
    """The same for both libraries."""
    value = {"text": "Grüße", "n": 2**53 + 1}

    def entries():
        put = session.put(f"{BASE}/keys/{name}/1", content_json(value), auth=AUTH)
        assert put.status_code == 200 and put.json()["ok"], put.text
        got = session.get(f"{BASE}/keys/{name}/1", auth=AUTH).json()
        assert got["key"] == [name, "1"] and got["value"]["text"] == "Grüße", got
        assert got["value"]["n"] == {"$bigint": str(2**53 + 1)}, got
        assert session.get(f"{BASE}/keys/{name}/none", auth=AUTH).status_code == 404

    def conflict():
        stamp = session.get(f"{BASE}/keys/{name}/1", auth=AUTH).json()["versionstamp"]
        body = {"checks": [{"key": [name, "1"], "versionstamp": stamp}],
                "mutations": [{"type": "set", "key": [name, "1"], "value": 1}]}
        assert session.post(f"{BASE}/atomic", json=body, auth=AUTH).json()["ok"] is True
        assert session.post(f"{BASE}/atomic", json=body, auth=AUTH).json() == {"ok": False}

    def refused():
        assert session.get(f"{BASE}/keys/{name}/1").status_code == 401
        assert session.get(f"{BASE}/keys/{name}/1", auth=("alice", "wrong")).status_code == 401

    def long_answer():
        session.put(f"{BASE}/keys/{name}/long", content_json("x" * 200000), auth=AUTH)
        got = session.get(f"{BASE}/keys/{name}/long", auth=AUTH)
        assert got.headers["content-encoding"] == "gzip" and len(got.json()["value"]) == 200000

    test(f"{name}: entries", entries)
    test(f"{name}: a conflict", conflict)
    test(f"{name}: nobody gets nothing", refused)
    test(f"{name}: a long answer is compressed", long_answer)


def content_json(value):
    return json.dumps(value).encode()


class Httpx:
    """httpx calls the body `content`."""

    def __init__(self, client):
        self.client = client

    def put(self, url, body, auth):
        return self.client.put(url, content=body, auth=auth)

    def get(self, url, auth=None):
        return self.client.get(url, auth=auth)

    def post(self, url, json, auth):
        return self.client.post(url, json=json, auth=auth)


def many_streams(client):
    def run():
        versions = set()
        errors = []

        def one(i):
            try:
                put = client.put(f"{BASE}/keys/many/{i}", content=str(i), auth=AUTH)
                got = client.get(f"{BASE}/keys/many/{i}", auth=AUTH)
                assert put.status_code == 200 and got.json()["value"] == i, got.text
                versions.add(got.http_version)
            except Exception as e:
                errors.append(e)

        threads = [threading.Thread(target=one, args=(i,)) for i in range(50)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert not errors, errors[0]
        assert versions == {"HTTP/2"}, versions

    test("httpx: fifty at a time over one connection", run)


def metrics():
    """Both forms, and what prometheus_client thinks of them is metrics_parse.py's to say."""
    text = requests.get(URL + "/metrics", auth=AUTH)
    assert text.status_code == 200 and "tupled_http_requests_total" in text.text
    assert text.headers["content-type"].startswith("text/plain; version=0.0.4")
    with open(sys.argv[2], "w", encoding="utf-8") as f:
        f.write(text.text)
    more = requests.get(URL + "/metrics", auth=AUTH, headers={"Accept": "application/openmetrics-text"})
    assert more.headers["content-type"].startswith("application/openmetrics-text")
    with open(sys.argv[3], "w", encoding="utf-8") as f:
        f.write(more.text)


scenario(requests.Session(), "requests")
with httpx.Client(http1=False, http2=True, timeout=20) as http2:
    scenario(Httpx(http2), "httpx")
    many_streams(http2)
test("metrics in both forms", metrics)
sys.exit(1 if failures else 0)

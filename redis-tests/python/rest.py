"""requests (HTTP/1.1) and httpx (HTTP/2) over REST as user alice:secret: `ok - name` or `not ok - name` for each case.

    rest.py <url of the server>
"""
import asyncio
import json
import sys
import traceback
import urllib.parse

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

    def typed():
        """Typed REST: keys as the library quotes them, versionstamps as entity tags, MessagePack."""
        url = f"{BASE}/kv/entries/" + urllib.parse.quote(f"{name}/#1/a%2fb", safe="")
        put = session.put(url, content_json(value), auth=AUTH, headers={"If-None-Match": "*"})
        assert put.status_code == 200, put.text
        tag = put.headers["etag"]
        assert tag == '"' + put.json()["versionstamp"] + '"', put.headers
        assert session.put(url, b"1", auth=AUTH, headers={"If-None-Match": "*"}).status_code == 412
        got = session.get(url, auth=AUTH)
        assert got.headers["etag"] == tag and got.json()["text"] == "Grüße", got.text
        assert session.get(url, auth=AUTH, headers={"If-None-Match": tag}).status_code == 304
        packed = session.get(url, auth=AUTH, headers={"Accept": "application/msgpack"})
        assert packed.headers["content-type"] == "application/msgpack" and packed.content[0] == 0x82, packed.content
        again = session.put(url, packed.content, auth=AUTH,
                            headers={"If-Match": tag, "Content-Type": "application/msgpack"})
        assert again.status_code == 200 and session.get(url, auth=AUTH).json() == got.json(), again.text
        page = session.get(f"{BASE}/kv/entries?prefix={name}/%231", auth=AUTH).json()
        assert [e["key"] for e in page["entries"]] == [[name, 1, "a/b"]], page
        body = {"checks": [{"key": [name, 1, "a/b"], "versionstamp": tag.strip('"')}],
                "enqueues": [{"queue": name, "value": 1}]}
        assert session.post(f"{BASE}/kv/atomic", json=body, auth=AUTH).status_code == 409

    def leases():
        queue = f"{BASE}/kv/queues/{name}"
        enqueued = session.post(f"{queue}/messages", json={"value": {"n": 1}}, auth=AUTH).json()
        taken = session.post(f"{queue}/lease", json={"wait": 5000}, auth=AUTH).json()["messages"]
        assert [m["id"] for m in taken] == [enqueued["id"]], taken
        receipt = {"receipt": taken[0]["receipt"]}
        assert session.post(f"{queue}/ack", json=receipt, auth=AUTH).json() == {"ok": True}
        assert session.post(f"{queue}/ack", json=receipt, auth=AUTH).json() == {"ok": False}

    def refused():
        assert session.get(f"{BASE}/keys/{name}/1").status_code == 401
        assert session.get(f"{BASE}/keys/{name}/1", auth=("alice", "wrong")).status_code == 401

    def long_answer():
        session.put(f"{BASE}/keys/{name}/long", content_json("x" * 200000), auth=AUTH)
        got = session.get(f"{BASE}/keys/{name}/long", auth=AUTH)
        assert got.headers["content-encoding"] == "gzip" and len(got.json()["value"]) == 200000

    test(f"{name}: entries", entries)
    test(f"{name}: a conflict", conflict)
    test(f"{name}: typed entries", typed)
    test(f"{name}: leases", leases)
    test(f"{name}: nobody gets nothing", refused)
    test(f"{name}: a long answer is compressed", long_answer)


def content_json(value):
    return json.dumps(value).encode()


class Httpx:
    """httpx calls the body `content`."""

    def __init__(self, client):
        self.client = client

    def put(self, url, body, auth, headers=None):
        return self.client.put(url, content=body, auth=auth, headers=headers)

    def get(self, url, auth=None, headers=None):
        return self.client.get(url, auth=auth, headers=headers)

    def post(self, url, json, auth):
        return self.client.post(url, json=json, auth=auth)


def many_streams():
    """By tasks: threads of one httpx.Client open streams out of order, which HTTP/2 forbids."""

    async def one(client, i):
        put = await client.put(f"{BASE}/keys/many/{i}", content=str(i), auth=AUTH)
        got = await client.get(f"{BASE}/keys/many/{i}", auth=AUTH)
        assert put.status_code == 200 and got.json()["value"] == i, got.text
        return got.http_version

    async def all_of_them():
        async with httpx.AsyncClient(http1=False, http2=True, timeout=100) as client:
            return set(await asyncio.gather(*(one(client, i) for i in range(50))))

    def run():
        versions = asyncio.run(all_of_them())
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
with httpx.Client(http1=False, http2=True, timeout=100) as http2:
    scenario(Httpx(http2), "httpx")
many_streams()
test("metrics in both forms", metrics)
sys.exit(1 if failures else 0)

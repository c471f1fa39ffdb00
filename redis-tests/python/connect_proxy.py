"""A KV Connect service that fails as it is told, before a good one.

    connect_proxy.py <port of the good one> <log> <metadata> <reads>

Prints its own port. <metadata> and <reads> are words with commas, one for each request as it comes; when
they are used up all is well. A word may have a count before it: 3*503. The log has a line for each
request: what it was, and the word.

    ok            as the good one answers
    503           that status, any
    token         400 as of a token that is no good
    drop          the connection ends without an answer
    cut           ... in the middle of one
    slow          the answer comes in small pieces
    metadata: v1 v2 (the client speaks no more), version4, weak (no strong endpoint), down (an endpoint of another
              host), expired (in the past), short (in a second), other (another database), garbage
    reads:    garbage, weak (not the newest state), failed (status 0), disabled, repeat (the entries of the read before)
"""
import datetime
import http.client
import http.server
import json
import sys
import threading
import time

good, log = int(sys.argv[1]), open(sys.argv[2], "a", buffering=1)
lock = threading.Lock()
last = b""


def words(text):
    out = []
    for word in filter(None, text.split(",")):
        count, _, name = word.rpartition("*")
        out += [name] * int(count or 1)
    return out


plans = {"metadata": words(sys.argv[3]), "read": words(sys.argv[4])}


def ask(path, headers, body):
    c = http.client.HTTPConnection("127.0.0.1", good)
    c.request("POST", path, body, headers)
    r = c.getresponse()
    out = r.status, r.read(), r.getheader("content-type", "text/plain")
    c.close()
    return out


def after(seconds):
    t = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)
    return t.isoformat()  # with an offset, and microseconds


def change_metadata(word, body):
    if word == "garbage":
        return b'{"version":'
    m = json.loads(body)
    if word == "version4":
        m["version"] = 4
    if word == "weak":
        m["endpoints"][0]["consistency"] = "eventual"
    if word == "down":
        m["endpoints"] = [{"url": "ftp://127.0.0.1/v2", "consistency": "strong"}]
    if word == "expired":
        m["expiresAt"] = after(-100)
    if word == "short":
        m["expiresAt"] = after(1)
    if word == "other":
        m["databaseId"] = "00000000-0000-4000-8000-000000000000"
    m["more"] = {"is": ["passed over"]}
    m["endpoints"].insert(0, {"url": "http://127.0.0.1:1/", "consistency": "eventual"})
    return json.dumps(m, indent=1).encode()


def change_read(word, body):
    global last
    before, last = last, body
    tail = b"\x20\x01\x40\x01"  # read_is_strongly_consistent, status 1
    if word == "garbage":
        return b"\x0a\xff"
    if word == "weak":
        return body.removesuffix(tail) + b"\x40\x01"
    if word == "failed":
        return body.removesuffix(tail) + b"\x20\x01"
    if word == "disabled":
        return b"\x40\x02"
    if word == "repeat":
        return before
    return body


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def send(self, status, kind, body, word):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if word == "cut":
            self.wfile.write(body[: len(body) // 2])
            self.close_connection = True
        elif word == "slow":
            for at in range(0, 20):
                self.wfile.write(body[at : at + 1])
                time.sleep(0.02)
            self.wfile.write(body[20:])
        else:
            self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        what = "read" if self.path.endswith("/snapshot_read") else "metadata"
        with lock:
            word = plans[what].pop(0) if plans[what] else "ok"
            print(what, word, self.headers.get("x-denokv-version", "-"), file=log)
        if word == "drop":
            self.close_connection = True
            return
        if word == "token":
            self.send(400, "application/json", b'{"code":"invalidAuthorizationHeader"}', word)
            return
        if word.isdigit():
            self.send(int(word), "text/plain", b"told to\n", word)
            return
        if word in ("v1", "v2"):
            body = b'{"supportedVersions":[%s]}' % word[1:].encode()
        status, answer, kind = ask(self.path, {k: v for k, v in self.headers.items() if k.lower() != "content-length"}, body)
        if status == 200 and what == "metadata":
            answer = change_metadata(word, answer)
        if status == 200 and what == "read":
            with lock:
                answer = change_read(word, answer)
        self.send(status, kind, answer, word)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()

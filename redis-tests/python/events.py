"""A client of server-sent events that never misses one: it takes the stream below a prefix up again with Last-Event-ID, at
any of the servers, and prints the value of each change, one a line, until one is "end".

    events.py <prefix> <password> <url>...
"""
import base64
import http.client
import json
import sys
import time
import urllib.parse

prefix, password, urls = sys.argv[1], sys.argv[2], sys.argv[3:]
login = base64.b64encode(f"default:{password}".encode()).decode()
last = None
at = 0


def events(answer):
    """Name, id and data of each, as the HTML standard says (9.2.6)."""
    name, id, data = "message", None, []
    for line in answer:
        text = line.decode().rstrip("\r\n")
        if text == "":
            if data:
                yield name, id, "\n".join(data)
            name, id, data = "message", None, []
        elif text.startswith("event: "):
            name = text[7:]
        elif text.startswith("id: "):
            id = text[4:]
        elif text.startswith("data: "):
            data.append(text[6:])


while True:
    url = urllib.parse.urlsplit(urls[at % len(urls)])
    headers = {"Authorization": "Basic " + login, "Accept": "text/event-stream"}
    if last is not None:
        headers["Last-Event-ID"] = last
    try:
        connection = http.client.HTTPConnection(url.hostname, url.port, timeout=20)
        connection.request("GET", f"/keyval/api/watch/prefix?prefix={prefix}", headers=headers)
        answer = connection.getresponse()
        if answer.status != 200:
            raise OSError(f"status {answer.status}: {answer.read()[:200]}")
        for name, id, data in events(answer):
            last = id if id is not None else last
            if name == "stale":
                print("stale", flush=True)
            if name != "change":
                continue
            for entry in json.loads(data):
                print(entry["value"], flush=True)
                if entry["value"] == "end":
                    sys.exit(0)
        raise OSError("the stream ended")
    except (OSError, http.client.HTTPException) as e:
        print(f"{time.strftime('%X')} {url.netloc}: {e}", file=sys.stderr, flush=True)
        at += 1
        time.sleep(0.1)

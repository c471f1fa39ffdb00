"""A client that lives through a restart of the server: writes, waits for the word `go` on standard
input (the server is back by then), and goes on with the same client object.

usage: reconnect.py <port>
"""

import sys

import redis


def main():
    client = redis.Redis(host="127.0.0.1", port=int(sys.argv[1]), decode_responses=True)
    client.execute_command("KV.SET", '["before"]', 1)
    print("ready", flush=True)
    assert sys.stdin.readline().strip() == "go"
    assert client.execute_command("KV.GET", '["before"]') == "1"
    assert client.execute_command("KV.SUM", '["before"]', 1)[0] == "2"
    print("done", flush=True)


if __name__ == "__main__":
    main()

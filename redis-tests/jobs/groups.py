"""What Redis says of a stream's group when all is done."""

import redis

import common
import effects


def check_acknowledged(stream, group):
    """Also when the server is killed once more: all entries were delivered, and none is pending."""
    client = redis.Redis.from_url(effects.url, decode_responses=True)
    common.until(lambda: client.xpending(stream, group)["pending"] == 0, "nothing is pending")
    for _ in range(2):
        about, (info,) = client.xinfo_stream(stream), client.xinfo_groups(stream)
        assert client.xpending(stream, group)["pending"] == 0
        assert info["pending"] == 0 and info["lag"] == 0, info
        assert about["length"] == about["entries-added"] == info["entries-read"] >= 1000, (about, info)
        assert info["last-delivered-id"] == about["last-generated-id"], (about, info)
        assert sum(each["pending"] for each in client.xinfo_consumers(stream, group)) == 0
        common.kill_and_start()

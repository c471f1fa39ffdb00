"""scrapy-redis: its scheduler, queues and filter of what was seen, without a crawl."""

import scrapy
from scrapy.settings import Settings
from scrapy_redis.dupefilter import RFPDupeFilter
from scrapy_redis.queue import FifoQueue, LifoQueue, PriorityQueue
from scrapy_redis.scheduler import Scheduler

import common
from common import kill_and_start, port, step

common.name = "scrapy-redis"


class Spider(scrapy.Spider):
    name = "shop"

    def parse_item(self, response):
        pass


def make_settings(**more):
    kind = "scrapy_redis.dupefilter.RFPDupeFilter"
    return Settings({"REDIS_URL": f"redis://127.0.0.1:{port}/4", "DUPEFILTER_CLASS": kind, **more})


spider = Spider()
spider.settings = make_settings()
PERSIST = {"SCHEDULER_PERSIST": True}


def open_scheduler(**more):
    scheduler = Scheduler.from_settings(make_settings(**more))
    scheduler.open(spider)
    return scheduler


def request(number, **more):
    return scrapy.Request(f"https://shop.example/items?b=2&a={number}", **more)


def urls(requests):
    return [each.url for each in requests]


def take_all(queue):
    taken = []
    while (each := queue.pop()) is not None:
        taken.append(each)
    return taken


server = open_scheduler(**PERSIST).server


@step("600 requests are there once after kill -9 of the server, in the order of their priorities")
def _():
    scheduler = open_scheduler(**PERSIST)
    for number in range(300):
        callback = spider.parse_item if number < 10 else None
        more = {"priority": number % 7, "meta": {"depth": number}}
        assert scheduler.enqueue_request(request(number, callback=callback, **more))
    scheduler.close("the server is to be killed")
    kill_and_start()
    scheduler = open_scheduler(**PERSIST)
    assert len(scheduler) == 300
    assert not any(scheduler.enqueue_request(request(number)) for number in range(0, 300, 5))
    for number in range(300, 600):
        assert scheduler.enqueue_request(request(number, priority=number % 7, meta={"depth": number}))
    first = [scheduler.next_request() for _ in range(200)]
    kill_and_start()
    scheduler = open_scheduler(**PERSIST)
    assert len(scheduler) == 400 and scheduler.has_pending_requests()
    taken = first + [scheduler.next_request() for _ in range(400)]
    assert scheduler.next_request() is None and not scheduler.has_pending_requests()
    assert sorted(each.meta["depth"] for each in taken) == list(range(600))
    assert [each.priority for each in taken] == sorted((number % 7 for number in range(600)), reverse=True)
    assert next(each for each in taken if each.meta["depth"] == 3).callback == spider.parse_item


@step("what was seen is seen, also after kill -9 and when it is written in another way")
def _():
    seen = RFPDupeFilter.from_spider(spider)
    assert server.scard("shop:dupefilter") == 600
    assert not seen.request_seen(request(0, method="POST", body=b"\x00\xff"))
    kill_and_start()
    assert seen.request_seen(request(0, method="POST", body=b"\x00\xff"))
    assert seen.request_seen(scrapy.Request("https://shop.example/items?a=0&b=2"))
    assert not seen.request_seen(request(0, method="POST"))


@step("a queue in order and one in the reverse of it, also by a pop that waits, over kill -9")
def _():
    for kind, key, turn in ((FifoQueue, "%(spider)s:first", 1), (LifoQueue, "%(spider)s:last", -1)):
        queue = kind(server, spider, key)
        for number in range(100):
            queue.push(request(number))
        kill_and_start()
        assert len(queue) == 100
        taken = [queue.pop(timeout=1) for _ in range(50)] + take_all(queue)
        assert urls(taken) == urls(map(request, range(100)))[::turn]
        assert queue.pop() is None
    assert queue.pop(timeout=1) is None


@step("a queue by priority is cleared")
def _():
    queue = PriorityQueue(server, spider, "%(spider)s:sorted")
    for number, priority in ((1, 0), (2, -5), (3, 10)):
        queue.push(request(number, priority=priority))
    assert urls([queue.pop()]) == urls([request(3)])
    queue.clear()
    assert len(queue) == 0 and queue.pop() is None


@step("a scheduler that does not persist leaves nothing")
def _():
    scheduler = open_scheduler(SCHEDULER_FLUSH_ON_START=True, SCHEDULER_QUEUE_CLASS="scrapy_redis.queue.LifoQueue")
    assert server.exists("shop:dupefilter") == 0
    assert scheduler.enqueue_request(request(1))
    scheduler.close("finished")
    assert list(server.scan_iter()) == []  # DBSIZE is exact only when the store has caught up after a kill -9


common.finish()

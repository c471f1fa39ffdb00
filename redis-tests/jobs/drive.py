"""1,000 jobs of one library of job queues, whose worker runs meanwhile; the server is killed among them.

usage: drive.py <port> <module of this folder> <directory for the effects>

A module has: name, command (starts the worker), enqueue(number), which gives a handle, result(handle),
None while there is none, errors (what enqueue raises while the server is away), and slots: how many jobs
its worker does at a time, or None when no job may be in flight at a kill, as the library would lose it.
It may have is_ready(), whether its worker runs, in_flight(), called before the kill when its slots are full,
start_chord(), which gives the handle of a chord, and more_steps(), which runs steps of its own after that.
"""

import importlib
import os
import signal
import subprocess
import sys
import threading
import time

import common

PATIENCE_S = 60  # without any progress: something hangs


class Worker:
    def __init__(self):
        with open(f"{home}/worker.log", "ab") as log:
            self.process = subprocess.Popen(
                library.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    def stop(self):
        """Its whole session, as some have processes of their own; taskiq's does not always end by itself."""
        self.process.terminate()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


class Sender(threading.Thread):
    """Enqueues jobs until each is acknowledged; it waits before the number `pause` until it may go on."""

    def __init__(self, numbers, pause=None):
        super().__init__(daemon=True)
        self.numbers, self.pause = numbers, pause
        self.paused, self.go_on = threading.Event(), threading.Event()
        self.error = None
        self.start()

    def run(self):
        try:
            for number in self.numbers:
                if number == self.pause:
                    self.paused.set()
                    self.go_on.wait()
                self.send(number)
        except Exception as error:
            self.error = error

    def send(self, number):
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                handles[number] = library.enqueue(number)
                return
            except library.errors:
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)

    def finish(self):
        self.join(PATIENCE_S * 2)
        assert not self.is_alive(), "jobs are enqueued"
        if self.error:
            raise self.error


def wait_for(count, wanted):
    """Until count() is what is wanted; it may take its time while it grows."""
    best, end = -1, 0
    while (now := count()) < wanted:
        if now > best:
            best, end = now, time.monotonic() + PATIENCE_S
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def find_results(numbers):
    for number in numbers:
        if number not in results and (found := library.result(handles[number])) is not None:
            results[number] = found
    return results.keys()


def wait_all(numbers):
    """Until the jobs have had their effect, and their results are there."""
    for what, find in (
        ("done", lambda: effects.numbers("done")),
        ("results", lambda: find_results(numbers)),
    ):
        if not wait_for(lambda: len(find() & set(numbers)), len(numbers)):
            raise AssertionError(f"{what}: these are missing: {sorted(set(numbers) - find())[:20]}")


def kill_among_sends(sender):
    assert sender.paused.wait(PATIENCE_S), "jobs are enqueued"
    sender.go_on.set()
    common.kill_and_start()


def check_results():
    wait_all(range(1000))
    assert results == {number: number + 1 for number in range(1000)}


def kill_with_jobs_in_flight():
    assert wait_for(getattr(library, "is_ready", lambda: True), True), "the worker starts"
    sender = Sender(range(1000), pause=600)
    assert wait_for(lambda: len(effects.numbers("waiting")), library.slots), "jobs in flight"
    getattr(library, "in_flight", lambda: None)()
    kill_among_sends(sender)
    effects.let_go()
    sender.finish()
    check_results()


def kill_between_jobs():
    global worker
    effects.let_go()
    Sender(range(300)).finish()
    wait_all(range(300))
    common.kill_and_start()
    Sender(range(300, 400)).finish()
    wait_all(range(400))
    worker.stop()
    common.kill_and_start()  # else a job may be handed to a connection of the worker that was
    sender = Sender(range(400, 1000), pause=700)
    kill_among_sends(sender)
    sender.finish()
    worker = Worker()
    check_results()


def chord():
    """The server is killed while part of a chord's header is done and part in flight."""
    effects.hold()
    before = len(effects.numbers("waiting"))
    handle = library.start_chord()
    is_waiting = lambda: len(effects.numbers("waiting")) - before
    assert wait_for(is_waiting, library.slots), "jobs in flight"
    common.kill_and_start()
    effects.let_go()
    assert wait_for(lambda: library.result(handle) is not None, True), "the chord ends"
    assert library.result(handle) == sum(number + 1 for number in range(1280, 1320))


def run():
    what = "1,000 jobs have their effect and their results over kill -9 of the server"
    if library.slots:
        common.step(f"{what}, with jobs in flight")(kill_with_jobs_in_flight)
    else:
        common.step(f"{what}, with no job in flight")(kill_between_jobs)
    if hasattr(library, "start_chord"):
        common.step("a chord, over kill -9 of the server")(chord)
    getattr(library, "more_steps", lambda: None)()


home = sys.argv[3]
os.environ.update(JOBS_HOME=home, JOBS_PORT=sys.argv[1])
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
import effects  # noqa: E402 (it reads the environment)

library = importlib.import_module(sys.argv[2])
common.name = library.name
handles, results = {}, {}
worker = Worker()
try:
    run()
finally:
    worker.stop()
if common.failures:
    with open(f"{home}/worker.log", encoding="utf-8", errors="replace") as log:
        print("its worker said:", *log.readlines()[-15:], file=sys.stderr)
common.finish()

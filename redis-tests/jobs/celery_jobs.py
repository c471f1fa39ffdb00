"""Celery: Redis as broker and as result store; late acknowledgement, which is at least once; a chord."""

import sys

from celery import Celery, chord
from kombu.exceptions import OperationalError

import effects

name = "Celery"
slots = 2
errors = (OperationalError,)
command = [sys.executable, "-m", "celery", "-A", "celery_jobs", "worker", "-c", str(slots)]
app = Celery("jobs", broker=f"{effects.url}/0", backend=f"{effects.url}/1")
app.conf.update(
    task_acks_late=True,
    # It fetches no more than it does: between its BRPOP and its HSET a message is nowhere.
    worker_prefetch_multiplier=1,
    broker_transport_options={
        "visibility_timeout": 3,
        "unacked_restore_interval": 1,
        "unacked_restore_throttle": 1,
    },
    broker_connection_retry_on_startup=True,
    result_backend_always_retry=True,
)


@app.task(name="double")
def double(number):
    return effects.perform(number)


@app.task(name="add")
def add(numbers):
    return sum(numbers)


def enqueue(number):
    return double.delay(number)


def result(handle):
    return handle.result if handle.successful() else None


def start_chord():
    """Its header is of jobs that are done at once, and of some that are held."""
    return chord(double.s(number) for number in range(1280, 1320))(add.s())

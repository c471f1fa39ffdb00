"""What a job does: it appends its number to a file, which no kill of the server can lose.

JOBS_HOME is a directory of the test: `done` has the numbers of the jobs that had their effect, `waiting`
those of jobs that wait: seven of ten do while the file `open` is not there.
"""

import asyncio
import os
import time

home = os.environ["JOBS_HOME"]
url = "redis://127.0.0.1:" + os.environ["JOBS_PORT"]


def append(name, number):
    with open(f"{home}/{name}", "ab", buffering=0) as file:
        file.write(b"%d\n" % number)


def numbers(name):
    try:
        with open(f"{home}/{name}", encoding="ascii") as file:
            return {int(line) for line in file}
    except FileNotFoundError:
        return set()


def is_held(number):
    return number % 1000 >= 300 and not os.path.exists(f"{home}/open")


def hold():
    os.remove(f"{home}/open")


def let_go():
    append("open", 0)


def perform(number):
    if is_held(number):
        append("waiting", number)
        while is_held(number):
            time.sleep(0.01)
    append("done", number)
    return number + 1


async def perform_async(number):
    if is_held(number):
        append("waiting", number)
        while is_held(number):
            await asyncio.sleep(0.01)
    append("done", number)
    return number + 1

"""For the programs of this folder: steps, and a server that is killed.

    @step("does this")    runs the function at once; prints `ok - name: does this` or `not ok`
    kill(), start()       the server is killed with -9, is there again
    finish()              ends the program
"""

import sys
import time
import traceback

port = int(sys.argv[1])
failures = 0
name = ""


def ask(what):
    print(f"ask {what}", flush=True)
    assert sys.stdin.readline() == "done\n"


def kill():
    ask("kill")


def start():
    ask("start")


def kill_and_start():
    kill()
    start()


def step(what):
    def run(act):
        global failures
        try:
            act()
            print(f"ok - {name}: {what}", flush=True)
        except Exception:
            failures += 1
            print(f"not ok - {name}: {what}", flush=True)
            print(traceback.format_exc(), flush=True)
        return act

    return run


def raises(kind, act, text=""):
    try:
        result = act()
    except kind as error:
        assert text in str(error), error
        return error
    raise AssertionError(f"{result!r} instead of {kind.__name__}")


def until(condition, what):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end, f"waited in vain until {what}"
        time.sleep(0.01)


def finish():
    sys.exit(1 if failures else 0)

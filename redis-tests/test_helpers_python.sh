#!/bin/bash
# The helpers for Python (clients/python): each feature over redis-py, kill -9 of the server under
# transactions, workers and live views, the page about them, and their types.
export HTTP=1
RELEASE=1 # it is the helpers that are tested here
. "$(dirname "$0")/server.sh"
. "$(dirname "$0")/libraries.sh"
. "$(dirname "$0")/connect.sh"

home=$PWD/clients/python
install_python || finish

start_server
export PYTHONDONTWRITEBYTECODE=1
talk 240 "$python" redis-tests/python/helpers.py "$port" "$home" include/tupled.h
stop_server

# It can be installed, with its types, and mypy has nothing to say.
install_mypy && {
    cp -r "$home" "$scratch/python"
    check "helpers for Python: mypy --strict" env -C "$scratch/python" "$mypy" --strict --cache-dir "$scratch/mypy"
    mkdir "$scratch/examples"
    python3 redis-tests/python/examples.py "$scratch/examples" clients/python/README.md docs/*.md
    check "helpers for Python: the examples of the pages, mypy --strict" env -C "$scratch/examples" MYPYPATH="$scratch/python" \
        "$mypy" --strict --cache-dir "$scratch/mypy" .
    check "which are some" test "$(cat "$scratch/examples"/*.py | grep -c '^[a-z_ ].*db')" -ge 40
    check "helpers for Python: what keys and values may have, mypy --strict" env MYPYPATH="$scratch/python" "$mypy" \
        --strict --warn-unused-ignores --cache-dir "$scratch/mypy" redis-tests/python/typed.py
    check "helpers for Python: they can be installed" "${mypy%/*}/pip" install -q --disable-pip-version-check --no-index \
        --no-deps --no-build-isolation --target "$scratch/installed" "$scratch/python"
    same "helpers for Python: with all that belongs to them" "$(cd "$home/tupled" && ls -- *.py py.typed)" \
        "$(cd "$scratch/installed/tupled" && ls -- *.py py.typed)"
}
finish

#!/bin/bash
# demo: starts a server on an empty directory, loads this machine's Debian package catalogue into it and
# asks about it; kills it twice on the way. Ends with 1 when an answer is wrong.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=$(mktemp -d)
server=
stop() {
    if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; fi
    rm -rf "$dir"
}
trap stop EXIT

if ! apt-cache dumpavail >"$dir/catalogue" 2>/dev/null || [ ! -s "$dir/catalogue" ]; then
    echo "demo: apt-cache has no catalogue here; run 'apt-get update' first" >&2
    exit 1
fi
export TUPLED_TEST_ANY_PORT=1 # --port 0 is any free one
# Starts build/tupled on the demo's directory; sets server and port.
start() {
    : >"$dir/log"
    # Unapplied longer than by default, so that the start after the kill has a journal to replay.
    build/tupled --dir "$dir/data" --port 0 --logfile "$dir/log" --memtable-size 256mb \
        --memtable-age 60000 &
    server=$!
    port=
    for _ in $(seq 100); do
        port=$(sed -n 's/.*ready to accept connections on .* port \([0-9]*\)$/\1/p' "$dir/log")
        [ -n "$port" ] && return
        kill -0 "$server" 2>/dev/null || break
        sleep 0.1
    done
    echo "demo: the server did not start:" >&2
    cat "$dir/log" >&2
    exit 1
}

start
echo "server   build/tupled on port $port, data in a temporary directory"
build/release/tests/demo/demo_catalogue "$port" <"$dir/catalogue"

crash() {
    kill -9 "$server"
    wait "$server" 2>/dev/null || true
    start
    recovered=$(sed -n 's/.*[*] \(recovered .*\)/\1/p' "$dir/log")
    echo "killed   with -9 and started again: ${recovered:-all was in the database file already}"
}

crash
build/release/tests/demo/demo_catalogue "$port" again <"$dir/catalogue"
build/release/tests/demo/demo_catalogue "$port" questions <"$dir/catalogue"

crash # the indexes are there after it, and right
build/release/tests/demo/demo_catalogue "$port" questions <"$dir/catalogue"

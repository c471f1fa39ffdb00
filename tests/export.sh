#!/bin/bash
# `make export`: a round trip of a large database through tupledctl, both formats, with kills of the import and of
# both servers on the way; the copies must have the digest of the original.
#   ENTRIES (1000000)   how many
# Release builds. Ends with 0 when every digest is the same, and prints what each step took.
set -u
cd "$(dirname "$0")/.." || exit 1
entries=${ENTRIES:-1000000}
scratch=$(mktemp -d) || exit 1
pids=()
declare -A port
end() {
    for pid in "${pids[@]}"; do kill -KILL "$pid" 2>/dev/null; done
    wait 2>/dev/null
    rm -rf "$scratch"
}
trap end EXIT
# serve <name>: a server on a port that stays its own over restarts; its pid in $served.
serve() {
    local tries
    : >"$scratch/$1.log"
    TUPLED_TEST_ANY_PORT=1 build/tupled --dir "$scratch/$1" --port "${port[$1]:-0}" --http-port 0 \
        --logfile "$scratch/$1.log" >/dev/null 2>&1 &
    served=$!
    pids+=("$served")
    for ((tries = 0; tries < 3000; tries++)); do
        port[$1]=$(sed -n 's/.*ready to accept connections on .* port \([0-9]*\)$/\1/p' "$scratch/$1.log")
        [ -z "${port[$1]}" ] || return 0
        sleep 0.01
    done
    echo "the server $1 does not start" >&2
    exit 1
}
ctl() { build/tupledctl -q -u "redis://127.0.0.1:${port[$1]}" "${@:2}"; }
# timed <what> <command>...
timed() {
    local from=$EPOCHREALTIME
    "${@:2}" || return 1
    awk -v a="$from" -v b="$EPOCHREALTIME" -v what="$1" -v n="$entries" \
        'BEGIN { printf "%-28s %6.1f s  %9.0f entries/s\n", what, b - a, n / (b - a) }'
}
awk -v n="$entries" 'BEGIN {
    srand(5)
    for (i = 0; i < n; i++) {
        pad = substr("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", 1, i % 80)
        printf "{\"key\":[\"users\",%d],\"value\":{\"id\":%d,\"name\":\"user %d\",\"tags\":[\"a\",\"b\",\"%d\"],", i, i, i, i % 97
        expires = i % 10 ? "" : sprintf(",\"expires\":%.0f", 4000000000000 + i)
        printf "\"score\":%.12f,\"note\":\"%s\"}%s}\n", rand(), pad, expires
    }
}' >"$scratch/lines.jsonl"

serve first
timed "import of JSON lines" ctl first import "$scratch/lines.jsonl" || exit 1
wanted=$(ctl first digest) || exit 1
timed "export, jsonl" ctl first export -o "$scratch/a.jsonl" || exit 1
timed "export, msgpack" ctl first export --format msgpack -o "$scratch/a.mp" || exit 1
timed "digest" ctl first digest >"$scratch/digest" || exit 1
tail -n 1 "$scratch/digest"
serve copy
timed "import, msgpack" ctl copy import "$scratch/a.mp" || exit 1
verdict=0
[ "$(ctl copy digest)" = "$wanted" ] || { echo "the copy by MessagePack is another"; verdict=1; }

# Killed again and again, the import or the server, until a call ends by itself.
serve killed
calls=0
while :; do
    calls=$((calls + 1))
    ctl killed import "$scratch/a.jsonl" 2>/dev/null &
    importer=$!
    sleep "0.$((RANDOM % 9 + 1))"
    if ! kill -0 "$importer" 2>/dev/null; then wait "$importer" && break; fi
    if ((RANDOM % 2)); then
        kill -KILL "$importer" 2>/dev/null
        wait "$importer" 2>/dev/null
    else
        kill -KILL "$served"
        wait "$served" 2>/dev/null
        wait "$importer"
        serve killed
    fi
done
echo "killed on the way: $((calls - 1)) times"
[ "$(ctl killed digest)" = "$wanted" ] || { echo "the copy that was killed is another"; verdict=1; }
[ "$verdict" -ne 0 ] || echo "all copies are equal: $(echo "$wanted" | paste -sd' ')"
exit "$verdict"

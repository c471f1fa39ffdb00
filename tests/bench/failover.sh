#!/bin/bash
# How long clients of a cluster cannot write: after kill -9 of the leading node, and after a clean stop of it. Three
# nodes on three PostgreSQL of this machine. A write is tried on all nodes in turn, every few milliseconds.
# Environment: TIMES (20, of each), LEASE (3000 ms), NODE_BIN (build/tupled).

set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/bench/release.sh
export LC_ALL=C
. tests/postgres/server.sh
. tests/postgres/cluster.sh
. tests/campaign/nodes.sh
pg_can || { echo "PostgreSQL is not installed"; exit 2; }
times=${TIMES:-20}
trap nodes_remove EXIT
trap 'exit 130' INT TERM
# Used by the library.
# shellcheck disable=SC2034
nodes_is_plain=1 nodes_options=(--lease "${LEASE:-3000}")
nodes_start || exit 2

measure() { # <name> <signal>
    local i begin took=()
    for ((i = 0; i < times; i++)); do
        # All nodes are there, and the beat is somewhere.
        sleep "$((1 + RANDOM % 2)).$((RANDOM % 900 + 100))"
        nodes_write || return
        nodes_leader || return
        begin=$(nodes_ms)
        nodes_signal "$leader" "$2"
        nodes_write || return
        took+=($(($(nodes_ms) - begin)))
    done
    printf '%s\n' "${took[@]}" | sort -n | awk -v name="$1" '
        { t[NR] = $1 }
        END {
            p50 = t[int((NR + 1) / 2)]
            p95 = t[int(NR * 0.95 + 0.5)]
            printf "| %s | %d | %d | %d | %d | %d |\n", name, NR, t[1], p50, p95, t[NR]
        }'
}

echo "| after | times | least ms | p50 ms | p95 ms | most ms |"
echo "| --- | --- | --- | --- | --- | --- |"
measure "kill -9" -KILL && measure "a clean stop" -TERM

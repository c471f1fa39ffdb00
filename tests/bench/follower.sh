#!/bin/bash
# GET of 50 clients, one command at a time and 16, of three nodes on three PostgreSQL: at the leader; at a node that stands
# by, which passes them on; and there after READONLY, right after it began to follow and later; alone, and while two clients
# write at the leader. All on this machine, in turn, ROUNDS times (3), SECONDS_EACH (4) each. Prints medians.

set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/bench/release.sh
export LC_ALL=C
. tests/postgres/server.sh
. tests/postgres/cluster.sh
. tests/campaign/nodes.sh
. tests/bench/medians.sh
pg_can || { echo "PostgreSQL is not installed"; exit 2; }
rounds=${ROUNDS:-3} seconds=${SECONDS_EACH:-4}
clients=build/release/tests/bench/bench_clients
[ -x "$clients" ] || { echo "make bench-build comes first"; exit 2; }
scratch=$(mktemp -d) || exit 2
writer=''
remove() {
    [ -z "$writer" ] || kill -KILL "$writer" 2>/dev/null
    nodes_remove
    rm -rf "$scratch"
}
trap remove EXIT
trap 'exit 130' INT TERM

# shellcheck disable=SC2034 # used by the library
nodes_is_plain=1
nodes_start || exit 2
nodes_leader || exit 2
lead=${nodes_port[leader]} other=${nodes_port[$((leader % 3 + 1))]}

all_three() { # what else goes on
    for depth in 1 16; do
        note "GET by $depth, $1: at the leader" "$("$clients" get "$lead" 50 $depth "$seconds")"
        note "GET by $depth, $1: passed on" "$("$clients" get "$other" 50 $depth "$seconds")"
        note "GET by $depth, $1: after READONLY" "$("$clients" read "$other" 50 $depth "$seconds")"
    done
}

"$clients" set "$lead" 50 16 2 >/dev/null
note "GET by 16, the first second of following: after READONLY" "$("$clients" read "$other" 50 16 1)"
for ((round = 0; round < rounds; round++)); do
    all_three alone
    "$clients" set "$lead" 2 1 $((6 * seconds + 60)) >/dev/null 2>&1 &
    writer=$!
    all_three "two clients write"
    kill -KILL "$writer"
    wait "$writer" 2>/dev/null
    writer=''
done

medians

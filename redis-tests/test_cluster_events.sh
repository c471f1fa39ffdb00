#!/bin/bash
# Streams of changes over nodes that end: server-sent events that are taken up with Last-Event-ID, and Deno's kv.watch.
# The leader is killed, it stops cleanly, PostgreSQL fails over; no change is missed, and none comes before an older one.

. "$(dirname "$0")/server.sh"
. tests/postgres/server.sh
. tests/postgres/cluster.sh
. tests/campaign/nodes.sh
. redis-tests/libraries.sh
. redis-tests/connect.sh

if ! pg_can; then
    skip "streams of several nodes" "PostgreSQL is not installed (package postgresql)"
    finish
fi
if ! command -v python3 >/dev/null; then
    skip "streams of several nodes" "there is no Python"
    finish
fi
readers=()
clean_up_all() {
    [ ${#readers[@]} = 0 ] || kill -KILL "${readers[@]}" 2>/dev/null
    nodes_remove
    clean_up
}
trap clean_up_all EXIT
export REDISCLI_AUTH=secret-token-123
count=0

# ask <node> <word>...: within the time that a node may take to answer.
ask() { timeout 10 redis-cli -p "${nodes_port[$1]}" "${@:2}" 2>/dev/null; }
# By one command: redis-cli connects anew between those of a transaction, and goes on outside of it.
write() { ask "$1" KV.ATOMIC IDEM "$2" SET "[\"w\",\"$2\"]" "$3" SET '["counter"]' "$3" | grep -qE '[0-9a-f]{20}'; }

# writes <n>: so many changes, each by another node, each again, with the same id, until it is acknowledged.
writes() {
    local end=$((count + $1)) tries node
    while [ "$count" -lt "$end" ]; do
        count=$((count + 1))
        for ((tries = 0; ; tries++)); do
            [ "$tries" -lt 600 ] || return 1
            node=$(((count + tries) % 3 + 1))
            write "$node" "$count" "$count" && break
            sleep 0.1
        done
    done
}

# What is written again, because its reply was lost or came too late, happens once.
in_order() { grep -xE '[0-9]+' "$scratch/$1" | sort -nc; }
# Of those that are missing: what the database holds.
whole() {
    local n missing
    missing=$(seq 1 "$count" | grep -vxFf <(grep -xE '[0-9]+' "$scratch/$1"))
    for n in $missing; do echo "missing: $n, in the database: $(ask 1 KV.GET "[\"w\",\"$n\"]")"; done
    [ -z "$missing" ]
}
until_told() { # file, value
    local end=$((SECONDS + 60))
    until grep -qx "$2" "$scratch/$1"; do
        [ "$SECONDS" -lt "$end" ] || { tail -n 3 "$scratch/$1" "$scratch/$1.err"; return 1; }
        sleep 0.05
    done
}
all_told() {
    local name
    for name in "${!readers[@]}"; do check "$1: ${names[name]} has all" until_told "${names[name]}" "$2"; done
}

for n in 1 2 3; do port_take "nodes_port[$n]" && port_take "nodes_http[$n]"; done
nodes_options=(--lease 3000 --requirepass secret-token-123)
nodes_start || { not_ok "three nodes on three PostgreSQL"; finish; }
nodes_leader
urls=() names=(events)
for n in 1 2 3; do urls+=("http://127.0.0.1:${nodes_http[n]}"); done
python3 redis-tests/python/events.py w secret-token-123 "${urls[@]}" >"$scratch/events" 2>"$scratch/events.err" &
readers=($!)
if install_deno; then
    # By a node that is not killed first: Deno knows one address.
    names+=(deno.out)
    "${deno_run[@]}" "$deno_home/count.mjs" "${urls[leader % 3]}/connect" >"$scratch/deno.out" 2>"$scratch/deno.out.err" &
    readers+=($!)
fi
# A stream begins with what changes from then on.
for ((begins = 1; begins < 600; begins++)); do
    write 1 "begin$begins" "\"begin$begins\""
    [ "$(grep -c begin "$scratch"/events)" = 0 ] || break
    sleep 0.1
done
check "the stream has begun" grep -q begin "$scratch/events"
check "changes are written" writes 20
all_told "with one leader" 20

nodes_signal "$leader" -KILL
check "the leader is killed" writes 40
all_told "kill -9" 60
nodes_leader
nodes_signal "$leader" -TERM
check "the leader stops cleanly" writes 40
all_told "a clean stop" 100
old=$pgc_lead
check "PostgreSQL fails over" nodes_fail_over
check "... under writes" writes 40
all_told "another server" 140
check "... the old one comes back" pgc_rejoin "$old"
until write 1 end '"end"'; do sleep 0.1; done
all_told "the end" end
check "events: not one is missing" whole events
check "... none is older than the one before" in_order events
same "... and the feed was never behind" 0 "$(grep -c stale "$scratch/events")"
[ ${#readers[@]} = 1 ] || check "Deno: none is older than the one before" in_order deno.out
for pid in "${readers[@]}"; do check "a reader ends by itself" timeout 20 tail --pid="$pid" -f /dev/null; done
readers=()
finish

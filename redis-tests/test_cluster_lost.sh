#!/bin/bash
# PostgreSQL loses what was acknowledged: a standby that had less is promoted, while nothing is written, and under load.
# What there is afterwards is one state of before, whole, and every node tells it. And nodes start while the first
# host is dead, silent, or hangs up.

. "$(dirname "$0")/server.sh"
. tests/postgres/server.sh
. tests/postgres/cluster.sh
. tests/campaign/nodes.sh

if ! pg_can; then
    skip "what PostgreSQL loses" "PostgreSQL is not installed (package postgresql)"
    finish
fi
writer=''
clean_up_all() {
    [ -z "$writer" ] || kill -KILL "$writer" 2>/dev/null
    nodes_remove
    clean_up
}
trap clean_up_all EXIT

cli() { timeout 30 redis-cli -p "${nodes_port[leader]}" "$@" 2>&1; }

# add <from> <to>: transactions of one entry and a sum, by one connection.
add() {
    local i
    for ((i = $1; i <= $2; i++)); do
        echo "KV.ATOMIC SET '[\"e\",$i]' 1 SUM '[\"c\"]' 1"
    done | cli | grep -cE '^"?[0-9a-f]{20}'
}

# The newest versionstamp, as a number of 2^40.
far() { echo $((16#$(cli KV.VERSION | tr -d '"' | cut -c1-16) >> 40)); }

# until_leads <epoch>: some node leads, in a later one, and takes a write.
until_leads() {
    local tries
    for ((tries = 0; tries < 600; tries++)); do
        if nodes_leader && [ "$(nodes_epoch)" -gt "$1" ] 2>/dev/null; then
            cli KV.SUM '["n"]' 1 | grep -qE '^"?[0-9a-f]{20}' && return
        fi
        sleep 0.1
    done
    return 1
}

# less: the third server gets nothing any more, and is then the only one that is left.
lose() {
    local old=$pgc_lead other=$((pgc_lead % 3 + 1)) last
    last=$((6 - old - other))
    nodes_proxy "drop $(nodes_upstream "$last")"
    "$@"
    pgc_kill "$other"
    nodes_fail_over "$last" || return
    nodes_proxy "pass $(nodes_upstream "$last")"
    pgc_rejoin "$old" && pgc_rejoin "$other" && pgc_wait_standbys 2
}

more() { acknowledged=$(($(add 201 400) + acknowledged)); }

nodes_options=(--lease 3000 --leader-wait 20000 --enable-debug-command yes)
nodes_start || { not_ok "three nodes on three PostgreSQL"; finish; }
acknowledged=$(add 1 200)
same "transactions are acknowledged" 200 "$acknowledged"
epoch=$(nodes_epoch)
same "no version is far above yet" 0 "$(far)"

lose more
same "more are, which only one standby has" 400 "$acknowledged"
check "idle: a standby that had less leads to another term" until_leads "$epoch"
same "... which has what there is, whole" "$(cli KV.COUNT PREFIX '["e"]')" "$(cli KV.GET '["c"]' | tr -d '"')"
check "... which is less than was acknowledged" test "$(cli KV.GET '["c"]' | tr -d '"')" -lt 400
check "... and goes on far above" test "$(far)" -ge 1
check "... and is told at every node" grep -q 'postgresql_noticed:.*epoch' <(for n in 1 2 3; do
    timeout 10 redis-cli -p "${nodes_port[n]}" INFO replication; done)
check "... and in a log" grep -qE 'another server than that of this term|has an older state|does not have' "$nodes_dir"/n?.log

epoch=$(nodes_epoch)
write_on() {
    local i
    for ((i = 1000; i < 100000; i++)); do
        [ ! -e "$scratch/enough" ] || return
        timeout 5 redis-cli -p "${nodes_port[RANDOM % 3 + 1]}" KV.ATOMIC SET "[\"e\",$i]" 1 SUM '["c"]' 1 >/dev/null 2>&1
    done
}
write_on &
writer=$!
lose sleep 1
check "under load: a standby that had less leads to another term" until_leads "$epoch"
: >"$scratch/enough"
wait "$writer"
writer=''
same "... which has what there is, whole" "$(cli KV.COUNT PREFIX '["e"]')" "$(cli KV.GET '["c"]' | tr -d '"')"
check "... and goes on far above" test "$(far)" -ge 2
cli KV.VERIFY START >/dev/null
for ((i = 0; i < 500; i++)); do [ "$(cli KV.VERIFY STATUS | sed -n 2p)" = running ] && sleep 0.02 || break; done
same "... and is good" good "$(cli KV.VERIFY STATUS | sed -n 2p)"

# ---- the first host is dead ----
nodes_are_restarted() {
    local n
    epoch=$(nodes_epoch)
    for n in 1 2 3; do nodes_signal "$n" -KILL; done
    until_leads "$epoch"
}
first=1
[ "$pgc_lead" != 1 ] || nodes_fail_over || not_ok "the first one is no primary"
check "nodes go on" until_leads 0
for n in 1 2 3; do nodes_proxy "drop $(nodes_way "$n" "$first")"; done
check "nodes start while the first host is silent" nodes_are_restarted
for n in 1 2 3; do nodes_proxy "pass $(nodes_way "$n" "$first")"; done
pgc_kill "$first"
check "nodes start while the first host's port takes connections and closes them" nodes_are_restarted
finish

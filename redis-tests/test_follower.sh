#!/bin/bash
# A node that stands by answers the reads of who says READONLY, of what it has of the leader's commits: whole states, in
# order (docs/cluster.md).

. "$(dirname "$0")/server.sh"
. redis-tests/postgres.sh

if ! pg_can; then
    skip "nodes on PostgreSQL" "PostgreSQL is not installed (package postgresql)"
    finish
fi
export NODE_BIN=$PWD/build/asan/tupled
options=(--lease 3000 --postgresql-durability provider --leader-wait 10000 --memtable-size 1mb --memtable-age 20
    --cache-size 1mb)

pg_start || { not_ok "PostgreSQL starts"; exit 1; }
for n in 1 2; do
    node_start "$n" "${options[@]}"
    if [ "$n" = 1 ]; then node_ready 1; else node_says "$n" 'standing by: node1/.* leads'; fi || exit 1
    node_listens "$n"
done

follow() { # words of one command each, to node 2 after READONLY; without its OK
    printf '%s\n' READONLY "$@" | timeout 30 redis-cli -p "${node_port[2]}" | sed 1d
}
newest() { node 1 KV.VERSION; }
until_followed() { # node 2 has what the leader has
    local version i
    version=$(newest)
    for ((i = 0; i < 500; i++)); do
        [[ $(follow KV.VERSION) < $version ]] || return 0
        sleep 0.02
    done
    return 1
}

# ---- which commands --------------------------------------------------------------------------------

node 1 SET a 1 >/dev/null
node 1 KV.SET '["u",1]' '{"x":1}' >/dev/null
node 1 KV.SET '["u",2]' '{"x":2}' >/dev/null
node 1 KV.INDEX CREATE by_x PREFIX '["u"]' ON 1 x >/dev/null
node 1 KV.DB CREATE other >/dev/null
printf '%s\n' 'SELECT other' 'SET a 7' | node 1 >/dev/null
check "a node follows from its start on, before a client asks" node_says 2 "this node follows the leader's commits"
same "READONLY" OK "$(node 2 READONLY)"
check "the first read waits until the node follows" until_followed
same "GET" 1 "$(follow 'GET a')"
same "it is answered here: so says ROLE" slave "$(follow ROLE | head -n 1)"
same "... which names the leader" "127.0.0.1 ${node_port[1]} connected" "$(follow ROLE | sed -n '2,4p' | xargs)"
check "INFO is the node's too" grep -q 'role:slave' <(follow 'INFO replication')
same "KV.VERSION is that of what it has" "$(newest)" "$(follow KV.VERSION)"
same "MGET, EXISTS, STRLEN, TYPE" $'1\n\n1\n1\nstring' "$(follow 'MGET a none' 'EXISTS a' 'STRLEN a' 'TYPE a')"
check "KV.LIST" grep -q '{"x":2}' <(follow "KV.LIST PREFIX '[\"u\"]'")
check "KV.FIND" grep -q '{"x":2}' <(follow "KV.FIND by_x 2")
same "KV.COUNT" 2 "$(follow "KV.COUNT PREFIX '[\"u\"]'")"
same "another database" $'OK\n7' "$(follow 'SELECT other' 'GET a')"
same "MULTI" $'OK\nQUEUED\nQUEUED\n1\n2' "$(follow MULTI 'GET a' "KV.COUNT PREFIX '[\"u\"]'" EXEC)"
same "... with a write is refused" "TRYAGAIN this node is not the leader: after READONLY, MULTI may only read here" \
    "$(follow MULTI 'SET a 2' | sed -n 2p)"
same "... and has not happened" 1 "$(node 1 GET a)"
same "READWRITE: the leader answers" $'slave\nOK\nmaster' "$(follow ROLE READWRITE ROLE | grep -E 'slave|master|OK')"
same "RESET ends it" $'slave\nRESET\nmaster' "$(follow ROLE RESET ROLE | grep -E 'slave|master|RESET')"
same "a write goes to the leader, and the connection with it" $'slave\nOK\nmaster' \
    "$(follow ROLE 'SET b 1' ROLE | grep -E 'slave|master|OK')"
same "what time ends is not there" 0 "$(node 1 SET brief 1 PX 50 >/dev/null && until_followed && sleep 0.1 &&
    follow 'EXISTS brief')"

# ---- changes while it follows ----------------------------------------------------------------------

node 1 KV.INDEX CREATE by_y PREFIX '["v"]' ON 1 y >/dev/null
node 1 KV.SET '["v",1]' '{"y":"z"}' >/dev/null
node 1 KV.DB CREATE third >/dev/null
until_followed
check "a new index" grep -q '{"y":"z"}' <(follow "KV.FIND by_y '\"z\"'")
same "a new database" OK "$(follow 'SELECT third')"
printf '%s\n' 'SELECT other' FLUSHDB | node 1 >/dev/null
until_followed
same "what was flushed is gone" $'OK\n0' "$(follow 'SELECT other' 'EXISTS a')"

# ---- under load ------------------------------------------------------------------------------------

# Two numbers whose sum stays the same, among keys that fill memtables, which the leader applies meanwhile.
awk 'BEGIN {
    pad = sprintf("%2000s", ""); gsub(/ /, "x", pad)
    for (i = 1; i <= 3000; i++)
        printf "MULTI\nSET up %d\nSET pad%d %s\nSET down %d\nEXEC\n", i, i % 300, pad, 3000 - i
}' >"$scratch/writes"
node 1 MSET up 0 down 3000 >/dev/null
until_followed
(timeout 100 redis-cli -p "${node_port[1]}" <"$scratch/writes" >/dev/null) &
writer=$!
: >"$scratch/sums"
while kill -0 $writer 2>/dev/null; do
    printf 'READONLY\n%s' "$(for ((i = 0; i < 50; i++)); do printf '%s\n' MULTI 'GET up' 'GET down' EXEC; done)" |
        timeout 30 redis-cli -p "${node_port[2]}" | sed 1d | grep -v -E '^(OK|QUEUED)$' | paste - - >>"$scratch/sums"
    follow 'KEYS pad*' | sort | uniq -d >>"$scratch/twice"
done
wait $writer
same "every state is whole" "" "$(awk 'NF != 2 || $1 + $2 != 3000' "$scratch/sums" | head -n 3)"
check "... and there were many ($(sort -u "$scratch/sums" | wc -l))" \
    test "$(sort -u "$scratch/sums" | wc -l)" -gt 20
same "none is older than the one before" "" "$(awk '$1 < last {print last, $0} {last = $1}' "$scratch/sums" | head -n 3)"
until_followed
same "at the end it has everything" "3000 0" "$(follow 'GET up' 'GET down' | xargs)"
same "... and all keys" 300 "$(follow 'KEYS pad*' | wc -l)"
check "the leader has applied meanwhile" test "$(node 1 INFO | tr -d '\r' | sed -n 's/^store_applies://p')" -gt 2

# ---- another leader --------------------------------------------------------------------------------

node_start 3 "${options[@]}"
node_says 3 'standing by: node1/.* leads'
node_listens 3
node 3 READONLY >/dev/null
exec 3<>"/dev/tcp/127.0.0.1/${node_port[2]}"
printf 'READONLY\r\nGET up\r\n' >&3
read -r -t 10 _ <&3
read -r -t 10 _ <&3
node_signal 1 -KILL
node_gone 1
for n in 2 3; do
    for ((i = 0; i < 1000; i++)); do
        node_leads 2 && break 2
        node_leads 3 && break 2
        sleep 0.01
    done
done
leads=2
node_leads 2 || leads=3
other=$((5 - leads))
node $leads SET after 1 >/dev/null
for ((i = 0; i < 500; i++)); do
    [ "$(printf '%s\n' READONLY 'GET after' | timeout 60 redis-cli -p "${node_port[other]}" | tail -n 1)" = 1 ] && break
    sleep 0.02
done
check "reads go on at the node that does not lead" test "$i" -lt 500
same "... which still does not" slave \
    "$(printf '%s\n' READONLY ROLE | timeout 60 redis-cli -p "${node_port[other]}" | sed -n 2p)"
same "READONLY at the leader changes nothing" $'OK\nOK\n2' \
    "$(printf '%s\n' READONLY 'SET after 2' 'GET after' | timeout 60 redis-cli -p "${node_port[leads]}")"
node_signal $other -TERM
check "a node that follows ends cleanly" node_gone "$other"
exec 3>&-

# ---- PostgreSQL does not respond --------------------------------------------------------------------------

node_start $other "${options[@]}"
node_says $other 'standing by: node[123]/.* leads'
node_listens $other
printf '%s\n' READONLY 'GET up' | timeout 60 redis-cli -p "${node_port[other]}" >/dev/null
node $other CONFIG SET leader-wait 300 >/dev/null
pg_kill
for ((i = 0; i < 300; i++)); do
    said=$(printf '%s\n' READONLY 'GET up' | timeout 60 redis-cli -p "${node_port[other]}" | sed -n 2p)
    [[ $said == TRYAGAIN* ]] && break
    sleep 0.1
done
same "a node that hears nothing for a while says so" \
    "TRYAGAIN this node cannot follow the leader: PostgreSQL does not respond" "$said"
pg_start || not_ok "PostgreSQL starts again"
for ((i = 0; i < 300; i++)); do
    said=$(printf '%s\n' READONLY 'GET up' | timeout 60 redis-cli -p "${node_port[other]}" | sed -n 2p)
    [ "$said" = 3000 ] && break
    sleep 0.1
done
same "... and goes on later" 3000 "$said"

finish

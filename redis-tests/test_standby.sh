#!/bin/bash
# Nodes that stand by: each connection to them is passed on to the leader, with what the client has said of itself; it
# waits while no node leads, and ends when another node does (docs/cluster.md).

. "$(dirname "$0")/server.sh"
. redis-tests/postgres.sh
. redis-tests/tls.sh

if ! pg_can; then
    skip "nodes on PostgreSQL" "PostgreSQL is not installed (package postgresql)"
    finish
fi
export NODE_BIN=$PWD/build/asan/tupled
# A lease that lasts on a machine under load: one that ends is another leader, and the nodes are told apart by that.
options=(--lease 3000 --postgresql-durability provider --leader-wait 30000 --io-threads 4)

http() { # node, words of curl
    local port
    port=$(sed -n 's/.*ready to accept HTTP on .* port \([0-9]*\)$/\1/p' "$scratch/node$1.log" | tail -n 1)
    curl -sS -m 20 "${@:3}" "http://127.0.0.1:$port$2" 2>&1
}

# ---- three nodes -----------------------------------------------------------------------------------

pg_start || { not_ok "PostgreSQL starts"; exit 1; }
export TUPLED_TEST_ANY_HTTP_PORT=1
make_certificates
for n in 1 2 3; do
    [ "$n" = 3 ] && options+=(--tls-port 0 --tls-cert-file "$scratch/server.crt" --tls-key-file "$scratch/server.key"
        --tls-ca-cert-file "$scratch/ca.crt" --tls-auth-clients no)
    TUPLED_TEST_ANY_TLS_PORT=$((n == 3)) node_start "$n" "${options[@]}"
    if [ "$n" = 1 ]; then node_ready 1; else node_says "$n" 'standing by: node1/.* leads'; fi || exit 1
    node_listens "$n"
done

# ---- where a leader's own address leads ------------------------------------------------------------

check "the leader has called itself" node_says 1 'node-address .* leads to this node'
# misled <address> <what its log says> [argument...]: a cluster of its own, of one node.
misled() {
    node_start 4 "${options[@]::4}" --engine-id 9 --node-address "$1" --logfile "$scratch/node4.log" "${@:3}"
    node_ready 4 && node_says 4 "does not lead to this node: .*$2" &&
        node 4 INFO replication | grep -q "^node_conflict:node-address .*$2"
    local result=$?
    node_signal 4 -TERM
    node_gone 4
    return "$result"
}
check "an address that leads nowhere is noticed" misled 127.0.0.1:1 "is unreachable"
check "... and one that leads to another server" misled "127.0.0.1:${node_port[1]}" 'another server responds there'
own=$(hostname -I 2>/dev/null | tr ' ' '\n' | grep -m 1 -F .)
if [ -n "$own" ]; then
    port_take first 3
    check "... and one where other nodes would be refused, by the words" misled "$own:$first" 'it replied: DENIED' \
        --bind "$own 127.0.0.1" --port "$first"
else
    skip "an address that lets no node in" "this machine has none but its own"
fi

# ---- connections are passed on ---------------------------------------------------------------------

same "a node answers PING itself" PONG "$(node 2 PING)"
check "a write by a node that stands by" test "$(node 2 KV.SET '["a"]' 1 | wc -c)" -gt 20
same "is read by another" 1 "$(node 3 KV.GET '["a"]')"
same "... and by the leader" 1 "$(node 1 KV.GET '["a"]')"
same "ROLE is the leader's" master "$(node 2 ROLE | head -n 1)"
for ((i = 0; i < 5000; i++)); do echo "INCR n"; done | timeout 60 redis-cli -p "${node_port[2]}" | tail -n 1 >"$scratch/n"
same "5,000 commands in a row" 5000 "$(<"$scratch/n")"
for ((i = 0; i < 5000; i++)); do printf '*2\r\n$4\r\nINCR\r\n$1\r\nm\r\n'; done |
    timeout 60 redis-cli -p "${node_port[2]}" --pipe >"$scratch/pipe" 2>&1
check "5,000 at once, in one write" grep -q 'errors: 0, replies: 5000' "$scratch/pipe"
same "... are all done" 5000 "$(node 1 GET m)"
head -c 12000000 /dev/urandom >"$scratch/large"
same "12 MB go in" OK "$(node 2 -x SET large <"$scratch/large")"
check "... and out" cmp -s <(node 3 GET large | head -c 12000000) "$scratch/large"
same "a transaction of MULTI" $'OK\nQUEUED\nQUEUED\nOK\n2' "$(printf 'MULTI\nSET t 1\nINCR t\nEXEC\n' | node 2)"
same "an error is the leader's" "ERR unknown command 'NONE', with args beginning with: " "$(node 2 NONE)"

# Redis-cli as a subscriber ends with its standard input.
(sleep 20) | timeout 60 redis-cli -p "${node_port[2]}" SUBSCRIBE news >"$scratch/news" 2>&1 &
listener=$!
until [ "$(node 1 PUBSUB NUMSUB news | tail -n 1)" = 1 ]; do sleep 0.02; done
same "somebody listens there" 1 "$(node 3 PUBLISH news hello)"
until grep -q hello "$scratch/news" || ! kill -0 $listener; do sleep 0.02; done
check "... and hears" grep -q hello "$scratch/news"
timeout 60 redis-cli -p "${node_port[3]}" KV.DEQUEUE jobs BLOCK 10000 >"$scratch/job" &
waits=$!
node 2 KV.ENQUEUE jobs '"work"' >/dev/null
wait $waits
check "who waits for a message has it" grep -q '"work"' "$scratch/job"
timeout 60 redis-benchmark -p "${node_port[2]}" -c 100 -n 5000 -t set,get -q >"$scratch/many" 2>&1
check "100 clients at once" grep -q 'GET: ' "$scratch/many"
same "those who have gone are gone at the leader too" "" "$(for ((i = 0; i < 200; i++)); do
    [ "$(node 1 CLIENT LIST | grep -c 'laddr=127.0.0.1:'"${node_port[2]}")" -le 1 ] && break
    sleep 0.05
done; [ "$i" -lt 200 ] || node 1 CLIENT LIST)"

node 1 KV.SET '["seen",1]' 5 >/dev/null
same "a view of tuples goes along" $'OK\nReJSON-RL\ntuples' \
    "$(printf 'CLIENT VIEW TUPLES\nTYPE seen/#1\nCLIENT VIEW\n' | timeout 60 redis-cli -p "${node_port[2]}" 2>&1)"
node 1 ACL SETUSER gui on '>g' '~*' +@all view=tuples >/dev/null
until [ "$(timeout 5 redis-cli -p "${node_port[2]}" --user gui --pass g --no-auth-warning PING 2>&1)" = PONG ]; do sleep 0.02; done
same "... that of a user too" ReJSON-RL \
    "$(timeout 60 redis-cli -p "${node_port[2]}" --user gui --pass g --no-auth-warning TYPE seen/#1)"
same "... unless it says another" $'OK\nnone\nplain' \
    "$(printf 'CLIENT VIEW PLAIN\nTYPE seen/#1\nCLIENT VIEW\n' |
        timeout 60 redis-cli -p "${node_port[2]}" --user gui --pass g --no-auth-warning 2>&1)"

# ---- who the client is -----------------------------------------------------------------------------

exec 3<>"/dev/tcp/127.0.0.1/${node_port[2]}"
say() { printf '%s\r\n' "$@" >&3; }
ended() { timeout 5 cat <&3 >/dev/null; }
heard() { # lines until one like this
    local line
    while IFS= read -r -t 20 line <&3; do
        line=${line%$'\r'}
        echo "$line"
        [[ $line == $1 ]] && return
    done
}
say 'HELLO 3 SETNAME worker' 'CLIENT SETINFO LIB-NAME mine' 'CLIENT ID' 'GET m' 'CLIENT ID'
heard 5000 >"$scratch/heard"
heard ':*' >>"$scratch/heard"
same "a client has the same number at both" 2 "$(grep -cxF "$(tail -n 1 "$scratch/heard")" <(sed 1,20d "$scratch/heard"))"
check "... which says who it is" grep -q '^%7' "$scratch/heard"
mine=$(node 1 CLIENT LIST | grep 'name=worker')
own=$(sed -n 's/^id=[0-9]* addr=127.0.0.1:\([0-9]*\) .*/\1/p' <<<"$mine")
check "the leader knows its name and library" grep -q 'lib-name=mine' <<<"$mine"
check "... its protocol" grep -q 'resp=3' <<<"$mine"
inode=$(readlink "/proc/$$/fd/3" | tr -dc 0-9)
port_hex=$(awk -v i="$inode" '$10 == i {sub(/.*:/, "", $2); print $2}' /proc/net/tcp)
same "... and its address, not the node's" "$((16#$port_hex))" "$own"
say 'SUBSCRIBE x'
check "a message to it is pushed as in RESP3" grep -q '^>3' <(heard '>3')
node 1 CLIENT KILL ADDR "127.0.0.1:$own" >/dev/null
check "who is killed at the leader is gone at the node" ended
exec 3>&-

# ---- HTTP ------------------------------------------------------------------------------------------

same "it lives" 200 "$(http 2 /livez -o /dev/null -w '%{http_code}')"
same "it is not ready: it does not lead" 503 "$(http 2 /readyz -o /dev/null -w '%{http_code}')"
check "... and says so" grep -q 'this node is not the leader' <(http 2 '/readyz?verbose')
same "its metrics are its own" 200 "$(http 2 /metrics -o /dev/null -w '%{http_code}')"
same "... of which some are about nodes" "0 1 2" "$(http 2 /metrics |
    awk '/^tupled_leads / || /^tupled_leader_epoch / || /^tupled_nodes_up / {print $2}' | xargs)"
check "... and of what it passes on" test "$(http 2 /metrics | sed -n 's/^tupled_relayed_total //p')" -gt 100
same "the leader's say that it leads" 1 "$(http 1 /metrics | sed -n 's/^tupled_leads //p')"
same "a request is passed on" '{"result":"1"}' "$(http 2 '/' -d '["KV.GET","[\"a\"]"]')"
same "... by HTTP/2 too" '{"result":"1"}' "$(http 2 '/' -d '["KV.GET","[\"a\"]"]' --http2-prior-knowledge)"
same "... a large one" '{"result":"OK"}' "$(head -c 3000000 /dev/zero | tr '\0' x |
    sed 's/^/["SET","big","/; s/$/"]/' | http 3 / --data-binary @-)"
http_port=$(sed -n 's/.*ready to accept HTTP on .* port \([0-9]*\)$/\1/p' "$scratch/node2.log")
exec 3<>"/dev/tcp/127.0.0.1/$http_port"
say 'GET /livez HTTP/1.1' 'Host: localhost' '' 'GET /get/m HTTP/1.1' 'Host: localhost' 'Connection: close' ''
check "a connection that began with a probe has nothing else" grep -q 'TRYAGAIN this node is not the leader' <(timeout 5 cat <&3)
exec 3>&-

# ---- TLS -------------------------------------------------------------------------------------------

tls_port=$(sed -n 's/.*ready to accept TLS connections on .* port \([0-9]*\)$/\1/p' "$scratch/node3.log")
secure() { timeout 60 redis-cli -p "$tls_port" --tls --cacert "$scratch/ca.crt" -h localhost "$@"; }
same "the node ends TLS" 1 "$(secure KV.GET '["a"]')"
check "... for large values too" cmp -s <(secure GET large | head -c 12000000) "$scratch/large"

# ---- links that are none ---------------------------------------------------------------------------

zeros=$(printf '0%.0s' {1..32})
same "a node that does not lead accepts none" "TRYAGAIN this node is not the leader" "$(node 2 KV.LINK BEGIN "$zeros")"
check "the leader says what it knows" grep -qE '^[0-9a-f]{32} [0-9a-f]{64}$' <(node 1 KV.LINK BEGIN "$zeros")
pass=(PASS "$zeros$zeros" evil)
same "who does not know the secret is nobody's client" \
    "NOAUTH this node does not have the secret of this engine" \
    "$(printf '%s\n' "KV.LINK BEGIN $zeros" "KV.LINK $(printf '"%s" ' "${pass[@]}")" | node 1 | grep NOAUTH)"
same "PASS without BEGIN" "ERR KV.LINK is for nodes of tupled" "$(node 1 KV.LINK "${pass[@]}")"
same "other words" "ERR KV.LINK is for nodes of tupled" "$(node 1 KV.LINK NONE)"
check "a nonce that is too short" grep -q 'invalid nonce' <(node 1 KV.LINK BEGIN 00)
check "none of it reached anybody" bash -c "! grep -q evil <<<'$(node 1 CLIENT LIST)'"

# ---- a client that does not read -------------------------------------------------------------------

memory_kb() { awk '/^VmRSS/ {print $2}' "/proc/${node_pid[2]}/status"; }
exec 3<>"/dev/tcp/127.0.0.1/${node_port[2]}"
before=$(memory_kb)
for ((i = 0; i < 10; i++)); do say 'GET large'; done
sleep 1.5
check "who does not read what it asked for takes no memory of the node ($before, $(memory_kb) KB)" \
    test "$(memory_kb)" -lt $((before + 30000))
exec 3>&-

# ---- another leader --------------------------------------------------------------------------------

exec 3<>"/dev/tcp/127.0.0.1/${node_port[3]}"
say 'GET m'
heard 5000 >/dev/null
kill $listener 2>/dev/null
node_signal 1 -KILL
begin=$(date +%s%N)
same "a command waits for the next leader" 5001 "$(node 3 INCR n)"
took=$((($(date +%s%N) - begin) / 1000000))
check "... not for long ($took ms)" test "$took" -lt 20000
check "what was passed on to the old one has ended" ended
exec 3>&-
node_gone 1
same "both nodes serve" "1 1" "$(node 2 KV.GET '["a"]') $(node 3 KV.GET '["a"]')"

# ---- the leader is cut off -------------------------------------------------------------------------

node_start 1 "${options[@]::8}"
node_says 1 'standing by: node[23]/.* leads'
node_listens 1
leads=2
node_leads 2 || leads=3
other=$((5 - leads))
exec 3<>"/dev/tcp/127.0.0.1/${node_port[1]}"
say 'GET m'
heard 5000 >/dev/null
node_signal $leads -STOP
same "a command to a leader that is stopped waits for the next one" 5002 "$(node $other INCR n)"
check "what was passed on to the one that is stopped has ended" ended
exec 3>&-
node_signal $leads -CONT
node_says $leads 'is no longer the leader'

# ---- no node leads ---------------------------------------------------------------------------------

if node_leads 1; then
    node_signal 1 -TERM
    node_gone 1
    node_start 1 "${options[@]::8}"
    node_says 1 'standing by: node[23]/.* leads'
    node_listens 1
fi
node 1 CONFIG SET leader-wait 300 >/dev/null
for n in 2 3; do node_signal $n -KILL; done
pg_kill
same "a command is refused after leader-wait" "TRYAGAIN no leader" "$(node 1 KV.GET '["a"]' | head -c 18)"
same "... again" "TRYAGAIN no leader" "$(node 1 KV.SET '["a"]' 2 | head -c 18)"
same "... on a connection that goes on" $'PONG' "$(printf 'KV.GET ["a"]\nPING\n' | node 1 | tail -n 1)"
same "... and a request" 503 "$(http 1 '/get/a' -o /dev/null -w '%{http_code}')"
node 1 CONFIG SET leader-wait 20000 >/dev/null
(sleep 1; pg_start >/dev/null; sleep 20) &
starter=$!
same "... but it is there when there is one" 1 "$(node 1 KV.GET '["a"]')"
kill $starter
wait $starter 2>/dev/null
pg_pid=$(head -n 1 "$pg_dir/data/postmaster.pid")
node_signal 1 -TERM
node_gone 1
same "it stops cleanly" 0 "$?"
finish

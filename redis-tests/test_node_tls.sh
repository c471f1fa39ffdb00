#!/bin/bash
# Nodes that speak TLS with each other (tls-cluster): clients are passed on under it, a node without it is refused, and
# a man in the middle between two nodes fails, whatever certificate it has (docs/cluster.md).

. "$(dirname "$0")/server.sh"
. redis-tests/postgres.sh
. redis-tests/tls.sh

if ! pg_can; then
    skip "nodes on PostgreSQL" "PostgreSQL is not installed (package postgresql)"
    finish
fi
export NODE_BIN=$PWD/build/asan/tupled
export TUPLED_TEST_ANY_TLS_PORT=1
make_certificates
options=(--lease 5000 --postgresql-durability provider --leader-wait 50000 --tls-port 0
    --tls-cert-file "$scratch/server.crt" --tls-key-file "$scratch/server.key" --tls-ca-cert-file "$scratch/ca.crt")

tls_port() {
    sed -n 's/.*ready to accept TLS connections on .* port \([0-9]*\)$/\1/p' "$scratch/node$1.log" | tail -n 1
}
zeros=$(printf '0%.0s' {1..32})

pg_start || { not_ok "PostgreSQL starts"; exit 1; }
node_start 1 "${options[@]}" --tls-cluster yes
node_ready 1 || exit 1
check "its address is that of the TLS port" grep -q "with address 127.0.0.1:$(tls_port 1)" "$scratch/node1.log"
node_start 2 "${options[@]}" --tls-cluster yes
node_says 2 'standing by: node1/.* leads' || exit 1
node_listens 2

# ---- what works ------------------------------------------------------------------------------------

same "a command is passed on" OK "$(node 2 SET a 1)"
same "... and it was the leader" master "$(node 2 ROLE | head -n 1)"
check "the client is shown as it came" grep -q "laddr=127.0.0.1:${node_port[2]}" <(node 2 CLIENT LIST)
head -c 3000000 /dev/urandom >"$scratch/large"
same "3 MB go in" OK "$(node 2 -x SET large <"$scratch/large")"
check "... and out" cmp -s <(node 2 GET large | head -c 3000000) "$scratch/large"
for ((i = 0; i < 3000; i++)); do echo "INCR n"; done | timeout 250 redis-cli -p "${node_port[2]}" | tail -n 1 >"$scratch/n"
same "3,000 commands in a row" 3000 "$(<"$scratch/n")"
timeout 250 redis-benchmark -p "${node_port[2]}" -c 50 -n 2000 -t set,get -q >"$scratch/many" 2>&1
check "50 clients at once" grep -q 'GET: ' "$scratch/many"
grep -q 'GET: ' "$scratch/many" || tail -n 3 "$scratch/many"

# ---- who may not -----------------------------------------------------------------------------------

same "a node without TLS is refused" "NOAUTH nodes connect with TLS here: set tls-cluster on that node too" \
    "$(node 1 KV.LINK BEGIN "$zeros")"
node_start 3 "${options[@]}" --leader-wait 2000
node_says 3 'standing by: node1/.* leads'
node_listens 3
check "... and tells its clients" grep -q '^TRYAGAIN no leader' <(node 3 GET a)

# The leader's address leads to a man in the middle, which has a good certificate, reads everything and passes it on.
node_signal 3 -KILL
node_gone 3
node_signal 1 -TERM
node_gone 1
node_says 2 'serving as the leader' || exit 1
mkfifo "$scratch/back"
port_take between
# shellcheck disable=SC2094 # what one of them hears the other one says
(timeout 60 openssl s_client -quiet -connect "127.0.0.1:$(tls_port 2)" -cert "$scratch/client.crt" \
    -key "$scratch/client.key" <"$scratch/back" 2>"$scratch/s_client" |
    timeout 60 openssl s_server -quiet -accept "$between" -cert "$scratch/server.crt" -key "$scratch/server.key" \
        >"$scratch/back" 2>"$scratch/s_server") &
man=$!
pg_sql "UPDATE tupled_leader SET address = '127.0.0.1:$between'" >/dev/null
node_start 1 "${options[@]}" --tls-cluster yes --leader-wait 2000
node_says 1 'standing by: node2/.* leads'
node_listens 1
check "nobody can stand between two nodes" grep -q 'it does not have the secret of this engine' <(node 1 GET a)
kill $man 2>/dev/null
pkill -P $man 2>/dev/null
pg_sql "UPDATE tupled_leader SET address = '127.0.0.1:$(tls_port 2)'" >/dev/null
for ((i = 0; i < 600; i++)); do
    [ "$(node 1 GET a)" = 1 ] && break
    sleep 0.1
done
check "with the right address it goes on" test "$i" -lt 600

# ---- settings --------------------------------------------------------------------------------------

unset TUPLED_TEST_ANY_TLS_PORT
"$NODE_BIN" --backend postgresql --postgresql-url "$pg_url" --dir "$scratch/node4" --port 0 --http-port 0 \
    --tls-cluster yes >"$scratch/none" 2>&1
check "tls-cluster without tls-port is refused" grep -q 'tls-cluster needs tls-port' "$scratch/none"

finish

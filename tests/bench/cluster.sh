#!/bin/bash
# SET and GET of 50 clients, one command at a time and 16: one node with files; the leader of three nodes on three
# PostgreSQL (each commit is on two of them); Redis with two replicas, where each SET (or 16) waits for one of them; and
# rows put one by one into the same PostgreSQL by pgbench. All on this machine, in turn, ROUNDS times (3), SECONDS_EACH
# (5) each. Prints a table with medians. Needs redis-server and pgbench (package postgresql).

set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/bench/release.sh
export LC_ALL=C
. tests/postgres/server.sh
. tests/postgres/cluster.sh
. tests/campaign/nodes.sh
. tests/bench/medians.sh
pg_can || { echo "PostgreSQL is not installed"; exit 2; }
command -v redis-server >/dev/null || { echo "redis-server is not installed"; exit 2; }
rounds=${ROUNDS:-3} seconds=${SECONDS_EACH:-5}
clients=build/release/tests/bench/bench_clients
[ -x "$clients" ] || { echo "make bench-build comes first"; exit 2; }
scratch=$(mktemp -d) || exit 2
pids=() local_port='' port=''

remove() {
    local pid
    for pid in "${pids[@]}"; do kill -KILL "$pid" && wait "$pid"; done 2>/dev/null
    nodes_remove
    rm -rf "$scratch"
}
trap remove EXIT
trap 'exit 130' INT TERM

# ---- what is measured ------------------------------------------------------------------------------

# shellcheck disable=SC2034 # used by the library
nodes_is_plain=1
nodes_start || exit 2
nodes_leader || exit 2
cluster_port=${nodes_port[leader]}

port_take local_port || exit 2
mkdir -m 700 "$scratch/local"
build/tupled --dir "$scratch/local" --port "$local_port" --http-port 0 --logfile "$scratch/local.log" &
pids+=($!)

redis_ports=()
for n in 0 1 2; do
    port_take port || exit 2
    redis_ports+=("$port")
    mkdir "$scratch/redis$n"
    replica=()
    [ "$n" = 0 ] || replica=(--replicaof "127.0.0.1 ${redis_ports[0]}")
    redis-server --port "$port" --bind 127.0.0.1 --dir "$scratch/redis$n" --save '' --appendonly yes \
        --appendfsync always "${replica[@]}" >"$scratch/redis$n.log" 2>&1 &
    pids+=($!)
done
for port in "$local_port" "${redis_ports[@]}"; do
    for ((i = 0; i < 500; i++)); do
        [ "$(redis-cli -p "$port" PING 2>/dev/null)" = PONG ] && break
        sleep 0.02
    done
done
for ((i = 0; i < 500; i++)); do
    [ "$(redis-cli -p "${redis_ports[0]}" WAIT 2 100)" = 2 ] && break
    sleep 0.1
done

pgc_sql "$pgc_lead" 'CREATE TABLE rows (k int PRIMARY KEY, v text NOT NULL)' >/dev/null
cat >"$scratch/upsert.sql" <<'SQL'
\set k random(1, 10000)
INSERT INTO rows VALUES (:k, repeat('x', 100)) ON CONFLICT (k) DO UPDATE SET v = excluded.v;
SQL
{
    printf '%s\n' '\set k random(1, 10000)' '\startpipeline'
    for ((i = 0; i < 16; i++)); do
        echo "INSERT INTO rows VALUES ((:k * 31 + $i * 613) % 10000 + 1, repeat('x', 100)) ON CONFLICT (k) DO UPDATE SET v = excluded.v;"
    done
    printf '%s\n' '\endpipeline'
} >"$scratch/pipelined.sql"

upserts() { # clients, rows in a transaction of pgbench, its script: rows a second
    PGUSER=tupled "$pg_bin/pgbench" -n -M prepared -h 127.0.0.1 -p "${pgc_ports[pgc_lead]}" -d postgres -f "$3" -c "$1" \
        -j 1 -T "$seconds" 2>/dev/null | awk -v each="$2" '/^tps = /{printf "%.0f - - -\n", $3 * each}'
}

for ((round = 0; round < rounds; round++)); do
    for depth in 1 16; do
        note "SET, by $depth: one node with files" "$("$clients" set "$local_port" 50 $depth "$seconds")"
        note "SET, by $depth: three nodes on PostgreSQL" "$("$clients" set "$cluster_port" 50 $depth "$seconds")"
        note "SET, by $depth: Redis, synced always, and WAIT 1" "$("$clients" wait "${redis_ports[0]}" 50 $depth "$seconds")"
        note "GET, by $depth: one node with files" "$("$clients" get "$local_port" 50 $depth "$seconds")"
        note "GET, by $depth: three nodes on PostgreSQL" "$("$clients" get "$cluster_port" 50 $depth "$seconds")"
        note "GET, by $depth: Redis" "$("$clients" get "${redis_ports[0]}" 50 $depth "$seconds")"
    done
    note "row: pgbench, 1 client" "$(upserts 1 1 "$scratch/upsert.sql")"
    note "row: pgbench, 50 clients" "$(upserts 50 1 "$scratch/upsert.sql")"
    note "row: pgbench, 50 clients, by 16" "$(upserts 50 16 "$scratch/pipelined.sql")"
done

# ---- the table -------------------------------------------------------------------------------------

medians

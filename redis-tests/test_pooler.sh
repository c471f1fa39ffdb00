#!/bin/bash
# A pooler between nodes and PostgreSQL (PgBouncer): one that shares connections between transactions is noticed and
# named, while nothing else is done; one that does not is as good as none.

. "$(dirname "$0")/server.sh"
. redis-tests/postgres.sh

PATH=$PATH:/usr/sbin
if ! pg_can; then
    skip "a pooler" "PostgreSQL is not installed (package postgresql)"
    finish
fi
if ! command -v pgbouncer >/dev/null; then
    skip "a pooler" "PgBouncer is not installed (package pgbouncer)"
    finish
fi
pooler=''
stop_pooler() {
    [ -n "$pooler" ] || return 0
    kill -KILL "$pooler" 2>/dev/null
    wait "$pooler" 2>/dev/null
    pooler=''
}
clean_up_all() {
    stop_pooler
    pg_clean_up
}
trap clean_up_all EXIT

# pool <mode>: on a Unix socket beside PostgreSQL's; nodes are led there.
pool() {
    local tries
    stop_pooler
    cat >"$pg_dir/pgbouncer.ini" <<END
[databases]
postgres = host=$pg_dir port=5432 dbname=postgres user=tupled
[pgbouncer]
listen_addr =
listen_port = 6432
unix_socket_dir = $pg_dir
auth_type = any
pool_mode = $1
default_pool_size = 50
END
    chmod a+r "$pg_dir/pgbouncer.ini"
    (cd "$pg_dir" && exec "${pg_user[@]}" "$(command -v pgbouncer)" -q pgbouncer.ini) >"$scratch/pooler.log" 2>&1 &
    pooler=$!
    pg_url="host=$pg_dir port=6432 user=tupled dbname=postgres"
    for ((tries = 0; tries < 1500; tries++)); do
        "$pg_bin/pg_isready" -q -h "$pg_dir" -p 6432 && return
        sleep 0.02
    done
    cat "$scratch/pooler.log"
    return 1
}

pg_start || { not_ok "PostgreSQL starts"; exit 1; }
check "PgBouncer shares connections between transactions" pool transaction
node_start 1 --lease 3000 --postgresql-durability provider --leader-wait 500
check "a node listens" node_listens 1
check "... says what is before PostgreSQL" node_says 1 'a connection pooler in transaction mode .*pool_mode = session'
check "... and so does what it refuses" grep -q '^TRYAGAIN .*a connection pooler' <<<"$(node 1 SET a 1 2>&1)"
same "... nothing is done there" "" "$(pg_sql "SELECT relname FROM pg_class WHERE relname LIKE 'tupled%'")"
check "PgBouncer gives each client a connection of its own" pool session
check "the node goes on by itself, and leads" node_ready 1
same "... and writes" OK "$(node 1 SET a 1)"
same "... and reads" 1 "$(node 1 GET a)"
finish

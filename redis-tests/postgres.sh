# Sourced after server.sh by scripts that need PostgreSQL: one of the test's own, on a Unix socket in a
# directory under /tmp, and nodes on it. PostgreSQL refuses root: then it runs as `nobody`.
#
#   pg_can                       is PostgreSQL installed?
#   pg_start, pg_kill            starts it (the first time it is made), ends it as a crash would
#   pg_sql <statement>           its result, bare
#   node_start <n> [argument...] the release build; returns at once. Its log is $scratch/node<n>.log
#   node_ready <n>               waits, 30 s at most, until it serves: ${node_port[n]}
#   node_signal <n> <signal>     -STOP, -CONT, -KILL, -TERM
#   node_gone <n>                waits until it has ended; its status
#   node <n> <word>...           redis-cli to it
# At the end of the script all of them are killed by process id.

pg_bin=$(find /usr/lib/postgresql/*/bin -name initdb 2>/dev/null | sort -V | tail -n 1)
pg_bin=${pg_bin%/initdb}
pg_dir='' pg_pid='' pg_url=''
node_pid=() node_port=()

pg_can() {
    [ -n "$pg_bin" ]
}

pg_as() {
    if [ "$(id -u)" = 0 ]; then
        setpriv --reuid=nobody --regid=nogroup --clear-groups "$@"
    else
        "$@"
    fi
}

pg_start() {
    local tries
    if [ -z "$pg_dir" ]; then
        pg_dir=$(mktemp -d /tmp/tupled-pg.XXXXXX) || exit 1
        [ "$(id -u)" != 0 ] || chown nobody:nogroup "$pg_dir"
        pg_url="host=$pg_dir user=tupled dbname=postgres"
        pg_as "$pg_bin/initdb" -D "$pg_dir/data" -A trust -U tupled --no-sync --locale=C -E UTF8 \
            >"$scratch/initdb" 2>&1 || { not_ok "initdb"; cat "$scratch/initdb"; exit 1; }
    fi
    # exec: the process id is PostgreSQL's own, not that of a shell.
    (cd "$pg_dir" && if [ "$(id -u)" = 0 ]; then
        exec setpriv --reuid=nobody --regid=nogroup --clear-groups "$pg_bin/postgres" -D "$pg_dir/data" \
            -k "$pg_dir" -c listen_addresses= -c shared_buffers=16MB
    else
        exec "$pg_bin/postgres" -D "$pg_dir/data" -k "$pg_dir" -c listen_addresses= -c shared_buffers=16MB
    fi) >"$scratch/postgres.log" 2>&1 &
    pg_pid=$!
    for ((tries = 0; tries < 1000; tries++)); do
        "$pg_bin/pg_isready" -q -h "$pg_dir" && return
        sleep 0.02
    done
    not_ok "PostgreSQL starts"
    cat "$scratch/postgres.log"
    exit 1
}

pg_kill() {
    [ -n "$pg_pid" ] || return
    kill -QUIT "$pg_pid" 2>/dev/null
    wait "$pg_pid" 2>/dev/null
    pg_pid=''
}

pg_sql() {
    "$pg_bin/psql" -qAtX -h "$pg_dir" -U tupled -d postgres -c "$1" 2>&1
}

node_start() {
    local n=$1
    shift
    : >"$scratch/node$n.log"
    mkdir -p -m 700 "$scratch/node$n"
    "${NODE_BIN:-$TUPLED_BIN}" --backend postgresql --postgresql-url "$pg_url" --node-name "node$n" \
        --dir "$scratch/node$n" --port 0 --http-port 0 --logfile "$scratch/node$n.log" "$@" \
        >"$scratch/node$n.out" 2>&1 &
    node_pid[n]=$!
    node_port[n]=''
}

node_ready() {
    local n=$1 tries
    for ((tries = 0; tries < 3000; tries++)); do
        node_port[n]=$(sed -n 's/.*ready to accept connections on .* port \([0-9]*\)$/\1/p' \
            "$scratch/node$n.log" | tail -n 1)
        [ -z "${node_port[n]}" ] || return 0
        kill -0 "${node_pid[n]}" 2>/dev/null || break
        sleep 0.01
    done
    cat "$scratch/node$n.log" "$scratch/node$n.out"
    return 1
}

node_signal() {
    kill "$2" "${node_pid[$1]}" 2>/dev/null
}

node_gone() {
    local status
    wait "${node_pid[$1]}" 2>/dev/null
    status=$?
    node_pid[$1]=''
    return "$status"
}

node() {
    local n=$1
    shift
    timeout 20 redis-cli -p "${node_port[n]}" "$@"
}

pg_clean_up() {
    local pid
    for pid in "${node_pid[@]}"; do
        [ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null
    done
    pg_kill
    [ -z "$pg_dir" ] || rm -rf "$pg_dir"
    clean_up
}
trap pg_clean_up EXIT

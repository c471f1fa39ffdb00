# Sourced by scripts that need a PostgreSQL of their own: on a Unix socket in a directory under /tmp. It refuses root:
# then it runs as `nobody`.
#
#   pg_can             is PostgreSQL installed?
#   pg_start           starts it, the first time it is made; false, with a text, when that failed. $pg_dir, $pg_url
#   pg_kill            ends it as a crash would
#   pg_remove          that, and removes the directory
#   pg_sql <statement> its result, bare

pg_bin=$(find /usr/lib/postgresql/*/bin -name initdb 2>/dev/null | sort -V | tail -n 1)
pg_bin=${pg_bin%/initdb}
pg_dir='' pg_pid='' pg_url=''
pg_user=()
[ "$(id -u)" != 0 ] || pg_user=(setpriv --reuid=nobody --regid=nogroup --clear-groups)

pg_can() {
    [ -n "$pg_bin" ]
}

pg_make() {
    pg_dir=$(mktemp -d /tmp/tupled-pg.XXXXXX) || return
    [ "$(id -u)" != 0 ] || chown nobody:nogroup "$pg_dir"
    pg_url="host=$pg_dir user=tupled dbname=postgres"
    (cd "$pg_dir" && exec "${pg_user[@]}" "$pg_bin/initdb" -D "$pg_dir/data" -A trust -U tupled --no-sync \
        --locale=C -E UTF8) >"$pg_dir.log" 2>&1
}

pg_start() {
    local tries
    [ -n "$pg_dir" ] || pg_make || { cat "$pg_dir.log"; return 1; }
    # exec: the process id is PostgreSQL's own, not that of a shell.
    (cd "$pg_dir" && exec "${pg_user[@]}" "$pg_bin/postgres" -D "$pg_dir/data" -k "$pg_dir" \
        -c listen_addresses= -c shared_buffers=64MB -c max_connections=300) >"$pg_dir.log" 2>&1 &
    pg_pid=$!
    for ((tries = 0; tries < 1000; tries++)); do
        "$pg_bin/pg_isready" -q -h "$pg_dir" && return
        sleep 0.02
    done
    echo "PostgreSQL does not start"
    cat "$pg_dir.log"
    return 1
}

pg_kill() {
    [ -n "$pg_pid" ] || return 0
    kill -QUIT "$pg_pid" 2>/dev/null
    wait "$pg_pid" 2>/dev/null
    pg_pid=''
}

pg_remove() {
    pg_kill
    [ -z "$pg_dir" ] || rm -rf "$pg_dir" "$pg_dir.log"
}

pg_sql() {
    "$pg_bin/psql" -qAtX -h "$pg_dir" -U tupled -d postgres -c "$1" 2>&1
}

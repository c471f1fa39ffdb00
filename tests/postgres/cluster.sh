# Sourced after server.sh (same folder) by scripts that need three PostgreSQL: p1 is the primary, p2 and p3 stream from
# it, and a commit waits for one of them (`ANY 1`). Loopback only, on ports that were free.
#
#   pgc_prepare                the directory and the ports, if they are wanted before:
#   pgc_start                  makes and starts all three; false, with a text, when that failed. $pgc_dir, $pgc_url
#   pgc_primary                the number of the one that takes writes: $pgc_lead
#   pgc_sql <n> <statement>    its result, bare
#   pgc_fail_over [n]          kill -9 of the primary and all its processes; of the others the one that has received
#                              most is promoted, or <n>, the third one follows it. The old primary stays shut out.
#   pgc_set_names <n> <names>  synchronous_standby_names of <n>, loaded; "-": as in the beginning
#   pgc_rejoin <n>             what <n> had is thrown away: it comes back as a standby, with a copy of the primary
#   pgc_wait_standbys <count>  waits, 60 s at most, until so many standbys stream
#   pgc_kill <n>               kill -9
#   pgc_remove                 kills all, and removes the directory ($pgc_keep=1: stops them and keeps it)
#   pgc_guard                  after pgc_prepare, before pgc_start: there is an ordinary user `node` too, let in by a
#                              password ($PGPASSFILE) under TLS only: $pgc_guarded is for the end of its address
#   pgc_password <password>    it has this one from now on; $PGPASSFILE does not say so yet
#   pgc_passfile <password>    ... and now it does
# Before pgc_start: pgc_upstream=(ports) gives the port by which <n> reaches its primary (a proxy), if not directly.

. "$(dirname "${BASH_SOURCE[0]}")/../ports.sh"

pgc_dir='' pgc_url='' pgc_lead=1 pgc_keep=''
pgc_pid=() pgc_ports=() pgc_upstream=()
pgc_names='ANY 1 (p1, p2, p3)' pgc_guarded=''

pgc_sql() {
    PGCONNECT_TIMEOUT=5 "$pg_bin/psql" -qAtX -h 127.0.0.1 -p "${pgc_ports[$1]}" -U tupled -d postgres -c "$2" 2>&1
}

# As the ordinary user, with the directory as its own.
pgc_run() {
    (cd "$pgc_dir" && exec "${pg_user[@]}" "$@")
}

pgc_launch() {
    local n=$1
    # exec: the process id is PostgreSQL's own, not that of a shell.
    (cd "$pgc_dir" && exec "${pg_user[@]}" "$pg_bin/postgres" -D "$pgc_dir/p$n" -p "${pgc_ports[n]}" -k '' \
        -c listen_addresses=127.0.0.1 -c cluster_name="p$n" \
        -c synchronous_commit=on -c shared_buffers=32MB -c max_connections=120 -c max_wal_senders=8 \
        -c wal_keep_size=512MB -c wal_retrieve_retry_interval=200ms -c wal_receiver_timeout=5s \
        -c wal_sender_timeout=5s) >>"$pgc_dir/p$n.log" 2>&1 &
    pgc_pid[n]=$!
}

pgc_ready() {
    local tries
    for ((tries = 0; tries < 1500; tries++)); do
        "$pg_bin/pg_isready" -q -h 127.0.0.1 -p "${pgc_ports[$1]}" && return
        kill -0 "${pgc_pid[$1]}" 2>/dev/null || break
        sleep 0.02
    done
    echo "PostgreSQL p$1 does not start"
    tail -n 20 "$pgc_dir/p$1.log"
    return 1
}

# By what standby <n> reaches its primary, which listens on <port>.
pgc_conninfo() {
    echo "host=127.0.0.1 port=${pgc_upstream[$1]:-$2} user=tupled application_name=p$1 connect_timeout=3"
}

# pgc_copy <n>: its directory as a copy of the primary's, to be started as a standby.
pgc_copy() {
    local n=$1
    rm -rf "$pgc_dir/p$n"
    pgc_run "$pg_bin/pg_basebackup" -h 127.0.0.1 -p "${pgc_ports[pgc_lead]}" -U tupled -D "$pgc_dir/p$n" -c fast \
        --no-sync >>"$pgc_dir/p$n.log" 2>&1 || { tail -n 5 "$pgc_dir/p$n.log"; return 1; }
    # Its own settings replace those that the copy brought.
    pgc_run tee "$pgc_dir/p$n/postgresql.auto.conf" >/dev/null \
        <<<"primary_conninfo = '$(pgc_conninfo "$n" "${pgc_ports[pgc_lead]}")'"
    pgc_run touch "$pgc_dir/p$n/standby.signal"
}

pgc_prepare() {
    local n
    pgc_dir=$(mktemp -d /tmp/tupled-pgc.XXXXXX) || return
    [ "$(id -u)" != 0 ] || chown nobody:nogroup "$pgc_dir"
    for n in 1 2 3; do port_take "pgc_ports[$n]" || return; done
    pgc_url="postgresql://tupled@127.0.0.1:${pgc_ports[1]},127.0.0.1:${pgc_ports[2]},127.0.0.1:${pgc_ports[3]}"
    pgc_url+="/postgres?target_session_attrs=read-write"
}

pgc_passfile() {
    (umask 077 && echo "*:*:*:node:$1" >"$pgc_dir/pass.new") && mv "$pgc_dir/pass.new" "$PGPASSFILE"
}

pgc_password() {
    pgc_sql "$pgc_lead" "ALTER ROLE node PASSWORD '$1'" >/dev/null
}

pgc_guard() {
    export PGPASSFILE=$pgc_dir/pass
    openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=pgc -addext subjectAltName=IP:127.0.0.1 \
        -keyout "$pgc_dir/pg.key" -out "$pgc_dir/pg.crt" 2>/dev/null || return
    chmod 600 "$pgc_dir/pg.key"
    [ "$(id -u)" != 0 ] || chown nobody:nogroup "$pgc_dir/pg.key" "$pgc_dir/pg.crt"
    pgc_guarded="&sslmode=verify-full&sslrootcert=$pgc_dir/pg.crt"
    pgc_passfile first
}

# What the copies have from the primary.
pgc_set_guard() {
    [ -n "$pgc_guarded" ] || return 0
    pgc_run tee -a "$pgc_dir/p1/postgresql.conf" >/dev/null <<END
ssl = on
ssl_cert_file = '$pgc_dir/pg.crt'
ssl_key_file = '$pgc_dir/pg.key'
END
    printf '%s\n' 'hostssl all node 127.0.0.1/32 scram-sha-256' 'host all node all reject' "$(cat "$pgc_dir/p1/pg_hba.conf")" |
        pgc_run tee "$pgc_dir/hba" >/dev/null && pgc_run mv "$pgc_dir/hba" "$pgc_dir/p1/pg_hba.conf"
}

pgc_start() {
    local n
    [ -n "$pgc_dir" ] || pgc_prepare || return
    pgc_run "$pg_bin/initdb" -D "$pgc_dir/p1" -A trust -U tupled --no-sync --locale=C -E UTF8 \
        >"$pgc_dir/p1.log" 2>&1 || { cat "$pgc_dir/p1.log"; return 1; }
    # Copies have it from there; ALTER SYSTEM may set another one.
    pgc_run tee -a "$pgc_dir/p1/postgresql.conf" >/dev/null <<<"synchronous_standby_names = '$pgc_names'"
    pgc_set_guard || return
    pgc_lead=1
    pgc_launch 1
    pgc_ready 1 || return
    # No commit waits here: there is no standby yet.
    [ -z "$pgc_guarded" ] || pgc_sql 1 "SET synchronous_commit = local; CREATE ROLE node LOGIN PASSWORD 'first';
        GRANT CREATE ON SCHEMA public TO node" || return
    for n in 2 3; do
        pgc_copy "$n" || return
        pgc_launch "$n"
    done
    pgc_ready 2 && pgc_ready 3 && pgc_wait_standbys 2
}

pgc_wait_standbys() {
    local tries
    for ((tries = 0; tries < 600; tries++)); do
        [ "$(pgc_sql "$pgc_lead" "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'")" != "$1" ] ||
            return 0
        sleep 0.1
    done
    echo "there are no $1 standbys"
    return 1
}

# All its processes: each has a session of its own, and would notice the end of the first one only after a while.
pgc_kill() {
    local children child
    [ -n "${pgc_pid[$1]:-}" ] || return 0
    kill -STOP "${pgc_pid[$1]}" 2>/dev/null
    children=$(pgrep -P "${pgc_pid[$1]}")
    # shellcheck disable=SC2086
    kill -KILL "${pgc_pid[$1]}" $children 2>/dev/null
    wait "${pgc_pid[$1]}" 2>/dev/null
    pgc_pid[$1]=''
    for child in $children; do
        while kill -0 "$child" 2>/dev/null; do sleep 0.01; done
    done
}

# Prints the standby that has received most; nothing when there is none.
pgc_most_advanced() {
    local n
    for n in 1 2 3; do
        if [ "$n" = "$pgc_lead" ] || [ -z "${pgc_pid[n]:-}" ]; then continue; fi
        echo "$(pgc_sql "$n" "SELECT pg_last_wal_receive_lsn() - '0/0'") $n"
    done | grep -E '^[0-9]+ ' | sort -n | tail -n 1 | cut -d' ' -f2
}

# pgc_set_names <n> <names>: there, at once; "-": those that all begin with.
pgc_set_names() {
    local set="SET synchronous_standby_names = '$2'"
    [ "$2" != - ] || set='RESET synchronous_standby_names'
    [ -z "$(pgc_sql "$1" "ALTER SYSTEM $set")" ] && [ "$(pgc_sql "$1" 'SELECT pg_reload_conf()')" = t ]
}

pgc_fail_over() {
    local old=$pgc_lead next=${1:-} n
    pgc_kill "$old"
    [ -n "$next" ] || next=$(pgc_most_advanced)
    [ -n "$next" ] || { echo "no standby can be promoted"; return 1; }
    [ "$(pgc_sql "$next" 'SELECT pg_promote(true, 30)')" = t ] || { echo "p$next is not promoted"; return 1; }
    pgc_lead=$next
    for n in 1 2 3; do
        if [ "$n" = "$next" ] || [ -z "${pgc_pid[n]:-}" ]; then continue; fi
        pgc_sql "$n" "ALTER SYSTEM SET primary_conninfo = '$(pgc_conninfo "$n" "${pgc_ports[next]}")'" &&
            pgc_sql "$n" 'SELECT pg_reload_conf()' >/dev/null
    done
}

pgc_rejoin() {
    pgc_kill "$1"
    pgc_copy "$1" && pgc_launch "$1" && pgc_ready "$1"
}

pgc_remove() {
    local n
    [ -n "$pgc_dir" ] || return 0
    if [ -n "$pgc_keep" ]; then
        for n in 1 2 3; do [ -z "${pgc_pid[n]:-}" ] || kill -INT "${pgc_pid[n]}" 2>/dev/null; done
        for n in 1 2 3; do [ -z "${pgc_pid[n]:-}" ] || wait "${pgc_pid[n]}" 2>/dev/null; done
    else
        for n in 1 2 3; do pgc_kill "$n"; done
        rm -rf "$pgc_dir"
    fi
    pgc_pid=()
}

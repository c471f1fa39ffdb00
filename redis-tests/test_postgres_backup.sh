#!/bin/bash
# BGSAVE of a node with `backend postgresql`: a file that a server with its data on this machine starts with, in which
# everything is as it was, although others wrote meanwhile; and nothing is left of one that was killed in the middle.

. "$(dirname "$0")/server.sh"
. redis-tests/postgres.sh

if ! pg_can; then
    skip "backups of PostgreSQL" "PostgreSQL is not installed (package postgresql)"
    finish
fi
tool=$PWD/build/asan/tupledctl
lease=(--lease 3000 --postgresql-durability provider --memtable-size 1mb)
cli() {
    node 1 "$@"
}
local_cli() {
    # shellcheck disable=SC2154 # server.sh has it
    timeout 60 redis-cli -p "$port" "$@"
}
# ctl <port> [word...]
ctl() {
    timeout 60 "$tool" -u "redis://127.0.0.1:$1" "${@:2}" 2>&1
}
# said <command...>: all that is the same on both sides, by asking like cli
said() {
    for db in 0 1 3; do
        "$@" -n "$db" DBSIZE
        "$@" -n "$db" KV.COUNT ALL
    done
    "$@" KV.FIND by_n 7 KEYSONLY
    "$@" KV.FIND by_mail '"m8"' KEYSONLY
    "$@" KV.INDEX LIST
    "$@" KV.QUEUE STATS jobs | sed '/oldest-ms/,+1d'
    "$@" KV.QUEUE STATS later | sed '/oldest-ms/,+1d'
    "$@" KV.DB LIST
    "$@" KV.GET '["kinds"]'
    "$@" GET counter
    "$@" KV.GET '["large",1]' | md5sum
}
digests() {
    for db in 0 1 3; do ctl "$1" --db "$db" digest; done
}
saved() {
    local tries
    for ((tries = 0; tries < 1500; tries++)); do
        [ "$(cli INFO persistence | tr -d '\r' | sed -n 's/^rdb_bgsave_in_progress://p')" = 1 ] || return 0
        sleep 0.02
    done
    return 1
}

pg_start || { not_ok "PostgreSQL starts"; exit 1; }
node_start 1 "${lease[@]}"
check "a node leads" node_ready 1

# ---- of everything something ----------------------------------------------------------------------

big=$(head -c 20000 /dev/zero | tr '\0' v)
cli KV.INDEX CREATE by_n PREFIX '["u"]' ON 1 n >/dev/null
cli KV.INDEX CREATE by_mail PREFIX '["u"]' ON 1 mail UNIQUE >/dev/null
cli KV.INDEX CREATE gone PREFIX '["u"]' ON 1 n >/dev/null
cli KV.INDEX CREATE words PREFIX '["u"]' TEXT 1 t >/dev/null
for ((i = 0; i < 1500; i++)); do
    echo "KV.SET '[\"u\",$i]' '{\"n\":$((i % 50)),\"mail\":\"m$i\",\"t\":\"some text $i\"}' EX $((3600 + i))"
    [ $((i % 10)) -ne 1 ] || echo "KV.DEL '[\"u\",$i]'"
    [ $((i % 5)) -ne 0 ] || echo "KV.ENQUEUE jobs '{\"n\":$i}' DEDUP id$i UNDELIVERED 1 '[\"failed\",$i]'"
done | cli >/dev/null
for ((i = 0; i < 30; i++)); do
    echo "KV.ENQUEUE later '[$i,null,true]' DELAY 3600000"
    echo "SET plain:$i text$i EX 5000"
    echo "INCR counter"
    echo "KV.DEQUEUE jobs LEASE 3600000"
done | cli >/dev/null
cli KV.SUM '["sum"]' 3 IDEM request >"$scratch/sum"
printf '"%s"' "$big" | cli -x KV.SET '["large",1]' >/dev/null
cli KV.SET '["kinds"]' '[{"$bigint":"123456789012345678901"},{"$bytes":"AAEC"},{"$number":"NaN"}]' >/dev/null
cli KV.INDEX DROP gone >/dev/null
for ((i = 0; i < 600; i++)); do echo "KV.SET '[\"f\",$i]' $i"; done | cli -n 3 >/dev/null
cli -n 3 FLUSHDB >/dev/null
for ((i = 0; i < 20; i++)); do echo "KV.SET '[\"f\",$i]' $i"; done | cli -n 3 >/dev/null
cli -n 1 SET other database >/dev/null
cli KV.DB CREATE shop COMMENT "of tests" >/dev/null
wanted=$(said cli)
check "what is compared has queues" grep -qx -A1 leased <<<"$wanted"
check "... and indexes" grep -qF '["u",8]' <<<"$wanted"
digest=$(digests "${node_port[1]}")
check "there is something to save" test "$(cli DBSIZE)" -gt 1300

# ---- a backup while others write -------------------------------------------------------------------

(for ((i = 0; i < 100000; i++)); do echo "SET k$((i % 3000)) $i"; done | timeout 60 redis-cli -p "${node_port[1]}" -n 7 \
    >/dev/null 2>&1) &
writer=$!
same "BGSAVE" "Background saving started" "$(cli BGSAVE)"
check "... comes to its end" saved
check "tupledctl backup too" ctl "${node_port[1]}" backup --wait
kill "$writer" 2>/dev/null
wait "$writer" 2>/dev/null
same "two files" 2 "$(find "$scratch/node1/backups" -name 'tupled-*.db' | wc -l)"
same "... and nothing else" 2 "$(find "$scratch/node1/backups" -type f | wc -l)"
same "INFO says it" "ok" "$(cli INFO persistence | tr -d '\r' | sed -n 's/^rdb_last_bgsave_status://p')"
check "LASTSAVE too" test "$(cli LASTSAVE)" -ge "$(($(date +%s) - 100))"
newest=$(cli KV.VERSION)

# ---- a server starts with it -----------------------------------------------------------------------

mkdir -m 700 "$scratch/data"
cp "$(find "$scratch/node1/backups" -name 'tupled-*.db' | sort | head -n 1)" "$scratch/data/tupled.db"
check "nothing in it is damaged" ctl 1 check "$scratch/data"
start_server --memtable-size 1mb
same "everything is as it was" "$wanted" "$(said local_cli)"
same "... to the last bit" "$digest" "$(digests "$port")"
same "... the request id too" "$(cat "$scratch/sum")" "$(local_cli KV.SUM '["sum"]' 3 IDEM request)"
check "what was written meanwhile is of one moment" test "$(local_cli -n 7 DBSIZE)" -le 3000
found=''
for ((tries = 0; tries < 500; tries++)); do
    found=$(local_cli KV.SEARCH words 'text 8' 2>&1)
    [[ $found == *INDEXING* ]] || break
    sleep 0.02
done
same "the text index is filled in" '["u",8]' "$(local_cli KV.SEARCH words 'text 8' | grep -m 1 '^\["u"')"
same "... with every entry" 1350 "$(local_cli KV.SEARCH words text LIMIT 2000 | grep -c '^\["u"')"
version=$(local_cli KV.SET '["new"]' 1)
check "versions go on above all that were given" test "$version" '>' "$newest"
stop_server
check "nothing is damaged after it" ctl 1 check "$scratch/data"

# ---- killed in the middle --------------------------------------------------------------------------

for ((i = 0; i < 40; i++)); do printf '"%s%s"' "$big" "$i" | cli -x KV.SET "[\"large\",$i]" >/dev/null; done
rm "$scratch/node1/backups/"*
cli BGSAVE >/dev/null
for ((tries = 0; tries < 3000; tries++)); do
    [ -z "$(find "$scratch/node1/backups" -name '*.part*' -o -name '*.db')" ] || break
    sleep 0.001
done
node_signal 1 -KILL
node_gone 1
rm -f "$scratch/node1/backups/"*.db # in case it was as fast as that
node_start 1 "${lease[@]}"
check "it leads again" node_ready 1
same "of the backup nothing is left" "" "$(ls -A "$scratch/node1/backups")"
check "and the next one is made" ctl "${node_port[1]}" backup --wait
finish

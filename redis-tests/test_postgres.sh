#!/bin/bash
# Two nodes with `backend postgresql`: one leads, the other follows when it is gone; what was
# acknowledged is there, and a node that was stopped for longer than its lease says nothing stale.

. "$(dirname "$0")/server.sh"
. redis-tests/postgres.sh

if ! pg_can; then
    skip "nodes on PostgreSQL" "PostgreSQL is not installed (package postgresql)"
    finish
fi
lease=(--lease 3000 --postgresql-durability provider)
ms() {
    echo $(($(date +%s%N) / 1000000))
}

# ---- what is refused -------------------------------------------------------------------------------

refused() {
    timeout 20 "$TUPLED_BIN" --dir "$scratch/none" --port 0 --http-port 0 --backend postgresql "${@:2}" \
        >"$scratch/refused" 2>&1
    [ $? = 1 ] && grep -qF -- "$1" "$scratch/refused"
}
check "without an address it does not start" refused "backend postgresql needs postgresql-url"
check "nor with an archive" refused "archive-dir applies to backend local" --postgresql-url host=/x \
    --archive-dir "$scratch/archive"

# ---- one leads -------------------------------------------------------------------------------------

pg_start || { not_ok "PostgreSQL starts"; exit 1; }
# As a database that speaks like PostgreSQL and has no such thing.
pg_sql "CREATE FUNCTION no_storage() RETURNS event_trigger AS \$\$ BEGIN IF current_query() LIKE '%SET STORAGE%' THEN
    RAISE feature_not_supported; END IF; END \$\$ LANGUAGE plpgsql;
    CREATE EVENT TRIGGER no_storage ON ddl_command_start EXECUTE FUNCTION no_storage()" >/dev/null
node_start 1
check "without standbys nobody leads, unless it is told that this is right" node_says 1 \
    'standing by: PostgreSQL does not wait for standbys; set synchronous_standby_names'
node_signal 1 -KILL
node_gone 1

node_start 1 "${lease[@]}"
check "a node leads" node_ready 1
same "... where the storage of a column cannot be chosen" x \
    "$(pg_sql "SELECT attstorage FROM pg_attribute WHERE attrelid = 'tupled_log'::regclass AND attname = 'body'")"
same "it serves" PONG "$(node 1 PING)"
node 1 KV.INDEX CREATE by-name PREFIX '["user"]' ON 1 name >"$scratch/index"
same "an index" OK "$(cat "$scratch/index")"
for ((i = 0; i < 200; i++)); do
    echo "KV.SET '[\"user\",$i]' '{\"name\":\"n$((i % 10))\"}'"
done | timeout 60 redis-cli -p "${node_port[1]}" >"$scratch/sets"
same "200 entries" 200 "$(grep -c . "$scratch/sets")"
node 1 KV.SET '["soon gone"]' 1 PX 300 >/dev/null
node 1 KV.ENQUEUE jobs '"first"' >/dev/null
node 1 KV.ENQUEUE jobs '"second"' >/dev/null
leased=$(node 1 KV.DEQUEUE jobs LEASE 60000 | head -n 1)
node 1 -n 3 SET plain text >/dev/null
node_start 2 "${lease[@]}"
check "another one waits" node_says 2 'standing by: node1/.* leads'

# ---- it is killed ----------------------------------------------------------------------------------

# INCR until the connection ends; the last number that was acknowledged is in a file.
count_up() {
    local line
    exec 3<>"/dev/tcp/127.0.0.1/${node_port[1]}" || return
    while printf '*2\r\n$4\r\nINCR\r\n$1\r\ns\r\n' >&3 2>/dev/null && IFS= read -r -t 20 line <&3; do
        [[ $line == :* ]] || break
        line=${line#:}
        echo "${line%$'\r'}" >"$scratch/acknowledged"
    done
}
count_up 2>/dev/null &
counter=$!
for ((i = 0; i < 600; i++)); do
    [ "$(cat "$scratch/acknowledged" 2>/dev/null || echo 0)" -gt 20 ] 2>/dev/null && break
    sleep 0.05
done
begin=$(ms)
node_signal 1 -KILL
check "the other follows" node_ready 2
took=$(($(ms) - begin))
check "... when the lease has ended ($took ms)" test "$took" -lt 20000
wait "$counter"
node_gone 1
acknowledged=$(cat "$scratch/acknowledged")
sum=$(node 2 GET s)
check "what was acknowledged is there, and at most one more ($acknowledged, $sum)" \
    test "$acknowledged" -gt 10 -a "$sum" -ge "$acknowledged" -a "$sum" -le $((acknowledged + 1))
same "all entries" 200 "$(node 2 KV.COUNT PREFIX '["user"]')"
same "the index" 20 "$(node 2 KV.FIND by-name '"n3"' KEYSONLY | grep -c '\["user"')"
same "a plain key in another database" text "$(node 2 -n 3 GET plain)"
same "what had expired stays away" "" "$(node 2 KV.GET '["soon gone"]')"
same "a message that was leased is still leased" 1 "$(node 2 KV.DEQUEUE jobs | grep -c second)"
check "... by its receipt" test -n "$leased"
same "a new version is above all before" OK "$(node 2 SET plain text)"

# ---- it is stopped for longer than its lease -------------------------------------------------------

node_start 1 "${lease[@]}"
check "the first one waits now" node_says 1 'standing by: node2/.* leads'
node 2 KV.SET '["who"]' '"node2"' >/dev/null
exec 4<>"/dev/tcp/127.0.0.1/${node_port[2]}"
printf '*2\r\n$6\r\nKV.GET\r\n$7\r\n["who"]\r\n' >&4
IFS= read -r -t 20 line <&4 && IFS= read -r -t 20 line <&4
same "a client of the leader has its answer" $'"node2"\r' "$line"
node_signal 2 -STOP
check "the first one leads again" node_ready 1
node 1 KV.SET '["who"]' '"node1"' >/dev/null
# It waits in the socket when the old leader goes on.
printf '*2\r\n$6\r\nKV.GET\r\n$7\r\n["who"]\r\n' >&4
printf '*3\r\n$6\r\nKV.SET\r\n$7\r\n["who"]\r\n$7\r\n"stale"\r\n' >&4
node_signal 2 -CONT
said=$(timeout 20 cat <&4)
same "it gets no answer, its connection ends" "" "$said"
exec 4>&-
check "the old leader begins anew, and says why" node_says 2 'is no longer the leader: .*another node is the leader now'
check "... and stands by" node_says 2 'standing by: node1/.* leads' 2
check "... as the same process" kill -0 "${node_pid[2]}"
node_listens 2
same "a client of it is passed on" '"node1"' "$(node 2 KV.GET '["who"]')"
node_signal 2 -TERM
node_gone 2
same "a node that stands by stops cleanly" 0 "$?"
same "nothing of it is stored" '"node1"' "$(node 1 KV.GET '["who"]')"

# ---- another cluster in the same PostgreSQL ----

node_start 3 "${lease[@]}" --engine-id 2
check "another engine has a leader of its own" node_ready 3
same "... which knows nothing of the first" "" "$(node 3 KV.GET '["who"]')"
node 3 KV.SET '["who"]' '"node3"' >/dev/null
node 3 ACL SETUSER only-there on nopass >/dev/null
same "nor does the first of it" '"node1"' "$(node 1 KV.GET '["who"]')"
same "... nor of its users" "" "$(node 1 ACL LIST | grep only-there)"
node 3 FLUSHALL >/dev/null
same "what is flushed there is here" '"node1"' "$(node 1 KV.GET '["who"]')"
same "they are no nodes of each other" connected_slaves:0 "$(node 3 INFO replication | tr -d '\r' | grep connected_slaves)"
node_signal 3 -TERM
node_gone 3
"$TUPLED_BIN" --backend postgresql --postgresql-url "$pg_url" --engine-id 0 --dir "$scratch/node3" >"$scratch/refused" 2>&1
check "no engine has the number 0" grep -q 'engine-id.*1' "$scratch/refused"

# ---- PostgreSQL is gone for a while ----------------------------------------------------------------

pg_kill
# A leader that may not answer for some time says TRYAGAIN.
set_late() {
    local tries
    for ((tries = 0; tries < 60; tries++)); do
        timeout 30 redis-cli -p "${node_port[1]}" KV.SET '["late"]' '"but safe"' >"$scratch/late" 2>&1
        grep -q '^TRYAGAIN' "$scratch/late" || return
    done
}
set_late &
late=$!
sleep 4.5 # its lease has expired
same "nothing is acknowledged meanwhile" 0 "$(grep -cxE '[0-9a-f]{20}' "$scratch/late")"
same "nor anything answered" "" "$(timeout 1 redis-cli -p "${node_port[1]}" KV.GET '["who"]' 2>/dev/null)"
pg_start || { not_ok "PostgreSQL starts"; exit 1; }
wait "$late"
check "... but when it is there again ($(cat "$scratch/late"))" grep -qxE '[0-9a-f]{20}' "$scratch/late"
same "the same node leads" '"node1"' "$(node 1 KV.GET '["who"]')"

# ---- a clean stop ----------------------------------------------------------------------------------

# A lease so long that no machine is too slow to be done before it ends.
node_signal 1 -TERM
node_gone 1
node_start 1 "${lease[@]}" --lease 30000
check "the first node leads again" node_ready 1
node_start 2 "${lease[@]}"
check "a second node waits" node_says 2 'standing by: node1/.* leads'
begin=$(ms)
node_signal 1 -TERM
node_gone 1
same "the leader stops cleanly" 0 "$?"
check "the second one follows" node_ready 2
took=$(($(ms) - begin))
check "... without waiting for the lease ($took ms)" test "$took" -lt 25000
same "with everything" '"but safe"' "$(node 2 KV.GET '["late"]')"
node 2 FLUSHALL >/dev/null
same "all can be flushed" 0 "$(node 2 DBSIZE)"
node_signal 2 -TERM
node_gone 2
same "the last one stops cleanly" 0 "$?"
node_start 1 "${lease[@]}" --memtable-size 1mb
check "... and what it left is what the next one finds" node_ready 1
same "nothing" 0 "$(node 1 DBSIZE)"

# ---- keys that no memory has are read together -----------------------------------------------------

keys=$(seq -f 'cold:%g' 1000 1299)
for key in $keys; do echo "SET $key value-of-$key"; done | node 1 >/dev/null
big=$(head -c 4000 /dev/zero | tr '\0' v)
for ((i = 0; i < 1000; i++)); do echo "SET filler:$i $big"; done | node 1 >/dev/null
are_applied() { [ "$(pg_sql "SELECT count(*) FROM tupled_entry WHERE position('cold:'::bytea in key) > 0")" = 300 ]; }
for ((i = 0; i < 1500; i++)); do are_applied && break || sleep 0.02; done
check "entries are in the table" are_applied
node_signal 1 -KILL
node_gone 1
same "one of them is damaged" 1 "$(pg_sql "WITH d AS (UPDATE tupled_entry SET checksum = checksum + 1
    WHERE position('cold:1150'::bytea in key) > 0 RETURNING 1) SELECT count(*) FROM d")"
node_start 1 "${lease[@]}" --memtable-size 1mb
check "the node leads again" node_ready 1
figure() { node 1 INFO store | tr -d '\r' | sed -n "s/^$1://p"; }
waited=$(figure store_reads_waited) queries=$(figure store_queries)
# In one write: all that came at once is known before the first is run.
{
    exec 3<>"/dev/tcp/127.0.0.1/${node_port[1]}"
    for key in $keys; do printf '*2\r\n$3\r\nGET\r\n$9\r\n%s\r\n' "$key"; done | dd bs=1M iflag=fullblock status=none >&3
    printf 'QUIT\r\n' >&3
    timeout 60 cat <&3 | tr -d '\r' >"$scratch/cold"
    exec 3>&-
}
same "... all others are right" "$(for key in $keys; do echo "value-of-$key"; done | grep -v 1150)" \
    "$(grep '^value-of' "$scratch/cold")"
check "... and it says so of the damaged one" grep -q '^-CORRUPT .*damaged' "$scratch/cold"
waited=$(($(figure store_reads_waited) - waited)) queries=$(($(figure store_queries) - queries))
check "... 300 keys are read by few queries ($waited keys, $queries queries)" \
    test "$waited" -ge 280 -a "$queries" -le $((waited / 4))
finish

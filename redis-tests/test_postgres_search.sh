#!/bin/bash
# Text indexes of nodes with `backend postgresql`: each has them in a file of its own, and no answer ever lacks a row,
# whichever node leads, however it came to that.

. "$(dirname "$0")/server.sh"
. redis-tests/postgres.sh

if ! pg_can; then
    skip "text indexes with PostgreSQL" "PostgreSQL is not installed (package postgresql)"
    finish
fi
lease=(--lease 3000 --postgresql-durability provider --memtable-size 1mb)
# rows <n>: how many the node finds, when the index is filled in. Every answer before that says that it is not.
rows() {
    local tries found
    for ((tries = 0; tries < 1000; tries++)); do
        found=$(node "$1" KV.SEARCH words common LIMIT 10000 2>&1)
        [[ $found == *INDEXING* ]] || break
        sleep 0.02
    done
    if [[ $found == *ERR* ]]; then echo "$found"; else grep -c '^\["u"' <<<"$found"; fi
}
# put <n> <from> <to>
put() {
    local i
    for ((i = $2; i < $3; i++)); do echo "KV.SET '[\"u\",$i]' '{\"t\":\"common text $i\"}'"; done |
        timeout 60 redis-cli -p "${node_port[$1]}" >/dev/null
}

pg_start || { not_ok "PostgreSQL starts"; exit 1; }
node_start 1 "${lease[@]}"
check "a node leads" node_ready 1
same "there is no file without an index" "" "$(find "$scratch/node1" -name '*text*')"
put 1 0 5000
same "an index" OK "$(node 1 KV.INDEX CREATE words PREFIX '["u"]' TEXT 1 t)"
same "has all rows, or none" 5000 "$(rows 1)"
put 1 5000 6000
same "a search sees every write before it" 6000 "$(rows 1)"

# ---- the same node again ---------------------------------------------------------------------------

(put 1 10000 90000 2>/dev/null) &
writer=$!
sleep 1
node_signal 1 -KILL
wait "$writer"
node_gone 1
node_start 1 "${lease[@]}"
check "it leads again after kill -9" node_ready 1
check "... and its file is current" node_says 1 'text indexes: .*/tupled-text.db is up to date'
same "... with every row" "$(node 1 KV.COUNT PREFIX '["u"]')" "$(rows 1)"

# ---- another node ----------------------------------------------------------------------------------

node 1 KV.DELRANGE PREFIX '["u"]' >/dev/null
put 1 0 3000
node_start 2 "${lease[@]}"
check "another one waits" node_says 2 'standing by: node1/.* leads'
node_signal 1 -KILL
check "it follows" node_ready 2
node_gone 1
same "it has all rows, or none" 3000 "$(rows 2)"
put 2 3000 4000
node 2 KV.DEL '["u",7]' >/dev/null
# PostgreSQL on a crowded machine may not answer in time; the node asks again.
for ((tries = 0; tries < 600; tries++)); do
    found=$(rows 2)
    [ "$found" != 3999 ] || break
    sleep 0.1
done
same "and goes on" 3999 "$found"
node_start 1 "${lease[@]}"
check "the first one waits" node_says 1 'standing by: node2/.* leads'
node_signal 2 -TERM
check "it leads again" node_ready 1
node_gone 2
check "its file is not current any more" node_says 1 'another node has been the leader since'
same "it has all rows, or none" 3999 "$(rows 1)"

# ---- a flush, and a file that is not good ----------------------------------------------------------

node 1 FLUSHALL >/dev/null
put 1 0 10
same "after a flush only what is new" 10 "$(node 1 KV.INDEX CREATE words PREFIX '["u"]' TEXT 1 t >/dev/null; rows 1)"
node_signal 1 -KILL
node_gone 1
dd if=/dev/urandom of="$scratch/node1/tupled-text.db" bs=4096 seek=1 count=3 conv=notrunc 2>/dev/null
rm -f "$scratch/node1/tupled-text.db-wal"
node_start 1 "${lease[@]}"
check "with a damaged file it leads too" node_ready 1
same "... and makes another" 10 "$(rows 1)"
finish

#!/bin/bash
# tupledctl check (docs/tupledctl.md), what is in good pages: a rich directory is good, also after kill -9; one
# damage at a time, planted by SQL in a copy (tests/store_sql.c), is found and named; no copy is left behind.
. "$(dirname "$0")/server.sh"

tool=$PWD/build/asan/tupledctl store_sql=$PWD/build/asan/tests/store_sql
export TMPDIR=$scratch/tmp
mkdir "$TMPDIR"
cli() {
    timeout 60 redis-cli -p "$port" "$@"
}
# look <dir> [word...]: its exit status in $status, its output in $scratch/out
look() {
    timeout 120 "$tool" check "$@" </dev/null >"$scratch/out" 2>"$scratch/err"
    status=$?
}
# good <name> <dir>
good() {
    look "$2"
    same "$1" "0 damaged 0 notes 0" "$status $(grep -E '^(damaged|notes) ' "$scratch/out" | tr -s ' ' | paste -sd ' ')"
    [ "$status" -eq 0 ] || cat "$scratch/out" "$scratch/err"
}
figure() {
    sed -n "s/^$1  *//p" "$scratch/out"
}
# planted <name> <pattern> <sql>...: in a fresh copy, check says "damage", with the pattern, and ends with 1.
# The statement must have changed something: its last row is changes().
planted() {
    local name=$1 pattern=$2
    shift 2
    rm -rf "$copy"
    cp -a "$good" "$copy"
    if [ "$("$store_sql" "$copy/tupled.db" "$@" "SELECT changes()>0" 2>&1 | tail -n 1)" != 1 ]; then
        not_ok "$name: nothing was planted"
        "$store_sql" "$copy/tupled.db" "$@" 2>&1 | head -n 5
        return
    fi
    look "$copy"
    if [ "$status" -eq 1 ] && grep -E '^damage ' "$scratch/out" | grep -qE -- "$pattern"; then
        echo "ok - $name: $(grep -E '^damage ' "$scratch/out" | grep -E -m 1 -- "$pattern")"
    else
        not_ok "$name"
        printf '  status %s, no damage like: %s\n' "$status" "$pattern"
        head -n 20 "$scratch/out" "$scratch/err" | sed 's/^/  /'
    fi
    [ -z "$(ls -A "$TMPDIR")" ] || not_ok "... a copy is left: $(ls "$TMPDIR")"
}
state_of() {
    (cd "$1" && for f in *; do [ -f "$f" ] && stat -c '%n %s %Y' "$f" && sha256sum "$f"; done)
}
receipt() {
    sed -n 's/^ *//; 5p'
}

# ---- a rich directory ----
big=$(head -c 20000 /dev/zero | tr '\0' v)
start_server --memtable-size 1mb
cli KV.INDEX CREATE by_n PREFIX '["u"]' ON 1 n >/dev/null
cli KV.INDEX CREATE by_mail PREFIX '["u"]' ON 1 mail UNIQUE >/dev/null
cli KV.INDEX CREATE by_tags PREFIX '["u"]' ON 2 'tags' n >/dev/null
cli KV.INDEX CREATE words PREFIX '["u"]' TEXT 2 t more >/dev/null
cli KV.INDEX CREATE gone PREFIX '["u"]' ON 1 n >/dev/null
cli KV.INDEX CREATE gone_text PREFIX '["u"]' TEXT 1 t >/dev/null
for ((i = 0; i < 300; i++)); do
    echo "KV.SET '[\"u\",$i]' '{\"n\":$i,\"mail\":\"m$i\",\"tags\":[\"a\",\"b$((i % 7))\",\"a\"],\"t\":\"some text $i\"}' EX $((3600 + i))"
    [ $((i % 3)) -ne 0 ] || echo "KV.SET '[\"u\",$i]' '{\"n\":1.5,\"mail\":\"x$i\",\"t\":\"other words $i\",\"more\":[\"x\",\"y\"]}'"
    [ $((i % 10)) -ne 0 ] || echo "KV.DEL '[\"u\",$i]'"
    echo "KV.ENQUEUE jobs '{\"n\":$i}' DEDUP id$i BACKOFF 2 100 200 UNDELIVERED 1 '[\"failed\",$i]'"
    echo "KV.SET '[\"plain\",$i]' '\"$i\"'"
done | cli >/dev/null
for ((i = 0; i < 30; i++)); do
    echo "KV.SET '[\"u\",\"e$i\"]' '{\"n\":-$i,\"mail\":\"e$i\",\"t\":\"soon over\"}' PX 40"
    echo "KV.ENQUEUE later '[$i,null,true]' DELAY 3600000"
    echo "KV.ENQUEUE purged '$i'"
    echo "SET plain:$i text$i EX 5000"
    echo "KV.SUM '[\"sum\"]' 3 IDEM request$i"
    echo "INCR counter"
done | cli >/dev/null
printf '"%s"' "$big" | cli -x KV.SET '["large",1]' >/dev/null
printf '{"t":"%s","n":5,"mail":"large"}' "$big" | cli -x KV.SET '["u","large"]' >/dev/null
printf '"%s"' "$big" | cli -x KV.ENQUEUE jobs >/dev/null
cli KV.SET '["kinds"]' '[{"$bigint":"123456789012345678901"},{"$date":1700000000000},{"$bytes":"AAEC"},{"$number":"NaN"}]' >/dev/null
cli KV.SET '["u","e3"]' '{"mail":"e4","n":7}' >/dev/null
for ((i = 0; i < 9; i++)); do
    dead=$(cli KV.DEQUEUE jobs LEASE 3600000 | receipt)
    [ $((i % 2)) -eq 0 ] && continue
    [ $((i % 4)) -eq 1 ] && cli KV.NACK "$dead" DEAD ERROR "no use" >/dev/null && continue
    cli KV.ACK "$dead" >/dev/null
done
cli KV.QUEUE PURGE purged >/dev/null
cli KV.INDEX DROP gone >/dev/null
cli KV.INDEX DROP gone_text >/dev/null
for ((i = 0; i < 600; i++)); do echo "KV.SET '[\"f\",$i]' $i"; done | cli -n 3 >/dev/null
cli -n 3 KV.INDEX CREATE kept PREFIX '["f"]' ON 1 n >/dev/null
cli -n 3 KV.INDEX CREATE kept_text PREFIX '["f"]' TEXT 1 t >/dev/null
cli -n 3 FLUSHDB >/dev/null
for ((i = 0; i < 20; i++)); do echo "KV.SET '[\"f\",$i]' '{\"n\":$i,\"t\":\"words\"}'"; done | cli -n 3 >/dev/null
cli KV.DB CREATE shop COMMENT "of tests" >/dev/null
cli KV.DB CREATE closed >/dev/null
printf '%s\n' "SELECT closed" "KV.SET '[\"x\"]' 1" "KV.INDEX CREATE i PREFIX '[\"x\"]' ON 1 n" "SELECT shop" "KV.SET '[\"y\"]' 1 EX 900" "KV.ENQUEUE q 1" | cli >/dev/null
cli KV.DB DROP closed >/dev/null
for ((i = 0; i < 100; i++)); do echo "KV.SET '[\"end\",$i]' $i EX 3600"; done | cli >/dev/null
for ((i = 1; i <= 1500; i++)); do echo "XADD stream $i-0 n $i"; done | cli >/dev/null
for ((i = 0; i < 100; i++)); do printf '%s\n' "ZADD zset $i m$i" "HSET hash f$i v EX" "RPUSH list v$i"; done | cli >/dev/null
for group in kept gone; do
    printf '%s\n' "XGROUP CREATE stream $group 0" "XREADGROUP GROUP $group ann COUNT 20 STREAMS stream >" \
        "XREADGROUP GROUP $group bob COUNT 5 STREAMS stream >" "XACK stream $group 3-0 4-0" "XDEL stream 5-0"
done | cli >/dev/null
printf '%s\n' "XGROUP DELCONSUMER stream kept bob" "XGROUP DESTROY stream gone" "XTRIM stream MAXLEN 100" "COPY stream other" | cli >/dev/null
kill -KILL "$server"
wait "$server" 2>/dev/null
server=''
before=$(state_of "$scratch/data")
good "good after kill -9" "$scratch/data"
same "... and nothing is changed" "$before" "$(state_of "$scratch/data")"
same "... and no copy is left" "" "$(ls -A "$TMPDIR")"
check "... entries were looked at" test "$(figure entries)" -gt 600
check "... rows of indexes too" test "$(figure index-rows)" -gt 800
check "... and messages" test "$(figure messages)" -gt 300
killed=$(figure entries)
start_server --memtable-size 1mb
cli KV.SET '["last"]' 1 >/dev/null
for ((i = 0; i < 1000; i++)); do # what was dropped is gone
    cli INFO store | grep -q store_cleaning:0 && break
    sleep 0.02
done
check "what was dropped goes" test "$i" -lt 1000
stop_server
rows() {
    "$store_sql" "$scratch/data/tupled.db" "SELECT count(*) FROM kv WHERE substr(k,1,4)=x'$1'"
}
same "messages are leased, and dead" "5 2" "$(rows 00000008) $(rows 00000009)"
good "good after a start and a clean stop" "$scratch/data"
# One entry came since, and up to 30 that had expired may have been removed.
more=$((killed - $(figure entries) + 1))
check "what only the journal had was looked at too ($more)" test "$more" -ge 0 -a "$more" -le 30
good=$scratch/data copy=$scratch/copy

# ---- entries ----
# Of an entry ["u",7], of a row of each kind: docs/formats.md, src/queue/rows.h, src/index/rows.h.
tuple=02750021C01C000000000000
entry="k=x'00000001$tuple'"
# row <first bytes> [n]: the n-th row (from 0) that begins so
row() {
    echo "k=(SELECT k FROM kv WHERE substr(k,1,$((${#1} / 2)))=x'$1' ORDER BY k LIMIT 1 OFFSET ${2:-0})"
}
planted "a value that is none" 'entries: kv, database 0, entry \["u",7\]: its value cannot be decoded' \
    "UPDATE kv SET v=x'C1' WHERE $entry"
planted "a value and a byte more" 'entry \["u",7\]: its value cannot be decoded' \
    "UPDATE kv SET v=CAST(v||x'00' AS BLOB) WHERE $entry"
planted "a value that is no bytes" 'entry \["u",7\]: its value has an invalid storage class' "UPDATE kv SET v='text' WHERE $entry"
planted "a key that is not canonical" 'entries: kv, database 0, entry 0275: its key cannot be decoded' \
    "INSERT INTO kv VALUES(x'000000010275',1,0,x'01')"
planted "a key without a space" 'entries: kv: a key of 2 bytes' "INSERT INTO kv VALUES(x'0001',1,0,x'01')"
planted "a version from the future" 'entry \["u",7\]: its version is 99999999, but the newest is ' \
    "UPDATE kv SET ver=99999999 WHERE $entry"
planted "a state from the future" 'entries: meta: it has version 999999999999, which according to the file versions' \
    "UPDATE meta SET value=999999999999 WHERE name='applied'"
planted "an unknown space" 'it is in space 99, which is not in use' "INSERT INTO kv VALUES(x'0000006301',1,0,x'01')"
planted "rows where nothing reads" 'it is in generation 9 of its database' \
    "INSERT INTO kv VALUES(x'00000901$tuple',1,0,x'01')"
planted "a lost row of an expiry" 'entry \["u",7\]: it expires at [0-9]+, but has no row' \
    "DELETE FROM kv WHERE substr(k,1,4)=x'00000002' AND substr(k,13)=x'$tuple'"
planted "a wrong expiry" 'entry \["u",7\]: it expires at [0-9]+, but has no row' "UPDATE kv SET exp=exp+1 WHERE $entry"
planted "a row of an expiry without a key" 'expiry of .*: it has no time and key' \
    "INSERT INTO kv VALUES(x'000000020000000000000001',1,0,x'')"
planted "a row of an expiry with a value" 'expiry of .*: it has a value of 1 bytes' \
    "UPDATE kv SET v=x'01' WHERE $(row 00000002 3)"
planted "an expiry where none belongs" 'it has an expiry, which only entries have' \
    "UPDATE kv SET exp=5 WHERE $(row 00000005 3)"
planted "a request id without a reply" 'request id .*: its value of 1 bytes' "UPDATE kv SET v=x'00' WHERE $(row 00000003)"
planted "a large value that is missing" 'its value, number [0-9]+ of large, is missing' \
    "DELETE FROM large WHERE id=(SELECT min(v) FROM kv WHERE typeof(v)='integer')"
planted "a large value of nobody" 'entries: large: value [0-9]+ belongs to no entry' "INSERT INTO large(v) VALUES(x'01')"
planted "... below all others" 'entries: large: value 0 belongs to no entry' "INSERT INTO large(id,v) VALUES(0,x'01')"
planted "a large value of two" 'entries: large: value [0-9]+ belongs to two entries' \
    "UPDATE kv SET v=(SELECT min(id) FROM large) WHERE $entry"
planted "a wrong count of entries" 'counts: database 0: recorded are [0-9]+ entries, but there are' \
    "UPDATE counts SET entries=entries+1 WHERE d=0"
planted "... of what expires" 'counts: database 0: recorded are [0-9]+ entries with an expiry' \
    "UPDATE counts SET expiring=expiring-1 WHERE d=0"
planted "... of bytes" 'counts: database 16: recorded are [0-9]+ bytes' "UPDATE counts SET bytes=bytes+7 WHERE d=16"
planted "... of a database that is empty" 'counts: database 9: recorded are 1 entries, but there are 0' \
    "INSERT INTO counts VALUES(9,1,0,0)"
planted "... of none" 'counts: database 70000: figures below zero, or of no database' \
    "INSERT INTO counts VALUES(70000,1,0,0)"
planted "a lost entry" 'counts: database 0: recorded are' "DELETE FROM kv WHERE $(row 00000001 9)"
# of_tag <hex>: rows of collections with that tag (src/collection/rows.h)
of_tag() {
    echo "substr(k,1,4)=x'0000000F' AND substr(k,17,1)=x'$1'"
}
planted "a lost entry of a stream" 'collections: .*recorded are 100 elements, but it has 99' \
    "DELETE FROM kv WHERE k=(SELECT k FROM kv WHERE $(of_tag 65) LIMIT 1)"
planted "a lost group" 'collections: .*its groups and its pending entries do not match' \
    "DELETE FROM kv WHERE $(of_tag 67)"
planted "a pending entry of no consumer" 'collections: .*its groups and its pending entries do not match' \
    "DELETE FROM kv WHERE k=(SELECT k FROM kv WHERE $(of_tag 71) LIMIT 1)"
planted "a score of no member" 'collections: .*its members and its scores do not match' \
    "DELETE FROM kv WHERE k=(SELECT k FROM kv WHERE $(of_tag 6D) LIMIT 1)"
planted "a row of the catalog that is none" 'the row of database 16 cannot be decoded' \
    "UPDATE kv SET v=x'90' WHERE k=x'FFFF000E0010'"
planted "... that is lost" 'it belongs to database 16, which is not in the catalog' "DELETE FROM kv WHERE k=x'FFFF000E0010'"
planted "... with another's name" "database 17 has the same name, 'shop'" \
    "INSERT INTO kv SELECT x'FFFF000E0011',ver,exp,v FROM kv WHERE k=x'FFFF000E0010'"
planted "a generation that cannot be" 'places: database 3 lies in generation 300' "INSERT OR REPLACE INTO places VALUES(3,300)"
planted "a line of state that nobody reads" 'meta: it has other, which is never read' "INSERT INTO meta VALUES('other',1)"


# ---- what is no damage ----
# harmless <name> <sql>...: what is planted is not called damage.
harmless() {
    local name=$1
    shift
    rm -rf "$copy"
    cp -a "$good" "$copy"
    check "$name: planted" "$store_sql" "$copy/tupled.db" "$@"
    good "$name" "$copy"
}
harmless "rows of another generation that are forgotten" "INSERT INTO kv VALUES(x'00000901$tuple',1,0,x'C1')" \
    "INSERT INTO forgotten VALUES(x'00000900',x'000009FF',0)"
harmless "rows of a dropped index that are forgotten" "INSERT INTO kv VALUES(x'0000000C0000000515028001$tuple',1,0,x'00')" \
    "UPDATE counts SET bytes=bytes+21 WHERE d=0" "INSERT INTO forgotten VALUES(x'0000000C00000005',x'0000000C00000006',0)"
harmless "an expiry that a later write has left behind" "UPDATE counts SET bytes=bytes+20 WHERE d=0" \
    "INSERT INTO kv VALUES(x'000000020000000000000001$tuple',1,0,x'')"

# ---- trees and tables ----
# kept_text's tables have the number that was free when FLUSHDB was stored.
other=$("$store_sql" "$good/tupled.db" "SELECT n FROM text WHERE d=3")
planted "an index of SQLite that is another's" 'sqlite: sqlite: .*sqlite_autoindex_doc_1_1' \
    "PRAGMA writable_schema=ON" \
    "UPDATE sqlite_master SET rootpage=(SELECT sum(rootpage) FROM sqlite_master WHERE name IN
     ('sqlite_autoindex_doc_1_1','sqlite_autoindex_doc_${other}_1'))-rootpage
     WHERE name IN ('sqlite_autoindex_doc_1_1','sqlite_autoindex_doc_${other}_1')"
planted "a table that is none of ours" 'there is a table extra, which is none of ours' \
    "CREATE TABLE extra(x)" "INSERT INTO extra VALUES(1)"
planted "a lost table" 'copy: tupled.db: its contents were not checked, because a server would not start' \
    "DELETE FROM doc_$other" "DROP TABLE doc_$other"

# ---- indexes: by_n is 1, by_mail (unique) 2, by_tags 3, words 4 ----
# The rows of by_n that are planted anew are made of that of ["u",8]: which rows lie before it does not matter then.
n8="FROM kv WHERE substr(k,1,8)=x'0000000C00000001' AND substr(k,-12)=x'02750021C020000000000000'"
mail="substr(k,1,8)=x'0000000C00000002' AND substr(v,2)=x'$tuple'"
planted "a lost row of an index" "indexes: kv, database 0, entry \\[\"u\",.*: it has no row in index 'by_n'" \
    "DELETE FROM kv WHERE $(row 0000000C00000001 60)"
planted "... of an array's" "it has no row in index 'by_tags'" "DELETE FROM kv WHERE $(row 0000000C00000003 100)"
planted "a row of an entry that is not there" "it does not exist, but index 'by_n' has a row of it" \
    "INSERT INTO kv SELECT CAST(substr(k,1,length(k)-8)||x'C0FFFFFFFFFFFFFF' AS BLOB),ver,exp,v $n8"
planted "a row of a value that the entry has not" "entry \\[\"u\",7\\]: index 'by_n' has a row for a value" \
    "INSERT INTO kv SELECT CAST(substr(k,1,length(k)-12)||x'$tuple' AS BLOB),ver,exp,v $n8"
planted "a row of an index that was dropped" 'it belongs to a missing index' \
    "INSERT INTO kv VALUES(x'0000000C0000000515028001$tuple',1,0,x'00')"
planted "a row of a unique index with another owner" "entry \\[\"u\",7\\]: its row in index 'by_mail' differs" \
    "UPDATE kv SET v=x'0002750021C020000000000000' WHERE $mail"
planted "a row with another expiry" "entry \\[\"u\",7\\]: its row in index 'by_mail' expires at" "UPDATE kv SET exp=exp+1 WHERE $mail"
planted "a definition that is none" "index 'by_mail': its definition is damaged" "UPDATE kv SET v=x'C0' WHERE $(row 0000000B01)"
planted "a definition and a byte more" "index 'by_mail': its definition is damaged" \
    "UPDATE kv SET v=CAST(v||x'00' AS BLOB) WHERE $(row 0000000B01)"
planted "a definition of another kind" "its definition is not in canonical form" \
    "UPDATE kv SET v=CAST(substr(v,1,3)||x'07'||substr(v,5) AS BLOB) WHERE $(row 0000000B01)"
planted "an id that will be given twice" 'it has id 4, but the next id is 2' "UPDATE kv SET v=x'00000002' WHERE k=x'0000000B03'"
planted "a lost row of a text index" 'indexes: doc_1, database 0, entry .*: the entry has text, but no row in the index' \
    "DELETE FROM doc_1 WHERE id=(SELECT id FROM doc_1 LIMIT 1 OFFSET 9)"
planted "lost texts" 'indexes: text_1, database 0, entry .*: its texts, row [0-9]+, are missing' \
    "DELETE FROM text_1 WHERE rowid=(SELECT id FROM doc_1 LIMIT 1 OFFSET 9)"
planted "a row of a text index too many" 'indexes: doc_1, database 0, entry .*: row [0-9]+ belongs to a missing entry' \
    "INSERT INTO doc_1(k) VALUES(x'000001027500021000')"
planted "a text that is not the entry's" 'indexes: text_1, database 0, entry .*: column 0 has a text of 7 bytes' \
    "UPDATE text_1 SET c0='changed' WHERE rowid=(SELECT id FROM doc_1 LIMIT 1 OFFSET 9)"
planted "texts of no entry" 'indexes: text_1: row 99999 has texts of a missing entry' \
    "INSERT INTO text_1(rowid,c0,c1) VALUES(99999,'a','b')"
planted "words that are not those of the texts" 'indexes: text_1: its indexed words differ from its texts' \
    "UPDATE text_1_content SET c0='some text '||id WHERE id IN (SELECT id FROM doc_1 LIMIT 5)"
planted "another index's specification" 'indexes: text, database 0, text index .*: its specification differs' \
    "UPDATE text SET spec=(SELECT spec FROM text WHERE d=3) WHERE d=0"
planted "a specification that is lost" 'the specification of the text index is missing' "DELETE FROM kv WHERE $(row 0000000D)"

# ---- queues ----
jobs=046A6F6273
figures="k=x'00000004$jobs'"
dead_id="(SELECT substr(k,-12) FROM kv WHERE $(row 00000009))"
leased_id="(SELECT substr(k,-12) FROM kv WHERE $(row 00000008))"
planted "a figure of a queue" "queues: kv, database 0, figures of queue 'jobs' .*: recorded are [0-9]+ ready messages" \
    "UPDATE kv SET v=CAST(substr(v,1,35)||x'01'||substr(v,37) AS BLOB) WHERE $figures"
planted "figures that are none" "figures of queue 'jobs' .*: its statistics have 3 bytes" "UPDATE kv SET v=x'010203' WHERE $figures"
planted "figures that are lost" "a row of queue 'jobs', which has no statistics" "DELETE FROM kv WHERE $figures"
planted "a lost message" "waiting in 'jobs' .*: it has no message" \
    "DELETE FROM kv WHERE substr(k,1,9)=x'00000005$jobs' AND substr(k,-12)=(SELECT substr(k,-12) FROM kv WHERE $(row "00000006$jobs" 20))"
planted "a message that nobody gets" "message of 'jobs' .*: the message is neither waiting nor leased" \
    "DELETE FROM kv WHERE $(row "00000006$jobs" 20)"
planted "... nor is it counted" "recorded are [0-9]+ delayed messages, but there are 29" \
    "DELETE FROM kv WHERE $(row 00000006056C61746572 4)"
planted "a message that is waiting twice" "message [0-9a-f]{24} is waiting twice" \
    "INSERT INTO kv SELECT CAST(substr(k,1,17)||x'0000000000000001'||substr(k,-12) AS BLOB),ver,exp,v FROM kv WHERE $(row "00000006$jobs" 20)"
planted "a message that waits and is leased" "the message is both waiting and leased" \
    "INSERT INTO kv SELECT CAST(substr(k,1,17)||x'0000000000000001'||$leased_id AS BLOB),ver,exp,v FROM kv WHERE $(row "00000006$jobs" 20)"
planted "a lost lease" "state in 'jobs' .*: it has no lease" "DELETE FROM kv WHERE $(row 00000008)"
planted "a lost state" "lease in 'jobs' .*: it has no state" \
    "DELETE FROM kv WHERE substr(k,1,4)=x'00000007' AND substr(k,-12)=$leased_id"
planted "a state that is none" "state in 'jobs' .*: it cannot be decoded" \
    "UPDATE kv SET v=x'01' WHERE substr(k,1,4)=x'00000007' AND substr(k,-12)=$leased_id"
planted "a state of another kind" "unexpected state of kind 2 and version" \
    "UPDATE kv SET v=CAST(x'02'||substr(v,2) AS BLOB) WHERE substr(k,1,4)=x'00000007' AND substr(k,-12)=$leased_id"
planted "a lease with another end" "lease in 'jobs' .*: its time is [0-9]+, but that in its state is" \
    "UPDATE kv SET v=CAST(substr(v,1,8)||iif(substr(v,9,1)=x'FE',x'FD',x'FE')||substr(v,10) AS BLOB) WHERE substr(k,1,4)=x'00000007' AND substr(k,-12)=$leased_id"
planted "a lost dead letter" "it has no row among the dead letters" "DELETE FROM kv WHERE $(row 00000009)"
planted "a dead letter without a message" "state in 'jobs' .*: it has no message" \
    "DELETE FROM kv WHERE substr(k,1,4)=x'00000005' AND substr(k,-12)=$dead_id"
planted "a dead letter that is not dead" "the message is among the dead letters, but is not one" \
    "INSERT INTO kv SELECT CAST(x'00000005$jobs'||(SELECT substr(v,1,8) FROM kv WHERE $figures)||$dead_id AS BLOB),ver,exp,v
     FROM kv WHERE substr(k,1,4)=x'00000005' AND substr(k,-12)=$dead_id"
planted "a message that is none" "message of 'jobs' .*: it cannot be decoded" "UPDATE kv SET v=x'05' WHERE $(row "00000005$jobs" 20)"
planted "a message's value that is none" "message of 'jobs' .*: its value cannot be decoded" \
    "UPDATE kv SET v=CAST(substr(v,1,length(v)-1)||x'C1' AS BLOB) WHERE $(row "00000005$jobs" 20)"
planted "a message's keys that are none" "message of 'jobs' .*: its UNDELIVERED keys cannot be decoded" \
    "UPDATE kv SET v=CAST(substr(v,1,17)||x'00FF'||substr(v,20) AS BLOB) WHERE $(row "00000005$jobs" 20)"
planted "a message of another incarnation" "it belongs to incarnation 1 of the queue, but that is" \
    "INSERT INTO kv SELECT CAST(substr(k,1,9)||x'0000000000000001'||substr(k,18) AS BLOB),ver,exp,v FROM kv WHERE $(row "00000005$jobs" 20)"
planted "attempts that are lost" "waiting in 'jobs' .*: it has no number of attempts" "UPDATE kv SET v=x'' WHERE $(row "00000006$jobs" 20)"
planted "a dedup id without a time" "dedup id of 'jobs' .*: its time has 1 bytes" "UPDATE kv SET v=x'00' WHERE $(row 0000000A 3)"
planted "a row of a queue that is none" "its key cannot be decoded" "INSERT INTO kv VALUES(x'00000006FF01',1,0,x'')"

# ---- the copy ----
mkdir "$scratch/there" "$scratch/parent"
look "$good" --scratch "$scratch/there"
same "--scratch" "0 " "$status $(ls -A "$scratch/there")"
look "$good" --scratch "$scratch/nowhere"
same "a place that is not there" 3 "$status"
check "... is told" grep -qF -e "--scratch DIR sets another" "$scratch/err"
look "$good" --scratch "$good/."
same "the directory itself" "3 " "$status $(find "$good" -name 'tupled-check*')"
check "... is told" grep -qF "is being checked" "$scratch/err"
look "$good" --files
same "--files copies nothing" "0 0" "$status $(figure scratch-bytes)"
cp -a "$good" "$scratch/parent/data"
TMPDIR='' look "$scratch/parent/data"
same "beside the directory" "0 data" "$status $(ls -A "$scratch/parent")"
# It may have come to its end before the signal: counted as none.
ended=0
for ((i = 0; i < 50; i++)); do
    "$tool" check "$good" >/dev/null 2>&1 &
    checking=$!
    while kill -0 "$checking" 2>/dev/null && ! compgen -G "$TMPDIR/*" >"$scratch/copies"; do :; done
    kill -TERM "$checking" 2>/dev/null
    wait "$checking"
    [ $? -ne 143 ] || ended=$((ended + 1))
done
check "a signal ends it ($ended of 50)" test "$ended" -gt 0
same "... and removes the copy" "" "$(ls -A "$TMPDIR")"

finish

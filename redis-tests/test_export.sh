#!/bin/bash
# tupledctl export, import, digest (docs/export.md), and the commands below them: KV.LOAD, KV.QUEUE EXPORT,
# KV.LIST WITHEXPIRY. Round trips of everything, errors, and imports that are killed.
. "$(dirname "$0")/server.sh"
. "$(dirname "$0")/imports.sh"
# What a round trip keeps: not the times and versions of the file, versionstamps, the order of messages.
kept() {
    sed -E '/^\{"(format|end)":/d; s/,"versionstamp":"[0-9a-f]{20}"//' "$1" | sort
}

start_server --databases 16
# ---- the commands ----
cli KV.SET '["e",1]' 1 PXAT 4000000000000 >/dev/null
cli KV.SET '["e",2]' 2 >/dev/null
same "KV.LIST WITHEXPIRY" '0,["e",1],1,VS,4000000000000,["e",2],2,VS,' \
    "$(cli KV.LIST PREFIX '["e"]' WITHEXPIRY | sed -E 's/^[0-9a-f]{20}$/VS/' | paste -sd,)"
load=$(cli KV.LOAD SET '["b"]' '{"$u64":"5"}' PXAT 4000000000000 DEL '["e",1]' \
    MESSAGE q 000000000fffffff00000003 '"hi"' 4000000000000 ATTEMPTS 3 ERROR boo BACKOFF 2 7 8 UNDELIVERED 2 '["u"]' '["v",1]' \
    DEAD q 000000000000000100000000 7 3999999999999 ERROR why ATTEMPTS 4 BACKOFF 0 | tail -n +2 | paste -sd,)
same "KV.LOAD tells how many" "4,0" "$load"
same "... an entry with its expiry" '{"$u64":"5"},4000000000000' \
    "$(cli KV.GET '["b"]' WITHEXPIRY | sed 2d | paste -sd,)"
same "... and one is gone" "" "$(cli KV.GET '["e",1]')"
same "... a message with all it has" '0,000000000fffffff00000003,"hi",4000000000000,3,boo,7,8,["u"],["v",1]' \
    "$(cli KV.QUEUE EXPORT q READY | paste -sd,)"
same "... a dead letter" '0,000000000000000100000000,7,3999999999999,4,why,,' "$(cli KV.QUEUE EXPORT q DEAD | paste -sd,)"
same "... which KV.DLQ has" 7 "$(cli KV.DLQ GET q 000000000000000100000000 | sed -n 2p)"
same "a message that is there stays as it is" "0,2" "$(cli KV.LOAD MESSAGE q 000000000fffffff00000003 1 1 \
    MESSAGE q 000000000000000100000000 1 1 | tail -n +2 | paste -sd,)"
id=$(cli KV.ENQUEUE q 1)
check "an id that is given later comes after those that were loaded" test "$id" \> 000000000fffffff00000003
id=$(cli KV.ENQUEUE elsewhere 1)
check "... in any queue" test "$id" \> 000000000fffffff00000003
same "... also in the transaction that loads" 2 "$(
    cli <<<'MULTI
KV.LOAD MESSAGE t 000000001fffffff00000000 1 4000000000000
KV.ENQUEUE t 2
EXEC' >/dev/null
    cli KV.QUEUE EXPORT t READY | grep -cE '^[0-9a-f]{24}$'
)"
stop_server
start_server --databases 16
id2=$(cli KV.ENQUEUE q 1)
check "... and after a restart" test "$id2" \> 000000001fffffff00000000
refused() { same "KV.LOAD refuses $1" "$2" "$(cli KV.LOAD SET '["whole"]' 1 "${@:3}" 2>&1 | head -n 1)"; }
refused "an unknown record" "ERR syntax error: unexpected 'FOO' (SET, DEL, COLLECTION, MESSAGE or DEAD expected) (record 1)" FOO
refused "a broken key" "ERR invalid key: unterminated string at offset 1 (record 1)" SET '["b' 4
refused "a broken id" "ERR invalid message id 'x' (record 2)" DEL '["k"]' MESSAGE q x 1 1
refused "an id that no server gives" "ERR no server returns an id that large (record 1)" \
    MESSAGE q 400000000000000000000000 1 1
refused "an unknown option" "ERR syntax error: unexpected 'LATER' (SET, DEL, COLLECTION, MESSAGE or DEAD expected) (record 2)" \
    DEAD q 000000000000000200000000 1 1 LATER
same "... and nothing of it happens" "" "$(cli KV.GET '["whole"]')"
same "KV.QUEUE EXPORT wants to know which" "ERR syntax error: unexpected 'ALL' (READY, LEASED or DEAD expected)" \
    "$(cli KV.QUEUE EXPORT q ALL 2>&1 | head -n 1)"
flush

# ---- everything, there and back ----
fill() {
    local value i=0
    while read -r value; do
        i=$((i + 1))
        cli KV.SET '["t",'$i']' "$value" >/dev/null
    done <<'VALUES'
null
true
-1.5
9007199254740991
{"$bigint":"-123456789012345678901234567890"}
{"$u64":"18446744073709551615"}
"text \" \\ \n é 😀 \u0000"
{"$bytes":"AAH/"}
[1,[2,{"a":[]}],{}]
{"$map":[[1,"x"],[[2],{"y":null}]]}
{"$set":[1,"a",{"$bytes":""}]}
{"$date":"2023-04-23T00:00:00.000Z"}
{"$date":null}
{"$regexp":["a+","gi"]}
{"$error":{"name":"TypeError","message":"no"}}
{"$typed":["Int16Array","AQACAA=="]}
{"$undefined":true}
{"$number":"NaN"}
{"$number":"-0"}
{"$object":{"$bytes":"AAE="}}
{"$id":1,"value":{"self":{"$ref":1}}}
VALUES
    cli KV.SET '["k",{"$bytes":"AAE="},true,{"$bigint":"99999999999999999999"},-1.5,"é/\n"]' 1 >/dev/null
    cli KV.SET '["expires"]' 1 PXAT 4000000000000 >/dev/null
    head -c 3000000 /dev/zero | tr '\0' 'x' | sed 's/^/"/; s/$/"/' | cli -x KV.SET '["large"]' >/dev/null
    cli KV.INDEX CREATE by PREFIX '["t"]' ON 2 a b.c UNIQUE >/dev/null
    cli KV.INDEX CREATE words PREFIX '["t"]' TEXT 1 a TOKENIZE porter >/dev/null
    cli KV.INDEX CREATE fields HASHES 'h:*' ON 1 city UNIQUE >/dev/null
    cli KV.INDEX CREATE texts HASHES 'h:[ab]*' TEXT 2 a b >/dev/null
    cli KV.DB CREATE shop MAXENTRIES 1000 BACKUP no KEEP 2 MAXBYTES 1000000 COMMENT 'a "shop"' >/dev/null
    cli -n 3 KV.SET '["three"]' 3 >/dev/null
    cli -n 16 KV.SET '["shop"]' 1 >/dev/null
    cli KV.ENQUEUE jobs '{"n":1}' BACKOFF 2 10 20 UNDELIVERED 1 '["f",1]' >/dev/null
    cli KV.ENQUEUE jobs 2 DELAY 100000000 BACKOFF 0 >/dev/null
    cli KV.DEQUEUE jobs LEASE 1000000000 >/dev/null
    cli KV.ENQUEUE $'odd\xff\n' 3 >/dev/null
    cli KV.ENQUEUE dead 4 >/dev/null
    cli KV.NACK "$(cli KV.DEQUEUE dead | tail -n 1)" DEAD ERROR 'no "way"' >/dev/null
    cli FUNCTION LOAD "$shop" >/dev/null
    cli FUNCTION LOAD "$odd" >/dev/null
}
shop=$'#!lua name=shop\nredis.register_function("sell", function(keys, args)\n\treturn redis.call("DECRBY", keys[1], args[1])\nend)\n'
odd=$'#!lua name=odd\nredis.register_function{function_name = "bytes", flags = {"no-writes"}, callback = function() return "\xff\xfe" end}'
fill
ctl export --all -o "$scratch/all.jsonl" 2>/dev/null
ctl export --all --format msgpack >"$scratch/all.mp"
ctl export >"$scratch/one.jsonl"
digest=$(ctl digest)
same "the first line says what it is" '{"format":"tupled-export 1","all":true,"version":"' "$(head -c 50 "$scratch/all.jsonl")"
same "the last line counts" '"entries":26,"deletions":0,"collections":0,"messages":3,"dead":1,"indexes":4,"databases":3,"libraries":2' \
    "$(tail -n 1 "$scratch/all.jsonl" | grep -oE '"entries.*libraries":[0-9]+')"
same "a library as text" '{"library":"shop","code":"#!lua name=shop\nredis.register_function(\"sell\", function(keys, args)\n\treturn redis.call(\"DECRBY\", keys[1], args[1])\nend)\n"}' \
    "$(grep '^{"library":"shop"' "$scratch/all.jsonl")"
ctl --db 0 export --all >"$scratch/db.jsonl"
same "... is not of one database" 0 "$(grep -c '^{"library"' "$scratch/db.jsonl" "$scratch/one.jsonl" | grep -cv ':0$')"
same "only the entries of one database" 25 "$(($(wc -l <"$scratch/one.jsonl") - 1))"
check "a dry run finds nothing wrong" ctl import --dry-run "$scratch/all.jsonl"
check "... nor in MessagePack" ctl import --dry-run "$scratch/all.mp"
for format in jsonl mp; do
    flush
    cli KV.DB DROP shop >/dev/null
    cli KV.INDEX DROP by >/dev/null
    cli KV.INDEX DROP words >/dev/null
    cli KV.INDEX DROP fields >/dev/null
    cli KV.INDEX DROP texts >/dev/null
    cli FUNCTION FLUSH >/dev/null
    check "an export as $format is loaded" ctl import "$scratch/all.$format"
    ctl export --all -o "$scratch/again.jsonl" 2>/dev/null
    same "... and everything is as it was" "" \
        "$(diff <(kept "$scratch/all.jsonl") <(kept "$scratch/again.jsonl") | cut -c1-300)"
    same "... so says the digest" "$digest" "$(ctl digest)"
    same "... functions run" $'\xff\xfe' "$(cli --raw FCALL_RO bytes 0)"
    same "... nothing is left of its progress" "" "$(ls "$scratch" | grep progress)"
    check "... it can be loaded twice" ctl import "$scratch/all.$format"
    ctl export --all -o "$scratch/again.jsonl" 2>/dev/null
    same "... and is there once" "" "$(diff <(kept "$scratch/all.jsonl") <(kept "$scratch/again.jsonl") | cut -c1-300)"
done
same "what base backups have is there again" no "$(cli KV.DB INFO shop | grep -A1 '^backup$' | tail -n 1)"
same "limits are there again" 1000 "$(cli KV.DB INFO shop | grep -A1 '^max-entries$' | tail -n 1)"

flush
seq 1200 | sed 's/.*/KV.ENQUEUE many & DELAY 100000000/' | cli >/dev/null
ctl export --all -o "$scratch/many.jsonl" 2>/dev/null
same "a queue of several pages, each message once" "1200 1200" \
    "$(grep -c '^{"queue"' "$scratch/many.jsonl") $(grep '^{"queue"' "$scratch/many.jsonl" | sort -u | wc -l)"
flush
ctl -q import "$scratch/all.jsonl"

# ---- parts ----
ctl export --prefix '["k"]' >"$scratch/part.jsonl"
same "below a prefix" 1 "$(grep -c '^{"key"' "$scratch/part.jsonl")"
check "a part is loaded" ctl --db 5 import --prefix '["t"]' "$scratch/one.jsonl" --map "$scratch/map"
same "... below a prefix" 21 "$(cli -n 5 DBSIZE)"
same "... the map has old and new versionstamps" "$(cli -n 5 KV.GET '["t",1]' WITHVERSION | tail -n 1)" \
    "$(grep '^{"key":\["t",1\],' "$scratch/map" | sed -E 's/.*"new":"([0-9a-f]{20})"\}/\1/')"
same "... of each entry" 21 "$(wc -l <"$scratch/map")"

# ---- libraries of functions ----
grep '^{"library":"shop"' "$scratch/all.jsonl" >"$scratch/shop.jsonl"
said "a library that is there stays" 0 "" import "$scratch/shop.jsonl"
cli FUNCTION LOAD REPLACE "${shop/DECRBY/INCRBY}" >/dev/null
said "another one of its name is an error" 1 "shop.jsonl, line 1: ERR Library 'shop' already exists" import "$scratch/shop.jsonl"
same "... and stays as well" 1 "$(cli FUNCTION LIST LIBRARYNAME shop WITHCODE | grep -c INCRBY)"
cli FUNCTION DELETE shop >/dev/null
cli FUNCTION LOAD $'#!lua name=SHOP\nredis.register_function("sell", function() return 1 end)' >/dev/null
said "a function that another library has is an error" 1 "line 1: ERR Function sell already exists" import "$scratch/shop.jsonl"
same "... the library is not there" "" "$(cli FUNCTION LIST LIBRARYNAME shop | grep -x shop)"
cli FUNCTION DELETE SHOP >/dev/null
said "libraries do not go into one database" 2 "shop.jsonl contains libraries of functions; import it without --db" --db 3 import "$scratch/shop.jsonl"
check "with --prefix they are left out" ctl import --prefix '["t"]' "$scratch/shop.jsonl"
same "... and are not there" "" "$(cli FUNCTION LIST LIBRARYNAME shop)"
{ cat "$scratch/shop.jsonl"; echo '{"key":["lib"],"value":1}'; } >"$scratch/lib.jsonl"
check "libraries and entries" ctl import "$scratch/lib.jsonl"
same "... are there" "1 1" "$(cli FUNCTION LIST LIBRARYNAME shop | grep -cx shop) $(cli KV.GET '["lib"]')"
printf '{"library":"x","code":5}\n' >"$scratch/bad.jsonl"
said "code that is none" 1 "line 1: a library must have a name and code, both strings" import "$scratch/bad.jsonl"
printf '{"library":"x","code":"return 1"}\n' >"$scratch/bad.jsonl"
said "... nor a library" 1 "bad.jsonl, line 1: ERR Missing library metadata" import "$scratch/bad.jsonl"
cat >"$scratch/old.jsonl" <<'OLD'
{"format":"tupled-export 1","all":true,"version":"00000000000000020000","time":"2026-01-02T03:04:05.678Z","program":"tupledctl 0.1.0"}
{"database":"0"}
{"key":["old"],"value":1,"versionstamp":"00000000000000010000"}
{"end":true,"version":"00000000000000020000","records":3,"entries":1,"deletions":0,"messages":0,"dead":0,"indexes":0,"databases":1,"digest":"b4c72c295d595dfd975a0ce6d8357ace"}
OLD
# before <command>...: with a server that does not know FUNCTION, as before there were functions
before() {
    python3 - "$port" "$scratch/before" <<'PY' &
import socket, sys, threading
def pump(a, b, change):
    while data := a.recv(65536):
        b.sendall(data.replace(b"FUNCTION", b"NOTTHERE") if change else data)
    b.shutdown(socket.SHUT_WR)
listener = socket.create_server(("127.0.0.1", 0))
open(sys.argv[2], "w").write(str(listener.getsockname()[1]))
while True:
    a, _ = listener.accept()
    b = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    threading.Thread(target=pump, args=(a, b, True), daemon=True).start()
    threading.Thread(target=pump, args=(b, a, False), daemon=True).start()
PY
    local proxy=$! tries now=$port
    for ((tries = 0; tries < 500; tries++)); do
        [ ! -s "$scratch/before" ] || break
        sleep 0.01
    done
    port=$(cat "$scratch/before")
    "$@"
    port=$now
    kill "$proxy"
    wait "$proxy" 2>/dev/null
    rm "$scratch/before"
}
before said "a server without functions" 1 "shop.jsonl, line 1: the server does not support functions. It replied: ERR unknown command" \
    import "$scratch/shop.jsonl"
before check "... is exported, without libraries" ctl export --all -o "$scratch/old_server.jsonl"
same "... and says so" '"libraries":0' "$(tail -n 1 "$scratch/old_server.jsonl" | grep -oE '"libraries":[0-9]+')"
cli FUNCTION FLUSH >/dev/null
check "an export of before there were libraries is loaded" ctl import "$scratch/old.jsonl"
same "... and has none" "1 " "$(cli KV.GET '["old"]') $(cli FUNCTION LIST)"

# ---- what is not right ----
said "a pipe by its name" 1 "is not a regular file" import <(head -n 5 "$scratch/all.jsonl")
head -n 5 "$scratch/all.jsonl" >"$scratch/cut.jsonl"
said "... is named before anything is loaded" 1 "cut.jsonl is incomplete" import "$scratch/cut.jsonl"
head -c 2000 "$scratch/all.mp" >"$scratch/cut.mp"
said "... from a pipe it is seen at its end" 1 "standard input is incomplete" import - <"$scratch/cut.jsonl"
said "... also in MessagePack" 1 "cut.mp is incomplete" import "$scratch/cut.mp"
sed 's/"no \\"way\\""/"my way"/' "$scratch/all.jsonl" >"$scratch/changed.jsonl"
said "an export that was changed" 1 "the file has changed since it was written" import --dry-run "$scratch/changed.jsonl"
printf '{"key":["j",1],"value":1}\n\n{"key":["j",2],"value":nul}\n' >"$scratch/bad.jsonl"
said "a value that is none" 1 "bad.jsonl, line 3: ERR invalid value: expected a value at offset 0" import "$scratch/bad.jsonl"
said "... seen without a server" 1 "bad.jsonl, line 3: invalid value" import --dry-run "$scratch/bad.jsonl"
same "... nothing of its transaction is loaded" "" "$(cli KV.GET '["j",1]')"
printf '{"key":["j",1],"val":1}\n' >"$scratch/bad.jsonl"
said "an unknown member" 1 'line 1: a record cannot have a member "val"' import "$scratch/bad.jsonl"
printf '{"key":["j",1],"value":1\n' >"$scratch/bad.jsonl"
said "half a line" 1 "bad.jsonl, line 1: not a valid record" import "$scratch/bad.jsonl"
printf '{"key":["j",1],"value":1,"expires":"soon"}\n' >"$scratch/bad.jsonl"
said "a time that is none" 1 "line 1: expires must be a positive number of milliseconds" import "$scratch/bad.jsonl"
sed "/^{\"library\"/d" "$scratch/all.jsonl" >"$scratch/databases.jsonl"
said "several databases into one" 2 "contains several databases" --db 3 import "$scratch/databases.jsonl"
said "a source that is not known" 2 "unknown value nope of --from; the values are export keyval" import --from nope x
said "a format that is not known" 2 "--format must be jsonl or msgpack, not xml" export --format xml
said "a file that is not there" 1 "nosuch" import "$scratch/nosuch"
said "a place where nothing can be written" 1 "nosuch/x.partial" export -o "$scratch/nosuch/x"
cli ACL SETUSER reader on '>secret' '+@read' '~*' >/dev/null
TUPLEDCTL_PASSWORD=secret timeout 60 "$tool" -u "redis://reader@127.0.0.1:$port" import "$scratch/one.jsonl" 2>"$scratch/err"
same "who may not load is told so" 1 "$(grep -c 'NOPERM' "$scratch/err")"
rm -f "$scratch"/*.progress

# ---- lines of other programs ----
flush
printf '{"value":{"big":9007199254740993},"key":["j",1],"ttl":100000}\r\n\n  {"key":["j",9007199254740993],"value":5}' |
    ctl import - 2>"$scratch/err"
same "JSON lines of other programs" '2 entries and 0 messages loaded' "$(cat "$scratch/err")"
same "... large integers are kept" '{"big":{"$bigint":"9007199254740993"}}' "$(cli KV.GET '["j",1]')"
check "... with a time to live" test "$(cli KV.PTTL '["j",1]')" -gt 10000
same "... in keys too" 5 "$(cli KV.GET '["j",{"$bigint":"9007199254740993"}]')"
cat >"$scratch/keyval.json" <<'KEYVAL'
[{"key":["k",1],"value":{"__type":"bigint","value":"-5"},"versionstamp":"018f-aa"},
 {"key":["k",2],"value":{"$date":null},"versionstamp":"018f-ab"},
 {"key":["k",3],"value":[{"a":{"b":[12345678901234567000,1.5,"x\"]}",null,true]}}],"versionstamp":"018f-ac"},
 {"key":["gone"],"value":null,"versionstamp":null},
 {"key":["k",4],"value":{},"versionstamp":"x","expires_at":4000000000}]
KEYVAL
check "entries of KeyVal" ctl import --from keyval "$scratch/keyval.json"
same "... with their values" '{"$bigint":"-5"},{"$object":{"$date":null}},[{"a":{"b":[12345678901234567000.0,1.5,"x\"]}",null,true]}}],{}' \
    "$(cli KV.MGET '["k",1]' '["k",2]' '["k",3]' '["k",4]' | sed -n 'p;n' | paste -sd,)"
same "... and expiry" 4000000000000 "$(cli KV.GET '["k",4]' WITHEXPIRY | tail -n 1)"
printf '{"entries":[{"key":["p",1],"value":1,"versionstamp":"a"},{"key":["p",2],"value":2,"versionstamp":"b"}],"hasMore":true}
{"entries":[{"key":["p",3],"value":1,"versionstamp":"a"}],"cursor":null,"hasMore":false}' | ctl import --from keyval - 2>/dev/null
same "... page by page" 3 "$(cli KV.COUNT PREFIX '["p"]')"
printf '[{"key":["p",1],"value":1}' >"$scratch/bad.json"
said "... a list that does not end" 1 "the list is not closed" import --from keyval "$scratch/bad.json"
rm -f "$scratch"/*.progress

# ---- large ----
flush
for n in 1 2 3; do
    { printf '{"key":["large",%d],"value":"' $n; head -c 16777000 /dev/zero | tr '\0' $n; printf '"}\n'; }
done >"$scratch/large.jsonl"
check "values of 16 MB are loaded" ctl import "$scratch/large.jsonl"
ctl export --format msgpack -o "$scratch/large.mp" 2>/dev/null
digest=$(ctl digest)
flush
check "... written and loaded again" ctl import "$scratch/large.mp"
same "... as they were" "$digest" "$(ctl digest)"
rm -f "$scratch"/large*

# ---- while others write ----
flush
for ((i = 0; i < 30000; i++)); do printf '{"key":["w",%d],"value":{"n":%d,"pad":"%0200d"}}\n' "$i" "$i" "$i"; done >"$scratch/w.jsonl"
ctl import "$scratch/w.jsonl" 2>/dev/null
(
    for ((i = 0; i < 400; i++)); do
        echo "KV.ATOMIC SET [\"w\",$((i * 70))] $i SET [\"new\",$i] $i DEL [\"w\",$((29999 - i * 70))]"
    done | cli >/dev/null
) &
writer=$!
ctl export -o "$scratch/moving.jsonl" 2>/dev/null
wait "$writer"
same "an export while others write has all of a transaction or nothing of it" 0 "$(python3 - "$scratch/moving.jsonl" <<'PY'
import json, sys
state = {}
for line in open(sys.argv[1]):
    r = json.loads(line)
    if "key" in r:
        k = tuple(r["key"])
        state.pop(k, None) if r.get("deleted") else state.__setitem__(k, r["value"])
new = {k[1] for k in state if k[0] == "new"}
bad = 0
for i in range(400):
    bad += (state.get(("w", i * 70)) == i) != (i in new) and ("w", i * 70) in state
    bad += (("w", 29999 - i * 70) in state) == (i in new)
print(bad)
PY
)"

# held <file>: begins an export into it and stops it in the middle; its pid in $exporter.
held() {
    local tries
    rm -f "$1"
    "$tool" -u "redis://127.0.0.1:$port" export -o "$1" 2>"$scratch/err" &
    exporter=$!
    for ((tries = 0; tries < 2000; tries++)); do
        [ ! -s "$1.partial" ] || break
        sleep 0.002
    done
    kill -STOP "$exporter"
}
held "$scratch/flushed.jsonl"
check "an export is stopped in the middle" test -s "$scratch/flushed.jsonl.partial" -a ! -e "$scratch/flushed.jsonl"
cli FLUSHDB >/dev/null
cli KV.SET '["after"]' 1 >/dev/null
kill -CONT "$exporter"
wait "$exporter"
same "... a flush meanwhile, and it ends well" 0 $?
check "... it began anew, and says so" grep -q 'the export starts again' "$scratch/err"
same "... and has what came after" '{"key":["after"],"value":1}' "$(kept "$scratch/flushed.jsonl")"
ctl import "$scratch/w.jsonl" 2>/dev/null
mkfifo "$scratch/pipe"
"$tool" -u "redis://127.0.0.1:$port" export >"$scratch/pipe" 2>"$scratch/err" &
exporter=$!
exec 7<"$scratch/pipe"
head -c 100 <&7 >"$scratch/flushed.jsonl"
cli FLUSHDB >/dev/null
cat <&7 >>"$scratch/flushed.jsonl"
exec 7<&-
wait "$exporter"
same "to standard output it cannot begin anew" 1 $?
check "... and says so" grep -q 'the database was flushed while it was read' "$scratch/err"
said "... what was written is no export" 1 "is incomplete" import --dry-run "$scratch/flushed.jsonl"
ctl import "$scratch/w.jsonl" 2>/dev/null
held "$scratch/stale.jsonl"
version=$(cli KV.VERSION) # the export's is not above
cli CONFIG SET changes-retention-age 0 changes-retention-size 0 >/dev/null
for ((tries = 0; tries < 60; tries++)); do
    ctl import --restart "$scratch/w.jsonl" 2>/dev/null
    cli KV.CHANGES "$version" COUNT 1 2>&1 | grep -q '^STALE' && break
done
kill -CONT "$exporter"
wait "$exporter"
same "an export that takes too long ends" 1 $?
check "... says so" grep -q 'took longer than the server keeps changes' "$scratch/err"
same "... and leaves nothing that looks whole" "" "$(find "$scratch" -name 'stale*')"
cli CONFIG SET changes-retention-age 86400 changes-retention-size 1gb >/dev/null

# ---- killed ----
on_slow_disk --databases 16
flush
wanted=$(wc -l <"$scratch/w.jsonl")
kill_imports "$scratch/w.jsonl.progress" 4 import "$scratch/w.jsonl"
check "an import was killed several times" test "$kills" -ge 2
check "... the same call ends it" ctl import "$scratch/w.jsonl"
same "... everything is there" "$wanted" "$(cli DBSIZE)"
once=$(ctl digest)
flush
"$tool" -u "redis://127.0.0.1:$port" import "$scratch/w.jsonl" 2>"$scratch/err" &
importer=$!
for ((tries = 0; tries < 500; tries++)); do
    [ "$(cli DBSIZE)" -ge 3000 ] && break
    sleep 0.005
done
kill -KILL "$server"
wait "$server" 2>/dev/null
server=''
wait "$importer"
same "an import whose server is killed ends so" 3 $?
check "... says what to do" grep -q 'repeat the command to continue' "$scratch/err"
check "... and keeps how far it is" test -s "$scratch/w.jsonl.progress"
start_server --databases 16
cp "$scratch/w.jsonl.progress" "$scratch/other.jsonl.progress"
cp "$scratch/all.jsonl" "$scratch/other.jsonl"
said "the progress of another input is refused" 1 "belongs to another input" import "$scratch/other.jsonl"
sed -i 's/^target .*/target elsewhere/' "$scratch/other.jsonl.progress"
cp "$scratch/w.jsonl" "$scratch/other.jsonl"
said "... and that of another server" 1 "belongs to an import to elsewhere" import "$scratch/other.jsonl"
echo x >"$scratch/other.jsonl.progress"
said "... and what is none" 1 "--restart starts from the beginning" import "$scratch/other.jsonl"
port_before=$(sed -n 's/^target .*:\([0-9]*\).*/\1/p' "$scratch/w.jsonl.progress")
sed -i "s/:$port_before/:$port/" "$scratch/w.jsonl.progress" # the server has another port now
said "the same call goes on after it" 0 "continuing after" import "$scratch/w.jsonl"
same "... everything is there, once" "$once" "$(ctl digest)"
stop_server
exit "$((failures > 0))"

#!/bin/bash
# tupledctl export and import of hashes, lists, sets, sorted sets and streams (docs/export.md): small ones and large ones, in
# both formats, while they change, and imports that are killed.
. "$(dirname "$0")/server.sh"
. "$(dirname "$0")/imports.sh"

cat >"$scratch/resp.py" <<'PY'
import socket
class Client:
    def __init__(self, port, db=0):
        self.s = socket.create_connection(("127.0.0.1", int(port)))
        self.f = self.s.makefile("rb")
        self.do("SELECT", db)
    def send(self, *words):
        words = [w if isinstance(w, bytes) else str(w).encode() for w in words]
        self.s.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
    def read(self):
        line = self.f.readline()
        kind, rest = line[:1], line[1:-2]
        if kind == b"$":
            return None if rest == b"-1" else self.f.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return None if rest == b"-1" else [self.read() for _ in range(int(rest))]
        if kind == b"-":
            return Exception(rest.decode())
        return int(rest) if kind == b":" else rest
    def do(self, *words):
        self.send(*words)
        r = self.read()
        if isinstance(r, Exception):
            raise r
        return r
PY
# state [db]: a line for each key: what it holds, by the commands of its type, and when it ends.
cat >"$scratch/state.py" <<'PY'
import hashlib, sys
sys.path.insert(0, sys.argv[1])
from resp import Client
c = Client(sys.argv[2], sys.argv[3])
cursor, keys = b"0", set()
while True:
    cursor, some = c.do("SCAN", cursor, "COUNT", 1000)
    keys.update(some)
    if cursor == b"0":
        break
for key in sorted(keys):
    kind = c.do("TYPE", key)
    if kind == b"hash":
        flat = c.do("HGETALL", key)
        value = sorted(zip(flat[::2], flat[1::2]))
    elif kind == b"list":
        value = c.do("LRANGE", key, 0, -1)
    elif kind == b"set":
        value = sorted(c.do("SMEMBERS", key))
    elif kind == b"zset":
        value = c.do("ZRANGE", key, 0, -1, "WITHSCORES")
    else:
        value = c.do("DUMP", key)
    print(key, kind, c.do("PEXPIRETIME", key), hashlib.sha256(repr(value).encode()).hexdigest())
PY
state() { python3 "$scratch/state.py" "$scratch" "$port" "${1:-0}"; }
# The same names, values and order of fields as a dump has them.
dumps() {
    local key
    for key in "$@"; do cli DUMP "$key" | sha256sum; done
}

cat >"$scratch/fill.py" <<'PY'
import sys
sys.path.insert(0, sys.argv[1])
from resp import Client
c = Client(sys.argv[2])
odd = [b"", b"\x00\xff\xfe", b'"\\\n', "é😀".encode(), b"\xed\xa0\x80", b"$bytes"]
def fill(suffix, count):
    names = odd + [b"%s%d" % (b"n" * (1200 if i % 50 == 7 else 1), i) for i in range(count)]
    c.do("HSET", "hash" + suffix, *[w for i, n in enumerate(names) for w in (n, odd[i % len(odd)])])
    c.do("RPUSH", "list" + suffix, *names, *names[:9])
    c.do("SADD", "set" + suffix, *names)
    scores = ["-0", "inf", "-inf", "1e300", "0.1", "-5e-324", "3", "12345678901234567"]
    c.do("ZADD", "zset" + suffix, *[w for i, n in enumerate(names) for w in (scores[i % len(scores)], n)])
fill("", 6)
fill(".spread", 300)
for i in range(7000):
    c.send("XADD", "stream", b"%d-1" % (i + 1), odd[i % len(odd)], i, "n", odd[(i + 1) % len(odd)])
for i in range(7000):
    c.read()
c.do("XDEL", "stream", "3-1", "7000-1")
c.do("XGROUP", "CREATE", "stream", b"\xff group", 0)
c.do("XREADGROUP", "GROUP", b"\xff group", "ann", "COUNT", 6000, "STREAMS", "stream", ">")
c.do("XREADGROUP", "GROUP", b"\xff group", b"", "COUNT", 5, "STREAMS", "stream", ">")
c.do("XREADGROUP", "GROUP", b"\xff group", "ann", "COUNT", 5, "STREAMS", "stream", 0)
c.do("XACK", "stream", b"\xff group", "4-1")
c.do("XGROUP", "CREATE", "bare", "group", "$", "MKSTREAM")
c.do("XGROUP", "CREATECONSUMER", "bare", "group", "idle")
c.do("SADD", "integers", 1, 2, 3)
c.do("PEXPIREAT", "hash", 4000000000000)
c.do("PEXPIREAT", "list.spread", 4000000000001)
c.do("KV.LOAD", "COLLECTION", '["fields"]', "HASH", 2, "a", 1, 4000000000002, "b", 2, 0)
c.do("KV.LOAD", "COLLECTION", '["fields.all"]', "HASH", "PXAT", 4000000000005, 1, "a", 1, 4000000000003)
c.do("KV.LOAD", "COLLECTION", '["path",{"$bytes":"AP8="},7]', "LIST", 2, "a", b"\xff")
c.do("KV.SET", '["plain"]', '{"$object":{"$collection":{"type":"hash","length":1}}}')
c.do("RPUSH", "spaced", *range(200))
c.do("LREM", "spaced", 1, 100)
c.do("LINSERT", "spaced", "BEFORE", 50, "between")
for at in range(0, 60000, 5000):
    c.send("RPUSH", "list.large", *[b"element %d" % i for i in range(at, at + 5000)])
    c.send("ZADD", "zset.large", *[w for i in range(at, at + 5000) for w in (i * 7 % 1000, b"member %d" % i)])
for at in range(24):
    c.read()
c.do("SELECT", 3)
c.do("RPUSH", "three", 1, 2, 3)
PY
start_server --databases 16
python3 "$scratch/fill.py" "$scratch" "$port"
small=(hash list set zset integers fields fields.all)
state >"$scratch/state.0"
state 3 >"$scratch/state.3"
dumps "${small[@]}" zset.spread >"$scratch/dumps"
# What those commands do not tell.
rest() {
    cli KV.ELEMENTS '["fields.all"]' | tail -n +2
    cli KV.ELEMENTS '["path",{"$bytes":"AP8="},7]' | tail -n +2
    cli KV.GET '["plain"]'
}
rest >"$scratch/rest"
digest=$(ctl digest)
same "there are keys of all kinds" 17 "$(wc -l <"$scratch/state.0")"
for format in jsonl msgpack; do
    check "$format: an export of all" ctl export --all --format "$format" -o "$scratch/all.$format"
    check "... of which nothing is wrong" ctl import --dry-run "$scratch/all.$format"
    flush
    check "... is loaded" ctl import "$scratch/all.$format"
    same "... with all elements" "$(cat "$scratch/state.0")" "$(state)"
    same "... of each database" "$(cat "$scratch/state.3")" "$(state 3)"
    same "... as they were" "$(cat "$scratch/dumps")" "$(dumps "${small[@]}" zset.spread)"
    same "... fields with their expiry, a key that is a tuple, a map that looks like a collection" \
        "$(cat "$scratch/rest")" "$(rest)"
    same "... and the same digest" "$digest" "$(ctl digest)"
done
cli SREM set.spread n5 >/dev/null
check "a digest is another one without one element" test "$digest" != "$(ctl digest)"
cli SADD set.spread n5 >/dev/null
cli LSET list.spread 3 "$(cli LINDEX list.spread 4)" >/dev/null
cli LSET list.spread 4 "$(cli LINDEX list.spread 2)" >/dev/null
check "... or with a list in another order" test "$digest" != "$(ctl digest)"
ctl import --restart "$scratch/all.jsonl" 2>/dev/null
same "... and with all of it as it was" "$digest" "$(ctl digest)"
cli SADD order a b c >/dev/null
digest=$(ctl digest)
cli DEL order >/dev/null
cli SADD order c a b >/dev/null
same "... the order of a set is nothing" "$digest" "$(ctl digest)"
cli DEL order >/dev/null
same "the last line counts them" '"entries":1,"deletions":0,"collections":18' \
    "$(tail -n 1 "$scratch/all.jsonl" | grep -oE '"entries.*collections":[0-9]+')"
same "a large one is in several records, the first of which begins it" '12,1' \
    "$(grep -c '^{"key":\["list.large"\]' "$scratch/all.jsonl"),$(grep '^{"key":\["list.large"\]' "$scratch/all.jsonl" | grep -vc '"more":')"
same "names that are no text are bytes" 1 "$(grep -c '^{"key":\["hash"\].*\[{"$bytes":"AP/+"},' "$scratch/all.jsonl")"
check "records are no longer than they should be" test "$(wc -L <"$scratch/all.jsonl")" -lt 1100000
check "--prefix" ctl export --prefix '["path"]' -o "$scratch/path.jsonl"
same "... has what is below it" 1 "$(grep -c '"collection"' "$scratch/path.jsonl")"
flush
check "... of import" ctl import --prefix '["path"]' --map "$scratch/map" "$scratch/all.jsonl"
same "... too" 1 "$(cli DBSIZE)"
same "... and --map says what it has now" "$(cli KV.LIST LIMIT 1 | sed -n 4p)" \
    "$(sed -E 's/.*"new":"([0-9a-f]+)"}/\1/' "$scratch/map")"

# ---- what is not right ----
wrong() {
    printf '%s\n' "$3" >"$scratch/bad.jsonl"
    said "$1" 1 "bad.jsonl, line 1: $2" import --dry-run "$scratch/bad.jsonl"
    said "... also when it is loaded" 1 "bad.jsonl, line 1: $2" import "$scratch/bad.jsonl"
}
wrong "an unknown type" "a collection must be a hash, list, set, zset or stream" '{"key":["a"],"collection":"tree","elements":["a"]}'
wrong "a part of a stream that is none" "an element of a stream must be a list" '{"key":["a"],"collection":"stream","elements":[["GROUPS","g","1-1"]]}'
wrong "an entry without fields" "an element of a stream must be a list" '{"key":["a"],"collection":"stream","elements":[["1-1",[]]]}'
wrong "a field without a value" "an element of a stream must be a list" '{"key":["a"],"collection":"stream","elements":[["1-1",["a"]]]}'
wrong "what is pending without its time" "an element of a stream must be a list" '{"key":["a"],"collection":"stream","elements":[["PENDING","g","c","1-1"]]}'
wrong "a state with more than it has" "an element of a stream must be a list" '{"key":["a"],"collection":"stream","elements":[["STATE","1-1",1,"0-0",2]]}'
wrong "a collection without elements" "a collection must have a list of elements" '{"key":["a"],"collection":"set","elements":[]}'
wrong "a collection with a value" "an entry must have a key and a value" '{"key":["a"],"collection":"set","value":1,"elements":["a"]}'
wrong "a field without a value" "an element of a hash must be a list" '{"key":["a"],"collection":"hash","elements":[["a"]]}'
wrong "a score that is none" "an element of a zset must be a list" '{"key":["a"],"collection":"zset","elements":[["a","nan"]]}'
wrong "a member that is a number" "an element must be a string or bytes" '{"key":["a"],"collection":"set","elements":[1]}'
wrong "more that is none" "more must be the number of elements" '{"key":["a"],"collection":"set","more":true,"elements":["a"]}'
printf '{"key":["a"],"collection":"zset","ttl":100000,"elements":[["a",1],["b","-inf"]]}\n' | ctl import - 2>"$scratch/err"
same "lines of other programs" '0 entries, 1 collections and 0 messages loaded' "$(cat "$scratch/err")"
same "... are loaded" 'b,-inf,a,1' "$(cli ZRANGE a 0 -1 WITHSCORES | paste -sd,)"
rm -f "$scratch"/*.progress

# ---- while they change ----
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
flush
python3 "$scratch/fill.py" "$scratch" "$port"
held "$scratch/moving.jsonl"
check "an export is stopped in the middle" test -s "$scratch/moving.jsonl.partial" -a ! -e "$scratch/moving.jsonl"
cat >"$scratch/changes" <<'CHANGES'
RPUSH list.large last
LPUSH list.large first
ZREM zset.large "member 5"
HSET hash.spread more 1
DEL set
SADD set other
SET zset 1
DEL list
KV.SET ["plain"] 2
DEL spaced
RPUSH spaced anew
RENAME hash.spread moved
SADD set.spread more
DEL set.spread
SADD set.spread anew
ZADD plain2 1 a
PEXPIREAT plain2 4000000000007
DEL integers
SET integers 1
DEL integers
CHANGES
cli <"$scratch/changes" >/dev/null
state >"$scratch/state.0"
kill -CONT "$exporter"
wait "$exporter"
same "... collections change meanwhile, and it ends well" "0 " "$? $(grep -v 'entries' "$scratch/err")"
flush
check "... what it has is loaded" ctl import "$scratch/moving.jsonl"
same "... and is the state at its end" "$(cat "$scratch/state.0")" "$(state)"

# one transaction after the other, each of which adds one to a list, a hash and a counter
cat >"$scratch/writer.py" <<'PY'
import sys
sys.path.insert(0, sys.argv[1])
from resp import Client
c = Client(sys.argv[2])
i = 0
while True:
    i += 1
    try:
        for words in (["MULTI"], ["RPUSH", "l", i], ["HSET", "h%d" % (i % 50), i, i], ["SET", "n", i], ["EXEC"]):
            c.send(*words)
        for _ in range(5):
            c.read()
    except OSError:
        break
PY
flush
python3 "$scratch/writer.py" "$scratch" "$port" &
writer=$!
for ((tries = 0; tries < 1000; tries++)); do
    [ "$(cli LLEN l)" -gt 200 ] && break
    sleep 0.01
done
ctl export -o "$scratch/busy.jsonl" 2>"$scratch/err"
same "an export while collections are always written to" 0 $?
kill "$writer"
wait "$writer" 2>/dev/null
flush
check "... is loaded" ctl import "$scratch/busy.jsonl"
n=$(cli GET n) l=$(cli LLEN l) last=$(cli LINDEX l -1)
h=$(for ((i = 0; i < 50; i++)); do cli HLEN "h$i"; done | paste -sd+ | bc)
same "... a list is whole" "$l" "$last"
if grep -q 'newer than the rest' "$scratch/err"; then
    check "... what it calls newer than the rest is" test "$l" -ge "$n" -a "$h" -ge "$n"
else
    same "... all is of one state" "$n,$n" "$l,$h"
fi

# ---- changes at the worst moment ----
cat >"$scratch/meddler.py" <<'PY'
import re, socket, sys, threading
sys.path.insert(0, sys.argv[1])
from resp import Client
c = Client(sys.argv[2])
times = 0
def pump(a, b, is_client):
    global times
    while data := a.recv(65536):
        if is_client and re.search(sys.argv[3].encode(), data) and times < int(sys.argv[4]):
            times += 1
            for words in ["MULTI"], ["INCR", "n"], ["RPUSH", "l", "x"], ["HSET", "h", times, 1], ["EXEC"]:
                c.do(*words)
        b.sendall(data)
    b.shutdown(socket.SHUT_WR)
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
a, _ = listener.accept()
b = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
threading.Thread(target=pump, args=(a, b, True), daemon=True).start()
pump(b, a, False)
PY
# meddled <words> <times> <file>: an export, with a transaction each time just before a command with one of the words
meddled() {
    local proxy status
    coproc MEDDLER { exec python3 "$scratch/meddler.py" "$scratch" "$port" "$1" "$2"; }
    proxy=$MEDDLER_PID
    read -r -u "${MEDDLER[0]}" meddler
    timeout 120 "$tool" -u "redis://127.0.0.1:$meddler" export -o "$3" 2>"$scratch/err"
    status=$?
    wait "$proxy" 2>/dev/null
    return "$status"
}
for word in KV.VERSION KV.LIST KV.ELEMENTS 'KV.LIST|KV.CHANGES' 'KV.LIST|KV.CHANGES|KV.ELEMENTS'; do
    flush
    cli RPUSH l x >/dev/null
    cli HSET h 0 1 >/dev/null
    cli SET n 1 >/dev/null
    check "changes before each $word" meddled "$word" 4 "$scratch/meddled.jsonl"
    times=$(cli GET n)
    check "... of which there were some" test "$times" -gt 1
    flush
    check "... are loaded" ctl import "$scratch/meddled.jsonl"
    n=$(cli GET n)
    same "... all of each transaction" "$n,$n" "$(cli LLEN l),$(cli HLEN h)"
done
flush
cli RPUSH l x >/dev/null
cli SET n 1 >/dev/null
check "changes that never end" meddled 'KV.VERSION|KV.CHANGES' 1000 "$scratch/meddled.jsonl"
check "... are warned of" grep -q 'newer than the rest' "$scratch/err"

# ---- killed ----
on_slow_disk --databases 16
flush
python3 "$scratch/fill.py" "$scratch" "$port"
state >"$scratch/state.0"
ctl export -o "$scratch/k.jsonl" 2>/dev/null
flush
kill_imports "$scratch/k.jsonl.progress" 4 import "$scratch/k.jsonl"
check "an import was killed" test "$kills" -ge 1
cp "$scratch/k.jsonl.progress" "$scratch/place" 2>/dev/null
check "... the same call ends it" ctl import "$scratch/k.jsonl"
same "... everything is there, once" "$(cat "$scratch/state.0")" "$(state)"
cp "$scratch/place" "$scratch/k.jsonl.progress"
said "... and after what was under way is loaded again" 0 "continuing after" import "$scratch/k.jsonl"
same "... once" "$(cat "$scratch/state.0")" "$(state)"
stop_server

# ---- one that always changes ----
start_server --databases 16
(
    exec 7<>"/dev/tcp/127.0.0.1/$port"
    for ((;;)); do printf 'ZADD zset.large 5 again\r\nZREM zset.large again\r\n' >&7 && read -r _ <&7 && read -r _ <&7 || break; done
) 2>/dev/null &
writer=$!
said "a large one that changes whenever it is read" 1 "are missing in the export" export -o "$scratch/torn.jsonl"
kill "$writer"
wait "$writer" 2>/dev/null
check "... the file is one that is loaded" ctl import --dry-run "$scratch/torn.jsonl"
cat >"$scratch/parts.py" <<'PY'
import json, sys
count = 0
for line in open(sys.argv[1], encoding="utf-8", errors="surrogateescape"):
    record = json.loads(line)
    if record.get("key") == ["zset.large"]:
        count = len(record["elements"]) + (count if "more" in record else 0)
print("whole or absent" if count == 0 or count >= 60000 else count)
PY
same "... without a part of it" "whole or absent" "$(python3 "$scratch/parts.py" "$scratch/torn.jsonl")"
stop_server
exit "$((failures > 0))"

#!/bin/bash
# tupledctl import redis://... (docs/export.md): Debian's redis-server is the source: all types, small and in pages,
# expiries, several databases, bytes; what is interrupted, what is in the way, --follow under a writer, and comparing.
. "$(dirname "$0")/server.sh"
. "$(dirname "$0")/imports.sh"
. "$(dirname "$0")/libraries.sh"
. "$(dirname "$0")/tls.sh"
redis=''
trap '[ -z "$redis" ] || kill -KILL "$redis" 2>/dev/null; clean_up' EXIT

# ---- the source ----

# awaited <process> <file> <text>: until the file has the text; false when the process has ended before
awaited() {
    local tries
    for ((tries = 0; tries < 12000; tries++)); do
        ! grep -qs "$3" "$2" || return 0
        kill -0 "$1" 2>/dev/null || return 1
        sleep 0.01
    done
    return 1
}

# start_redis [argument...]: on a free port, $source_port
start_redis() {
    port_take first 3
    source_port=$first
    : >"$scratch/redis.log" # what the one before said that it is ready would be read
    redis-server --port "$source_port" --bind 127.0.0.1 --save '' --appendonly no --dir "$scratch" --daemonize no "$@" \
        >"$scratch/redis.log" 2>&1 &
    redis=$!
    ! awaited "$redis" "$scratch/redis.log" 'Ready to accept connections' || return 0
    not_ok "redis-server starts"
    cat "$scratch/redis.log"
    exit 1
}
stop_redis() {
    kill -TERM "$redis"
    wait "$redis" 2>/dev/null
    redis=''
}
src() { redis-cli -p "$source_port" "$@"; }
from() { echo "redis://127.0.0.1:$source_port${1:-}"; }
# filled <lines of a loop in Lua>: `n` is what the last argument says
filled() { src "${@:3}" EVAL "for i = 1, $2 do redis.call($1) end" 0 >/dev/null; }

fill() {
    src SET s:text hello >/dev/null
    src SET s:number 12 >/dev/null
    src SET s:empty '' >/dev/null
    src SET s:ends v PXAT 4000000000123 >/dev/null
    head -c 300000 /dev/urandom | src -x SET s:long >/dev/null
    head -c 65536 /dev/zero | tr '\0' x | head -c 65536 >"$scratch/exact"
    src -x SET s:exact <"$scratch/exact" >/dev/null
    src EVAL 'redis.call("set", "k\255\0", "\0\255\1"); redis.call("hset", "h\254", "f\255", "\253"); redis.call("set", "", "e")' 0 >/dev/null
    src PFADD hll a b c >/dev/null
    src HSET h:small name Ada age 36 >/dev/null
    filled '"hset", "h:long", "field"..i, "value"..i' 6000
    src PEXPIREAT h:long 4000000000456 >/dev/null
    src RPUSH l:small a b a >/dev/null
    filled '"rpush", "l:long", "item"..i' 6000
    src SADD set:numbers 3 1 2 >/dev/null
    src SADD set:small a b >/dev/null
    filled '"sadd", "set:long", "member"..i' 6000
    src ZADD z:small 1.5 a -inf b +inf c 0.1 d -0 e >/dev/null
    filled '"zadd", "z:long", i / 7, "member"..i' 6000
    filled '"xadd", "st:small", i.."-1", "n", i, "b", "\255"' 5
    src XGROUP CREATE st:small g1 0 >/dev/null
    src XREADGROUP GROUP g1 c1 COUNT 2 STREAMS st:small '>' >/dev/null
    src XREADGROUP GROUP g1 c2 COUNT 1 STREAMS st:small '>' >/dev/null
    src XGROUP CREATECONSUMER st:small g1 idle >/dev/null
    src XGROUP CREATE st:small g2 '$' >/dev/null
    filled '"xadd", "st:long", i.."-1", "n", i' 12000
    src XGROUP CREATE st:long g 0 >/dev/null
    src XREADGROUP GROUP g c COUNT 7000 STREAMS st:long '>' >/dev/null
    src XDEL st:long 5-1 >/dev/null
    src XADD st:empty 9-9 a b >/dev/null
    src XTRIM st:empty MAXLEN 0 >/dev/null
    src -n 3 SET in3 x >/dev/null
    src -n 3 RPUSH l3 a b >/dev/null
    src -n 9 HSET h9 a b >/dev/null
}

# What a server has, asked key by key: state <port>
state() {
    local name
    ask() { redis-cli -p "$@" | sort | cksum; }
    for name in s:text s:number s:empty s:ends s:long s:exact hll $'h\xfe' ''; do
        echo "$name $(redis-cli -p "$1" TYPE "$name") $(redis-cli -p "$1" GET "$name" | cksum)"
    done
    redis-cli -p "$1" EVAL 'return redis.call("get", "k\255\0")' 0 | cksum
    for name in h:small h:long $'h\xfe'; do echo "$name $(ask "$1" HGETALL "$name")"; done
    for name in l:small l:long; do echo "$name $(redis-cli -p "$1" LRANGE "$name" 0 -1 | cksum)"; done
    for name in set:numbers set:small set:long; do echo "$name $(ask "$1" SMEMBERS "$name")"; done
    for name in z:small z:long; do # the two write the same number in different ways
        echo "$name $(redis-cli -p "$1" ZRANGE "$name" 0 -1 WITHSCORES | awk 'NR % 2 == 0 { $0 = sprintf("%.17g", $0) } 1' | cksum)"
    done
    for name in st:small st:long st:empty; do
        echo "$name $(redis-cli -p "$1" XRANGE "$name" - + | cksum)"
        redis-cli -p "$1" XINFO STREAM "$name" | grep -A1 -E '^(length|last-generated|max-deleted|entries-added)'
        redis-cli -p "$1" XINFO GROUPS "$name"
    done
    for name in g1 g2; do
        redis-cli -p "$1" XINFO CONSUMERS st:small "$name" | grep -A1 -E '^(name|pending)$'
        redis-cli -p "$1" XPENDING st:small "$name"
    done
    redis-cli -p "$1" XPENDING st:long g
    redis-cli -p "$1" XPENDING st:long g - + 8000 | awk 'NR % 4 != 3' | cksum
    for name in s:ends h:long l:long; do redis-cli -p "$1" PEXPIRETIME "$name"; done
    echo "$(redis-cli -p "$1" -n 3 GET in3) $(redis-cli -p "$1" -n 3 LRANGE l3 0 -1) $(redis-cli -p "$1" -n 9 HGETALL h9)"
    redis-cli -p "$1" INFO keyspace | sed -nE 's/^(db[0-9]+:keys=[0-9]+).*/\1/p'
}
equal() { same "$1" "" "$(diff <(state "$source_port") <(state "$port") | head -n 8)"; }

has "import of a live Redis" redis-cli redis-server || finish
start_server --databases 16
start_redis
fill
state "$source_port" >"$scratch/wanted"

# ---- all of it ----

said "all databases are imported" 0 "10 entries, 15 collections and 0 messages loaded" import "$(from)"
equal "... with all types, expiries, groups, and bytes"
same "... the comparison tells each type" '{"database":0,"type":"zset","source":2,"loaded":2,"compared":2,"differ":0}' \
    "$(grep -o '{"database":0,"type":"zset"[^}]*}' <(ctl import --json "$(from)" 2>/dev/null))"
equal "... once more, which changes nothing"
same "... nothing is left aside" "" "$(cli KEYS 'tupledctl*')"
said "a dry run loads nothing" 0 "are valid" import --dry-run "$(from /3)"
flush
said "one database, into another" 0 "1 entries, 1 collections" --db 5 import "$(from /3)"
same "... and no other" "db5:keys=2" "$(cli INFO keyspace | grep -o 'db.*keys=[0-9]*')"
said "--from redis" 0 "1 entries" --db 5 import --from redis "$(from /3)"
flush
cli SET s:text other >/dev/null
cli SET own 1 >/dev/null
cli RPUSH h:small a >/dev/null
said "keys that are there are replaced" 0 "loaded" --db 0 import "$(from /0)"
same "... and others stay" "hello hash 1" "$(cli GET s:text) $(cli TYPE h:small) $(cli GET own)"
flush

# ---- what cannot be ----

said "no source" 3 "the source: cannot connect to 127.0.0.1:1" import redis://127.0.0.1:1
said "no URL" 2 "the source: the URL" import --from redis some.rdb
said "a database that is no number" 2 "must name a database by number" import "$(from /x)"
said "all, into one" 2 "names no database" --db 3 import "$(from)"
said "--prefix" 2 "does not apply to Redis" import --prefix '["a"]' "$(from)"
said "--follow of something else" 2 "--follow is for a live Redis" import --follow some.jsonl
said "--set-events alone" 2 "--set-events needs --follow" import --set-events "$(from)"
said "--verify is a number" 2 "--verify" import --verify x "$(from /3)"
head -c 20000000 /dev/zero | src -n 12 -x SET large >/dev/null
said "what is too large" 1 'key ["large"]: LIMIT' --db 12 import "$(from /12)"
src -n 12 FLUSHDB >/dev/null
src CONFIG SET requirepass secret >/dev/null
said "a source that wants a password" 1 "use TUPLEDCTL_SOURCE_PASSWORD or --source-password-file" import "$(from /3)"
TUPLEDCTL_SOURCE_PASSWORD=wrong said "a wrong one" 1 "the source: WRONGPASS" import "$(from /3)"
TUPLEDCTL_SOURCE_PASSWORD=secret said "the right one" 0 "loaded" --db 3 import "$(from /3)"
echo secret >"$scratch/password"
said "... in a file" 0 "loaded" --db 3 import --source-password-file "$scratch/password" "$(from /3)"
said "... in the URL" 0 "loaded" --db 3 import "redis://:secret@127.0.0.1:$source_port/3"
asked_with() { redis-cli -p "$source_port" -a secret --no-auth-warning "$@"; }
asked_with ACL SETUSER reader on ">pass" "~*" +@read +@transaction +select +info +time +client -xinfo >/dev/null
said "a user who may not read all" 1 "NOPERM" --db 3 import "redis://reader:pass@127.0.0.1:$source_port/0"
asked_with ACL SETUSER reader +xinfo >/dev/null
said "... and who may" 0 "loaded" --db 3 import "redis://reader:pass@127.0.0.1:$source_port/0"
asked_with CONFIG SET requirepass '' >/dev/null
flush

# ---- types that are not known, times of fields: our own server is the source ----

own="redis://127.0.0.1:$port"
cli -n 6 SET plain 1 >/dev/null
cli -n 6 KV.SET '["tuple"]' 1 >/dev/null
said "a type that is not known" 1 'not imported: 1 keys of the unsupported type number, such as "tuple"' \
    --db 7 import "$own/6"
same "... the others are there" 1 "$(cli -n 7 GET plain)"
cli -n 6 FLUSHDB >/dev/null
cli -n 7 FLUSHDB >/dev/null
cli -n 6 HSET h a 1 b 2 >/dev/null
cli -n 6 HPEXPIREAT h 4000000000789 FIELDS 1 b >/dev/null
for i in $(seq 1 3000); do echo "HSET long f$i $i"; done | cli -n 6 >/dev/null
cli -n 6 HPEXPIREAT long 4000000000999 FIELDS 2 f7 f2999 >/dev/null
said "fields that end" 0 "2 collections" --db 7 import "$own/6"
same "... when they did" "-1 4000000000789 4000000000999 3000" \
    "$(cli -n 7 HPEXPIRETIME h FIELDS 2 a b | xargs) $(cli -n 7 HPEXPIRETIME long FIELDS 1 f7) $(cli -n 7 HLEN long)"
flush

# ---- interruptions ----

on_slow_disk --databases 16
filled '"rpush", "huge", "item"..i' 40000 -n 4
filled '"set", "k"..i, i' 10000 -n 4
for tries in $(seq 20); do # until one is killed while the key is loaded
    cli -n 4 FLUSHDB >/dev/null
    rm -f "$scratch/state"
    "$tool" -q -u "redis://127.0.0.1:$port/4" import --state "$scratch/state" "$(from /4)" 2>"$scratch/err" &
    importer=$!
    while [ "$(cli -n 4 EXISTS tupledctl:import)" = 0 ] && kill -0 "$importer" 2>/dev/null; do :; done
    kill -KILL "$importer" 2>/dev/null
    wait "$importer" 2>/dev/null
    [ "$(cli -n 4 EXISTS tupledctl:import)" = 0 ] || break
done
same "a part of a key is no key" "0 1" "$(cli -n 4 LLEN huge) $(cli -n 4 EXISTS tupledctl:import)"
kill_imports "$scratch/state" 12 --db 4 import --state "$scratch/state" "$(from /4)"
check "an import is killed several times" test "$kills" -ge 1
said "... the same call ends it" 0 "loaded" --db 4 import --state "$scratch/state" --verify 1000000 "$(from /4)"
same "... everything is there" "10001 40000 0" "$(cli -n 4 DBSIZE) $(cli -n 4 LLEN huge) $(cli -n 4 EXISTS tupledctl:import)"
same "... in its order" "$(src -n 4 LRANGE huge 0 -1 | cksum)" "$(cli -n 4 LRANGE huge 0 -1 | cksum)"
check "... and its place is forgotten" test ! -e "$scratch/state"
printf 'tupled-import 1\ninput redis=x\ntarget x\ndatabase -\nplace x\nrecords 1\nmap 0\n' >"$scratch/state"
said "the place of another one" 1 "belongs to another input" --db 4 import --state "$scratch/state" "$(from /4)"
rm -f "$scratch/state"
stop_server
start_server --databases 16
flush

# ---- --follow ----

importer=''
# followed <words of import>...: in the background, until it says that it follows
followed() {
    : >"$scratch/followed" # not what the one before said
    "$tool" -u "redis://127.0.0.1:$port" "$@" >"$scratch/table" 2>"$scratch/followed" &
    importer=$!
    ! awaited "$importer" "$scratch/followed" 'following changes' || return 0
    not_ok "changes are followed"
    cat "$scratch/followed"
}
# ended <name> <status> <text>
ended() {
    local status
    kill -TERM "$importer"
    wait "$importer"
    status=$?
    if [ "$status" -eq "$2" ] && grep -qF -- "$3" "$scratch/followed"; then
        echo "ok - $1"
    else
        not_ok "$1"
        echo "  status $status"
        head -c 1500 "$scratch/followed" "$scratch/table"
    fi
}
# becomes <name> <wanted> <command>...: of the server, in a while
becomes() {
    local tries got=''
    for ((tries = 0; tries < 2000; tries++)); do
        got=$(cli "${@:3}")
        [ "$got" != "$2" ] || break
        sleep 0.01
    done
    same "$1" "$2" "$got"
}

src -n 4 FLUSHDB >/dev/null
said "a source that tells nothing" 1 "Run CONFIG SET notify-keyspace-events EA there, or give --set-events" import --follow "$(from)"
src CONFIG SET notify-keyspace-events Kx >/dev/null
cli -n 3 SET own 1 >/dev/null
said "a database that has keys" 1 "confirm with --replace" import --follow --set-events "$(from)"
same "... the setting is put back" "xK" "$(src CONFIG GET notify-keyspace-events | tail -n 1)"
followed import --follow --set-events --replace --verify 100000 "$(from)"
equal "all is loaded, and changes are followed"
same "... what was in the way is gone" 0 "$(cli -n 3 EXISTS own)"
same "... the setting has what is needed" "" "$(src CONFIG GET notify-keyspace-events | tail -n 1 | tr -d 'xKAE')"
src SET s:text changed >/dev/null
becomes "a string changes" changed GET s:text
src DEL set:small >/dev/null
becomes "a key goes" 0 EXISTS set:small
src RENAME h:small h:renamed >/dev/null
becomes "a key is renamed" 0 EXISTS h:small
becomes "... both are told" 2 HLEN h:renamed
src SADD set:small a b >/dev/null
src RENAME h:renamed h:small >/dev/null
src SET short v PX 1 >/dev/null
becomes "a key ends" 0 EXISTS short
src LPUSH l:long first >/dev/null
becomes "a long list changes" 6001 LLEN l:long
src -n 11 SET later 1 >/dev/null
becomes "a database that had nothing" 1 -n 11 GET later
src -n 9 DEL h9 >/dev/null
becomes "a database that has nothing any more" 0 -n 9 EXISTS h9
src -n 9 HSET h9 a b >/dev/null
src XACK st:small g1 1-1 >/dev/null # tells nothing: it is read at the end
src XREADGROUP GROUP g1 c2 COUNT 1 STREAMS st:small '>' >/dev/null
ended "it ends when it is told to" 0 "all notified changes are loaded"
equal "... everything is equal, groups too"
same "... the setting is put back" "xK" "$(src CONFIG GET notify-keyspace-events | tail -n 1)"

# writes <count>: commands of all types over a few hundred keys, in the order of a seed
writes() {
    awk -v count="$1" -v seed="$2" 'BEGIN { srand(seed); for (i = 0; i < count; i++) {
        k = int(rand() * 300); v = int(rand() * 100000); c = int(rand() * 16)
        if (c == 0) print "SET w:s" k, v; else if (c == 1) print "SET w:s" k, v, "PX", 400000 + v
        else if (c == 2) print "HSET w:h" k, "f" v % 50, v; else if (c == 3) print "HDEL w:h" k, "f" v % 50
        else if (c == 4) print "RPUSH w:l" k, v; else if (c == 5) print "LPOP w:l" k; else if (c == 6) print "SADD w:set" k, v % 60
        else if (c == 7) print "SREM w:set" k, v % 60; else if (c == 8) print "ZADD w:z" k, v, "m" v % 50
        else if (c == 9) print "ZREM w:z" k, "m" v % 50; else if (c == 10) print "XADD w:st" k, "*", "f", v
        else if (c == 11) print "XTRIM w:st" k, "MAXLEN", 5; else if (c == 12) print "DEL w:h" k; else if (c == 13) print "INCR w:n" k
        else if (c == 14) print "LPUSH l:long", v; else print "RENAME w:n" k, "w:n" k + 1000 } }'
}
flush
src CONFIG SET notify-keyspace-events KEA >/dev/null
{ writes 20000 1 | src >/dev/null; } &
writer=$!
followed import --follow --verify 1000000 "$(from)"
wait "$writer"
writes 7000 2 | src >/dev/null
ended "what is written meanwhile comes over" 0 "all notified changes are loaded"
equal "... and all is equal"
same "... a list that was written to all the time" "$(src LRANGE l:long 0 -1 | cksum)" "$(cli LRANGE l:long 0 -1 | cksum)"

# Events are lost: the connection ends while the tool does not run.
flush
followed import --follow --verify 1000000 "$(from)"
kill -STOP "$importer"
src CLIENT KILL TYPE pubsub >/dev/null
src DEL s:number l:small >/dev/null
src SET s:text lost >/dev/null
kill -CONT "$importer"
becomes "a connection that told of changes is lost" lost GET s:text
becomes "... what went meanwhile goes" 0 EXISTS l:small
ended "... it is told, and all is equal" 0 "reading all keys again"
src SET s:number 12 >/dev/null
src RPUSH l:small a b a >/dev/null

# A kill: the same call begins anew, for nothing tells what changed meanwhile.
flush
followed import --follow --state "$scratch/state" "$(from)"
src SET s:text again >/dev/null
becomes "it is followed" again GET s:text
for ((tries = 0; tries < 6000; tries++)); do
    [ ! -s "$scratch/state" ] || break
    sleep 0.01
done
kill -KILL "$importer"
wait "$importer" 2>/dev/null
src DEL s:text >/dev/null
src SET s:number 13 >/dev/null
followed import --follow --state "$scratch/state" --verify 1000000 "$(from)"
same "the same call after a kill" "0 13" "$(cli EXISTS s:text) $(cli GET s:number)"
ended "... ends" 0 "all notified changes are loaded"
equal "... everything is equal"

# Comparing finds what is not equal.
flush
followed import --follow --verify 1000000 "$(from)"
cli HSET h:small name Bob >/dev/null
cli SET only-here 1 >/dev/null
cli DEL l:long >/dev/null
cli PERSIST s:ends >/dev/null
ended "a change behind its back is found" 1 "keys differ"
same "... each is named" "a hash with different contents
a string with a different expiry
it is list, and none in the server
it is none, and string in the server" "$(sed -nE 's/^tupledctl: database 0, "(h:small|only-here|l:long|s:ends)": //p' "$scratch/followed" |
    sort)"
flush
said "--verify 0 compares nothing" 0 "loaded" import --verify 0 "$(from)"
same "... and prints nothing" "" "$(<"$scratch/out")"

# FLUSHDB tells nothing; comparing finds it.
flush
followed import --follow "$(from)"
src -n 3 FLUSHDB >/dev/null
ended "FLUSHDB of the source is found at the end" 1 'database 3, "in3": it is none, and string in the server'
stop_redis

# ---- a source that knows less ----

start_redis --rename-command PEXPIRETIME '' --rename-command MEMORY ''
fill
flush
said "an older Redis" 0 "loaded" import "$(from)"
cli PEXPIREAT s:ends 4000000000123 >/dev/null
same "... has lists and strings all the same" "6000 300000 6000 12000" \
    "$(cli LLEN l:long) $(cli STRLEN s:long) $(cli HLEN h:long) $(($(cli XLEN st:long) + 1))"
check "... and when a key ends" test "$(cli PEXPIRETIME h:long)" -gt 3999999999000
stop_redis

# ---- TLS ----

if has "a source by TLS" openssl; then
    make_certificates
    start_redis --tls-port 0
    if src CONFIG SET tls-cert-file "$scratch/server.crt" >/dev/null 2>&1; then
        stop_redis
        port_take first 3
        secure=$first
        start_redis --tls-port "$secure" --tls-cert-file "$scratch/server.crt" --tls-key-file "$scratch/server.key" \
            --tls-ca-cert-file "$scratch/ca.crt" --tls-auth-clients no
        same "the source by TLS has a key" OK "$(src -n 3 SET in3 x)"
        flush
        said "a source by TLS" 0 "1 entries" --db 3 import --source-cacert "$scratch/ca.crt" "rediss://localhost:$secure/3"
        said "... that is not trusted" 3 "the source:" --db 3 import --source-cacert "$scratch/other-ca.crt" "rediss://localhost:$secure/3"
        said "... trusted or not" 0 "1 entries" --db 3 import --source-insecure "rediss://localhost:$secure/3"
        same "... which it still has" "1 db3:keys=1,expires=0,avg_ttl=0" \
            "$(src -n 3 DBSIZE) $(src INFO keyspace | tr -d '\r' | grep '^db')"
        said "options without TLS" 2 "TLS options for the source need" --db 3 import --source-insecure "$(from /3)"
    fi
    stop_redis
fi
stop_server
finish

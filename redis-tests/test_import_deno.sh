#!/bin/bash
# tupledctl import of what Deno has (docs/export.md, docs/deno.md): the file of its own KV, and a service of KV
# Connect, which is our own server here, with one that fails before it (redis-tests/python/connect_proxy.py).
export HTTP=1
. "$(dirname "$0")/server.sh"
. "$(dirname "$0")/imports.sh"
. "$(dirname "$0")/libraries.sh"
. "$(dirname "$0")/connect.sh"
. "$(dirname "$0")/tls.sh"
deno_file=$PWD/build/asan/tests/foreign/deno_file
proxy=''
export no_proxy=127.0.0.1,localhost
trap '[ -z "$proxy" ] || kill -KILL "$proxy" 2>/dev/null; clean_up' EXIT
digest() { ctl --db "$1" digest; }

# ---- files ----

# Tables as Deno 2.9.6 makes them.
tables="pragma journal_mode = wal;
create table migration_state (k integer not null primary key, version integer not null);
insert into migration_state values (0, 3);
create table data_version (k integer primary key, version integer not null, seq integer not null default 0);
insert into data_version values (0, 700, 0);
create table kv (k blob primary key, v blob not null, v_encoding integer not null, version integer not null,
  seq integer not null default 0, expiration_ms integer not null default -1) without rowid;
create table queue (ts integer not null, id text not null, data blob not null, backoff_schedule text not null,
  keys_if_undelivered blob not null, primary key (ts, id));
create table queue_running (deadline integer not null, id text not null, data blob not null,
  backoff_schedule text not null, keys_if_undelivered blob not null, primary key (deadline, id));
create index kv_expiration_ms_idx on kv (expiration_ms);"
file=$scratch/deno.db

# made <file> [leave]: of the statements on standard input
made() { "$deno_file" "$@" || not_ok "$1 is made"; }
# put <key in hex> <value in hex> <encoding> [version] [expires]
put() { echo "insert into kv (k, v, v_encoding, version, expiration_ms) values (x'$1', x'$2', $3, ${4:-1}, ${5:--1});"; }
hex() { printf %s "$1" | xxd -p | tr -d '\n'; }

has "import of Deno's files" redis-cli xxd || finish
start_server --databases 16
{
    echo "$tables"
    n=100
    while IFS=$'\t' read -r _ bytes _; do
        put "02760002$(hex $n)00" "$bytes" 1 $((n + 500))
        n=$((n + 1))
    done <tests/unit/foreign/v8.tsv
} >"$scratch/good.sql"
values=$((n - 100))
{
    cat "$scratch/good.sql"
    put 026b0001ff00ff002715ff21c045000000000000 00ff 3 3
    put 027500 0500000000000000 2 4
    put 0265001501 ff104902 1 5 4000000000000
    put 0265001502 ff104902 1 6 1000
    put 0265001503 ff104902 1 7 9007199254740993
    echo "insert into queue values (4000000000000, 'df12b156-25ac-41ec-a6bd-194aed6c0c61', x'ff106f22017849027b01', '[10,20]',
        '[[2,102,0,33,191,240,0,0,0,0,0,0],[2,103,0]]');
      insert into queue values (4000000000000, 'ef12b156-25ac-41ec-a6bd-194aed6c0c61', x'ff102205706c61696e', 'null', '[]');
      insert into queue values (4000000000001, 'x', x'ff104904', '[]', '[]');
      insert into queue_running values (4000000000002, 'running', x'ff104906', '[100,1000]', '[]');"
} >"$scratch/all.sql"
made "$file" leave <"$scratch/all.sql"
before=$(cat "$file" "$file-wal" | cksum)
check "what is new is beside the file" test "$(stat -c %s "$file-wal")" -gt 10000
check "a dry run reads it" ctl import --dry-run --from deno "$file"
said "the file of Deno's KV is loaded" 0 "$((values + 5)) entries and 4 messages loaded" import --from deno "$file" \
    --map "$scratch/map"
same "... and not changed" "$before" "$(cat "$file" "$file-wal" | cksum)"
seq 100 $((n - 1)) | sed "s/.*/KV.GET '[\"v\",\"&\"]'/" | cli | sed 's/^(nil)$//' >"$scratch/got"
same "... with each value of V8" "" "$(diff <(cut -f 3 tests/unit/foreign/v8.tsv) "$scratch/got" | head -n 6)"
same "... bytes, under a key of all types" '{"$bytes":"AP8="}' "$(cli KV.GET '["k",{"$bytes":"/wA="},true,{"$bigint":"255"},42]')"
same "... a counter" '{"$u64":"5"}' "$(cli KV.GET '["u"]')"
same "... what ends" 4000000000000 "$(cli KV.GET '["e",{"$bigint":"1"}]' WITHEXPIRY | tail -n 1)"
same "... not what has ended" "" "$(cli KV.GET '["e",{"$bigint":"2"}]')"
same "... what ends after all time" 9007199254740991 "$(cli KV.GET '["e",{"$bigint":"3"}]' WITHEXPIRY | tail -n 1)"
same "... the map has their versionstamps" "00000000000002580000" \
    "$(grep '^{"key":\["v","100"\],' "$scratch/map" | sed -E 's/.*"old":"([^"]*)".*/\1/')"
same "... and the new ones" "$(cli KV.GET '["v","100"]' WITHVERSION | tail -n 1)" \
    "$(grep '^{"key":\["v","100"\],' "$scratch/map" | sed -E 's/.*"new":"([^"]*)".*/\1/')"
messages() { ctl export --all | sed -nE '/^\{"queue"/{s/"id":"[^"]*",//;p}' | sort; }
same "... messages, when they are due, what they try, and their keys" \
    '{"queue":"deno","value":"plain","due":4000000000000,"attempts":0,"backoff":[100,1000,5000,30000,60000]}
{"queue":"deno","value":2,"due":4000000000001,"attempts":0,"backoff":[]}
{"queue":"deno","value":3,"due":4000000000002,"attempts":1,"backoff":[100,1000]}
{"queue":"deno","value":{"x":1},"due":4000000000000,"attempts":0,"backoff":[10,20],"undelivered":[["f",1],["g"]]}' \
    "$(messages)"
once=$(digest 0)
said "it can be loaded twice" 0 ", 4 records without effect" import --from deno "$file"
same "... and is there once" "4 $once" "$(messages | wc -l) $(digest 0)"
id=$(cli KV.ENQUEUE deno 1)
check "the server's own ids come after those of Deno's messages" test "$id" \> "$(cli KV.QUEUE EXPORT deno READY | grep -E '^[0-9a-f]{24}$' |
    grep -vx "$id" | sort | tail -n 1)"
said "below a prefix" 0 "3 entries and 0 messages loaded" --db 3 import --from deno --prefix '["e"]' "$file"
same "... nothing else" 2 "$(cli -n 3 DBSIZE)"
export_of() { ctl --db "$1" export | grep '^{"key"' | sed -E 's/,"versionstamp":"[^"]*"//'; }

{
    echo "create table kv (k blob primary key, v blob not null, v_encoding integer not null, version integer not null);"
    put 026f00 ff104902 1 | sed 's/, expiration_ms//; s/, -1)/)/'
} | made "$scratch/old.db"
said "a file of an old Deno" 0 "1 entries and 0 messages loaded" --db 4 import --from deno "$scratch/old.db"
same "... with what it has" '{"key":["o"],"value":1}' "$(export_of 4)"

# A file in a directory where nothing can be written, as a user other than root.
mkdir "$scratch/still" && made "$scratch/still/a?b#c%.db" <"$scratch/good.sql"
chmod 755 "$scratch" && chmod 555 "$scratch/still"
nobody=()
[ "$(id -u)" -ne 0 ] || nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
if "${nobody[@]}" test -x "$tool" 2>/dev/null; then
    "${nobody[@]}" timeout 60 "$tool" import --dry-run --from deno "$scratch/still/a?b#c%.db" 2>"$scratch/err"
    same "a file where nothing can be written" "0 $values entries and 0 messages are valid" "$? $(<"$scratch/err")"
    chmod 755 "$scratch/still" && made "$scratch/still/w.db" leave <"$scratch/good.sql"
    rm -f "$scratch/still/w.db-shm" && chmod 555 "$scratch/still"
    "${nobody[@]}" timeout 60 "$tool" import --dry-run --from deno "$scratch/still/w.db" 2>"$scratch/err"
    same "... with a -wal that cannot be read so" "1 1" "$? $(grep -c 'copy the file and its -wal to another directory' "$scratch/err")"
else
    skip "a file where nothing can be written" "the tool cannot be run by nobody"
fi
chmod 755 "$scratch/still"

# ---- files that are not right ----

echo 'no database' >"$scratch/text.db"
: >"$scratch/empty.db"
echo 'create table t (k);' | made "$scratch/other.db"
head -c 9000 "$scratch/still/a?b#c%.db" >"$scratch/cut.db"
said "a text" 1 "text.db is not an SQLite file; --from deno reads the file of Deno.openKv" import --from deno "$scratch/text.db"
said "an empty file" 1 "empty.db is not an SQLite file" import --from deno "$scratch/empty.db"
said "a file of SQLite" 1 "other.db is an SQLite file, but not of Deno KV" import --from deno "$scratch/other.db"
said "half a file" 1 "cut.db: database disk image is malformed" import --from deno "$scratch/cut.db"
said "none at all" 1 "none.db" import --from deno "$scratch/none.db"
said "standard input" 2 "--from deno cannot read standard input; give a file" import --from deno - </dev/null
bad() { # name, text, row
    rm -f "$scratch"/bad.db*
    { echo "$tables"; put 0200 00 3; echo "$3"; } | made "$scratch/bad.db"
    said "$1" 1 "$2" import --from deno "$scratch/bad.db"
}
bad "an encoding that is none" 'entry ["a"]: The value encoding 7 is unknown.' "$(put 026100 00 7)"
bad "a counter of 7 bytes" 'entry ["a"]: A value of encoding 2 (LE64) must have 8 bytes, not 7.' "$(put 026100 00000000000000 2)"
bad "no value of V8" 'entry ["a"]: invalid V8 value' "$(put 026100 ff104105 1)"
bad "no key" 'entry with the key of the bytes 03: invalid key' "$(put 03 00 3)"
queued() { echo "insert into queue values (1, 'me', x'$1', '$2', '$3');"; }
bad "no message" 'message me: invalid V8 value' "$(queued 00 '[]' '[]')"
bad "no schedule" 'message me: its backoff schedule is not a list' "$(queued ff104902 '["x"]' '[]')"
bad "no keys" 'message me: its keysIfUndelivered is not a list of keys' "$(queued ff104902 '[]' '[[256]]')"
bad "nor these" 'message me: its keysIfUndelivered is not a list of keys' "$(queued ff104902 '[]' '[[3]]')"
rm -f "$scratch"/*.progress

# ---- many, and kills ----

flush
rows="with recursive n(i) as (select 0 union all select i + 1 from n where i < 24999)
  insert into kv (k, v, v_encoding, version) select cast(x'027700' || x'02' || printf('%06d', i) || x'00' as blob),
  cast(x'ff1022' || char(100) || printf('%0100d', i) as blob), 1, i + 1 from n;
  with recursive n(i) as (select 0 union all select i + 1 from n where i < 2999)
  insert into queue select 4000000000000 + i / 7, printf('id-%d', i), cast(x'ff102204' || printf('%04d', i) as blob),
  '[1]', '[]' from n;"
{ echo "$tables"; echo "$rows"; } | made "$scratch/many.db"
said "25,000 entries" 0 "25000 entries and 3000 messages loaded" --db 1 import --from deno "$scratch/many.db"
wanted=$(digest 1)

# killed <name> <entries> <words of import>...: into database 2, killed each time that its place has moved on
killed() {
    local name=$1 entries=$2
    shift 2
    rm -f "$scratch/state"
    cli -n 2 FLUSHDB >/dev/null
    kill_imports "$scratch/state" 40 --db 2 import --state "$scratch/state" "$@"
    check "$name: it was killed several times" test "$kills" -ge 2
    said "... the same call ends it" 0 "loaded" --db 2 import --state "$scratch/state" "$@"
    same "... everything is there" "$entries $wanted" "$(cli -n 2 DBSIZE) $(digest 2)"
}
killed "the file" 25000 --from deno "$scratch/many.db"
same "... each message once" 3000 "$(ctl --db 2 export --all | grep -c '^{"queue"')"

# begun <words of import>...: into database 2, killed when its place is kept
begun() {
    local tries importer
    rm -f "$scratch/state"
    cli -n 2 FLUSHDB >/dev/null
    "$tool" -u "redis://127.0.0.1:$port" --db 2 import --state "$scratch/state" "$@" 2>"$scratch/err" &
    importer=$!
    for ((tries = 0; tries < 2000; tries++)); do
        [ ! -e "$scratch/state" ] || break
        sleep 0.005
    done
    kill -KILL "$importer" 2>/dev/null
    wait "$importer" 2>/dev/null
    check "an import is killed in the middle" test -s "$scratch/state"
}
begun --from deno "$scratch/many.db"
check "... it does not begin anew" bash -c "! grep -qE '^place k:$' $scratch/state"
said "what was killed goes on" 0 "continuing after" --db 2 import --state "$scratch/state" --from deno "$scratch/many.db"
begun --from deno "$scratch/many.db"
said "... not with another prefix" 1 "belongs to another input" --db 2 import --state "$scratch/state" --from deno --prefix '["x"]' \
    "$scratch/many.db"
echo "update data_version set version = version + 1;" | "$deno_file" "$scratch/many.db"
said "... nor when Deno has written since" 1 "belongs to another input" --db 2 import --state "$scratch/state" --from deno "$scratch/many.db"

# ---- a service ----

export DENO_KV_ACCESS_TOKEN=any
service=http://127.0.0.1:$http_port/connect
said "a service of KV Connect is read" 0 "25000 entries and 0 messages loaded" --db 3 import --from connect \
    "http://127.0.0.1:$http_port/db/1/connect" --restart --state "$scratch/state"
same "... to the last entry" "$wanted" "$(digest 3)"
check "... a dry run" ctl import --dry-run --from connect "http://127.0.0.1:$http_port/db/1/connect"
killed "the service" 25000 --from connect "http://127.0.0.1:$http_port/db/1/connect"
begun --from connect "http://127.0.0.1:$http_port/db/1/connect"
said "another database of it is another input" 1 "belongs to another input" --db 2 import --state "$scratch/state" --from connect \
    "http://127.0.0.1:$http_port/db/3/connect"
rm -f "$scratch/state"

flush
check "values of all types" ctl import --from deno "$file"
cli KV.DEL '["e",{"$bigint":"1"}]' '["e",{"$bigint":"3"}]' >/dev/null # expiry does not travel
cli KV.SET '["e",4]' 1 PX 100000000 >/dev/null
cli KV.DEL '["e",4]' >/dev/null
said "... from a service" 0 "$((values + 2)) entries and 0 messages loaded" --db 5 import --from connect "$service" --map "$scratch/map"
same "... are the same there" "$(digest 0)" "$(digest 5)"
same "... the map has the service's versionstamps" "$(cli KV.GET '["v","100"]' WITHVERSION | tail -n 1)" \
    "$(grep '^{"key":\["v","100"\],' "$scratch/map" | sed -E 's/.*"old":"([^"]*)".*/\1/')"
check "below a prefix" ctl --db 6 import --from connect --prefix '["k"]' "$service"
same "... nothing else" 1 "$(cli -n 6 DBSIZE)"
for n in 1 2 3 4 5 6 7; do
    { printf '"'; head -c 14000000 /dev/zero | tr '\0' $n; printf '"'; } | cli -n 7 -x KV.SET "[\"large\",$n]" >/dev/null
done
said "entries of which the service gives few at a time" 0 "7 entries" --db 8 import --from connect "http://127.0.0.1:$http_port/db/7/connect"
same "... are all there" "$(digest 7)" "$(digest 8)"
cli -n 7 FLUSHDB >/dev/null

# ---- who may ----

unset DENO_KV_ACCESS_TOKEN
said "without a token" 2 "no access token; set DENO_KV_ACCESS_TOKEN" import --from connect "$service"
printf 'deno:secret\nmore\n' >"$scratch/token"
cli ACL SETUSER deno on '>secret' '+@read' +kv.connect '~*' >/dev/null
cli ACL SETUSER default '>password' >/dev/null
cli() { redis-cli -p "$port" -a password --no-auth-warning "$@"; }
export TUPLEDCTL_PASSWORD=password
said "a token in a file" 0 "entries" --db 6 import --from connect --token-file "$scratch/token" "$service"
DENO_KV_ACCESS_TOKEN=wrong:token said "a wrong one" 1 "401" --db 6 import --from connect "$service"
check "... says where it comes from" grep -q 'Pass the access token in DENO_KV_ACCESS_TOKEN or --token-file' "$scratch/err"
said "a file that is not there" 2 "--token-file" --db 6 import --from connect --token-file "$scratch/nofile" "$service"
printf 'a b\n' >"$scratch/blank"
said "a token with a blank" 2 "no access token" --db 6 import --from connect --token-file "$scratch/blank" "$service"
said "a token in the URL" 2 "which others can see" --db 6 import --from connect "http://a:b@127.0.0.1:$http_port/connect"
cli ACL SETUSER default nopass >/dev/null
cli() { redis-cli -p "$port" "$@"; }
unset TUPLEDCTL_PASSWORD
export DENO_KV_ACCESS_TOKEN=any
said "no URL" 2 "needs the URL of a service" import --from connect some.db
said "... of another kind" 2 "needs the URL of a service" import --from connect "redis://127.0.0.1:$port"
said "nobody there" 3 "http://127.0.0.1:1/connect: " import --from connect http://127.0.0.1:1/connect
said "no such host" 3 "host" import --from connect http://no-such-host.invalid/connect
said "no such path" 1 "404" import --from connect "http://127.0.0.1:$http_port/nothing"

# ---- a service that fails ----

# before <metadata> <reads>: $proxy is such a one, at $before
before() {
    local tries
    [ -z "$proxy" ] || { kill -KILL "$proxy"; wait "$proxy" 2>/dev/null; }
    : >"$scratch/proxy" && : >"$scratch/asked"
    python3 redis-tests/python/connect_proxy.py "$http_port" "$scratch/asked" "$1" "$2" >"$scratch/proxy" 2>"$scratch/complaints" &
    proxy=$!
    for ((tries = 0; tries < 2000; tries++)); do
        [ ! -s "$scratch/proxy" ] || break
        sleep 0.01
    done
    before=http://127.0.0.1:$(<"$scratch/proxy")/db/1/connect
}
asked() { grep -c "^$1" "$scratch/asked"; }
# gets_by <name> <metadata> <reads> <words>...: all the same everything is there
gets_by() {
    before "$2" "$3"
    cli -n 2 FLUSHDB >/dev/null
    said "$1" 0 "loaded" --db 2 import --from connect "$before" "${@:4}"
    same "... everything is there" "$wanted" "$(digest 2)"
}
# ends <name> <status> <text> <metadata> <reads> <words>...
ends() {
    before "$4" "$5"
    said "$1" "$2" "$3" --db 2 import --from connect "$before" "${@:6}"
}

if has "services that fail" python3; then
    { echo "$tables"; echo "${rows//24999/5999}"; } | made "$scratch/some.db"
    ctl -q --db 1 import --from deno "$scratch/some.db" || not_ok "some entries are loaded"
    wanted=$(digest 1)
    gets_by "one that is well" '' ''
    same "... is asked once, and in pages" "1 7" "$(asked metadata) $(asked read)"
    gets_by "500, 503 and 429 are passed" '' 'ok,500,503,ok,429,ok,502'
    check "... the last one more than once" test "$(asked read)" -eq 11
    check "... they are told" grep -q 'warning: .*/db/1/connect: it responded with status 503: told to; retrying in' "$scratch/err"
    gets_by "connections that end" '' 'ok,drop,ok,cut,drop,ok,cut'
    gets_by "answers in pieces" '' 'slow,ok,slow'
    gets_by "a token that is no good any more" '' 'ok,401,ok,403,ok,token'
    same "... each time there is another" 4 "$(asked metadata)"
    gets_by "... then the service fails" 'ok,503,drop' 'ok,401'
    gets_by "a token that ends soon is renewed before" 'short,short' 'ok,3*slow,3*slow'
    check "... so it is never refused" test "$(asked metadata)" -ge 2
    same "... and each page is asked for once" 7 "$(asked read)"
    gets_by "a clock that differs" 'expired' ''
    same "... does not ask all the time" 1 "$(asked metadata)"
    gets_by "version 1" 'v1' ''
    same "... has no header for it" "read ok -" "$(sed -n '$p' "$scratch/asked")"
    gets_by "version 2" 'v2' ''
    same "... has one" "read ok 2" "$(sed -n '$p' "$scratch/asked")"
    gets_by "a service that gives few at a time" '' '413,400,ok'
    ends "one that refuses" 1 "it responded with status 404: told to" '' 'ok,404'
    ends "... a token at once" 1 "status 401" '' '401,401'
    same "... after another one" 2 "$(asked metadata)"
    ends "... all that is asked" 1 "status 400: told to" '' '20*400'
    ends "one that fails at first" 3 "status 503: told to" '503' ''
    ends "one that fails for long" 3 "status 503: told to" '' 'ok,90*503' --retry 1
    ends "... or ends connections" 3 "http://127.0.0.1" '' 'ok,90*drop' --retry 1
    check "... the pauses grow, and differ" test "$(asked 'read drop')" -ge 2 -a "$(asked 'read drop')" -le 8
    ends "... not at all" 3 "status 503" '' '503' --retry 0
    same "... once" 1 "$(asked read)"
    ends "another version" 1 "uses version 4 of KV Connect; tupledctl supports 1 to 3" 'version4' ''
    ends "no strong endpoint" 1 "it has no endpoint with strong consistency" 'weak' ''
    ends "an endpoint elsewhere" 1 "its endpoint is not an http or https URL" 'down' ''
    ends "metadata that are none" 1 "is not a KV Connect service" 'garbage' ''
    ends "another database all at once" 1 "now serves another database" 'ok,other' '401'
    ends "an answer that makes no sense" 1 "invalid response" '' 'garbage'
    ends "an old state" 1 "it does not read the latest state" '' 'weak'
    ends "a read that failed" 1 "the read failed (code 0)" '' 'failed'
    ends "reads that are disabled" 1 "reads are disabled" '' 'disabled'
    ends "the same entries again" 1 "the response contains keys that were not requested" '' 'ok,repeat'
    before '' 'ok,ok,ok,90*503'
    cli -n 2 FLUSHDB >/dev/null
    said "an import ends" 3 "with --state, repeat the command to continue" --db 2 import --state "$scratch/state" --retry 1 \
        --from connect "$before"
    same "... in the middle" 3000 "$(cli -n 2 DBSIZE)"
    sed -i "s/url=.*/url=x/" "$scratch/state"
    said "... for another address" 1 "belongs to another input" --db 2 import --state "$scratch/state" --from connect "$before"
    rm -f "$scratch/state"
fi
[ -z "$proxy" ] || { kill -KILL "$proxy"; wait "$proxy" 2>/dev/null; }
proxy=''
stop_server
rm -rf "$scratch/data"

# ---- TLS ----

if has "a service by https" openssl; then
    make_certificates
    start_server --http-tls yes --tls-cert-file "$scratch/server.crt" --tls-key-file "$scratch/server.key" \
        --tls-ca-cert-file "$scratch/ca.crt" --tls-auth-clients no
    cli KV.SET '["a"]' 1 >/dev/null
    service=https://localhost:$http_port/connect
    said "a service by https" 0 "1 entries" --db 1 import --from connect --source-cacert "$scratch/ca.crt" "$service"
    said "... of which nobody knows" 1 "Give the CA certificate with --source-cacert" --db 1 import --from connect "$service"
    said "... of another authority" 1 "certificate" --db 1 import --from connect --source-cacert "$scratch/other-ca.crt" "$service"
    said "no such file of an authority" 1 "nofile" --db 1 import --from connect --source-cacert "$scratch/nofile" "$service"
    stop_server
    rm -rf "$scratch/data"
fi

# ---- Deno ----

if install_deno; then
    start_server --databases 16
    "${deno_run[@]}" redis-tests/deno/file.mjs make "$scratch/own.db" >"$scratch/out" 2>&1 || { not_ok "Deno makes a file"; cat "$scratch/out"; }
    said "a file that Deno has made" 0 "$(<"$scratch/out") entries and 3 messages loaded" import --from deno "$scratch/own.db"
    talk 120 "${deno_run[@]}" redis-tests/deno/file.mjs compare "$scratch/own.db" "http://127.0.0.1:$http_port/connect"
    messages | sed -E 's/"due":[0-9]{13},//' >"$scratch/got"
    same "messages of Deno" '{"queue":"deno","value":"plain","attempts":0,"backoff":[100,1000,5000,30000,60000]}
{"queue":"deno","value":7,"attempts":1,"backoff":[100,1000,5000,30000,60000]}
{"queue":"deno","value":{"x":1},"attempts":0,"backoff":[10,20],"undelivered":[["f",1]]}' "$(<"$scratch/got")"
    stop_server
fi
finish

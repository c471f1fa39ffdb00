#!/bin/bash
# KV Connect byte by byte: what a client may send, and what is answered; the bodies are those of Deno 2.9.6 and
# @deno/kv 0.14.0.
export HTTP=1
. "$(dirname "$0")/server.sh"

for tool in curl redis-cli xxd; do
    command -v "$tool" >/dev/null || { skip "KV Connect" "$tool is not installed"; exit 0; }
done
start_server
url=http://127.0.0.1:$http_port/connect
cli() { redis-cli -p "$port" "$@"; }

# ask <path> <file> [argument of curl...]: $status, $type, $bytes (in hex), $text
ask() {
    local path=$1 file=$2
    shift 2
    rm -f "$scratch/answer"
    status=$(curl -s -m 20 -o "$scratch/answer" -D "$scratch/head" -w '%{http_code}' -X POST --data-binary @"$file" \
        "$@" "$url$path")
    type=$(sed -n 's/^content-type: *//Ip' "$scratch/head" | tr -d '\r')
    bytes=$(xxd -p "$scratch/answer" | tr -d '\n')
    text=$(tr -d '\0' <"$scratch/answer")
}

# put <hex>...: the bytes, in $scratch/body
put() { echo "$*" | tr -d ' ' | xxd -r -p >"$scratch/body"; }

# send <path> <hex>...: as Deno does
send() {
    local path=$1
    shift
    put "$*"
    ask "$path" "$scratch/body" "${headers[@]}"
}

# answered <name> <path> <hex sent> <hex wanted>
answered() {
    send "$2" "$3"
    same "$1" "200 $(echo "$4" | tr -d ' ')" "$status $bytes"
}

# is_refused <name> <path> <hex sent> <status> <text>
is_refused() {
    send "$2" "$3"
    same "$1" "$4 $5" "$status $text"
}

# of <hex>: its length, as a byte of protobuf; below 128
of() { printf '%02x' $((${#1} / 2)); }

# field <number> <hex>: a field of bytes
field() { printf '%02x%s%s' $(($1 << 3 | 2)) "$(of "$2")" "$2"; }

# ---- what is told at first ----

opens() { # body, argument of curl...
    printf %s "$1" >"$scratch/body"
    shift
    ask "" "$scratch/body" -H 'content-type: application/json' "$@"
}
member() { echo "$text" | grep -o "\"$1\":\"[^\"]*\"" | cut -d '"' -f 4; }

for row in '3 {"supportedVersions":[1,2,3]}' '3 {"supportedVersions":[3]}' '2 {"supportedVersions":[1,2]}' \
    '2 {"supportedVersions":[2,1,9]}' '1 {"supportedVersions":[1]}' '3 {"supportedVersions":[1,2,3,4],"more":true}' '1 '; do
    opens "${row#* }"
    same "the version of both: ${row#* }" "200 application/json ${row%% *}" \
        "$status $type $(echo "$text" | grep -o '"version":[0-9]*' | cut -d : -f 2)"
    same "no more members than clients know" 'consistency databaseId endpoints expiresAt token url version' \
        "$(echo "$text" | grep -o '"[a-zA-Z]*":' | tr -d '":' | sort -u | xargs)"
done
same "version 1 has whole addresses" "$url/v2" "$(member url)"
opens '{"supportedVersions":[2]}'
same "later ones a path" /connect/v2 "$(member url)"
opens '{"supportedVersions":[1]}' -H 'host: localhost:99'
same "of the host that was asked" http://localhost:99/connect/v2 "$(member url)"
for body in '{"supportedVersions":[4]}' '{"supportedVersions":[]}' '{"supportedVersions":[0,-1]}' '{"supportedVersions":"3"}' \
    '{}' 'null' '{"supportedVersions":[3]' 'text'; do
    opens "$body"
    same "no version of both: $body" "400 The server could not negotiate a protocol version" "$status ${text%%:*}"
done
opens '{"supportedVersions":[3]}' -H 'authorization: Bearer no:such-user'
same "nobody without a password" 401 "$status"
opens '{"supportedVersions":[1,2,3]}'
token=$(member token) id=$(member databaseId)
check "the id is a UUID in small letters" grep -qE '^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$' <<<"$id"
left=$(($(date -d "$(member expiresAt)" +%s) - $(date +%s)))
check "the token is good for an hour" test "$left" -ge 3590 -a "$left" -le 3601
opens '{"supportedVersions":[1,2,3]}'
same "the id stays" "$id" "$(member databaseId)"
status=$(curl -s -o "$scratch/answer" -w '%{http_code}' "$url")
same "a GET is no way to ask" 405 "$status"
curl -s -o "$scratch/answer" -X POST -d '{"supportedVersions":[3]}' "http://127.0.0.1:$http_port/db/5/connect"
text=$(<"$scratch/answer")
check "another database has another id" test "$(member databaseId)" != "$id"
same "and its own path" /db/5/connect/v2 "$(member url)"
other_token=$(member token)

# ---- headers ----

version=(-H 'x-denokv-version: 3') by=(-H "authorization: Bearer $token") database=(-H "x-denokv-database-id: $id")
headers=("${version[@]}" "${by[@]}" "${database[@]}" -H 'content-type: application/x-protobuf')
read_a=0a0d0a030261001204026100001801
: >"$scratch/empty"

refuses_head() { # name, status and text, argument of curl...
    local name=$1 wanted=$2
    shift 2
    ask /v2/atomic_write "$scratch/empty" "$@"
    same "$name" "$wanted" "$status $text"
}
accepts_head() { # name, argument of curl...
    local name=$1
    shift
    ask /v2/atomic_write "$scratch/empty" "$@"
    same "$name" "200 application/x-protobuf 0801120a" "$status $type ${bytes:0:8}"
}

unknown='400 Expected protocol version 2 or 3.'
refuses_head "no header: the version is missing" "$unknown"
refuses_head "the version is looked at first" "$unknown" -H 'x-denokv-version: 4'
refuses_head "then who it is" '401 Malformed authorization header.' "${version[@]}"
refuses_head "in that form only" '401 Malformed authorization header.' "${version[@]}" -H "authorization: Basic $token"
refuses_head "with a token" '401 Malformed authorization header.' "${version[@]}" -H 'authorization: Bearer'
refuses_head "of this server" '401 Invalid access token.' "${version[@]}" -H 'authorization: Bearer secret-token-123'
refuses_head "whole" '401 Invalid access token.' "${version[@]}" -H "authorization: Bearer ${token%?}"
tail=${token: -12:2}
forged=${token:0:${#token}-12}$([ "$tail" = AA ] && echo BB || echo AA)${token: -10}
refuses_head "signed by it" '401 Invalid access token.' "${version[@]}" -H "authorization: Bearer $forged"
refuses_head "unchanged" '401 Invalid access token.' "${version[@]}" \
    -H "authorization: Bearer $(sed 's/^\(.\{20\}\)./\1_/; t; s/$/_/' <<<"${token}")x"
refuses_head "then which database" '400 Invalid database id.' "${version[@]}" "${by[@]}" \
    -H 'x-denokv-database-id: 00000000-0000-0000-0000-000000000000'
refuses_head "the one of the token" '400 Invalid database id.' "${version[@]}" "${database[@]}" \
    -H "authorization: Bearer $other_token"
accepts_head "version 3" "${headers[@]}"
accepts_head "version 2" -H 'x-denokv-version: 2' "${by[@]}" "${database[@]}"
accepts_head "version 1" -H "x-transaction-domain-id: $id" "${by[@]}"
accepts_head "the database is the token's" "${version[@]}" "${by[@]}"
accepts_head "the word Bearer in small letters" "${version[@]}" "${database[@]}" -H "authorization: bearer $token"
accepts_head "HTTP/2 without TLS" --http2-prior-knowledge "${headers[@]}"
send /v2/nothing ''
same "no such path" 404 "$status"
send /v2/snapshot_read "$read_a" # headers of a read are the same
same "a read needs them too" 200 "$status"
headers=("${version[@]}" "${database[@]}")
is_refused "a watch does" /v2/watch '' 401 'Malformed authorization header.'
headers=("${version[@]}" "${by[@]}" "${database[@]}")

# ---- what Deno and @deno/kv send ----

stamp() { cli KV.GET "$1" WITHVERSION | tail -n 1; }
written() { # name, hex: written, and the versionstamp is the newest
    send /v2/atomic_write "$2"
    same "$1" "200 application/x-protobuf 0801120a$(cli KV.VERSION)" "$status $type $bytes"
}
key_a1=02610021bff0000000000000
read_a1="0a1f0a0c${key_a1}120d${key_a1}001801"
watched="0a0e0a0c${key_a1}0a050a03027700"

written 'set ["a",1]="b"' "121b0a0c${key_a1}12090a05ff1022016210011801"
same "and RESP has it" '"b"' "$(cli KV.GET '["a",1]')"
a1=$(stamp '["a",1]')
answered "get" /v2/snapshot_read "$read_a1" "0a250a230a0c${key_a1}1205ff0f2201621801220a${a1}20014001"
same "with its type" application/x-protobuf "$type"
answered "get of nothing" /v2/snapshot_read 0a0f0a04027a7a001205027a7a00001801 0a0020014001
answered "getMany: an answer for each" /v2/snapshot_read "${read_a1}0a0d0a030263001204026300001801" \
    "0a250a230a0c${key_a1}1205ff0f2201621801220a${a1}0a0020014001"
answered "no range at all" /v2/snapshot_read '' 20014001
e=e8b9f2c09f74 # far from now
written "expireIn" "121e0a03026500120e0a0aff106f22017849027b011001180120$e"
check "it expires" test "$(cli KV.TTL '["e"]')" -gt 100000
written "sum, max, min" "12150a03026e00120c0a0805000000000000001002180312150a03026e00120c0a080700000000000000\
1002180412150a03026e00120c0a08060000000000000010021805"
same "the sum is the smallest of the largest" '{"$u64":"6"}' "$(cli KV.GET '["n"]')"
written "delete, with a value as Deno does" 120b0a03026e00120210031802
written "delete, without as @deno/kv does" 12070a03026e001802
same "it has gone" "" "$(cli KV.GET '["n"]')"
answered "a check that fails, and which" /v2/atomic_write \
    "0a0e0a0c${key_a1}121a0a0c${key_a1}12080a04ff10490410011801" 0802220100
answered "the second and the third of three" /v2/atomic_write \
    "0a070a03027a0012000a050a030265000a0e0a0c${key_a1}" 080222020102
written "a check that holds" "0a1a0a0c${key_a1}120a${a1}"
written "a key that ends with the versionstamp" 12100a05026c6f670012050a010910031809
log=$(cli KV.VERSION)
entry="0a1b026c6f670002$(printf %s "$log" | xxd -p | tr -d '\n')001201091803220a${log}"
answered "list" /v2/snapshot_read 0a120a06026c6f6700001206026c6f6700ff1864 "0a300a2e${entry}20014001"
answered "list backwards" /v2/snapshot_read 0a0a0a01001201ff18022001 \
    "0a510a2e${entry}0a1f0a030265001 20aff0f6f22017849027b011801220a$(stamp '["e"]')20014001"
written "nothing" ''
written "@deno/kv: a set with all fields" \
    12260a0302610012150a11ff0f6f22017849022201755c0101017b021001180120002a0032003800
same "bytes as Node writes them" '{"x":1,"u":{"$bytes":"AQ=="}}' "$(cli KV.GET '["a"]' | head -n 1)"
send /v2/snapshot_read 0a0c0a030261001201ff18012000
same "@deno/kv: get is the first from there" "200 0a0302610012" "$status ${bytes:8:12}"
now=$(($(date +%s) * 1000))
varint() { # number
    local n=$1
    while [ "$n" -gt 127 ]; do printf '%02x' $((n & 127 | 128)); n=$((n >> 7)); done
    printf '%02x' "$n"
}
message="0a05ff0f22017810$(varint "$now")"
written "@deno/kv: a message, delays one by one" "1a$(of "${message}206420c801209003 20a006")${message}206420c80120900320a006"
written "a message, delays packed" "1a$(of "${message}220764c8019003a006")${message}220764c8019003a006"
same "they are in the queue deno" '"x" "x"' "$(cli KV.DEQUEUE deno COUNT 2 | grep '"x"' | xargs -d '\n')"

# ---- watches ----

# frames <seconds> <hex>: what is told
frames() {
    put "$2"
    curl -s -m "$1" -o "$scratch/stream" -D "$scratch/head" -X POST --data-binary @"$scratch/body" "${headers[@]}" \
        "$url/v2/watch"
    xxd -p "$scratch/stream" | tr -d '\n'
}
same "a watch: an absent key" 06000000080112020801 "$(frames 1 0a050a03027700)"
same "its type" application/octet-stream "$(sed -n 's/^content-type: *//Ip' "$scratch/head" | tr -d '\r')"
same "two keys, each in its place" "2f0000000801$(field 2 "08011223$(field 1 "$key_a1")1205ff0f2201621801220a$a1")12020801" \
    "$(frames 1 "$watched")"
same "no keys" 020000000801 "$(frames 1 '')"
same "the empty key" 06000000080112020801 "$(frames 1 0a020a00)"
keys=$(for n in 0 1 2 3 4 5 6 7 8 9; do printf '0a050a0302%02x00' $((97 + n)); done)
check "ten keys" test -n "$(frames 1 "$keys")"
is_refused "eleven keys" /v2/watch "${keys}0a050a03026b00" 400 'Too many keys watched in a single watch request.'
long=$(printf '61%.0s' $(seq 2047))
is_refused "a key of 2049 bytes" /v2/watch "0a84100a811002${long}00" 400 'A key exceeds the key size limit.'

# ---- what is wrong ----

invalid='Invalid protobuf in the request: not a valid '
is_refused "half a body" /v2/atomic_write "121b0a0c${key_a1}" 400 "${invalid}kv.AtomicWrite."
is_refused "a length beyond all" /v2/atomic_write 12ffffffff0f0a00 400 "${invalid}kv.AtomicWrite."
is_refused "a length of ten bytes" /v2/snapshot_read 0affffffffffffffffff01 400 "${invalid}kv.SnapshotRead."
is_refused "a number that does not end" /v2/snapshot_read ffffffffffffffffffffff 400 "${invalid}kv.SnapshotRead."
is_refused "a field of number 0" /v2/snapshot_read 0000 400 "${invalid}kv.SnapshotRead."
is_refused "a wire type that is none" /v2/snapshot_read 0f 400 "${invalid}kv.SnapshotRead."
is_refused "text" /v2/watch 7b226b657973223a5b5d7d 400 "${invalid}kv.Watch."
send /v2/atomic_write "$(printf '1200%.0s' $(seq 60000))"
same "sixty thousand empty mutations" 400 "$status"
send /v2/snapshot_read "$(printf '0a00%.0s' $(seq 60000))"
same "sixty thousand empty ranges" 400 "$status"
written "unknown fields are passed over" "121b0a0c${key_a1}12090a05ff1022016210011801 9a0603616263 a00601 ad0601020304 a1060102030405060708"

set_of() { echo "12$(of "0a03026b00$1")0a03026b00$1"; } # a mutation of ["k"]
is_refused "an encoding that is none" /v2/atomic_write "$(set_of 12050a017810041801)" 400 'The value encoding 4 is unknown.'
is_refused "encoding 0" /v2/atomic_write "$(set_of 12030a01781801)" 400 'The value encoding 0 is unknown.'
is_refused "an encoding below 0" /v2/atomic_write "$(set_of 120e0a017810ffffffffffffffffff011801)" 400 \
    'The value encoding -1 is unknown.'
for length in 0 7 9; do
    data=$(field 1 "$(printf '0%.0s' $(seq 1 $((2 * length))))")
    [ "$length" -gt 0 ] || data=0a00
    send /v2/atomic_write "$(set_of "$(field 2 "${data}1002")1801")"
    same "a counter of $length bytes" "400 A value of encoding 2 (LE64) must have 8 bytes, not $length." "$status $text"
done
for kind in 00 06 07 08 0a 7f; do
    is_refused "a mutation of kind $kind" /v2/atomic_write "$(set_of "12050a0178100318$kind")" 400 \
        'Invalid mutation kind or arguments.'
done
is_refused "a mutation without a kind" /v2/atomic_write "$(set_of 12050a01781003)" 400 'Invalid mutation kind or arguments.'
for kind in 01 03 04 05 09; do
    is_refused "kind $kind without a value" /v2/atomic_write "$(set_of "18$kind")" 400 'Invalid mutation kind or arguments.'
done
is_refused "an expiry before all time" /v2/atomic_write "$(set_of 12050a01781003180120feffffffffffffffff01)" 400 \
    'Invalid mutation expire at.'
written "an expiry of -1 is none" "$(set_of 12050a01781003180120ffffffffffffffffff01)"
same "so it stays" -1 "$(cli KV.TTL '["k"]')"
is_refused "a set of the empty key" /v2/atomic_write 120912050a017810031801 400 'key cannot be empty'
is_refused "a check of the empty key" /v2/atomic_write 0a00 400 'key cannot be empty'
for stamp in 00 000000000000000000 0000000000000000000000; do
    is_refused "a versionstamp of $((${#stamp} / 2)) bytes" /v2/atomic_write "0a$(of "0a03026b00$(field 2 "$stamp")")0a03026b00$(field 2 "$stamp")" \
        400 'Invalid versionstamp.'
done
for key in 03 0261 026100ff 01 21bff0 30 1500 14000000; do
    send /v2/atomic_write "$(field 2 "$(field 1 "$key")12050a017810031801")"
    same "bytes that are no key: $key" "400 invalid key" "$status ${text%%:*}"
done
for value in '' ff 10 ff0f ff0fff ff0f5a01 ff0c30 ff1130 ff0f6f2201 ff0f5e00 ff0f4105; do
    data=$(field 1 "$value")
    [ -n "$value" ] || data=0a00
    send /v2/atomic_write "$(set_of "$(field 2 "${data}1001")1801")"
    same "no value of V8: '$value'" "400 invalid V8 value" "$status ${text%%:*}"
done
same "and nothing was written by all that" '"b" {"$bytes":"eA=="}' "$(cli KV.GET '["a",1]') $(cli KV.GET '["k"]')"

is_refused "a limit of 0" /v2/snapshot_read 0a080a030261001201ff 400 'The read range limit of the snapshot read request is invalid.'
is_refused "a limit below 0" /v2/snapshot_read 0a130a030261001201ff18ffffffffffffffffff01 400 \
    'The read range limit of the snapshot read request is invalid.'
is_refused "1001 entries" /v2/snapshot_read 0a0b0a030261001201ff18e907 400 \
    'The total number of entries requested across read ranges in the read request is too large.'
is_refused "eleven ranges" /v2/snapshot_read "$(printf "${read_a1}%.0s" $(seq 11))" 400 \
    'Too many read ranges requested in one read request.'
answered "an end before its start" /v2/snapshot_read 0a0c0a01ff120302610018642001 0a0020014001
answered "bounds of any bytes" /v2/snapshot_read 0a080a01fe1201ff1864 0a0020014001
is_refused "a bound of 2050 bytes" /v2/snapshot_read "0a8a100a821002${long}0000 1201ff1864" 400 'A key exceeds the key size limit.'
checks() { printf "0a050a03027a00%.0s" $(seq "$1"); }
written "100 checks" "$(checks 100)"
is_refused "101 checks" /v2/atomic_write "$(checks 101)" 400 'Too many checks included in atomic write.'
deletes() { printf '12070a03027a001802%.0s' $(seq "$1"); }
written "1000 mutations" "$(deletes 1000)"
is_refused "1001 mutations" /v2/atomic_write "$(deletes 1001)" 400 'Too many mutations / enqueues included in atomic write.'
big() { # bytes of a value: 10000 to 2000000
    local value
    value=$(head -c "$1" /dev/zero | xxd -p | tr -d '\n')
    local inside="0a$(varint "$1")${value}1003"
    local mutation="0a03026b0012$(varint $((${#inside} / 2)))${inside}1801"
    printf '12%s%s' "$(varint $((${#mutation} / 2)))" "$mutation"
}
written "65536 bytes" "$(big 65536)"
is_refused "65537 bytes" /v2/atomic_write "$(big 65537)" 400 'A value exceeds the value size limit.'
is_refused "more than 819200 bytes in all" /v2/atomic_write "$(for _ in $(seq 13); do big 65536; done)" 400 \
    'The total size of the atomic write is too large.'
head -c 2200000 /dev/zero >"$scratch/body"
ask /v2/atomic_write "$scratch/body" "${headers[@]}"
same "a body of more than 2 MB" 413 "$status"

# ---- afterwards ----

kill -KILL "$server"
wait "$server" 2>/dev/null
"$TUPLED_ASAN_BIN" --dir "$scratch/data" --port "$port" --http-port "$http_port" --logfile "$scratch/log" \
    >"$scratch/output" 2>&1 &
server=$!
# At once, while what the server keeps is still being read.
put "$read_a1"
until exec 3<>"/dev/tcp/127.0.0.1/$http_port"; do kill -0 "$server" || break; done 2>/dev/null
{
    printf '%s\r\n' 'POST /connect/v2/snapshot_read HTTP/1.1' "Host: 127.0.0.1:$http_port" 'Connection: close' \
        "Content-Length: $(stat -c %s "$scratch/body")"
    for header in "${headers[@]}"; do [ "$header" = -H ] || printf '%s\r\n' "$header"; done
    printf '\r\n'
    cat "$scratch/body"
} >&3
read -r -t 20 -u 3 line
same "a token is good as soon as the server answers" "HTTP/1.1 200 OK" "${line%$'\r'}"
exec 3>&-
send /v2/snapshot_read "$read_a1"
same "a token is good after kill -9 and a start" "200 0a250a23" "$status ${bytes:0:8}"
kept=("${headers[@]}")
stop_server
export TUPLED_TEST_TOKEN_MS=4000
start_server --port "$port" --http-port "$http_port"
opens '{"supportedVersions":[3]}' -H 'authorization: Bearer any'
short=$(member token)
headers=("${version[@]}" "${database[@]}" -H "authorization: Bearer $short" -H 'content-type: application/x-protobuf')
send /v2/snapshot_read "$read_a1"
same "a token is good for its time" "200 0a250a23" "$status ${bytes:0:8}"
sleep 4.1
is_refused "and no longer" /v2/snapshot_read "$read_a1" 401 'Invalid access token.'
headers=("${kept[@]}")
send /v2/snapshot_read "$read_a1"
same "another one still is" "200 0a250a23" "$status ${bytes:0:8}"
cli ACL SETUSER default '>new password' >/dev/null
is_refused "but not when its user has changed" /v2/snapshot_read "$read_a1" 401 'Invalid access token.'
stop_server
rm -rf "$scratch/data"

export TUPLED_TEST_TOKEN_MS=4000
start_server --port "$port" --http-port "$http_port"
opens '{"supportedVersions":[3]}'
headers=("${version[@]}" -H "authorization: Bearer $(member token)")
answered "a token is good for its time" /v2/snapshot_read '' 20014001
sleep 4.1
is_refused "and not longer" /v2/snapshot_read '' 401 'Invalid access token.'
stop_server
finish

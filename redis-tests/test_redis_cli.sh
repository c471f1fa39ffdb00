#!/bin/bash
# redis-cli and redis-benchmark as people use them.
. "$(dirname "$0")/server.sh"

if ! command -v redis-cli >/dev/null; then
    skip "redis-cli" "not installed (package redis-tools)"
    exit 0
fi

# Times in replies differ: a versionstamp becomes @.
cli() {
    timeout 60 redis-cli -p "$port" "$@" 2>&1 | sed -E 's/[0-9a-f]{20}/@/g'
}

start_server --databases 4

same "ping" PONG "$(cli ping)"
same "set answers a versionstamp" @ "$(cli KV.SET '["users",42]' '{"name":"Ann"}')"
same "get answers the value" '{"name":"Ann"}' "$(cli KV.GET '["users",42]')"
same "get of a missing key is empty" "" "$(cli KV.GET '["nobody"]')"
same "get with a version, for people" '1) "{\"name\":\"Ann\"}"
2) "@"' "$(cli --no-raw KV.GET '["users",42]' WITHVERSION)"
same "an error is told" "ERR invalid key: expected a JSON array or a MessagePack array; write [\"users\"], in a shell '[\"users\"]'" \
    "$(cli KV.GET users | sed '/^$/d')"
same "an atomic transaction" '1) "@"
2) 1) "[\"a\"]"
   2) "3"
   3) (nil)' "$(cli --no-raw KV.ATOMIC DETAILS SET '["a"]' 1 SUM '["n"]' 3 DEL '["b"]')"
same "a list" '1) "0"
2) 1) 1) "[\"a\"]"
      2) "1"
      3) "@"
   2) 1) "[\"n\"]"
      2) "3"
      3) "@"' "$(cli --no-raw KV.LIST END '["users"]')"
same "RESP3: nil" "(nil)" "$(cli -3 --no-raw KV.GET '["nobody"]')"
same "RESP3: a map" '1# "databases" => "4"' "$(cli -3 --no-raw CONFIG GET databases)"
same "RESP3: text" "# Cluster" "$(cli -3 INFO cluster | head -n 1 | tr -d '\r')"
same "another database" "" "$(cli -n 2 KV.GET '["users",42]')"
same "a count" 1 "$(cli KV.COUNT PREFIX '["users"]')"
same "a command repeated" "$(printf '1\n1\n1')" "$(cli -r 3 KV.COUNT PREFIX '["users"]')"
same "an argument from standard input" "@" "$(printf '"from stdin"' | cli -x KV.SET '["x"]')"
same "... is stored" '"from stdin"' "$(cli KV.GET '["x"]')"

# A file of commands: redis-cli asks for COMMAND DOCS first.
cat >"$scratch/commands" <<'END'
KV.SET '["f",1]' 10
KV.SET '["f",2]' "\"two words\""
KV.SUM '["f",1]' 5
SELECT 1
KV.SET '["f",3]' null
SELECT 0
KV.COUNT PREFIX '["f"]'
END
same "a file of commands" "@
@
15
@
OK
@
OK
2" "$(cli <"$scratch/commands")"
same "... is done" '"two words"' "$(cli KV.GET '["f",2]')"

# Mass insertion: raw protocol, 2000 commands.
for ((i = 0; i < 2000; i++)); do
    key="[\"p\",$i]"
    printf '*3\r\n$6\r\nKV.SET\r\n$%d\r\n%s\r\n$%d\r\n%d\r\n' ${#key} "$key" ${#i} "$i"
done >"$scratch/protocol"
same "--pipe" "errors: 0, replies: 2000" "$(cli --pipe <"$scratch/protocol" | tail -n 1)"
same "... is done" 2000 "$(cli KV.COUNT PREFIX '["p"]')"

# What `help` says of a command is what the manual says, in the words of this redis-cli: no <>, no
# blanks around |, and [x ...] as [x [x ...]].
manual=$(dirname "$0")/../docs/commands.md
awk '/^### / { is_next = 1 } /^    / { if (is_next) print substr($0, 5); is_next = 0 }' "$manual" | grep -vE '^KV\.(ATOMIC|LOAD|CONNECT WRITE)' | sed -E '
    s/([a-z-]+) \[\1 \.\.\.\]/\1 @\1@/g
    s/\[([a-z-]+) \.\.\.\]/[\1 [\1 ...]]/g
    s/([a-z-]+) @\1@/\1 [\1 ...]/g
    s/[<>]//g; s/ \| /|/g' | sort -u >"$scratch/manual"
sed -n 's/^### /help /p' "$manual" | timeout 60 redis-cli -p "$port" >"$scratch/help" 2>&1
escape=$(printf '\033')
tr -d '\r' <"$scratch/help" | sed -n "s/$escape\[[0-9]*m//g; s/ *$//; s/^  \([A-Z]\)/\1/p" |
    sort -u >"$scratch/hints"
same "redis-cli's help knows every command of the manual" "" \
    "$(comm -23 "$scratch/manual" "$scratch/hints")"
check "... which are many" test "$(wc -l <"$scratch/manual")" -gt 100
check "... and complains about none" test -z "$(grep -E 'Unknown|ssertion' "$scratch/help")"
check "help of KV.ATOMIC" grep -qF '[IDEM id] [DETAILS] op [op ...] [FORMAT format]' \
    <(echo "help kv.atomic" | timeout 60 redis-cli -p "$port" 2>&1)
check "... names what an op is" grep -qF 'CHECK, SET, DEL, SUM' \
    <(echo "help kv.atomic" | timeout 60 redis-cli -p "$port" 2>&1)
echo "help @kv" | timeout 60 redis-cli -p "$port" 2>&1 | tr -d '\r' |
    sed "s/$escape\[[0-9]*m//g" >"$scratch/group"
same "help @kv lists every KV command" "" "$(comm -23 \
    <(sed -n 's/^### \(KV[A-Z.]*\)$/\1/p' "$manual" | sort -u) \
    <(sed -n 's/^ *\(KV[A-Z.]*\) .*/\1/p' "$scratch/group" | sort -u))"
check "... and their subcommands" grep -q 'KV.QUEUE STATS queue' "$scratch/group"

# type_and_see <what is typed> <what must then be on the screen>
type_and_see() {
    local screen='' byte typed=''
    coproc TERMINAL {
        TERM=xterm timeout 20 script -qec "stty cols 250; redis-cli -p $port" /dev/null
    }
    local pid=$TERMINAL_PID
    while IFS= read -r -N 1 -t 10 byte <&"${TERMINAL[0]}"; do
        screen+=$byte
        if [ -z "$typed" ] && [[ $screen == *"$port> "* ]]; then
            typed=yes
            screen=''
            printf '%s' "$1" >&"${TERMINAL[1]}"
        elif [ -n "$typed" ] && [[ $screen == *"$2"* ]]; then
            break
        fi
    done
    kill "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
    [[ $screen == *"$2"* ]]
}
if command -v script >/dev/null; then
    check "a hint appears while typing" type_and_see 'kv.set ' 'key value [EX seconds|PX milli'
    check "... and shrinks with what is there" type_and_see 'kv.sum ["a"] ' \
        'value [CLAMP lo hi|RANGE lo hi] [FORMAT JSON|MSGPACK] [IDEM id]'
    check "... for KV.ATOMIC it fits the line" type_and_see 'kv.atomic ' \
        '[IDEM id] [DETAILS] op [op ...] [FORMAT format]'
    check "... for KV.QUEUE its subcommands" type_and_see 'kv.queue ' \
        'LIST|TOP|PREFETCH n|HOLD y|STATS|PEEK|PURGE|EXPORT|RECEIPT q'
    check "... and their arguments" type_and_see 'kv.queue stats ' 'queue'
    check "... for subcommands too" type_and_see 'command getkeysandflags ' \
        'command argument [argument ...]'
else
    skip "hints while typing" "script is not installed (package util-linux)"
fi
cli SET plain four >/dev/null
same "--bigkeys walks the plain keys" '1 strings with 4 bytes' \
    "$(cli --bigkeys | grep -o '1 strings with 4 bytes')"
# The string view: 1000 keys by mass insertion, and what walks over them.
for ((i = 0; i < 1000; i++)); do
    printf '*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%d\r\n%d\r\n' $((${#i} + 5)) "pipe:$i" ${#i} "$i"
done >"$scratch/protocol"
cli FLUSHALL >/dev/null
same "--pipe with SET" "errors: 0, replies: 1000" "$(cli --pipe <"$scratch/protocol" | tail -n 1)"
same "--scan finds each key once" 1000 "$(cli --scan --pattern 'pipe:*' | sort -u | wc -l)"
same "... and none twice" 1000 "$(cli --scan --pattern 'pipe:*' | wc -l)"
check "--bigkeys ends well over many keys" timeout 60 redis-cli -p "$port" --bigkeys
same "... and has seen them" 1000 \
    "$(cli --bigkeys | sed -n 's/^Sampled \([0-9]*\) keys in the keyspace.*/\1/p')"
same "GET, as Redis prints it" '"999"' "$(cli --no-raw GET pipe:999)"
same "a transaction" '1) OK
2) (integer) 8' "$(printf 'MULTI\nSET tx 7\nINCR tx\nEXEC\n' | cli --no-raw | tail -n 2)"

# printed <file> <pattern>: waits until the file has such a line, for 20 s at most.
printed() {
    local tries
    for ((tries = 0; tries < 1000; tries++)); do
        grep -qE "$2" "$1" && return
        sleep 0.02
    done
    return 1
}
timeout 20 stdbuf -oL redis-cli -p "$port" -i 0.1 --stat >"$scratch/stat" 2>&1 &
pid=$!
check "--stat shows figures" printed "$scratch/stat" '^[0-9]+ +[0-9.]+M +[0-9]+ '
kill "$pid" 2>/dev/null
wait "$pid" 2>/dev/null

# subscribed <name> <wanted> <command>...: what redis-cli prints of the channel's messages.
cli KV.SET '["watched",1]' 1 >/dev/null
subscribed() {
    local name=$1 wanted=$2
    shift 2
    : >"$scratch/messages"
    : >"$scratch/messages"
    timeout 60 stdbuf -oL redis-cli -p "$port" "$@" >"$scratch/messages" 2>&1 &
    local pid=$!
    printed "$scratch/messages" subscribe
    cli KV.SET '["watched",1]' '"news"' >/dev/null
    cli KV.ENQUEUE watched '"news"' >/dev/null
    check "$name" printed "$scratch/messages" "$wanted"
    kill "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
}
subscribed "redis-cli watches a key" 'value.*news' SUBSCRIBE 'kv:watch:["watched",1]'
subscribed "redis-cli watches a prefix" 'value.*news' SUBSCRIBE 'kv:prefix:["watched"]'
subscribed "redis-cli watches a pattern" 'kv:watch:watched/#1' PSUBSCRIBE 'kv:watch:watched/*'
subscribed "redis-cli is pushed a queue" 'receipt' SUBSCRIBE 'kv:queue:watched'
cli KV.QUEUE PURGE watched >/dev/null
cli KV.DEL '["watched",1]' >/dev/null
stop_server

if ! command -v redis-benchmark >/dev/null; then
    skip "redis-benchmark" "not installed (package redis-tools)"
    finish
fi

# benchmark <name> <argument>...: it ends with status 0 and prints a rate.
benchmark() {
    local name=$1
    shift
    if timeout 60 redis-benchmark -p "$port" -q -c 20 -P 16 -r 1000 "$@" >"$scratch/bench" 2>&1 &&
        tr '\r' '\n' <"$scratch/bench" | grep -q 'requests per second'; then
        echo "ok - $name"
    else
        not_ok "$name"
        cat "$scratch/bench"
    fi
}

RELEASE=1 start_server
benchmark "redis-benchmark KV.SET" -n 20000 KV.SET '["k","__rand_int__"]' '"value"'
benchmark "redis-benchmark KV.GET" -n 20000 KV.GET '["k","__rand_int__"]'
benchmark "redis-benchmark KV.ATOMIC" -n 5000 KV.ATOMIC SUM '["c","__rand_int__"]' 1
benchmark "redis-benchmark -3 PING" -n 20000 -3 PING
for name in ping set get incr mset; do
    benchmark "redis-benchmark -t $name" -n 2000 -t "$name"
done
check "redis-benchmark ends with status 0 over all of them" \
    timeout 60 redis-benchmark -p "$port" -t ping,set,get,incr,mset -n 2000 -q
check "redis-benchmark's keys are there" test "$(cli KV.COUNT PREFIX '["k"]')" -gt 900
stop_server
finish

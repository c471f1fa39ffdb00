#!/bin/bash
# bench of Redis's data types: tupled beside Redis (appendfsync always), the same commands on both, in one run, rounds in turn,
# medians. Each ratio stands beside that of KV.SET to SET in the same run. Prints tables in Markdown; docs/benchmarks-types.md
# keeps them. BENCH_ROUNDS (5), BENCH_QUIET_S (0) as in sides.sh; BENCH_ONLY="rates streams large" picks sections;
# TYPES_REQUESTS (100000): of a rate, four times as many by 16; TYPES_MEMBERS (1000000): of a large collection.
# shellcheck disable=SC2034,SC2119 # arrays go by their names; settings are arguments of functions
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/bench/release.sh
only=${BENCH_ONLY:-rates streams large}
requests=${TYPES_REQUESTS:-100000}
members=${TYPES_MEMBERS:-1000000}
queue=build/release/tests/bench/bench_queue
. tests/bench/sides.sh

# ---- rates -----------------------------------------------------------------------------------------------------------

base='' # of KV.SET, at this depth
# against <work> <depth> <theirs...> <ours...> (arrays by name): a row; the first of a depth is the base.
against() {
    local work=$1 depth=$2 n=$requests
    local -n theirs=$3 ours=$4
    [ "$depth" = 1 ] || n=$((4 * n))
    : >"$dir/a"
    : >"$dir/b"
    for _ in $(seq "$rounds"); do
        quiet
        rate "$rport" 50 "$depth" "$n" "${theirs[@]}" >>"$dir/b"
        rate "$tport" 50 "$depth" "$n" "${ours[@]}" >>"$dir/a"
    done
    beside_base "$work" "$dir/a" "$dir/b"
}
beside_base() { # work, file of ours, file of theirs
    local ratio
    ratio=$(awk -v a="$(median <"$2")" -v b="$(median <"$3")" 'BEGIN { printf "%.4f", a / b }')
    [ -n "$base" ] || base=$ratio
    echo "| $1 | $(spread "$2") | $(spread "$3") | $(awk -v r="$ratio" -v b="$base" \
        'BEGIN { printf "%.2f | %.2f", r, r / b }') |"
}

fields=()
for i in 1 2 3 4 5 6 7 8 9 10; do fields+=("field$i" "value-__rand_int__"); done
set_t=(KV.SET '["key","__rand_int__"]' "$value") set_r=(SET key:__rand_int__ "$value")
packed=(HSET user:__rand_int__ "${fields[@]}")
spread_hash=(HSET large-hash field:__rand_int__ "$value")
hget=(HGET user:__rand_int__ field5)
lpush=(LPUSH list "$value") rpop=(RPOP list)
sadd=(SADD set member:__rand_int__) sismember=(SISMEMBER set member:__rand_int__)
zadd=(ZADD sorted __rand_int__ member:__rand_int__) zrank=(ZRANK sorted member:__rand_int__)
xadd=(XADD stream MAXLEN '~' 100000 '*' job "$value")

say_machine
start_tupled
start_redis
if wants rates; then
    for depth in 1 16; do
        echo "50 clients, pipelined by $depth, operations/s:"
        echo
        echo "| work | tupled | Redis | ratio | of KV.SET's |"
        echo "| --- | --- | --- | --- | --- |"
        base=''
        against "KV.SET beside SET, 100 bytes" "$depth" set_r set_t
        against "HSET of 10 fields, packed" "$depth" packed packed
        against "HGET of them" "$depth" hget hget
        against "HSET of one field in a hash of up to 100,000" "$depth" spread_hash spread_hash
        against "LPUSH of 100 bytes" "$depth" lpush lpush
        against "RPOP" "$depth" rpop rpop
        against "SADD in a set of up to 100,000" "$depth" sadd sadd
        against "SISMEMBER" "$depth" sismember sismember
        against "ZADD in a sorted set of up to 100,000" "$depth" zadd zadd
        against "ZRANK" "$depth" zrank zrank
        against "XADD, MAXLEN ~ 100,000" "$depth" xadd xadd
        echo
    done
fi
if wants streams; then
    echo "50 clients, each job XADD + XREADGROUP + XACK on both, jobs/s:"
    echo
    echo "| work | tupled | Redis | ratio | of KV.SET's |"
    echo "| --- | --- | --- | --- | --- |"
    base=''
    against "KV.SET beside SET, 100 bytes" 1 set_r set_t
    : >"$dir/a"
    : >"$dir/b"
    for _ in $(seq "$rounds"); do
        quiet
        $queue cycle "$rport" stream 50 5 >>"$dir/b"
        $queue cycle "$tport" stream 50 5 >>"$dir/a"
    done
    beside_base "XADD + XREADGROUP + XACK" "$dir/a" "$dir/b"
    echo
fi
kill "$redis"; wait "$redis" 2>/dev/null || true; redis=
stop_tupled
rm -rf "$dir/tupled" "$dir/redis"

# ---- large collections -----------------------------------------------------------------------------------------------

info() { redis-cli -p "$tport" info everything | tr -d '\r' | sed -n "s/^$1://p"; }
disk_kb() { du -sk "$dir/tupled" | cut -f1; }
# fill <printf format of a command, with %d twice or more>: $members of them, pipelined.
fill() { awk -v n="$members" -v f="$1" 'BEGIN { for (i = 0; i < n; i++) printf f "\r\n", i, i, i }' | redis-cli -p "$tport" --pipe >/dev/null; }
# turn <command>...: its reply is dropped; milliseconds to the reply, and of the loop's longest turn meanwhile.
turn() {
    local begin end
    redis-cli -p "$tport" config resetstat >/dev/null
    begin=$(date +%s%N)
    redis-cli -p "$tport" "$@" >/dev/null
    end=$(date +%s%N)
    awk -v us=$(((end - begin) / 1000)) -v turn="$(info loop_turn_max_usec)" 'BEGIN { printf "%.1f | %.1f", us / 1000, turn / 1000 }'
}
large() { # kind, format of the commands that fill it, key
    local before_mb before_kb
    before_mb=$(rss_mb) before_kb=$(disk_kb)
    fill "$2"
    drain
    awk -v kind="$1" -v n="$members" -v mb=$(($(rss_mb) - before_mb)) -v kb=$(($(disk_kb) - before_kb)) \
        'BEGIN { printf "| %s | %.0f | %.0f |", kind, mb * 1048576 / n, kb * 1024 / n }'
    echo " $(turn DEL "$3") |"
}
if wants large; then
    start_tupled
    echo "$members elements each, memory and disk with what the journal keeps of their making; DEL of all of them:"
    echo
    echo "| kind | bytes of memory each | of disk each | DEL, ms | longest turn, ms |"
    echo "| --- | --- | --- | --- | --- |"
    large "hash, fields of 12 and values of 12 bytes" 'HSET h field%08d value-%07d' h
    large "set, members of 14 bytes" 'SADD s member%08d' s
    large "list, elements of 12 bytes" 'RPUSH l value-%07d' l
    large "stream, a field of 12 bytes" 'XADD x * job value-%07d' x
    fill 'ZADD z %d member%08d'
    drain
    redis-cli -p "$tport" zrank z member00000001 >/dev/null
    echo
    echo "| of a sorted set of $members | us, one client |"
    echo "| --- | --- |"
    for words in 'ZRANK z member00777777' 'ZSCORE z member00777777' 'ZCOUNT z 1000 700000' 'ZRANGE z 500000 500009'; do
        # shellcheck disable=SC2086 # words
        echo "| $words | $(redis-benchmark -p "$tport" -c 1 -n 20000 --csv $words | tail -1 | awk -F'","' '{ printf "%.0f", 1000000 / $(NF - 6) }') |"
    done
    echo
    echo "| of many elements | ms | longest turn, ms |"
    echo "| --- | --- | --- |"
    echo "| DEL of the sorted set | $(turn DEL z) |"
    members=100000
    fill 'HSET h field%08d value-%07d'
    drain
    echo "| HGETALL of 100,000 fields | $(turn HGETALL h) |"
    stop_tupled
fi

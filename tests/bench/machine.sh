#!/bin/bash
# What a machine gives: the same work with more I/O threads, with more keys than the cache has, with more data than memory,
# with large values, with many who watch; by hand, since some of it takes an hour. Prints tables in Markdown;
# docs/benchmarks-*.md keep them. The sections, of which BENCH_ONLY="cores reads ..." picks some:
#   cores         GET and SET beside Redis on 2 and 4 cores, I/O threads off and on
#   times         p50, p99 and p99.9 of SET and GET of 50 clients beside Redis, each with 1 and 2 I/O threads
#   reads         KV.GET of any of BENCH_READ_KEYS ("10000 1000000 10000000") keys, as part of the rate with the fewest
#   writes        KV.SET of any of BENCH_WRITE_KEYS (10000000) keys for BENCH_WRITE_SECONDS (300); nothing else may write to
#                 the disk meanwhile
#   memory        writes and reads of ten times the memory that the server may have (BENCH_MEMORY_MB, 256): a cgroup
#   large         GET of 64 KB, 1 MB and 16 MB beside Redis
#   list          instructions of KV.LIST of 100 beside LRANGE of 300 (valgrind)
#   subscribers   BENCH_WATCHERS (5000) subscribers of one prefix and 1,000 writes a second
# BENCH_SETTINGS: further arguments of the server in "reads" and "writes". What the machine has not is skipped with a line.
# BENCH_ROUNDS, BENCH_QUIET_S: sides.sh.
# shellcheck disable=SC2034 # arrays go by their names
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/bench/release.sh
only=${BENCH_ONLY:-cores times reads writes memory large list subscribers}
read_keys=${BENCH_READ_KEYS:-10000 1000000 10000000}
paced=build/release/tests/bench/bench_paced
clients=build/release/tests/bench/bench_clients
watchers=build/release/tests/bench/bench_watchers
. tests/bench/sides.sh

set_t=(KV.SET '["key","__rand_int__"]' "$value")
set_r=(SET key:__rand_int__ "$value")
get_t=(KV.GET '["key","__rand_int__"]')
get_r=(GET key:__rand_int__)

# Whatever runs now and its children keep to these cores from now on: the servers and the load.
keep_to() { taskset -pc "$1" $$ >/dev/null; }

say_machine

if wants cores; then
    echo "| cores, I/O threads of both | work | tupled /s | Redis /s | ratio | |"
    echo "| --- | --- | --- | --- | --- | --- |"
    for cores in 2 4; do
        if [ "$(nproc --all)" -lt "$cores" ]; then
            echo "| $cores | skipped: the machine has $(nproc --all) | | | | |"
            continue
        fi
        keep_to "0-$((cores - 1))"
        for threads in 1 "$cores"; do
            start_tupled --io-threads "$threads"
            start_redis --io-threads "$threads" --io-threads-do-reads yes
            rate "$rport" 50 16 400000 "${set_r[@]}" >/dev/null
            rate "$tport" 50 16 400000 "${set_t[@]}" >/dev/null
            compare "$cores, $threads | KV.SET, durable, 50 clients" 50 1 100000 set_r set_t
            compare "$cores, $threads | the same, pipelined by 16" 50 16 600000 set_r set_t
            compare "$cores, $threads | KV.GET, 50 clients" 50 1 200000 get_r get_t
            compare "$cores, $threads | the same, pipelined by 16" 50 16 1000000 get_r get_t
            stop_tupled
            kill "$redis"; wait "$redis" 2>/dev/null || true; redis=
            rm -rf "$dir/tupled" "$dir/redis"
        done
    done
    keep_to "0-$(($(nproc --all) - 1))"
    # Both sides are asked by the same program. What it could ask of a server that does nothing but answer:
    start_redis
    echo
    echo "redis-benchmark alone, PING by 16: $(rate "$rport" 50 16 2000000 PING)/s; it is not the limit where rows stay below."
    kill "$redis"; wait "$redis" 2>/dev/null || true; redis=
fi

if wants times; then
    echo
    echo "| work, 50 clients, 10,000 plain keys | server, I/O threads | a second | p50 us | p99 us | p99.9 us |"
    echo "| --- | --- | --- | --- | --- | --- |"
    for threads in 1 2; do
        start_tupled --io-threads "$threads"
        start_redis --io-threads "$threads" --io-threads-do-reads yes
        for kind in set get; do
            for depth in 1 16; do
                "$clients" set "$tport" 50 16 1 >/dev/null
                "$clients" set "$rport" 50 16 1 >/dev/null
                : >"$dir/tupled.times"
                : >"$dir/redis.times"
                for _ in $(seq "$rounds"); do
                    quiet
                    "$clients" "$kind" "$rport" 50 "$depth" 3 >>"$dir/redis.times"
                    "$clients" "$kind" "$tport" 50 "$depth" 3 >>"$dir/tupled.times"
                done
                for side in tupled redis; do
                    line="| $kind, by $depth | $side, $threads |"
                    for column in 1 2 3 5; do line="$line $(cut -d' ' -f"$column" "$dir/$side.times" | median) |"; done
                    echo "$line"
                done
            done
        done
        stop_tupled
        kill "$redis"; wait "$redis" 2>/dev/null || true; redis=
        rm -rf "$dir/tupled" "$dir/redis"
    done
fi

if wants reads; then
    echo
    echo "| keys, each read with the same chance | KV.GET, 50 clients, /s | by 16 /s | as part of the first line | by 16 | memory, MB |"
    echo "| --- | --- | --- | --- | --- | --- |"
    : >"$dir/first"
    for keys in $read_keys; do
        rm -rf "$dir/tupled"
        # shellcheck disable=SC2086 # several words
        start_tupled ${BENCH_SETTINGS:-}
        "$paced" fill "$tport" "$keys" 1024 >/dev/null
        drain
        range=$keys
        : >"$dir/one"
        : >"$dir/many"
        warm=$((keys * 2 < 8000000 ? keys * 2 : 8000000))
        rate "$tport" 50 16 "$warm" "${get_t[@]}" >/dev/null
        for _ in $(seq "$rounds"); do
            quiet
            rate "$tport" 50 1 200000 "${get_t[@]}" >>"$dir/one"
            rate "$tport" 50 16 1000000 "${get_t[@]}" >>"$dir/many"
        done
        [ -s "$dir/first" ] || echo "$(median <"$dir/one") $(median <"$dir/many")" >"$dir/first"
        echo "$(cat "$dir/first") $(median <"$dir/one") $(median <"$dir/many")" |
            awk -v line="| $keys | $(spread "$dir/one") | $(spread "$dir/many")" -v mb="$(rss_mb)" \
                '{ printf "%s | **%.2f** | **%.2f** | %s |\n", line, $3 / $1, $4 / $2, mb }'
        stop_tupled
    done
    range=100000
    rm -rf "$dir/tupled"
fi

if wants writes; then
    echo
    keys=${BENCH_WRITE_KEYS:-10000000}
    seconds=${BENCH_WRITE_SECONDS:-300}
    # What the disk was given. (/proc/<pid>/io counts all of a large folio when a byte of it is changed.)
    device=$(mountpoint -d "$(df --output=target "$dir" | tail -1)")
    written() { awk '{ printf "%.0f\n", $7 * 512 }' "/sys/dev/block/$device/stat"; }
    figure() { redis-cli -p "$tport" KV.DB INFO 0 | awk -v what="$1" 'is { print; exit } { is = $1 == what }'; }
    # shellcheck disable=SC2086 # several words
    start_tupled ${BENCH_SETTINGS:-}
    echo "KV.SET of any of $keys keys, one connection, pipelined by 512, $seconds s:"
    echo
    echo "- filled: $("$paced" fill "$tport" "$keys" 1024) a second"
    drain
    entry=$(($(figure bytes-on-disk) / $(figure entries)))
    before=$(written)
    "$paced" set "$tport" "$keys" "$seconds" 512 >"$dir/writes"
    sed 's/^/- /' "$dir/writes"
    drain # what was written is in the store: nothing is owed
    after=$(written)
    awk -v bytes=$((after - before)) -v entry="$entry" -v s="$seconds" \
        '/^rate/ { printf "- %.1f bytes written for each of keys and values (%d an entry)\n", bytes / ($2 * s * entry), entry }' \
        "$dir/writes"
    echo "- memory: $(rss_mb) MB, files: $(du -sm "$dir/tupled" | cut -f1) MB"
    stop_tupled
    rm -rf "$dir/tupled"
fi

if wants memory; then
    group=/sys/fs/cgroup/memory/tupled-bench.$$
    limit_mb=${BENCH_MEMORY_MB:-256}
    echo
    if ! mkdir "$group" 2>/dev/null || ! echo $((limit_mb << 20)) 2>/dev/null >"$group/memory.limit_in_bytes"; then
        echo "skipped: memory (no cgroup of version 1 can be made here)"
        rmdir "$group" 2>/dev/null || true
    else
        keys=$((limit_mb * 10 * 1024 * 1024 / 180)) # what an entry takes in tupled.db, about
        (
            echo "$BASHPID" >"$group/cgroup.procs"
            exec build/tupled --dir "$dir/tupled" --port 0 --logfile "$dir/tupled.log"
        ) &
        tupled=$!
        until grep -q 'ready to accept connections' "$dir/tupled.log" 2>/dev/null; do sleep 0.1; done
        tport=$(sed -n 's/.*ready to accept connections on .* port \([0-9]*\)$/\1/p' "$dir/tupled.log")
        echo "$limit_mb MB for the server and what the system caches of its files, $keys keys:"
        echo
        echo "- filled: $("$paced" fill "$tport" "$keys" 512) a second; $(du -sm "$dir/tupled" | cut -f1) MB of files"
        echo "- KV.GET of any, 200 a second for 20 s, us: $("$paced" get "$tport" "$keys" 20 200)"
        "$paced" get "$tport" "$keys" 60 200 >"$dir/get" &
        getter=$!
        echo "- KV.SET of any, pipelined by 64 for 60 s: $("$paced" set "$tport" "$keys" 60 64 | tail -1)"
        wait "$getter"
        echo "- KV.GET beside it, us: $(cat "$dir/get")"
        stop_tupled
        rmdir "$group"
        rm -rf "$dir/tupled"
    fi
fi

if wants large; then
    echo
    echo "| one value of bytes | tupled /s | Redis /s | ratio |"
    echo "| --- | --- | --- | --- |"
    start_tupled
    start_redis
    large() { # name, bytes, requests
        local port
        for port in "$tport" "$rport"; do
            head -c "$2" /dev/zero | tr '\0' x | redis-cli -p "$port" -x SET "large:$1" >/dev/null
        done
        # shellcheck disable=SC2034 # by its name
        get=(GET "large:$1")
        compare "GET of $1, 10 clients" 10 1 "$3" get get
    }
    large "64 KB" 65536 20000
    large "1 MB" 1048576 2000
    large "16 MB" 16000000 100
    stop_tupled
    kill "$redis"; wait "$redis" 2>/dev/null || true; redis=
    rm -rf "$dir/tupled" "$dir/redis"
fi

if wants list; then
    echo
    if ! command -v valgrind >/dev/null; then
        echo "skipped: list (valgrind is not installed)"
    else
        instructions() { # server or redis, requests: what the whole run takes
            local port=$((10000 + RANDOM % 5000)) pid i
            if [ "$1" = server ]; then
                valgrind --tool=callgrind --callgrind-out-file="$dir/out" build/tupled --dir "$dir/list" --port "$port" \
                    --http-port 0 --io-threads 1 >"$dir/log" 2>&1 &
            else
                mkdir -p "$dir/list"
                valgrind --tool=callgrind --callgrind-out-file="$dir/out" redis-server --port "$port" --bind 127.0.0.1 \
                    --dir "$dir/list" --save '' --appendonly no >"$dir/log" 2>&1 &
            fi
            pid=$!
            until redis-cli -p "$port" ping 2>/dev/null | grep -q PONG; do sleep 0.2; done
            if [ "$1" = server ]; then
                for i in $(seq 300); do redis-cli -p "$port" KV.SET "[\"page\",$i]" "$value"; done >/dev/null
                redis-benchmark -p "$port" -c 1 -n "$2" KV.LIST PREFIX '["page"]' LIMIT 100 >/dev/null 2>&1
            else
                for i in $(seq 300); do redis-cli -p "$port" RPUSH l "$value"; done >/dev/null
                redis-benchmark -p "$port" -c 1 -n "$2" LRANGE l 0 299 >/dev/null 2>&1
            fi
            kill "$pid"
            wait "$pid" || true
            rm -rf "$dir/list"
            awk '/^(summary|totals):/ { n = $2 } END { print n }' "$dir/out"
        }
        each() { echo "$(instructions "$1" 300) $(instructions "$1" 1300)" | awk '{ printf "%.0f", ($2 - $1) / 1000 }'; }
        ours=$(each server)
        theirs=$(each redis)
        echo "$ours $theirs" | awk '{ printf "Instructions in user mode of a page (callgrind): KV.LIST of 100 entries %d, LRANGE of 300 elements %d, ratio **%.2f**\n", $1, $2, $1 / $2 }'
    fi
fi

if wants subscribers; then
    echo
    ulimit -n "$(ulimit -Hn)"
    start_tupled
    for _ in $(seq "$rounds"); do
        quiet
        echo "- $("$watchers" resp "$tport" "$tport" "${BENCH_WATCHERS:-5000}" 1000 10); the server has $(rss_mb) MB"
    done
    stop_tupled
    rm -rf "$dir/tupled"
fi

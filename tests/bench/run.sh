#!/bin/bash
# bench: tupled beside Redis (appendfsync always), on this machine, both sides in one run, rounds in turn,
# medians. Prints a table in Markdown; docs/benchmarks.md keeps one. BENCH_ROUNDS (5), BENCH_SUSTAINED_S
# (300) and BENCH_SUSTAINED_KEYS (10000000) make it shorter or longer; BENCH_ONLY="set get ..." picks
# sections.
set -euo pipefail
cd "$(dirname "$0")/../.."
rounds=${BENCH_ROUNDS:-5}
sustained_s=${BENCH_SUSTAINED_S:-300}
sustained_keys=${BENCH_SUSTAINED_KEYS:-10000000}
only=${BENCH_ONLY:-set get atomic list queue paced memory sustained}
paced=build/release/tests/bench/bench_paced
queue=build/release/tests/bench/bench_queue
value='{"id":12345,"name":"user 12345","email":"user12345@example.com","age":42,"active":true,"score":17.55}'
# Beside the repository's build, not in /tmp: that may be memory, and a sync must be one.
dir=$(mktemp -d "$PWD/build/bench.XXXXXX")
tupled=
redis=
stop() {
    for pid in $tupled $redis; do kill "$pid" 2>/dev/null || true; wait "$pid" 2>/dev/null || true; done
    rm -rf "$dir"
}
trap stop EXIT

export TUPLED_TEST_ANY_PORT=1 # --port 0 is any free one
start_tupled() { # more arguments: settings
    : >"$dir/tupled.log"
    build/tupled --dir "$dir/tupled" --port 0 --logfile "$dir/tupled.log" "$@" &
    tupled=$!
    for _ in $(seq 600); do
        tport=$(sed -n 's/.*ready to accept connections on .* port \([0-9]*\)$/\1/p' "$dir/tupled.log")
        [ -n "$tport" ] && return
        sleep 0.05
    done
    cat "$dir/tupled.log" >&2
    exit 1
}
stop_tupled() { kill "$tupled"; wait "$tupled" || true; tupled=; }
start_redis() {
    mkdir -p "$dir/redis"
    rport=$((20000 + RANDOM % 20000))
    redis-server --port "$rport" --bind 127.0.0.1 --dir "$dir/redis" --appendonly yes \
        --appendfsync always --save '' --daemonize no --logfile "$dir/redis.log" &
    redis=$!
    for _ in $(seq 100); do
        redis-cli -p "$rport" ping 2>/dev/null | grep -q PONG && return
        sleep 0.05
    done
    cat "$dir/redis.log" >&2
    exit 1
}

rate() { # port clients pipeline requests command...: requests per second
    local port=$1 clients=$2 pipeline=$3 requests=$4
    shift 4
    redis-benchmark -p "$port" -c "$clients" -P "$pipeline" -n "$requests" -r 100000 --csv "$@" \
        | tail -1 | awk -F'","' '{ print $(NF - 6) }'
}
median() { sort -n | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
row() { # work, target, file of ours, file of theirs
    awk -v work="$1" -v target="$2" -v a="$(median <"$3")" -v b="$(median <"$4")" \
        -v lo="$(sort -n "$3" | head -1)" -v hi="$(sort -n "$3" | tail -1)" \
        -v rlo="$(sort -n "$4" | head -1)" -v rhi="$(sort -n "$4" | tail -1)" \
        'BEGIN { printf "| %s | %.0f (%.0f-%.0f) | %.0f (%.0f-%.0f) | **%.2f** | %s |\n", work, a, lo, hi, b, rlo, rhi, a / b, target }'
}
compare() { # work, target, clients, pipeline, requests, "theirs...", "ours..." (arrays by name)
    local work=$1 target=$2 clients=$3 pipeline=$4 requests=$5
    local -n theirs=$6 ours=$7
    : >"$dir/a"
    : >"$dir/b"
    for _ in $(seq "$rounds"); do
        rate "$rport" "$clients" "$pipeline" "$requests" "${theirs[@]}" >>"$dir/b"
        rate "$tport" "$clients" "$pipeline" "$requests" "${ours[@]}" >>"$dir/a"
    done
    row "$work" "$target" "$dir/a" "$dir/b"
}
wants() { case " $only " in *" $1 "*) ;; *) return 1 ;; esac; }

echo "Machine: $(nproc) x $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(free -g | awk '/^Mem/ { print $2 }') GB, Linux $(uname -r), $(df --output=fstype . | tail -1); $(redis-server --version | sed 's/.* \(v=[^ ]*\).*/Redis \1/'), redis-benchmark of the same package; $rounds rounds in turn, median (lowest-highest)."
echo
start_tupled
start_redis
set_t=(KV.SET '["key","__rand_int__"]' "$value")
set_r=(SET key:__rand_int__ "$value")
get_t=(KV.GET '["key","__rand_int__"]')
get_r=(GET key:__rand_int__)
echo "| work, 100-byte objects, 100,000 keys | tupled /s | Redis /s | ratio | asked |"
echo "| --- | --- | --- | --- | --- |"
rate "$rport" 50 16 400000 "${set_r[@]}" >/dev/null
rate "$tport" 50 16 400000 "${set_t[@]}" >/dev/null
if wants set; then
    compare "KV.SET, durable, 50 clients" ">= 1.0" 50 1 100000 set_r set_t
    compare "KV.SET, durable, 50 clients, pipelined by 16" ">= 1.0" 50 16 600000 set_r set_t
fi
if wants get; then
    compare "KV.GET, 50 clients" ">= 1.0" 50 1 200000 get_r get_t
    compare "KV.GET, 50 clients, pipelined by 16" ">= 0.9" 50 16 1000000 get_r get_t
fi
if wants list; then
    for _ in $(seq 30); do echo "RPUSH list $(for _ in $(seq 100); do printf "'%s' " "$value"; done)"; done \
        | redis-cli -p "$rport" >/dev/null
    list_r=(LRANGE list 0 2999)
    list_t=(KV.LIST PREFIX '["key"]' LIMIT 1000)
    compare "KV.LIST LIMIT 1000 beside LRANGE of 3000 elements, pages/s" ">= 0.7" 10 1 3000 list_r list_t
fi
if wants atomic; then
    atomic_t=(KV.ATOMIC CHECK '["no","__rand_int__"]' NONE SET '["a","__rand_int__"]' "$value" SET '["b","__rand_int__"]' "$value")
    deno=
    if command -v npm >/dev/null; then
        mkdir -p build/deno
        npm install --silent --no-package-lock --prefix build/deno deno@2.9.6 >/dev/null 2>&1 || true
        [ -x build/deno/node_modules/.bin/deno ] && deno=build/deno/node_modules/.bin/deno
    fi
    : >"$dir/a"
    : >"$dir/b"
    for _ in $(seq "$rounds"); do
        [ -n "$deno" ] && $deno run -A --unstable-kv tests/bench/deno_atomic.mjs 5 >>"$dir/b"
        rate "$tport" 50 1 100000 "${atomic_t[@]}" >>"$dir/a"
    done
    if [ -n "$deno" ]; then
        row "KV.ATOMIC check + 2 sets, 50 clients (beside: Deno KV's local atomic().check().set().set())" ">= 8" "$dir/a" "$dir/b"
    else
        echo "| KV.ATOMIC check + 2 sets, 50 clients | $(median <"$dir/a") | skipped: no Deno from npm here | | >= 8 |"
    fi
fi
if wants queue; then
    : >"$dir/a"
    : >"$dir/b"
    for _ in $(seq "$rounds"); do
        $queue cycle "$rport" stream 50 5 >>"$dir/b"
        $queue cycle "$tport" kv 50 5 >>"$dir/a"
    done
    row "KV.ENQUEUE + KV.DEQUEUE + KV.ACK, durable, 50 clients, jobs/s, beside XADD + XREADGROUP + XACK" "-" "$dir/a" "$dir/b"
    echo
    echo "From a write to who waits for it, us, 2000 one at a time, each round p50 / p99:"
    echo
    echo "| | rounds |"
    echo "| --- | --- |"
    latency() { # title, port, what
        local line=
        for _ in $(seq "$rounds"); do line+="$($queue latency "$2" "$3" 2000 | tr ' ' '/') "; done
        echo "| $1 | $line|"
    }
    latency "tupled: KV.SET to the message of kv:watch: (durable)" "$tport" watch
    latency "tupled: PUBLISH to message" "$tport" publish
    latency "Redis: PUBLISH to message" "$rport" publish
    latency "tupled: KV.ENQUEUE to a push of kv:queue: (durable, leased)" "$tport" push
    latency "tupled: KV.ENQUEUE to the reply of a waiting KV.DEQUEUE (durable, leased)" "$tport" dequeue
    latency "Redis: XADD to the reply of a waiting XREAD (appendfsync always)" "$rport" stream
fi
kill "$redis"; wait "$redis" 2>/dev/null || true; redis=
if wants paced; then
    echo
    echo "Paced KV.GET (1000/s, 100,000 keys), us, idle and during write-behind (a pipelined writer besides):"
    echo
    echo "| | idle | while writing |"
    echo "| --- | --- | --- |"
    for i in $(seq "$rounds"); do
        sleep 6 # what was written before is applied
        idle=$($paced get "$tport" 100000 5 1000)
        $paced set "$tport" 1000000 8 8 >/dev/null &
        writer=$!
        sleep 1
        busy=$($paced get "$tport" 100000 5 1000)
        wait "$writer"
        echo "| round $i | $idle | $busy |"
        echo "$idle" | awk '{ print $4 }' >>"$dir/idle"
        echo "$busy" | awk '{ print $4 }' >>"$dir/busy"
    done
    awk -v a="$(median <"$dir/busy")" -v b="$(median <"$dir/idle")" \
        'BEGIN { printf "\np99 while writing / idle p99: **%.2f** (asked: < 3)\n", a / b }'
fi
stop_tupled
rm -rf "$dir/tupled"
rss_mb() { awk '/^VmRSS/ { printf "%.0f", $2 / 1024 }' "/proc/$tupled/status"; }
if wants memory; then
    echo
    start_tupled
    empty=$(rss_mb)
    filled=$($paced fill "$tport" 5000000 1024)
    full=$(rss_mb)
    size=$(du -sm "$dir/tupled/tupled.db" | cut -f1)
    kill -9 "$tupled"; wait "$tupled" 2>/dev/null || true
    begin=$(date +%s.%N)
    start_tupled
    crashed=$(echo "$(date +%s.%N) $begin" | awk '{ printf "%.2f", $1 - $2 }')
    stop_tupled
    begin=$(date +%s.%N)
    start_tupled
    clean=$(echo "$(date +%s.%N) $begin" | awk '{ printf "%.2f", $1 - $2 }')
    started=$(rss_mb)
    echo "5,000,000 keys, default settings: filled at ${filled#rate }/s; resident $empty MB empty, $full MB right after, $started MB after a start; tupled.db $size MB; start after kill -9 under load $crashed s, after a clean stop $clean s."
    stop_tupled
    rm -rf "$dir/tupled"
fi
if wants sustained; then
    echo
    start_tupled
    echo "Sustained KV.SET of random keys out of $sustained_keys, pipelined by 512, $sustained_s s:"
    echo
    $paced set "$tport" "$sustained_keys" "$sustained_s" 512 | sed 's/^/    /'
    echo
    echo "Resident at the end: $(rss_mb) MB; longest silence between replies is gap_max (asked: < 100 ms)."
    redis-cli -p "$tport" info memtable | tr -d '\r' | sed -n '/:/s/^/    /p'
    stop_tupled
fi

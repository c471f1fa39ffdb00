#!/bin/bash
# bench: tupled beside Redis (appendfsync always), on this machine, both sides in one run, rounds in turn,
# medians. Filters and searches are beside SQLite itself: its shell, and a program that uses FTS5. Prints
# tables in Markdown; docs/benchmarks-*.md keep them. BENCH_ROUNDS (5), BENCH_SUSTAINED_S (300) and
# BENCH_SUSTAINED_KEYS (10000000) make it shorter or longer; BENCH_ONLY="set get ..." picks sections. On a
# shared machine BENCH_QUIET_S (0) is how long each round may wait for two seconds without other work.
# shellcheck disable=SC2034 # arrays go by their names
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/bench/release.sh
sustained_s=${BENCH_SUSTAINED_S:-300}
sustained_keys=${BENCH_SUSTAINED_KEYS:-10000000}
only=${BENCH_ONLY:-set get atomic list script queue tls paced script-p99 embedded indexes search where find count-p99 memory sustained}
paced=build/release/tests/bench/bench_paced
embedded=build/release/tests/bench/bench_embedded
queue=build/release/tests/bench/bench_queue
search=build/release/tests/bench/bench_search
where=build/release/tests/bench/bench_where
. tests/bench/sides.sh

say_machine
start_tupled
start_redis
set_t=(KV.SET '["key","__rand_int__"]' "$value")
set_r=(SET key:__rand_int__ "$value")
get_t=(KV.GET '["key","__rand_int__"]')
get_r=(GET key:__rand_int__)
echo "| work, 100-byte objects, 100,000 keys | tupled /s | Redis /s | ratio |"
echo "| --- | --- | --- | --- |"
rate "$rport" 50 16 400000 "${set_r[@]}" >/dev/null
rate "$tport" 50 16 400000 "${set_t[@]}" >/dev/null
if wants set; then
    compare "KV.SET, durable, 50 clients" 50 1 100000 set_r set_t
    compare "KV.SET, durable, 50 clients, pipelined by 16" 50 16 600000 set_r set_t
fi
if wants get; then
    compare "KV.GET, 50 clients" 50 1 200000 get_r get_t
    compare "KV.GET, 50 clients, pipelined by 16" 50 16 1000000 get_r get_t
fi
if wants script; then
    script() { # name of an array, script, keys...
        local -n words=$1
        words=(EVAL "$2" $(($# - 2)) "${@:3}")
    }
    script one 'return 1'
    script get "return redis.call('GET', KEYS[1])" plain:__rand_int__
    script both "local n = redis.call('INCR', KEYS[1]) redis.call('SET', KEYS[2], n) return n" n:__rand_int__ v:__rand_int__
    compare "EVAL of return 1, 50 clients, pipelined by 16" 50 16 600000 one one
    compare "EVAL of a GET, the same" 50 16 600000 get get
    compare "EVAL of an INCR and a SET, durable, the same" 50 16 200000 both both
fi
if wants list; then
    for _ in $(seq 30); do echo "RPUSH list $(for _ in $(seq 100); do printf "'%s' " "$value"; done)"; done \
        | redis-cli -p "$rport" >/dev/null
    list_r=(LRANGE list 0 2999)
    list_t=(KV.LIST PREFIX '["key"]' LIMIT 1000)
    compare "KV.LIST LIMIT 1000 beside LRANGE of 3000 elements, pages/s" 10 1 3000 list_r list_t
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
        row "KV.ATOMIC check + 2 sets, 50 clients (beside: Deno KV's local atomic().check().set().set())" "$dir/a" "$dir/b"
    else
        echo "| KV.ATOMIC check + 2 sets, 50 clients | $(median <"$dir/a") | skipped: no Deno from npm here | |"
    fi
fi
if wants queue; then
    : >"$dir/a"
    : >"$dir/b"
    for _ in $(seq "$rounds"); do
        $queue cycle "$rport" stream 50 5 >>"$dir/b"
        $queue cycle "$tport" kv 50 5 >>"$dir/a"
    done
    row "KV.ENQUEUE + KV.DEQUEUE + KV.ACK, durable, 50 clients, jobs/s, beside XADD + XREADGROUP + XACK" "$dir/a" "$dir/b"
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
if wants tls; then # the same with TLS on both sides: certificates of RSA 2048, none asked of clients
    stop_tupled
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 \
        -keyout "$dir/tls.key" -out "$dir/tls.crt" 2>/dev/null
    files=(--tls-cert-file "$dir/tls.crt" --tls-key-file "$dir/tls.key" --tls-ca-cert-file "$dir/tls.crt"
        --tls-auth-clients no)
    sport=$((10000 + RANDOM % 5000))
    start_redis --tls-port $((sport + 10000)) "${files[@]}"
    start_tupled --tls-port "$sport" "${files[@]}"
    plain_t=$tport plain_r=$rport
    with_tls=(--tls --cacert "$dir/tls.crt")
    tport=$sport rport=$((sport + 10000))
    rate "$rport" 50 16 400000 "${set_r[@]}" >/dev/null
    rate "$tport" 50 16 400000 "${set_t[@]}" >/dev/null
    compare "TLS: KV.SET, durable, 50 clients" 50 1 100000 set_r set_t
    compare "TLS: KV.SET, durable, 50 clients, pipelined by 16" 50 16 400000 set_r set_t
    compare "TLS: KV.GET, 50 clients" 50 1 200000 get_r get_t
    compare "TLS: KV.GET, 50 clients, pipelined by 16" 50 16 800000 get_r get_t
    with_tls=()
    tport=$plain_t rport=$plain_r
    kill "$redis"; wait "$redis" 2>/dev/null || true; redis=
fi
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
        'BEGIN { printf "\np99 while writing / idle p99: **%.2f**\n", a / b }'
fi
if wants script-p99; then
    # Each runs until script-time-limit ends it; many writes are undone then.
    scripts=('while true do end' "while true do redis.call('GET', 'plain') end"
        "local i = 0 while true do i = i + 1 redis.call('SET', 'k' .. i % 1000, i) end"
        "string.rep('a', 100000):find(('a-'):rep(20) .. 'b')")
    echo
    echo "Paced KV.GET (1000/s, 100,000 keys), us, idle and while four clients run scripts to their limit, again and again:"
    echo
    echo "| | idle | while scripts run | ratio of p99 |"
    echo "| --- | --- | --- | --- |"
    : >"$dir/ratios"
    for i in $(seq "$rounds"); do
        quiet
        idle=$($paced get "$tport" 100000 5 1000)
        runners=()
        for script in "${scripts[@]}"; do
            redis-cli -p "$tport" -r 2 eval "$script" 0 >/dev/null 2>&1 &
            runners+=("$!")
        done
        sleep 0.5
        busy=$($paced get "$tport" 100000 5 1000)
        wait "${runners[@]}" || true
        ratio=$(echo "$idle $busy" | awk '{ printf "%.2f", $12 / $4 }')
        echo "$ratio" >>"$dir/ratios"
        echo "| round $i | $idle | $busy | $ratio |"
    done
    printf '\np99 while scripts run / idle p99, median: **%s**\n' "$(spread "$dir/ratios")"
fi
if wants embedded; then
    echo
    echo "libtupled in a program beside the server, the same keys and values, /s, in turn:"
    echo
    echo "| work | libtupled | tupled, redis-benchmark | ratio |"
    echo "| --- | --- | --- | --- |"
    beside() { # work, mode, count, seconds, clients of the server, requests, "words..." (array by name)
        local -n words=$7
        : >"$dir/a"
        : >"$dir/b"
        for _ in $(seq "$rounds"); do
            quiet
            rate "$tport" "$5" 1 "$6" "${words[@]}" >>"$dir/b"
            rm -rf "$dir/embedded"
            $embedded "$2" "$dir/embedded" "$3" "$4" >>"$dir/a"
        done
        row "$1" "$dir/a" "$dir/b"
        rm -rf "$dir/embedded"
    }
    beside "durable sets, 8 threads that wait, beside 8 clients" set 8 5 8 40000 set_t
    beside "durable sets, 50 with callbacks, beside 50 clients" set-async 50 5 50 200000 set_t
    beside "reads, 8 threads that wait, beside 8 clients" get 8 3 8 150000 get_t
    beside "reads, 1 thread, beside 50 clients" get 1 3 50 200000 get_t
    beside "reads, in the loop of the program, beside 50 clients" get-driven 50 3 50 200000 get_t
fi
stop_tupled
rm -rf "$dir/tupled"
if wants indexes; then
    echo
    echo "KV.SET, durable, 50 clients, entries with 0, 1 and 3 indexes of values, or a text index of two texts, in turn:"
    echo
    echo "| work | no index /s | 1 index | 3 indexes | text index | ratios |"
    echo "| --- | --- | --- | --- | --- | --- |"
    start_tupled
    redis-cli -p "$tport" kv.index create one PREFIX '["1"]' ON 1 email >/dev/null
    for path in email city code; do
        redis-cli -p "$tport" kv.index create "three_$path" PREFIX '["3"]' ON 1 "$path" >/dev/null
    done
    redis-cli -p "$tport" kv.index create texts PREFIX '["t"]' TEXT 2 name email >/dev/null
    object='{"name":"user __rand_int__","email":"__rand_int__@example.com","city":"c __rand_int__","code":"__rand_int__"}'
    kinds=(0 1 3 t)
    write_all() { # range pipeline requests: a line in each of the files <kind> and <kind>.applied
        local kind begin
        range=$1
        for kind in "${kinds[@]}"; do
            quiet
            begin=$(date +%s.%N)
            rate "$tport" 50 "$2" "$3" KV.SET "[\"$kind\",\"__rand_int__\"]" "$object" >>"$dir/$kind"
            drain
            echo "$(date +%s.%N) $begin $3" | awk '{ printf "%.0f\n", $3 / ($1 - $2) }' >>"$dir/$kind.applied"
        done
        range=100000
    }
    writes() { # work, range, pipeline, requests
        local kind suffix
        for kind in "${kinds[@]}"; do rm -f "$dir/$kind" "$dir/$kind.applied"; done
        for _ in $(seq "$rounds"); do write_all "$2" "$3" "$4"; done
        for suffix in "" .applied; do
            printf '| %s ' "$1${suffix:+, until all is applied to the store}"
            for kind in "${kinds[@]}"; do printf '| %s ' "$(spread "$dir/$kind$suffix")"; done
            for kind in "${kinds[@]}"; do median <"$dir/$kind$suffix"; done \
                | awk '{ v[NR] = $1 } END { printf "| **%.2f** **%.2f** **%.2f** |\n", v[2] / v[1], v[3] / v[1], v[4] / v[1] }'
        done
    }
    writes "new keys" 1000000000 1 50000
    writes "new keys, pipelined by 16" 1000000000 16 200000
    write_all 100000 16 500000 # now there is something to overwrite
    writes "overwrites" 100000 1 50000
    writes "overwrites, pipelined by 16" 100000 16 200000
    stop_tupled
    rm -rf "$dir/tupled"
fi
if wants search; then
    documents=100000
    echo
    echo "KV.SEARCH LIMIT 10, $documents documents of 30 to 60 words, one client, 1000 one after the other, us, beside FTS5 alone (in the process that asks):"
    echo
    echo "| query | found | tupled p50 | p99 | FTS5 p50 | p99 | ratio of p50 | of p99 |"
    echo "| --- | --- | --- | --- | --- | --- | --- | --- |"
    start_tupled
    redis-cli -p "$tport" kv.index create docs PREFIX '["doc"]' TEXT 2 title body >/dev/null
    $search fill "$tport" "$documents" >/dev/null
    drain
    stop_tupled
    start_tupled
    $search table "$dir/search.db" "$documents"
    for kind in rare common two phrase prefix; do
        : >"$dir/a"
        : >"$dir/b"
        $search ask "$tport" "$documents" "$kind" 100 >/dev/null # warm
        $search fts "$dir/search.db" "$documents" "$kind" 100 >/dev/null
        for _ in $(seq "$rounds"); do
            quiet
            $search ask "$tport" "$documents" "$kind" 1000 >>"$dir/a"
            $search fts "$dir/search.db" "$documents" "$kind" 1000 >>"$dir/b"
        done
        [ "$(cut -d' ' -f3- "$dir/a" "$dir/b" | sort -u | wc -l)" = 1 ] \
            || { echo "bench: $kind: other documents were found than by FTS5" >&2; exit 1; }
        for side in a b; do for at in 1 2; do cut -d' ' -f$at "$dir/$side" >"$dir/$side.$at"; done; done
        echo "$(median <"$dir/a.1") $(median <"$dir/b.1") $(median <"$dir/a.2") $(median <"$dir/b.2")" \
            | awk -v line="| $kind | $(head -1 "$dir/a" | cut -d' ' -f3) | $(spread "$dir/a.1") | $(spread "$dir/a.2") | $(spread "$dir/b.1") | $(spread "$dir/b.2")" \
                '{ printf "%s | **%.2f** | %.2f |\n", line, $1 / $2, $3 / $4 }'
    done
    stop_tupled
    rm -rf "$dir/tupled" "$dir"/search.db*
fi
entries=1000000
names=10000 # each has entries / names of them
filters=('{"n":{"$lt":10000}}' '{"status":"open","price":{"$gte":50}}' '{"n":{"$gte":0}}')
if wants where || wants find || wants count-p99; then
    start_tupled
    if wants find; then redis-cli -p "$tport" kv.index create names PREFIX '["key"]' ON 1 name >/dev/null; fi
    $where fill "$tport" "$entries" >/dev/null
    drain
    stop_tupled
    start_tupled
fi
if wants where; then
    $where sql "$entries" | sqlite3 -cmd "PRAGMA journal_mode=WAL" "$dir/where.db" >/dev/null
    conditions=("json_extract(value,'\$.n') < 10000"
        "json_extract(value,'\$.status') = 'open' AND json_extract(value,'\$.price') >= 50"
        "json_extract(value,'\$.n') >= 0")
    in_shell() { # condition: what matched and seconds, of the second of two
        printf 'PRAGMA cache_size=-65536;\n.timer on\n%s\n%s\n' "SELECT count(*) FROM t WHERE $1;" "SELECT count(*) FROM t WHERE $1;" \
            | sqlite3 "$dir/where.db" | awk '/^Run/ { s = $4; next } { n = $1 } END { print n, s }'
    }
    echo
    echo "| KV.COUNT WHERE, $entries entries of about 95 bytes, entries/s | tupled /s | SQLite's shell, json_extract /s | ratio | matched |"
    echo "| --- | --- | --- | --- | --- |"
    for i in 0 1 2; do
        : >"$dir/counts"
        $where count "$tport" "${filters[i]}" >/dev/null # warm
        for _ in $(seq "$rounds"); do
            quiet
            echo "t $($where count "$tport" "${filters[i]}")" >>"$dir/counts"
            echo "s $(in_shell "${conditions[i]}")" >>"$dir/counts"
        done
        [ "$(cut -d' ' -f2 "$dir/counts" | sort -u | wc -l)" = 1 ] \
            || { echo "bench: ${filters[i]}: matched other entries than in SQLite" >&2; exit 1; }
        awk -v n="$entries" '/^t/ { printf "%.0f\n", n / $3 }' "$dir/counts" >"$dir/a"
        awk -v n="$entries" '/^s/ { printf "%.0f\n", n / $3 }' "$dir/counts" >"$dir/b"
        row "\`${filters[i]}\`" "$dir/a" "$dir/b" "$(head -1 "$dir/counts" | cut -d' ' -f2)"
    done
    rm -f "$dir"/where.db*
fi
if wants find; then
    echo
    echo "| pages/s, LIMIT 100 of $entries entries, 10 clients | KV.FIND /s | KV.LIST /s | ratio |"
    echo "| --- | --- | --- | --- |"
    pages() { # title, KV.FIND's range, pages, words of KV.FIND, words of KV.LIST
        local -n found=$4 listed=$5
        : >"$dir/a"
        : >"$dir/b"
        for _ in $(seq "$rounds"); do
            quiet
            range=$2
            rate "$tport" 10 1 "$3" "${found[@]}" >>"$dir/a"
            range=$entries
            rate "$tport" 10 1 "$3" "${listed[@]}" >>"$dir/b"
        done
        range=100000
        row "$1" "$dir/a" "$dir/b"
    }
    find_same=(KV.FIND names '"user 000000000815"' LIMIT 100)
    list_same=(KV.LIST PREFIX '["key"]' START '["key","000000081500"]' LIMIT 100)
    find_any=(KV.FIND names '"user __rand_int__"' LIMIT 100)
    list_any=(KV.LIST PREFIX '["key"]' START '["key","__rand_int__"]' LIMIT 100)
    pages "the same page again and again" 1 10000 find_same list_same
    range=$names rate "$tport" 10 1 20000 "${find_any[@]}" >/dev/null # warm
    pages "one of $names values, entries all over the keys; a page from any key on" "$names" 5000 find_any list_any
fi
if wants count-p99; then
    echo
    echo "Paced KV.GET (1000/s, $entries keys), us, idle and while one connection counts (\`${filters[1]}\`) again and again:"
    echo
    echo "| | idle | while counting | ratio of p99 | counts, ms each: median, longest |"
    echo "| --- | --- | --- | --- | --- |"
    : >"$dir/ratios"
    $paced get "$tport" "$entries" 4 1000 >/dev/null # warm: each time the same keys
    for i in $(seq "$rounds"); do
        quiet
        idle=$($paced get "$tport" "$entries" 4 1000)
        $where again "$tport" 5 "${filters[1]}" >"$dir/again" &
        counter=$!
        sleep 0.5
        busy=$($paced get "$tport" "$entries" 4 1000)
        wait "$counter"
        ratio=$(echo "$idle $busy" | awk '{ printf "%.2f", $12 / $4 }')
        echo "$ratio" >>"$dir/ratios"
        echo "| round $i | $idle | $busy | $ratio | $(sed 's/ /: /; s/ \([0-9]*\)$/, \1/' "$dir/again") |"
    done
    printf '\np99 while counting / idle p99, median: **%s**\n' "$(spread "$dir/ratios")"
fi
if wants where || wants find || wants count-p99; then
    stop_tupled
    rm -rf "$dir/tupled"
fi
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
    echo "Resident at the end: $(rss_mb) MB; longest silence between replies is gap_max."
    redis-cli -p "$tport" info memtable | tr -d '\r' | sed -n '/:/s/^/    /p'
    stop_tupled
fi

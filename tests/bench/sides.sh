# Sourced by the benchmarks that compare tupled with Redis: both servers, on free ports and directories of their own; rates,
# rounds in turn, rows of tables. $only names the sections that are wanted. Environment: BENCH_ROUNDS (5); BENCH_QUIET_S (0):
# how long each round may wait for two seconds in which no other program works.
# shellcheck shell=bash disable=SC2034 # used by those who source it

rounds=${BENCH_ROUNDS:-5}
quiet_s=${BENCH_QUIET_S:-0}
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
# A server that takes redis-server's arguments: $peer, its process, and $pport.
start_peer() { # program, directory; more arguments: settings
    local program=$1 at=$2
    shift 2
    mkdir -p "$at"
    pport=$((10000 + RANDOM % 5000))
    "$program" --port "$pport" --bind 127.0.0.1 --dir "$at" --appendonly yes \
        --appendfsync always --save '' --daemonize no --logfile "$at.log" "$@" &
    peer=$!
    for _ in $(seq 100); do
        redis-cli -p "$pport" ping 2>/dev/null | grep -q PONG && return
        sleep 0.05
    done
    cat "$at.log" >&2
    kill "$peer" 2>/dev/null || true
    exit 1
}
start_redis() { # more arguments: settings
    start_peer redis-server "$dir/redis" "$@"
    rport=$pport redis=$peer
}

idle_ticks() { awk '/^cpu / { print $5 + $6 }' /proc/stat; } # of 10 ms, over all processors
quiet() {
    local from
    for _ in $(seq $((quiet_s / 2))); do
        from=$(idle_ticks)
        sleep 2
        [ $(($(idle_ticks) - from)) -ge $(($(nproc) * 180)) ] && return
    done
    return 0
}

range=100000 # of __rand_int__
with_tls=()  # further arguments of redis-benchmark
rate() { # port clients pipeline requests command...: requests per second
    local port=$1 clients=$2 pipeline=$3 requests=$4
    shift 4
    redis-benchmark "${with_tls[@]}" -p "$port" -c "$clients" -P "$pipeline" -n "$requests" -r "$range" --csv "$@" \
        | tail -1 | awk -F'","' '{ print $(NF - 6) }'
}
median() { sort -n | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
row() { # work, file of ours, file of theirs [, what the last column says]
    awk -v work="$1" -v more="${4:+ $4 |}" -v a="$(median <"$2")" -v b="$(median <"$3")" \
        -v lo="$(sort -n "$2" | head -1)" -v hi="$(sort -n "$2" | tail -1)" \
        -v rlo="$(sort -n "$3" | head -1)" -v rhi="$(sort -n "$3" | tail -1)" \
        'BEGIN { printf "| %s | %.0f (%.0f-%.0f) | %.0f (%.0f-%.0f) | **%.2f** |%s\n", work, a, lo, hi, b, rlo, rhi, a / b, more }'
}
compare() { # work, clients, pipeline, requests, "theirs...", "ours..." (arrays by name)
    local work=$1 clients=$2 pipeline=$3 requests=$4
    local -n theirs=$5 ours=$6
    : >"$dir/a"
    : >"$dir/b"
    for _ in $(seq "$rounds"); do
        quiet
        rate "$rport" "$clients" "$pipeline" "$requests" "${theirs[@]}" >>"$dir/b"
        rate "$tport" "$clients" "$pipeline" "$requests" "${ours[@]}" >>"$dir/a"
    done
    row "$work" "$dir/a" "$dir/b"
}
spread() { # file: median (lowest-highest)
    awk -v m="$(median <"$1")" -v lo="$(sort -n "$1" | head -1)" -v hi="$(sort -n "$1" | tail -1)" \
        'function f(x) { return x >= 100 ? sprintf("%.0f", x) : sprintf("%.2f", x) }
         BEGIN { printf "%s (%s-%s)", f(m), f(lo), f(hi) }'
}
drain() { # waits until all that was written is applied
    redis-cli -p "$tport" config set memtable-age 1 >/dev/null
    until redis-cli -p "$tport" info memtable | tr -d '\r' \
        | awk -F: '/_entries|_frozen/ { n += $2 } END { exit n > 0 }'; do sleep 0.02; done
    redis-cli -p "$tport" config set memtable-age 5000 >/dev/null
}
rss_mb() { awk '/^VmRSS/ { printf "%.0f", $2 / 1024 }' "/proc/$tupled/status"; }
wants() { case " $only " in *" $1 "*) ;; *) return 1 ;; esac; }
say_machine() {
    echo "Machine: $(nproc) x $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(free -g | awk '/^Mem/ { print $2 }') GB, Linux $(uname -r), $(df --output=fstype . | tail -1); $(redis-server --version | sed 's/.* \(v=[^ ]*\).*/Redis \1/'), redis-benchmark of the same package; $rounds rounds in turn, median (lowest-highest)."
    echo
}

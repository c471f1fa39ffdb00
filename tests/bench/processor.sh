#!/bin/bash
# processor: what a command costs: processor time of all threads of the server (schedstat), system calls, switches, memory of
# an idle connection, memory and disk of a key; tupled beside Redis (appendfsync always) and others, in turn, medians. Prints
# tables in Markdown; docs/benchmarks-processor.md keeps them. By hand, on a quiet machine.
# BENCH_PEERS="name=program ...": others that take redis-server's arguments, such as a Valkey built for it. BENCH_ROUNDS (5),
# BENCH_QUIET_S (0): sides.sh. BENCH_ONLY="time calls idle keys" picks sections. PROCESSOR_REQUESTS (100000): of a round with
# 50 or 200 clients, a fifth with one, four times as many by 16. What the machine lacks (strace) is skipped with a line.
# shellcheck disable=SC2154,SC2034,SC2119 # variables of sides.sh; arrays go by their names; settings are arguments
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/bench/release.sh
only=${BENCH_ONLY:-time calls idle keys}
requests=${PROCESSOR_REQUESTS:-100000}
. tests/bench/sides.sh

# ---- the servers -----------------------------------------------------------------------------------------------------

names=(tupled Redis)
declare -A port pid place
others=()
stop_others() { for p in "${others[@]}"; do kill "$p" 2>/dev/null || true; wait "$p" 2>/dev/null || true; done; others=(); }
trap 'stop_others; stop' EXIT

start_all() {
    start_tupled
    port[tupled]=$tport pid[tupled]=$tupled place[tupled]=$dir/tupled
    start_redis
    port[Redis]=$rport pid[Redis]=$redis place[Redis]=$dir/redis
    local other name
    for other in ${BENCH_PEERS:-}; do
        name=${other%%=*}
        start_peer "${other#*=}" "$dir/$name"
        port[$name]=$pport pid[$name]=$peer place[$name]=$dir/$name
        others+=("$peer")
    done
}
stop_all() {
    stop_tupled
    kill "$redis"
    wait "$redis" 2>/dev/null || true
    redis=
    stop_others
    for name in "${names[@]}"; do rm -rf "${place[$name]}"; done
}
for other in ${BENCH_PEERS:-}; do names+=("${other%%=*}"); done

# Of all its threads, ns.
processor_ns() { cat /proc/"$1"/task/*/schedstat | awk '{ n += $1 } END { printf "%.0f", n }'; }
switches() { cat /proc/"$1"/task/*/status | awk '/ctxt_switches/ { n += $2 } END { print n }'; }
rss_kb() { awk '/^VmRSS/ { print $2 }' "/proc/$1/status"; }

head_of() { # first columns
    local line="| $1 |" rule='| --- |' name
    for name in "${names[@]}"; do line+=" $name |" rule+=' --- |'; done
    for name in "${names[@]:1}"; do line+=" of $name's |" rule+=' --- |'; done
    echo "$line"
    echo "$rule"
}
# What files $dir/of.<name> hold: medians (lowest-highest), then ours as parts of theirs.
tail_of() { # what
    local line="| $1 |" name
    for name in "${names[@]}"; do line+=" $(spread "$dir/of.$name") |"; done
    for name in "${names[@]:1}"; do
        line+=" $(awk -v a="$(median <"$dir/of.tupled")" -v b="$(median <"$dir/of.$name")" 'BEGIN { printf "**%.2f**", a / b }') |"
    done
    echo "$line"
}
forget() { for name in "${names[@]}"; do : >"$dir/of.$name"; done; }

# ---- sections --------------------------------------------------------------------------------------------------------

set_command=(SET key:__rand_int__ "$value")
get_command=(GET key:__rand_int__)
cost() { # what, clients, pipeline, requests, command (array by name)
    local what=$1 clients=$2 pipeline=$3 n=$4 before
    local -n command=$5
    forget
    for _ in $(seq "$rounds"); do
        for name in "${names[@]}"; do
            quiet
            before=$(processor_ns "${pid[$name]}")
            rate "${port[$name]}" "$clients" "$pipeline" "$n" "${command[@]}" >/dev/null
            awk -v a="$before" -v b="$(processor_ns "${pid[$name]}")" -v n="$n" 'BEGIN { print (b - a) / n / 1000 }' \
                >>"$dir/of.$name"
        done
    done
    tail_of "$what"
}

say_machine
start_all
for name in "${names[@]}"; do rate "${port[$name]}" 50 16 400000 "${set_command[@]}" >/dev/null; done
if wants time; then
    echo "Processor time of all threads for a command, us, 100,000 keys, JSON of ${#value} bytes:"
    echo
    head_of work
    for kind in set get; do
        cost "${kind^^}, 1 client" 1 1 $((requests / 5)) ${kind}_command
        cost "${kind^^}, 50 clients" 50 1 "$requests" ${kind}_command
        cost "${kind^^}, 200 clients" 200 1 "$requests" ${kind}_command
        cost "${kind^^}, 50 clients by 16" 50 16 $((4 * requests)) ${kind}_command
    done
    echo
fi
if wants calls; then
    echo "A SET of one client:"
    echo
    head_of "a SET takes"
    forget
    for _ in $(seq "$rounds"); do
        for name in "${names[@]}"; do
            before=$(switches "${pid[$name]}")
            rate "${port[$name]}" 1 1 $((requests / 5)) "${set_command[@]}" >/dev/null
            awk -v a="$before" -v b="$(switches "${pid[$name]}")" -v n=$((requests / 5)) 'BEGIN { print (b - a) / n }' \
                >>"$dir/of.$name"
        done
    done
    tail_of switches
    if command -v strace >/dev/null; then
        forget
        stop_all
        # strace makes each sync slow: the loop is to sync by itself all the same.
        TUPLED_TEST_SHORT_SYNC_US=1000000 start_all
        for name in "${names[@]}"; do
            strace -f -c -qq -o "$dir/calls" -p "${pid[$name]}" &
            tracer=$!
            sleep 1
            rate "${port[$name]}" 1 1 2000 "${set_command[@]}" >/dev/null
            kill $tracer
            wait $tracer || true
            awk '$NF == "total" { print $4 / 2000 }' "$dir/calls" >>"$dir/of.$name"
        done
        tail_of "system calls"
    else
        echo "| system calls: skipped, there is no strace |"
    fi
    echo
fi
stop_all
if wants idle; then
    start_all
    echo "Memory of an idle connection, KB, of 5,000:"
    echo
    head_of ""
    forget
    ulimit -n 20000
    for name in "${names[@]}"; do
        before=$(rss_kb "${pid[$name]}")
        redis-benchmark -p "${port[$name]}" -c 5000 -I >/dev/null 2>&1 &
        idle=$!
        for _ in $(seq 200); do
            [ "$(redis-cli -p "${port[$name]}" info clients | tr -d '\r' | sed -n 's/^connected_clients://p')" -ge 5000 ] && break
            sleep 0.1
        done
        sleep 3
        awk -v a="$before" -v b="$(rss_kb "${pid[$name]}")" 'BEGIN { print (b - a) / 5000 }' >>"$dir/of.$name"
        kill $idle
        wait $idle 2>/dev/null || true
    done
    tail_of "memory"
    echo
    stop_all
fi
if wants keys; then
    echo "A key of 16 bytes with a value of 100, of 1,000,000, each written once; the disk when all is in the store:"
    echo
    head_of "bytes"
    start_all
    for name in "${names[@]}"; do rss_kb "${pid[$name]}" >"$dir/empty.$name"; done
    # Values that no server can make shorter.
    od -An -tx1 -v -w50 -N 50000000 /dev/urandom | tr -d ' ' |
        awk '{ printf "SET key:%012d %s\r\n", NR, $0 }' >"$dir/sets"
    for name in "${names[@]}"; do redis-cli -p "${port[$name]}" --pipe <"$dir/sets" >/dev/null; done
    drain
    sleep 10
    forget
    for name in "${names[@]}"; do
        keys=$(redis-cli -p "${port[$name]}" dbsize)
        awk -v a="$(<"$dir/empty.$name")" -v b="$(rss_kb "${pid[$name]}")" -v n="$keys" \
            'BEGIN { print (b - a) * 1024 / n }' >"$dir/of.$name"
    done
    tail_of memory
    forget
    for name in "${names[@]}"; do
        keys=$(redis-cli -p "${port[$name]}" dbsize)
        du -sk "${place[$name]}" | awk -v n="$keys" '{ print $1 * 1024 / n }' >"$dir/of.$name"
    done
    tail_of disk
    stop_all
fi

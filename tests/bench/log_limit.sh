#!/bin/bash
# How large tupled_log gets on the disk of PostgreSQL under full load (SET of 50 clients by 16), at its limit
# (changes-retention-size 1gb): for LOAD_SECONDS (600), looked at each second; then for DUMP_SECONDS (300) while a pg_dump
# runs, whose reader is slow, so that its snapshot is as old as that; then until it is smaller than at its largest, for
# AFTER_SECONDS (120). Prints the largest size of each part, in MB, the rate of the load, and what was inserted and
# deleted. Needs pgbench's package (postgresql) and `make bench-build`; some 10 GB of disk.

set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/bench/release.sh
export LC_ALL=C
. tests/postgres/server.sh
. tests/postgres/cluster.sh
. tests/campaign/nodes.sh
pg_can || { echo "PostgreSQL is not installed"; exit 2; }
clients=build/release/tests/bench/bench_clients
[ -x "$clients" ] || { echo "make bench-build comes first"; exit 2; }
scratch=$(mktemp -d) || exit 2
pids=()
remove() {
    local pid
    for pid in "${pids[@]}"; do kill -KILL "$pid" && wait "$pid"; done 2>/dev/null
    nodes_remove
    rm -rf "$scratch"
}
trap remove EXIT
trap 'exit 130' INT TERM

# shellcheck disable=SC2034 # used by the library
nodes_is_plain=1
nodes_start || exit 2
nodes_leader || exit 2

# watch <seconds>: the largest size of the log in these, with its index, in MB.
watch() {
    local end=$((SECONDS + $1)) size largest=0
    while [ "$SECONDS" -lt "$end" ]; do
        size=$(pgc_sql "$pgc_lead" "SELECT pg_total_relation_size('tupled_log') >> 20")
        [[ $size =~ ^[0-9]+$ ]] && ((size > largest)) && largest=$size
        sleep 1
    done
    echo "$largest MB"
}

rows() {
    pgc_sql "$pgc_lead" "SELECT n_tup_ins || ' inserted, ' || n_tup_del || ' deleted, ' || seq_scan || ' scans of the whole, '
        || vacuum_count || ' times vacuumed' FROM pg_stat_user_tables WHERE relname = 'tupled_log'"
}

load=${LOAD_SECONDS:-600} dump=${DUMP_SECONDS:-300} after=${AFTER_SECONDS:-120}
"$clients" set "${nodes_port[leader]}" 50 16 $((load + dump + after)) >"$scratch/rate" 2>&1 &
pids+=($!)
echo "the first $load s: $(watch "$load")"
rows
# The pipe is full at once, so pg_dump waits.
"$pg_bin/pg_dump" -h 127.0.0.1 -p "${pgc_ports[pgc_lead]}" -U tupled -d postgres 2>"$scratch/dump" |
    (sleep "$dump" && cat >/dev/null) &
pids+=($!)
echo "$dump s with pg_dump: $(watch "$dump")"
echo "$after s after it: $(watch "$after")"
echo "at the end: $(watch 1)"
rows
wait "${pids[0]}"
echo "SET a second, and p50, p99, longest and p99.9 of 16 in us: $(cat "$scratch/rate")"
cat "$scratch/dump"

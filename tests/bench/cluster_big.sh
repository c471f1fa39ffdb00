#!/bin/bash
# Much data in a cluster: three nodes on three PostgreSQL of this machine, ENTRIES (10,000,000) entries of some 150 bytes.
#   1. how fast they are written, how much of it PostgreSQL has, how much memory the leader takes
#   2. KV.GET of entries that no cache has, 1000 a second
#   3. KV.SET, 100 a second: alone; while a snapshot of PostgreSQL is held for SNAPSHOT_SECONDS (600), which pg_dump reads as
#      slowly as that takes; while pg_dump reads it as fast as it can, a quarter of that time; and alone again
#   4. how long a node takes over, TIMES (5) each: from kill -9 and from a clean stop of the leader, a second after so many
#      writes that the log has much that the tables have not
# NODE_BIN (build/tupled), LEASE (3000 ms), NODE_OPTIONS (more settings). Needs some 2 KB of disk for an entry.

set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/bench/release.sh
export LC_ALL=C
. tests/postgres/server.sh
. tests/postgres/cluster.sh
. tests/campaign/nodes.sh
pg_can || { echo "PostgreSQL is not installed"; exit 2; }
entries=${ENTRIES:-10000000} snapshot_s=${SNAPSHOT_SECONDS:-600} times=${TIMES:-5}
paced=build/release/tests/bench/bench_paced
[ -x "$paced" ] || { echo "make bench-build comes first"; exit 2; }
holder='' dumper=''

# The shell that repeats pg_dump, and what it runs.
end_dumps() {
    local children
    children=$(pgrep -P "$dumper")
    kill "$dumper" $children 2>/dev/null
    wait "$dumper" 2>/dev/null
    dumper=''
}

# begin_dumps [bytes a second]: of the snapshot, again and again.
begin_dumps() {
    (while :; do
        "$pg_bin/pg_dump" -h 127.0.0.1 -p "${pgc_ports[pgc_lead]}" -U tupled --snapshot="$snapshot" postgres |
            if [ $# = 0 ]; then cat >/dev/null; else
                while [ "$(head -c $(($1 / 4)) | wc -c)" -gt 0 ]; do sleep 0.25; done
            fi
        echo >>"$nodes_dir/dumps"
    done) &
    dumper=$!
}

remove() {
    [ -z "$dumper" ] || end_dumps
    [ -z "$holder" ] || { kill "$holder" && wait "$holder"; } 2>/dev/null
    nodes_remove
}
trap remove EXIT
trap 'exit 130' INT TERM
# shellcheck disable=SC2034 # used by the library
read -r -a more <<<"${NODE_OPTIONS:-}"
nodes_is_plain=1 nodes_options=(--lease "${LEASE:-3000}" --cache-size 64mb "${more[@]}")
nodes_start || exit 2
nodes_leader || exit 2

port() { echo "${nodes_port[leader]}"; }
memory() { awk -v what="$1:" '$1 == what {printf "%d MB", $2 / 1024}' "/proc/$(cat "$nodes_dir/n$leader.pid")/status"; }
size() { pgc_sql "$pgc_lead" "SELECT pg_size_pretty(pg_total_relation_size('$1'))"; }

# ---- 1, 2 ----

echo "written a second, in turn: $("$paced" fill "$(port)" "$entries" 1000)"
for ((i = 0; i < 600; i++)); do # the tables have it
    rows=$(pgc_sql "$pgc_lead" "SELECT sum(entries) FROM tupled_count")
    [ "${rows:-0}" -lt "$entries" ] || break
    sleep 1
done
echo "in PostgreSQL: entries $(size tupled_entry), log $(size tupled_log), $rows entries are in the tables"
echo "the leader's memory: $(memory VmRSS), at most $(memory VmHWM)"
echo "GET, 1000 a second, us: $("$paced" get "$(port)" "$entries" 20 1000)"
echo "the leader's memory: $(memory VmRSS), at most $(memory VmHWM)"

# ---- 3 ----

echo "SET, 100 a second, us, alone: $("$paced" put "$(port)" "$entries" 60 100)"
mkfifo "$nodes_dir/hold" "$nodes_dir/held"
"$pg_bin/psql" -qAtX -h 127.0.0.1 -p "${pgc_ports[pgc_lead]}" -U tupled -d postgres \
    <"$nodes_dir/hold" >"$nodes_dir/held" 2>&1 &
holder=$!
exec 8>"$nodes_dir/hold" 9<"$nodes_dir/held"
echo 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_export_snapshot();' >&8
read -r -t 10 snapshot <&9 || exit 2
begin_dumps $((entries * 420 / snapshot_s)) # some 420 bytes of text for an entry
echo "... beside a slow pg_dump, $snapshot_s s: $("$paced" put "$(port)" "$entries" "$snapshot_s" 100)"
end_dumps
begin_dumps
echo "... beside pg_dump without a pause, $((snapshot_s / 4)) s: $("$paced" put "$(port)" "$entries" $((snapshot_s / 4)) 100)"
end_dumps
echo 'COMMIT;' >&8
exec 8>&- 9<&-
wait "$holder"
holder=''
echo "dumps that were done: $(wc -l 2>/dev/null <"$nodes_dir/dumps")"
echo "... alone again: $("$paced" put "$(port)" "$entries" 60 100)"

# ---- 4 ----

take_over() { # name, signal
    local i begin tail took=()
    for ((i = 0; i < times; i++)); do
        sleep 3
        nodes_write && nodes_leader || return
        "$paced" set "$(port)" "$entries" 5 1000 >/dev/null
        tail=$(pgc_sql "$pgc_lead" "SELECT pg_size_pretty(coalesce(sum(length(body)), 0)) FROM tupled_log, tupled_applied
            WHERE last_version > applied")
        begin=$(nodes_ms)
        nodes_signal "$leader" "$2"
        nodes_write || return
        took+=("$(($(nodes_ms) - begin)) ms ($tail in the log only)")
    done
    printf "$1: %s\n" "${took[@]}"
}
take_over "kill -9, then the first write" -KILL
take_over "a clean stop, then the first write" -TERM
echo "from \"this node leads\" to \"serving\":"
grep -hE 'this node leads|serving as the leader' "$nodes_dir"/n?.log | awk '{print $5}' | paste - - | awk '
    function ms(t, p) { split(t, p, /[:.]/); return ((p[1] * 60 + p[2]) * 60 + p[3]) * 1000 + p[4] }
    { printf "%d ms\n", ms($2) - ms($1) }'

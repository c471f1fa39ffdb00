#!/bin/bash
# A campaign: three nodes on three PostgreSQL, clients that write and read all the time, one kind of fault again and
# again, and a judgement of what the clients heard (judge.h). Prints one line of results, and what is wrong.
# Usage: tests/campaign/run.sh <fault>[,<fault>...] <seconds> [seed]      the faults: tests/campaign/run.sh list
#
# Environment: NODE_BIN (build/tupled), CAMPAIGN_LEASE (1000 ms), CAMPAIGN_EVERY (s between two faults, 4),
# CAMPAIGN_CLIENTS, CAMPAIGN_PAUSE_US (campaign_load), CAMPAIGN_KEEP=<directory>: histories and logs are left there.
# Ends with 0 when the history can be explained, nodes ended only as they should, no client was told an error, each node
# could be asked all the while how it is (asks.sh), and there were faults and writes.

set -u
cd "$(dirname "$0")/../.." || exit 2
export LC_ALL=C
. tests/postgres/server.sh
. tests/postgres/cluster.sh
. tests/campaign/nodes.sh
. tests/campaign/asks.sh

# What each fault is; one call is one fault, which is over when it returns. $leader is the leading node.
faults=(none kill stop pause postgres cut cut-others cut-nodes no-standby no-list emptied lost-host slow clock
    password full-log)
lease=${CAMPAIGN_LEASE:-1000}
every=${CAMPAIGN_EVERY:-4}

# A time in ms as seconds, for sleep.
nap() {
    sleep "$(($1 / 1000)).$(printf %03d $(($1 % 1000)))"
}

some_ms() { # <from> <to>
    echo $(($1 + RANDOM * ($2 - $1) / 32768))
}

# Something is committed from now on, in half a minute at most.
goes_on() {
    local sql='SELECT max(last_version) FROM tupled_log' tries before
    before=$(pgc_sql "$pgc_lead" "$sql")
    for ((tries = 0; tries < 300; tries++)); do
        [ "$(pgc_sql "$pgc_lead" "$sql")" = "$before" ] || return 0
        sleep 0.1
    done
    echo "nothing is committed any more"
    return 1
}

fault_none() {
    sleep 0.1
}

fault_kill() {
    nodes_signal "$leader" -KILL
}

fault_stop() {
    nodes_signal "$leader" -TERM
}

# Longer than the lease mostly, sometimes not.
fault_pause() {
    local node=$leader
    nodes_signal "$node" -STOP
    nap "$(some_ms $((lease / 2)) $((lease * 3)))"
    nodes_signal "$node" -CONT
}

# Half the time what it commits at the end reaches no standby any more.
fault_postgres() {
    local old=$pgc_lead p
    if ((RANDOM % 2 == 0)); then
        for p in 1 2 3; do nodes_proxy "drop $(nodes_upstream "$p")" || return; done
        nap 300
    fi
    nodes_fail_over || return
    for p in 1 2 3; do nodes_proxy "pass $(nodes_upstream "$p")" || return; done
    nap "$(some_ms 500 3000)"
    # They must find the new primary without the old one coming back.
    goes_on && pgc_rejoin "$old" && pgc_wait_standbys 2
}

cut_node() {
    local p
    for p in 1 2 3; do nodes_proxy "$2 $(nodes_way "$1" "$p")" || return; done
}

# The leader and PostgreSQL.
fault_cut() {
    local node=$leader
    cut_node "$node" drop || return
    nap "$(some_ms $((lease / 5)) $((lease * 3)))"
    cut_node "$node" pass
}

# All nodes but the leader, then the leader as well.
fault_cut-others() {
    local node=$leader n
    for n in 1 2 3; do [ "$n" = "$node" ] || cut_node "$n" drop || return; done
    nap "$(some_ms 100 "$lease")"
    cut_node "$node" drop || return
    nap "$(some_ms $((lease / 5)) $((lease * 2)))"
    nodes_proxy 'pass 0'
}

# The other nodes and the leader; all of them reach PostgreSQL.
fault_cut-nodes() {
    local way
    way=$(nodes_link "$leader")
    nodes_proxy "drop $way" || return
    nap "$(some_ms $((lease / 5)) $((lease * 3)))"
    nodes_proxy "pass $way"
}

# PostgreSQL and its standbys: no commit is acknowledged meanwhile.
fault_no-standby() {
    local p
    for p in 1 2 3; do nodes_proxy "drop $(nodes_upstream "$p")" || return; done
    nap "$(some_ms 300 $((lease * 3)))"
    for p in 1 2 3; do nodes_proxy "pass $(nodes_upstream "$p")" || return; done
}

# Both standbys have what is committed from now on.
both_have_all() {
    pgc_set_names "$pgc_lead" 'ANY 2 (p1, p2, p3)' && nap 500 && goes_on
}

# Its successor is promoted too, and has nothing of what was written meanwhile: nothing of it may have been acknowledged.
loses_again() {
    local first=$1 second=$2 p
    nap "$(some_ms 300 $((lease * 2)))"
    nodes_fail_over "$second" || return
    for p in 1 2 3; do nodes_proxy "pass $(nodes_upstream "$p")" || return; done
    pgc_rejoin "$first" && pgc_rejoin "$((6 - first - second))" && pgc_wait_standbys 2
}

# A standby is promoted that has no synchronous_standby_names: whatever is written there is on one server.
fault_no-list() {
    local old=$pgc_lead next=$((pgc_lead % 3 + 1)) last p
    last=$((6 - old - next))
    both_have_all && pgc_set_names "$next" '' || return
    nodes_fail_over "$next" || return
    for p in 1 2 3; do nodes_proxy "drop $(nodes_upstream "$p")" || return; done
    loses_again "$next" "$last"
}

# The setting is emptied under load, by who fails PostgreSQL over, when the standbys are gone: commits that wait are let
# go.
fault_emptied() {
    local old=$pgc_lead next=$((pgc_lead % 3 + 1)) p
    both_have_all || return
    for p in 1 2 3; do nodes_proxy "drop $(nodes_upstream "$p")" || return; done
    nap 100
    pgc_set_names "$old" '' || return
    loses_again "$old" "$next"
}

# The primary's machine is gone: its connections are not ended, they are silent, and stay so for a while.
fault_lost-host() {
    local old=$pgc_lead n
    for n in 1 2 3; do nodes_proxy "drop $(nodes_way "$n" "$old")" || return; done
    nodes_fail_over || return
    nap "$(some_ms $((lease * 4)) $((lease * 6)))"
    for n in 1 2 3; do nodes_proxy "pass $(nodes_way "$n" "$old")" || return; done
    pgc_rejoin "$old" && pgc_wait_standbys 2
}

# All that the leader says to PostgreSQL, and hears from it, is late.
fault_slow() {
    local p
    for p in 1 2 3; do nodes_proxy "delay $(nodes_way "$leader" "$p") $(some_ms 20 300)" || return; done
    nap "$(some_ms 500 3000)"
    nodes_proxy 'delay 0 0'
}

# The leader's wall clock: forward or back, up to an hour.
fault_clock() {
    timeout 5 redis-cli -p "${nodes_port[leader]}" DEBUG CLOCK $(((RANDOM - 16384) * 220)) >/dev/null 2>&1
}

# The user's password is another one; some time later its file says so. Connections end, some before that.
fault_password() {
    local password=p$RANDOM sql="SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'node'"
    pgc_password "$password" || return
    pgc_sql "$pgc_lead" "$sql ORDER BY random() LIMIT 4" >/dev/null
    nap "$(some_ms 100 $((lease * 2)))"
    pgc_passfile "$password" && pgc_sql "$pgc_lead" "$sql" >/dev/null
}

# The log is at its limit all the time, and rows of it go while the leader ends or sleeps.
log_limit=$((1 << 20))
fault_full-log() {
    local disk
    disk=$(pgc_sql "$pgc_lead" "SELECT pg_table_size('tupled_log')") || return
    ((disk < 48 * log_limit)) || { echo "tupled_log takes $disk bytes"; return 1; }
    if ((RANDOM % 2 == 0)); then fault_kill; else fault_pause; fi
}

# The first row that was written is not there any more.
log_let_go() {
    [ "$(pgc_sql "$pgc_lead" 'SELECT min(batch) > 1 FROM tupled_log')" = t ]
}

if [ "${1:-list}" = list ]; then
    echo "${faults[*]}"
    exit
fi
IFS=, read -r -a wanted <<<"$1"
for fault in "${wanted[@]}"; do
    [[ " ${faults[*]} " == *" $fault "* ]] || { echo "no such fault: $fault"; exit 2; }
done
seconds=${2:-60}
seed=${3:-$(($(date +%s) % 32768))}
RANDOM=$seed
pg_can || { echo "PostgreSQL is not installed"; exit 2; }

load_pid=''
clean_up() {
    [ -z "$load_pid" ] || kill -KILL "$load_pid" 2>/dev/null
    [ -z "$asks_pid" ] || kill -KILL "$asks_pid" 2>/dev/null
    if [ -n "${CAMPAIGN_KEEP:-}" ] && [ -n "$nodes_dir" ]; then
        mkdir -p "$CAMPAIGN_KEEP"
        cp -r "$nodes_dir"/history "$nodes_dir"/*.log "$nodes_dir"/*.out "$nodes_dir/mute" "$pgc_dir"/*.log "$CAMPAIGN_KEEP"/ 2>/dev/null
    fi
    nodes_remove
}
trap clean_up EXIT
trap 'exit 130' INT TERM

[[ " ${wanted[*]} " != *" password "* ]] || nodes_is_guarded=1
nodes_options=(--lease "$lease" --enable-debug-command yes)
[[ " ${wanted[*]} " != *" full-log "* ]] || nodes_options+=(--changes-retention-size "$log_limit")
asks_ports && nodes_start || exit 2
asks_start
mkdir "$nodes_dir/history"
first_epoch=$(nodes_epoch)
# It ends by itself; a process between it and this one would outlive the signal that is to end it.
CAMPAIGN_SEED=$seed build/asan/tests/campaign/campaign_load "$nodes_dir/history" "$seconds" \
    "${nodes_at[@]}" >"$nodes_dir/load.out" 2>&1 &
load_pid=$!
end=$((SECONDS + seconds))
count=0
nap 1000
# One fault at least, however slow the machine is.
while [ "$SECONDS" -lt "$end" ] || { [ "$count" = 0 ] && [ "$SECONDS" -lt $((end + 60)) ]; }; do
    if nodes_leader; then
        fault=${wanted[count % ${#wanted[@]}]}
        if ! "fault_$fault" >>"$nodes_dir/faults.out" 2>&1; then
            echo "the fault $fault could not be made"
            cat "$nodes_dir/faults.out"
            exit 2
        fi
        count=$((count + 1))
    fi
    nap "$(some_ms $((every * 500)) $((every * 1500)))"
done
nodes_proxy 'pass 0' || exit 2
asks_stop
wait "$load_pid"
load_status=$?
load_pid=''
cat "$nodes_dir/load.out"
timeout 300 build/asan/tests/campaign/campaign_check "$nodes_dir"/history/* >"$nodes_dir/verdict" 2>&1
verdict=$?
counts=$(tail -n 1 "$nodes_dir/verdict")
statuses=$(nodes_statuses)
epochs=$(($(nodes_epoch) - first_epoch))

# 1: it had lost the lead; 137: killed by us.
bad=$(sort -u "$nodes_dir/statuses" 2>/dev/null | grep -vxE '0|1|137')
# Whatever happens to nodes, clients are told no other errors than that a check failed, which is none.
errors=$(grep -h '^#' "$nodes_dir"/history/* | sort | uniq -c | head -n 10)
is_good=0
[ "$verdict" = 0 ] && [ -z "$errors" ] && [ "$load_status" = 0 ] && [ -z "$bad" ] && [ "$count" -gt 0 ] &&
    [[ $counts =~ acknowledged=[1-9][0-9]+ ]] && [ "$asks_count" -gt 0 ] && [ "$asks_mute" = 0 ] && is_good=1
if [[ " ${wanted[*]} " = *" full-log "* ]] && ! log_let_go; then
    echo "tupled_log has its first row still"
    is_good=0
fi
[ "$verdict" = 0 ] || head -n 60 "$nodes_dir/verdict" | sed '$d'
[ -z "$errors" ] || printf 'clients were told:\n%s\n' "$errors"
[ -z "$bad" ] || echo "nodes ended with: $statuses"
[ "$asks_mute" = 0 ] || { echo "nodes did not say how they are:"; head -n 20 "$nodes_dir/mute"; }
word=good
[ "$is_good" = 1 ] || word=BAD
echo "fault=$1 seed=$seed seconds=$seconds faults=$count takeovers=$epochs asked=$asks_count mute=$asks_mute $counts verdict=$word"
[ "$is_good" = 1 ]

#!/bin/bash
# Three PostgreSQL and three nodes of tupled on this machine, to play with (`make cluster`; docs/cluster.md). It reads
# commands, shown at its start. Ctrl-C, or `quit`, ends all of it and removes the data.
# Environment: CLUSTER_PORT (7001: nodes listen on this one and the next two), CLUSTER_LEASE (3000 ms),
# CLUSTER_KEEP=1: the data stay, and it says where.

set -u
cd "$(dirname "$0")/.." || exit 1
export LC_ALL=C
. tests/postgres/server.sh
. tests/postgres/cluster.sh
. tests/campaign/nodes.sh

port=${CLUSTER_PORT:-7001}
nodes_is_plain=1
nodes_port=('' "$port" $((port + 1)) $((port + 2)))
nodes_options=(--lease "${CLUSTER_LEASE:-3000}")
# Used by the library.
# shellcheck disable=SC2034
if [ -n "${CLUSTER_KEEP:-}" ]; then pgc_keep=1 nodes_keep_files=1; fi

pg_can || { echo "cluster: PostgreSQL is not installed (Debian: postgresql)"; exit 1; }
for n in 1 2 3; do
    if (exec 3<>"/dev/tcp/127.0.0.1/${nodes_port[n]}") 2>/dev/null; then
        echo "cluster: port ${nodes_port[n]} is taken; CLUSTER_PORT=<another> make cluster"
        exit 1
    fi
done

clean_up() {
    trap '' INT TERM
    echo "cluster: stopping"
    nodes_remove
    if [ -n "${CLUSTER_KEEP:-}" ]; then echo "cluster: kept in $pgc_dir and $nodes_dir"; fi
}
trap clean_up EXIT
trap 'exit 0' INT TERM

status() {
    local n state
    nodes_leader || leader=none
    for n in 1 2 3; do
        state=waits
        if [ "$n" = "$leader" ]; then state=leads; fi
        if [ -e "$nodes_dir/rest$n" ]; then state='is stopped'; fi
        echo "  node $n        127.0.0.1:${nodes_port[n]}  $state"
    done
    for n in 1 2 3; do
        state='is down'
        if [ -n "${pgc_pid[n]:-}" ]; then state='standby'; fi
        if [ "$n" = "$pgc_lead" ]; then state='primary'; fi
        echo "  PostgreSQL $n  127.0.0.1:${pgc_ports[n]}  $state"
    done
}

help_text() {
    cat <<END
  status       who leads
  wait         the same, as soon as a node does
  kill <n>     kill -9 of node n; it is started again and waits
  stop <n>     a clean stop of node n; it stays away until: start <n>
  pause <n>    SIGSTOP of node n, until: go <n>
  postgres     kill -9 of PostgreSQL's primary; the most advanced standby is promoted. Until the old one is back, no
               other may fail
  rejoin       the old primary comes back as a standby
  quit
END
}

# Until a node leads, a minute at most.
wait_leader() {
    local tries
    for ((tries = 0; tries < 600; tries++)); do
        if nodes_leader && [ ! -e "$nodes_dir/rest$leader" ]; then return; fi
        sleep 0.1
    done
    echo "  no node leads"
}

# A clean stop, and the node has ended: what is said next finds no rest of it.
stop_node() {
    local tries pid
    pid=$(cat "$nodes_dir/n$1.pid" 2>/dev/null)
    touch "$nodes_dir/rest$1"
    nodes_signal "$1" -TERM
    for ((tries = 0; tries < 300; tries++)); do
        [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null || { echo "  done"; return; }
        sleep 0.1
    done
    echo "  it has not ended yet"
}

need_node() {
    [[ ${1:-} =~ ^[123]$ ]] || { echo "  which node: 1, 2 or 3?"; return 1; }
}

obey() {
    case $1 in
    '') ;;
    status) status ;;
    wait) wait_leader && status ;;
    kill) need_node "${2:-}" && nodes_signal "$2" -KILL && echo "  done" ;;
    stop) need_node "${2:-}" && stop_node "$2" ;;
    start) need_node "${2:-}" && rm -f "$nodes_dir/rest$2" && echo "  done" ;;
    pause) need_node "${2:-}" && nodes_signal "$2" -STOP && echo "  done" ;;
    go) need_node "${2:-}" && nodes_signal "$2" -CONT && echo "  done" ;;
    postgres)
        if [ -n "$away" ]; then
            echo "  first: rejoin"
        else
            away=$pgc_lead
            pgc_fail_over && echo "  PostgreSQL $pgc_lead is the primary now"
        fi
        ;;
    rejoin)
        [ -n "$away" ] || { echo "  all are there"; return; }
        pgc_rejoin "$away" && pgc_wait_standbys 2 && away='' && echo "  done"
        ;;
    quit) exit 0 ;;
    *) help_text ;;
    esac
}

away=''
echo "cluster: starting three PostgreSQL and three nodes"
nodes_start || exit 1
echo "data: $pgc_dir $nodes_dir"
status
cat <<END
Try it:
  while sleep 0.2; do for p in ${nodes_port[*]}; do timeout 2 redis-cli -p \$p KV.SUM '["n"]' 1 2>/dev/null && break; done; done
in another terminal, and here, now and then, kill, pause or stop the node that leads:
END
help_text
while read -r -a words; do obey "${words[@]:-}"; done
# Without a terminal: until it is ended.
while :; do
    sleep 1 &
    wait $!
done

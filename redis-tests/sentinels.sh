# Sourced after server.sh and postgres.sh: three nodes with Sentinel's port, of which the leader is killed.
#
#   start <n>                    a node; ${sentinel_port[n]}
#   ask <n> <word>...            redis-cli to its Sentinel
#   killed <n>                   kills it; $leads is who leads then
#   goes_on <name> <program>...  the program finds the leader and goes on when that is killed
#   plainly=1 goes_on ...        ... by a plain connection to a node that stands by

sentinel_port=() leads=''
export TUPLED_TEST_ANY_SENTINEL_PORT=1 NODE_BIN=$PWD/build/asan/tupled
start() { # node
    node_start "$1" --lease 3000 --postgresql-durability provider
    node_listens "$1"
    sentinel_port[$1]=$(sed -n 's/.*Sentinel connections on .* port \([0-9]*\)$/\1/p' "$scratch/node$1.log")
}
ask() { # node, words
    timeout 60 redis-cli -p "${sentinel_port[$1]}" "${@:2}"
}

# killed <node>: and the node that leads then, $leads
killed() {
    local n
    node_signal "$1" -KILL
    node_gone "$1"
    leads=''
    for ((i = 0; i < 1000; i++)); do
        for n in 1 2 3; do
            if [ "$n" != "$1" ] && node_leads $n; then leads=$n; fi
        done
        [ -z "$leads" ] || return 0
        sleep 0.02
    done
    return 1
}

# goes_on <name> <program>...: it finds the leader, which is killed when it says that it is ready
goes_on() {
    local name=$1 first=$leads
    shift
    for n in 1 2 3; do
        [ -n "${node_pid[n]:-}" ] || { start $n; node_says $n 'standing by: node[0-9]/.* leads'; }
    done
    for ((i = 0; i < 500; i++)); do
        [ "$(ask 1 SENTINEL REPLICAS mymaster | grep -xA 1 flags | grep -cx slave)" = 2 ] && break
        sleep 0.02
    done
    if [ -n "${plainly:-}" ]; then set -- "$@" plain "${node_port[first % 3 + 1]}"; fi
    : >"$scratch/library"
    timeout 60 "$@" "${sentinel_port[@]}" >"$scratch/library" 2>&1 &
    local pid=$!
    until grep -q '^ready' "$scratch/library" || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
    sleep 0.3
    killed "$first"
    wait $pid || not_ok "$name ends well"
    grep -E '^(not )?ok - ' "$scratch/library"
    grep -q '^ok' "$scratch/library" || { not_ok "$name says something"; head -n 20 "$scratch/library"; }
}

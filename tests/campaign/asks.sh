# Sourced by run.sh: asks every node, during every fault, what it has to answer at any time by itself: INFO, /livez,
# /readyz, and Sentinel. An answer is due within two seconds, and names the cause when the node does not serve.
#
#   asks_ports      before nodes_start: gives each node a port for HTTP and one for Sentinel
#   asks_start      begins to ask, in the background, and notes what is wrong in $nodes_dir/mute
#   asks_stop       ends that: $asks_count, $asks_mute
# A node that is stopped, that ends, or that has just started, is not asked. One that did not answer is asked twice more:
# it may have been stopped meanwhile for longer than an answer may take. What it is asked must be the same process all the
# while: others begin anew in between.

asks_pid='' asks_count=0 asks_mute=0

asks_ports() {
    local n
    for n in 1 2 3; do
        port_take "nodes_http[$n]" && port_take "nodes_sentinel[$n]" || return
    done
}

# asks_lives <n>: its process runs, and has for three seconds: $lives. One that is stopped (T) does not, nor one that has
# ended (Z).
asks_lives() {
    local state
    read -r lives <"$nodes_dir/n$1.pid" 2>/dev/null || return
    state=$(ps -o stat=,etimes= -p "$lives") || return
    [[ $state =~ ^([A-Z])[^\ ]*\ +([0-9]+) ]] && [[ ${BASH_REMATCH[1]} != [TZX] ]] && [ "${BASH_REMATCH[2]}" -ge 3 ]
}

# asks_one <n> <what>: prints what is wrong with the answer.
asks_one() {
    local text
    case $2 in
    info)
        text=$(timeout 2 redis-cli -p "${nodes_port[$1]}" INFO replication 2>&1 | tr -d '\r')
        grep -q '^node_name:' <<<"$text" || echo "no INFO: $(head -n 1 <<<"$text")"
        ! grep -q '^cluster_writable:0' <<<"$text" || grep -q '^cluster_cause:.' <<<"$text" || echo "INFO without a cause"
        ;;
    livez)
        text=$(curl -s -m 2 "http://127.0.0.1:${nodes_http[$1]}/livez" 2>&1)
        [[ $text == *'"status":"ok"'* ]] || echo "no /livez: $text"
        ;;
    readyz)
        text=$(curl -s -m 2 "http://127.0.0.1:${nodes_http[$1]}/readyz?verbose" 2>&1)
        [[ $text == *'"status":"ok"'* || $text == *'"why":"'?* ]] || echo "no /readyz: $text"
        ;;
    sentinel)
        text=$(timeout 2 redis-cli -p "${nodes_sentinel[$1]}" SENTINEL CKQUORUM mymaster 2>&1)
        [[ $text == 'OK '* || $text == 'NOQUORUM '* || $text == 'TRYAGAIN '* ]] || echo "no Sentinel: $text"
        ;;
    esac
}

# asks_node <n> <what>: one thing of one node, which must answer one of three times.
asks_node() {
    local lives process wrong tries
    asks_lives "$1" || return
    process=$lives
    count=$((count + 1))
    for tries in 1 2 3; do
        wrong=$(asks_one "$1" "$2")
        [ -n "$wrong" ] && asks_lives "$1" && [ "$lives" = "$process" ] || return
        sleep 0.5
    done
    echo "$(date +%T) n$1: $wrong" >>"$nodes_dir/mute"
}

asks_all() {
    local n what count=0
    while [ ! -e "$nodes_dir/asked" ]; do
        for n in 1 2 3; do
            for what in info livez readyz sentinel; do
                asks_node "$n" "$what"
            done
        done
        echo "$count" >"$nodes_dir/asks"
        sleep 0.2
    done
}

asks_start() {
    asks_all &
    asks_pid=$!
}

asks_stop() {
    [ -n "$asks_pid" ] || return 0
    : >"$nodes_dir/asked"
    wait "$asks_pid"
    asks_pid=''
    asks_count=$(cat "$nodes_dir/asks" 2>/dev/null || echo 0)
    asks_mute=$(cat "$nodes_dir/mute" 2>/dev/null | wc -l)
}

# Sourced by run.sh: asks every node, during every fault, what it has to answer at any time by itself: INFO, /livez,
# /readyz, and Sentinel. An answer is due within two seconds, and names the cause when the node does not serve.
#
#   asks_ports      before nodes_start: gives each node a port for HTTP and one for Sentinel
#   asks_start      begins to ask, in the background, and notes what is wrong in $nodes_dir/mute
#   asks_stop       ends that: $asks_count, $asks_mute
# A node that is stopped, or that has just started, is not asked; one that did not answer is asked once more: it may have
# begun anew in between.

asks_pid='' asks_count=0 asks_mute=0

asks_ports() {
    local n
    for n in 1 2 3; do
        port_take "nodes_http[$n]" && port_take "nodes_sentinel[$n]" || return
    done
}

# asks_lives <n>: its process runs, and has for three seconds.
asks_lives() {
    local pid state
    read -r pid <"$nodes_dir/n$1.pid" 2>/dev/null || return
    state=$(ps -o stat=,etimes= -p "$pid") || return
    [[ $state =~ ^([A-Z])[^\ ]*\ +([0-9]+) ]] && [ "${BASH_REMATCH[1]}" != T ] && [ "${BASH_REMATCH[2]}" -ge 3 ]
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

asks_all() {
    local n what wrong count=0
    while [ ! -e "$nodes_dir/asked" ]; do
        for n in 1 2 3; do
            for what in info livez readyz sentinel; do
                asks_lives "$n" || continue
                count=$((count + 1))
                wrong=$(asks_one "$n" "$what")
                [ -z "$wrong" ] && continue
                sleep 0.5
                wrong=$(asks_one "$n" "$what")
                [ -z "$wrong" ] || ! asks_lives "$n" || echo "$(date +%T) n$n: $wrong" >>"$nodes_dir/mute"
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

# Sourced after tests/postgres/server.sh and cluster.sh: three nodes of tupled on three PostgreSQL, each started again
# when it has ended, and a proxy between all of them that can cut and slow every way.
#
#   nodes_start               all of it; false, with a text, when that failed. $nodes_dir, $nodes_at (host:port)
#   nodes_leader              the number of the node that leads: $leader; false when none does
#   nodes_signal <n> <signal> to the process that is node <n> at this moment
#   nodes_proxy <line>        pass|drop|delay|to of campaign_proxy, for the numbers that these print:
#   nodes_way <n> <p>         the way between node <n> and PostgreSQL <p>
#   nodes_upstream <p>        the way from standby <p> to its primary
#   nodes_link <n>            the way of the other nodes to node <n>
#   nodes_fail_over [p]       pgc_fail_over, and the ways of the standbys lead to the new primary
#   nodes_write               until some node acknowledges a write, a minute at most
#   nodes_ms                  the time
#   nodes_statuses            with which statuses nodes have ended, "count status ..."
#   nodes_remove              ends all of it
# Before nodes_start may be set: nodes_is_plain=1, no proxy; nodes_port=(ports); nodes_http=(ports), else no HTTP;
# nodes_sentinel=(ports) likewise; nodes_is_guarded=1: they come as an ordinary user, by a password and under TLS
# (pgc_guard); nodes_options=(arguments), for all nodes. NODE_BIN: the program (build/tupled).

nodes_dir='' nodes_at=() leader='' nodes_is_plain='' nodes_is_guarded=''
nodes_keepers=() nodes_links=() nodes_port=() nodes_http=() nodes_sentinel=() nodes_options=() nodes_url=()
nodes_in='' nodes_out='' nodes_proxy_pid=''

nodes_way() {
    echo $((3 * ($1 - 1) + $2))
}

nodes_upstream() {
    echo $((9 + $1))
}

nodes_link() {
    echo $((12 + $1))
}

nodes_proxy() {
    local answer
    echo "$1" >&"$nodes_in"
    read -r -t 10 -u "$nodes_out" answer && [ "$answer" = ok ]
}

nodes_start_proxy() {
    local pairs=() n p port answer
    for p in 1 2 3; do port_take "pgc_upstream[$p]" || return; done
    for n in 1 2 3; do
        nodes_url[n]='postgresql://tupled@'
        for p in 1 2 3; do
            port_take port || return
            pairs+=("$port:${pgc_ports[p]}")
            nodes_url[n]+="127.0.0.1:$port,"
        done
        nodes_url[n]="${nodes_url[n]%,}/postgres?target_session_attrs=read-write"
    done
    for p in 1 2 3; do pairs+=("${pgc_upstream[p]}:${pgc_ports[1]}"); done
    for n in 1 2 3; do
        port_take "nodes_links[$n]" || return
        pairs+=("${nodes_links[n]}:${nodes_port[n]}")
    done
    mkfifo "$nodes_dir/in" "$nodes_dir/out" || return
    "$PWD/build/asan/tests/campaign/campaign_proxy" "${pairs[@]}" <"$nodes_dir/in" >"$nodes_dir/out" 2>&1 &
    nodes_proxy_pid=$!
    exec {nodes_in}>"$nodes_dir/in" {nodes_out}<"$nodes_dir/out"
    read -r -t 10 -u "$nodes_out" answer
    [ "$answer" = ok ] || { echo "the proxy does not start: $answer"; return 1; }
}

# Node <n>, again and again, until there is a file `stop`; while there is a file `rest<n>`, not.
nodes_keep() {
    local n=$1
    while [ ! -e "$nodes_dir/stop" ]; do
        "${NODE_BIN:-build/tupled}" --backend postgresql --postgresql-url "${nodes_url[n]}" --node-name "n$n" \
            --node-address "127.0.0.1:${nodes_links[n]:-${nodes_port[n]}}" --dir "$nodes_dir/n$n" --port "${nodes_port[n]}" \
            --http-port "${nodes_http[n]:-0}" --sentinel-port "${nodes_sentinel[n]:-0}" \
            --logfile "$nodes_dir/n$n.log" "${nodes_options[@]}" \
            >>"$nodes_dir/n$n.out" 2>&1 &
        echo $! >"$nodes_dir/n$n.pid"
        wait $!
        echo $? >>"$nodes_dir/statuses"
        sleep 0.3
        while [ -e "$nodes_dir/rest$n" ] && [ ! -e "$nodes_dir/stop" ]; do sleep 0.1; done
    done
}

nodes_start() {
    local n
    nodes_dir=$(mktemp -d /tmp/tupled-nodes.XXXXXX) || return
    for n in 1 2 3; do [ -n "${nodes_port[n]:-}" ] || port_take "nodes_port[$n]" || return; done
    pgc_prepare || return
    [ -z "$nodes_is_guarded" ] || pgc_guard || return
    nodes_url=('' "$pgc_url" "$pgc_url" "$pgc_url")
    [ -n "$nodes_is_plain" ] || nodes_start_proxy || return
    [ -z "$nodes_is_guarded" ] || for n in 1 2 3; do nodes_url[n]="${nodes_url[n]/tupled@/node@}$pgc_guarded"; done
    pgc_start || return
    for n in 1 2 3; do
        mkdir -m 700 "$nodes_dir/n$n"
        nodes_at+=("127.0.0.1:${nodes_port[n]}")
        nodes_keep "$n" 2>/dev/null &
        nodes_keepers+=($!)
    done
    for ((n = 0; n < 300; n++)); do
        nodes_leader && return
        sleep 0.1
    done
    echo "no node leads"
    tail -n 3 "$nodes_dir"/n?.log "$nodes_dir"/n?.out
    return 1
}

nodes_leader() {
    local holder
    holder=$(pgc_sql "$pgc_lead" 'SELECT holder FROM tupled_leader')
    [[ $holder =~ ^n([123])/ ]] && leader=${BASH_REMATCH[1]}
}

# How often the lead was taken.
nodes_epoch() {
    pgc_sql "$pgc_lead" 'SELECT epoch FROM tupled_leader'
}

nodes_signal() {
    kill "$2" "$(cat "$nodes_dir/n$1.pid")" 2>/dev/null
}

nodes_fail_over() {
    pgc_fail_over "$@" || return
    nodes_proxy "to $(nodes_upstream 1) ${pgc_ports[pgc_lead]}" &&
        nodes_proxy "to $(nodes_upstream 2) ${pgc_ports[pgc_lead]}" &&
        nodes_proxy "to $(nodes_upstream 3) ${pgc_ports[pgc_lead]}"
}

nodes_write() {
    local n end=$((SECONDS + 60))
    while [ "$SECONDS" -lt "$end" ]; do
        for n in 1 2 3; do
            timeout 1 redis-cli -p "${nodes_port[n]}" KV.SUM '["n"]' 1 2>/dev/null | grep -qE '^[0-9a-f]{20}$' && return
        done
        sleep 0.005
    done
    echo "no node takes a write" >&2
    return 1
}

nodes_ms() {
    echo $(($(date +%s%N) / 1000000))
}

nodes_statuses() {
    sort "$nodes_dir/statuses" 2>/dev/null | uniq -c | tr -s ' \n' ' '
}

nodes_remove() {
    local n
    [ -n "$nodes_dir" ] || return 0
    touch "$nodes_dir/stop"
    for n in 1 2 3; do
        nodes_signal "$n" -CONT
        nodes_signal "$n" -KILL
    done
    [ ${#nodes_keepers[@]} = 0 ] || wait "${nodes_keepers[@]}" 2>/dev/null
    pgc_remove
    [ -z "$nodes_proxy_pid" ] || kill -KILL "$nodes_proxy_pid" 2>/dev/null
    wait "$nodes_proxy_pid" 2>/dev/null
    [ -n "${nodes_keep_files:-}" ] || rm -rf "$nodes_dir"
}

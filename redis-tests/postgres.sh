# Sourced after server.sh by scripts that need nodes with `backend postgresql`. tests/postgres/server.sh has PostgreSQL.
#
#   node_start <n> [argument...] the release build; returns at once. Its log is $scratch/node<n>.log
#   node_listens <n>             waits, 30 s at most, until it listens: ${node_port[n]}
#   node_ready <n>               ... and until it leads
#   node_says <n> <pattern> [k]  ... until its log has k lines (1) like this, of grep -E
#   node_signal <n> <signal>     -STOP, -CONT, -KILL, -TERM
#   node_gone <n>                waits until it has ended; its status
#   node <n> <word>...           redis-cli to it
# At the end of the script all of them are killed by process id.

. tests/postgres/server.sh
node_pid=() node_port=()

node_start() {
    local n=$1
    shift
    : >"$scratch/node$n.log"
    mkdir -p -m 700 "$scratch/node$n"
    "${NODE_BIN:-$TUPLED_BIN}" --backend postgresql --postgresql-url "$pg_url" --node-name "node$n" \
        --dir "$scratch/node$n" --port 0 --http-port 0 --logfile "$scratch/node$n.log" "$@" \
        >"$scratch/node$n.out" 2>&1 &
    node_pid[n]=$!
    node_port[n]=''
}

node_listens() {
    local n=$1 tries
    for ((tries = 0; tries < 3000; tries++)); do
        node_port[n]=$(sed -n 's/.*ready to accept connections on .* port \([0-9]*\)$/\1/p' \
            "$scratch/node$n.log" | tail -n 1)
        [ -z "${node_port[n]}" ] || return 0
        kill -0 "${node_pid[n]}" 2>/dev/null || break
        sleep 0.01
    done
    cat "$scratch/node$n.log" "$scratch/node$n.out"
    return 1
}

node_leads() {
    [ "$(grep -oE 'serving as the leader|is no longer the leader' "$scratch/node$1.log" | tail -n 1)" = \
        "serving as the leader" ]
}

node_ready() {
    local n=$1 tries
    node_listens "$n" || return
    for ((tries = 0; tries < 3000; tries++)); do
        node_leads "$n" && return
        kill -0 "${node_pid[n]}" 2>/dev/null || break
        sleep 0.01
    done
    cat "$scratch/node$n.log" "$scratch/node$n.out"
    return 1
}

node_says() {
    local n=$1 tries
    for ((tries = 0; tries < 3000; tries++)); do
        [ "$(grep -cE "$2" "$scratch/node$n.log")" -ge "${3:-1}" ] && return
        sleep 0.01
    done
    tail "$scratch/node$n.log"
    return 1
}

node_signal() {
    kill "$2" "${node_pid[$1]}" 2>/dev/null
}

node_gone() {
    local status
    wait "${node_pid[$1]}" 2>/dev/null
    status=$?
    node_pid[$1]=''
    return "$status"
}

node() {
    local n=$1
    shift
    timeout 60 redis-cli -p "${node_port[n]}" "$@"
}

pg_clean_up() {
    local pid
    for pid in "${node_pid[@]}"; do
        [ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null
    done
    pg_remove
    clean_up
}
trap pg_clean_up EXIT

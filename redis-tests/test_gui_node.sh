#!/bin/bash
# GUIs of npm (redis-tests/gui/package.json) on a database of tuples: their own servers are started, and
# asked what their pages ask them. Those that npm does not have: test_gui_sequences.sh.
export HTTP=1 RELEASE=1 # it is the GUIs that are tested here
. "$(dirname "$0")/server.sh"
. "$(dirname "$0")/libraries.sh"
. "$(dirname "$0")/connect.sh"

gui_pid=''
trap 'stop_gui; clean_up' EXIT

stop_gui() {
    [ -n "$gui_pid" ] || return 0
    kill -KILL "$gui_pid" 2>/dev/null
    wait "$gui_pid" 2>/dev/null
    gui_pid=''
}

# start_gui <name> <program>...: in a directory and home of its own; it listens on port $first.
start_gui() {
    local name=$1 home=$scratch/$1 tries
    shift
    mkdir -p "$home" && cp "$scratch/p3xrs.json" "$home/"
    env -C "$home" HOME="$home" NODE_ENV=production "$@" >"$home/log" 2>&1 &
    gui_pid=$!
    for ((tries = 0; tries < 3000; tries++)); do
        (exec 3<>"/dev/tcp/127.0.0.1/$first") 2>/dev/null && return 0
        kill -0 "$gui_pid" 2>/dev/null || break
        sleep 0.01
    done
    not_ok "$name starts"
    tail -n 20 "$home/log"
    return 1
}

install_gui_node || finish

server_words=(--user gui on '>secret' '~*' '&*' +@all view=tuples)
start_server "${server_words[@]}"

port_take first 3
printf '{"p3xrs":{"http":{"port":%s,"bind":"127.0.0.1"},"connections":{"home-dir":"."},
"static":"","treeDividers":["/",":"]}}' "$first" >"$scratch/p3xrs.json"
start_gui redis-commander node "$gui_home/node_modules/redis-commander/bin/redis-commander.js" \
    --address 127.0.0.1 --port "$first" --nosave --no-log-data --folding-char / \
    --redis-host 127.0.0.1 --redis-port "$port" --redis-username gui --redis-password secret &&
    talk 120 node "$gui_home/redis_commander.js" "$port" "$first"
stop_gui
stop_server

rm -rf "$scratch/data"
start_server "${server_words[@]}"
start_gui p3x node "$gui_home/node_modules/p3x-redis-ui-server/bin/p3xrs.mjs" &&
    talk 120 node "$gui_home/p3x.js" "$port" "$first"
stop_gui
stop_server
finish

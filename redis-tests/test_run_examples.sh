#!/bin/bash
# The programs of examples/, run together against one server: a live watcher, a change consumer, a worker
# pool, and a client that places orders. With redis-py and with node-redis, and the helpers over them. And the quick
# starts for these two and C (docs/quick-*.md) and the tutorials, whose pieces are a program that prints what they say.
. "$(dirname "$0")/server.sh"
. "$(dirname "$0")/libraries.sh"
. "$(dirname "$0")/pages.sh"

orders=4

# Two threads may print into one line.
handled() { grep -o 'done' "$scratch/worked" | wc -l; }

# run_all <name> <program> <ending> <directory>: all four; the orders must be shipped, seen and copied.
run_all() {
    local name=$1 program=$2 ending=$3 dir=$4 pids=() placed
    redis-cli -p "$port" FLUSHALL >/dev/null
    timeout 20 "$program" "$dir/live_watcher.$ending" "$port" >"$scratch/watched" 2>&1 &
    pids+=($!)
    timeout 20 "$program" "$dir/change_consumer.$ending" "$scratch/copy.$ending" "$port" 20 \
        >"$scratch/copied" 2>&1 &
    pids+=($!)
    timeout 20 "$program" "$dir/worker_pool.$ending" "$port" 2 20 >"$scratch/worked" 2>&1 &
    pids+=($!)
    # Until the watcher has read everything, and the consumer too.
    for ((tries = 0; tries < 500; tries++)); do
        [ -s "$scratch/watched" ] && [ -s "$scratch/copy.$ending" ] && break
        sleep 0.02
    done
    placed=$(timeout 20 "$program" "$dir/place_order.$ending" "$port" "$orders" | wc -l)
    for ((tries = 0; tries < 500; tries++)); do
        [ "$(grep -c '"shipped"' "$scratch/watched")" -ge "$orders" ] &&
            [ "$(grep -c '"shipped"' "$scratch/copy.$ending")" -ge "$orders" ] &&
            # The worker hears of its own commit when the watcher does, and tells of it then.
            [ "$(handled)" -ge "$orders" ] && break
        sleep 0.02
    done
    kill "${pids[@]}" 2>/dev/null
    wait "${pids[@]}" 2>/dev/null
    same "$name: orders are placed" "$orders" "$placed"
    same "$name: the watcher saw each shipped" "$orders" "$(grep -c '"shipped"' "$scratch/watched")"
    same "$name: the copy has each shipped" "$orders" \
        "$(grep -c '"shipped"' "$scratch/copy.$ending")"
    same "$name: each was handled once" "$orders" "$(handled)"
    same "$name: nothing went wrong" '' \
        "$(grep -hiE 'error|traceback' "$scratch/watched" "$scratch/copied" "$scratch/worked")"
    same "$name: the queue is empty" "ready 0 leased 0 acked $orders" \
        "$(redis-cli -p "$port" KV.QUEUE STATS example-orders | paste - - |
            awk '$1 ~ /^(ready|leased|acked)$/ { printf "%s%s %s", n++ ? " " : "", $1, $2 }')"
}

# compiled_page <file>: as a program of C with hiredis.
compiled_page() {
    ${CC:-gcc} -Wall -Wextra -Werror -o "$1.out" "$1" -lhiredis && timeout 100 "$1.out"
}

start_server
page docs/quick-c.md c // "$scratch/page.c" compiled_page
if install_python; then
    export PYTHONPATH=clients/python PYTHONDONTWRITEBYTECODE=1
    for name in quick-python tutorial-bookings tutorial-jobs tutorial-chat tutorial-rate-limit; do
        page "docs/$name.md" python '#' "$scratch/page.py" timeout 100 "$python"
    done
    run_all "examples with redis-py" "$python" py examples/python
fi
if build_helpers; then
    # Node looks for packages beside the script: a copy of it gets them there.
    mkdir -p "$scratch/node/node_modules" && cp examples/node/*.mjs "$scratch/node/" &&
        ln -s "$PWD/build/typescript/node_modules/redis" "$typescript_home" "$scratch/node/node_modules/" &&
        mv "$scratch/node/node_modules/typescript" "$scratch/node/node_modules/tupled"
    page docs/quick-node.md js // "$scratch/node/page.mjs" timeout 100 node
    run_all "examples with node-redis" node mjs "$scratch/node"
fi
stop_server
finish

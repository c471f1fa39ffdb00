#!/bin/bash
# node-redis and ioredis, newest versions (redis-tests/node/package.json), installed under build/.
. "$(dirname "$0")/server.sh"
. "$(dirname "$0")/libraries.sh"

install_node || finish

start_server
for script in scenario ioredis; do
    for protocol in default 3 2; do
        timeout 60 node "$node_home/$script.js" "$port" "$protocol" "protocol $protocol"
        status=$?
        [ "$status" -eq 0 ] || failures=$((failures + 1))
        [ "$status" -le 1 ] || not_ok "$script.js by protocol $protocol ends (status $status)"
    done
done
fixed_port=$port
stop_server

for library in redis ioredis; do
    reconnects "$library: a client object goes on after the server restarts" "$fixed_port" \
        node "$node_home/reconnect.js" "$library"
done
finish

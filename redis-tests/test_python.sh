#!/bin/bash
# redis-py, newest version (redis-tests/python/requirements.txt), in an environment under build/.
. "$(dirname "$0")/server.sh"
. "$(dirname "$0")/libraries.sh"

home=$PWD/redis-tests/python
install_python || finish

start_server
for protocol in default 3 2; do
    timeout 60 "$python" "$home/scenario.py" "$port" "$protocol" "protocol $protocol"
    status=$?
    [ "$status" -eq 0 ] || failures=$((failures + 1))
    [ "$status" -le 1 ] || not_ok "the scenario by protocol $protocol ends (status $status)"
done
fixed_port=$port
stop_server

reconnects "redis-py: a client object goes on after the server restarts" "$fixed_port" \
    "$python" "$home/reconnect.py"
finish

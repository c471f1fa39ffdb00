#!/bin/bash
# The clients of test_sentinel.sh that must be compiled: go-redis, Jedis, Lettuce; by Sentinel, and through a node that
# stands by. It fetches much the first time, so `make clients` runs it, not `make test`.
. "$(dirname "$0")/server.sh"
. redis-tests/postgres.sh
. redis-tests/libraries.sh
. redis-tests/sentinels.sh

if ! pg_can || ! command -v redis-cli >/dev/null; then
    skip "clients by Sentinel" "PostgreSQL or redis-cli is not installed (packages postgresql, redis-tools)"
    finish
fi
pg_start || { not_ok "PostgreSQL starts"; exit 1; }
start 1
node_ready 1 || exit 1
leads=1
if build_go; then
    goes_on go-redis "${go_sentinel[@]}"
    plainly=1 goes_on go-redis "${go_sentinel[@]}"
fi
if build_java; then
    goes_on Jedis "${java_sentinel[@]}" jedis
    goes_on Lettuce "${java_sentinel[@]}" lettuce
    plainly=1 goes_on Jedis "${java_sentinel[@]}" jedis
    plainly=1 goes_on Lettuce "${java_sentinel[@]}" lettuce
fi
finish

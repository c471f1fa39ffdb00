#!/bin/bash
# The caches of libraries that must be compiled: Jedis, Lettuce, rueidis (docs/tracking.md). What was read is answered
# without the server until it has changed, also after kill -9. `make clients` runs it, not `make test`.
export HTTP=1 RELEASE=1 # it is the libraries that are tested here
. "$(dirname "$0")/server.sh"
. redis-tests/libraries.sh
. redis-tests/connect.sh

# cache <name> <program>...: runs it. Since the server was last started no command of it was refused but those that
# Redis refuses as well: CLUSTER, by which rueidis asks whether there is a cluster, and Lettuce's CLIENT
# MAINT_NOTIFICATIONS, a subcommand that is none.
cache() {
    talk 120 "${@:2}" "$port"
    same "$1's cache: no command was refused" "" "$(redis-cli -p "$port" INFO commandstats |
        grep -vE '^cmdstat_(cluster|client):' | grep -E '(rejected|failed)_calls=[1-9]')"
}

if ! command -v redis-cli >/dev/null; then
    skip "caches of clients" "redis-cli is not installed (package redis-tools)"
    exit 0
fi
start_server
if build_java; then
    cache Jedis "${java_cache[@]}" jedis
    cache Lettuce "${java_cache[@]}" lettuce
fi
if build_go; then
    cache rueidis "${go_cache[@]}"
fi
stop_server
finish

#!/bin/bash
# Libraries of npm that keep their data in Redis (redis-tests/ecosystem/package.json): each does its
# work here, and the server is killed with -9 meanwhile. Those that need hashes, lists, sets, sorted
# sets or streams are not here: docs/coming-from-redis.md names them.
export HTTP=1 RELEASE=1 # it is the libraries that are tested here
. "$(dirname "$0")/server.sh"
. "$(dirname "$0")/libraries.sh"
. "$(dirname "$0")/connect.sh"

install_ecosystem_node || finish

start_server
for library in redlock rate_limiter_flexible fastify_rate_limit redis_semaphore connect_redis \
    socket_io node_redis_cache; do
    talk 240 node "$ecosystem_home/$library.js" "$port"
done
stop_server
finish

#!/bin/bash
# Libraries of npm that keep jobs and limits in Redis's lists, sets, sorted sets, hashes and streams
# (redis-tests/jobs_node): 1,000 jobs by worker processes, and the server is killed with -9 meanwhile. And socket.io over
# streams, and a stream itself.
export HTTP=1 RELEASE=1 # it is the libraries that are tested here
. "$(dirname "$0")/server.sh"
. "$(dirname "$0")/libraries.sh"
. "$(dirname "$0")/connect.sh"

home=$scratch/jobs_node

install_jobs_node() {
    has_node_20 "job queues of npm" &&
        fetched "job queues of npm" build/jobs-node redis-tests/jobs_node/package.json fetch_node &&
        cp redis-tests/steps.mjs "$scratch/" && cp -r redis-tests/jobs_node "$home" &&
        ln -s "$PWD/build/jobs-node/node_modules" "$home/"
}

install_jobs_node || finish

port_take first # no client gets it meanwhile
start_server --port "$first"
for library in bull bullmq bee_queue rsmq bottleneck socket_io_streams ioredis_streams; do
    talk 120 node "$home/$library.js" "$port"
done
stop_server
finish

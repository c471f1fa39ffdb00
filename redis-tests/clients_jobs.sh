#!/bin/bash
# Job queues whose libraries must be compiled: asynq (redis-tests/jobs_go), 1,000 tasks over kill -9 of the server and of a
# worker. `make clients` runs it, not `make test`.
export HTTP=1 RELEASE=1 # it is the libraries that are tested here
. "$(dirname "$0")/server.sh"
. redis-tests/libraries.sh
. redis-tests/connect.sh

fetch_asynq() {
    printf 'package main\n\nimport _ "github.com/hibiken/asynq"\n\nfunc main() {}\n' >main.go
    timeout 200 go list -mod=mod -deps . >/dev/null
}

build_asynq() {
    has asynq go && fetched asynq build/clients/jobs_go redis-tests/jobs_go/go.mod fetch_asynq &&
        compiled asynq build/clients/jobs_go redis-tests/jobs_go go build -mod=mod -p 2 -o jobs .
}

build_asynq || finish
start_server
mkdir "$scratch/done"
talk 900 "$PWD/build/clients/jobs_go/jobs" "$port" "$scratch/done"
same "asynq: no command was refused but for a script that is not known yet" "" \
    "$(redis-cli -p "$port" INFO errorstats | grep errorstat_ | grep -v '^errorstat_NOSCRIPT:')"
stop_server
finish

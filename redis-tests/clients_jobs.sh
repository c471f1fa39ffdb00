#!/bin/bash
# Job queues in languages that `make test` does not use: asynq (redis-tests/jobs_go), 1,000 tasks over kill -9 of the server
# and of a worker; Sidekiq (redis-tests/jobs_ruby, package ruby-sidekiq), 1,000 jobs over kill -9 of the server. `make clients`
# runs it.
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

# refused <library>: since the server was last started, nothing was but scripts that it did not know yet.
refused() {
    same "$1: no command was refused but for a script that is not known yet" "" \
        "$(redis-cli -p "$port" INFO errorstats | grep errorstat_ | grep -v '^errorstat_NOSCRIPT:')"
}

# ---- asynq ----

run_asynq() {
    start_server
    mkdir "$scratch/done"
    talk 900 "$PWD/build/clients/jobs_go/jobs" "$port" "$scratch/done"
    refused asynq
    stop_server
}
! build_asynq || run_asynq

# ---- Sidekiq ----

export DONE=$scratch/sidekiq.lines REDIS_PORT
ruby_jobs=$PWD/redis-tests/jobs_ruby/jobs.rb

# add_jobs <Ruby>
add_jobs() { ruby -r "$ruby_jobs" -e "$1" >/dev/null 2>"$scratch/ruby"; }
done_jobs() { sort -u "$DONE" 2>/dev/null | wc -l; }
# await_jobs <number> <tenths of a second>: until so many different ones are done
await_jobs() {
    local tries
    for ((tries = 0; tries < $2 && $(done_jobs) < $1; tries++)); do sleep 0.1; done
    [ "$(done_jobs)" -ge "$1" ]
}

# What a killed server has given away and no worker has got is lost, as with Redis: BRPOP, at most once.
run_sidekiq() {
    local worker lost
    start_server
    REDIS_PORT=$port
    check "Sidekiq: 1,000 jobs are added" add_jobs 'Sidekiq::Client.push_bulk("class" => Job, "args" => (0...1000).map { |n| [n] })'
    same "... and are in its queue" 1000 "$(redis-cli -p "$port" LLEN queue:default)"
    sidekiq -r "$ruby_jobs" -c 5 >"$scratch/sidekiq.log" 2>&1 &
    worker=$!
    await_jobs 200 1200
    kill -KILL "$server"
    wait "$server" 2>/dev/null
    check "... there is work left when the server is killed with -9" test "$(done_jobs)" -lt 1000
    sleep 1 # workers notice
    restart_server
    await_jobs 1000 600
    lost=$((1000 - $(done_jobs)))
    check "... all are done, but for what was on its way ($lost of at most 5)" test "$lost" -le 5
    : >"$DONE"
    check "... one that fails, and one that is due later" add_jobs 'Fails.perform_async; Job.perform_in(3, 2000)'
    kill -KILL "$server"
    wait "$server" 2>/dev/null
    restart_server
    check "... are done, also after kill -9" await_jobs 2 1200
    same "... and nothing is left" "0 0 0" \
        "$(redis-cli -p "$port" LLEN queue:default) $(redis-cli -p "$port" ZCARD retry) $(redis-cli -p "$port" ZCARD schedule)"
    kill -TERM "$worker"
    wait "$worker"
    same "... the worker ends" 0 $?
    refused Sidekiq
    stop_server
}
! has Sidekiq sidekiq ruby || run_sidekiq
finish

#!/bin/bash
# Job queues of PyPI (redis-tests/jobs/requirements.txt): each enqueues 1,000 jobs, its own worker does them, and the
# server is killed with -9 meanwhile; none may be lost. Two run at a time, each with a server of its own.
export HTTP=1 RELEASE=1 # it is the libraries that are tested here
. "$(dirname "$0")/server.sh"
. "$(dirname "$0")/libraries.sh"
. "$(dirname "$0")/connect.sh"

# In a shell of its own: it has its own server, directory and count of failures.
library() { # module
    trap clean_up EXIT
    local python=$jobs_python
    [ "$1" != arq_jobs ] || python=$arq_python
    scratch=$scratch/$1
    mkdir -p "$scratch/effects"
    port_take first 3 # none of those that clients get: a worker could connect to itself while the server is away
    start_server --port "$first"
    talk 200 "$python" redis-tests/jobs/drive.py "$port" "$1" "$scratch/effects"
    stop_server
    finish
}

libraries() { # module...
    local each failed=0
    for each in "$@"; do
        (library "$each") || failed=1
    done
    return "$failed"
}

install_jobs_python || finish

export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$PWD/redis-tests/jobs:$PWD/redis-tests/ecosystem
libraries celery_jobs saq_jobs taskiq_jobs taskiq_stream_jobs >"$scratch/said" 2>&1 &
beside=$!
libraries rq_jobs stream_jobs huey_jobs huey_priority_jobs dramatiq_jobs arq_jobs || failures=1
wait "$beside" || failures=1
cat "$scratch/said"
finish

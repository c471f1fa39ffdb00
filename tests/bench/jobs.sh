#!/bin/bash
# bench of job queues: libraries on tupled and on Redis (appendfsync always), and KV.QUEUE on tupled, in turn. Empty jobs,
# enqueued one after the other by one program, then done by one worker, one at a time. Prints a table in Markdown;
# docs/job-queues.md keeps it. BENCH_ROUNDS (5), BENCH_QUIET_S (0) as in sides.sh; JOBS (2000). The libraries are those of
# redis-tests/jobs, jobs_node and jobs_go; where one cannot be fetched its rows are left out, with a line that says so.
# shellcheck disable=SC2034,SC2119,SC2154 # of files that are sourced
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
. tests/bench/release.sh
only=''
jobs=${JOBS:-2000}
. tests/bench/sides.sh
scratch=$dir
skip() { echo "skip - $1: $2"; }
. redis-tests/libraries.sh

# ---- the libraries ----
has_python='' has_node='' has_go=''
! install_jobs_python || has_python=1
fetch_node() { npm install --silent --no-package-lock --no-audit --no-fund; }
if has "job queues of npm" npm node && fetched "job queues of npm" build/jobs-node redis-tests/jobs_node/package.json fetch_node; then
    cp tests/bench/jobs/jobs.mjs build/jobs-node/bench_jobs.mjs && has_node=1
fi
if has asynq go && mkdir "$dir/go" && cp redis-tests/jobs_go/go.mod tests/bench/jobs/main.go "$dir/go/" &&
    env -C "$dir/go" go build -mod=mod -o jobs . >"$dir/go.log" 2>&1; then
    has_go=1
fi

# run <library> <what> <port>: jobs/s.
run() {
    case $1 in
    "KV.QUEUE, redis-py") timeout 300 "$jobs_python" tests/bench/jobs/jobs.py kv "$2" "$jobs" "$3" ;;
    RQ) PYTHONPATH=tests/bench/jobs timeout 300 "$jobs_python" tests/bench/jobs/jobs.py rq "$2" "$jobs" "$3" ;;
    Celery) timeout 300 "$jobs_python" tests/bench/jobs/jobs.py celery "$2" "$jobs" "$3" ;;
    "KV.QUEUE, ioredis") timeout 300 node build/jobs-node/bench_jobs.mjs kv "$2" "$jobs" "$3" ;;
    BullMQ) timeout 300 node build/jobs-node/bench_jobs.mjs bullmq "$2" "$jobs" "$3" ;;
    asynq) timeout 300 "$dir/go/jobs" "$2" "$jobs" "$3" ;;
    esac 2>"$dir/stderr" </dev/null || { tail -n 3 "$dir/stderr" >&2 && return 1; }
}
calls() { # port: of all commands so far
    redis-cli -p "$1" info commandstats | tr -d '\r' | sed -n 's/^[^:]*:calls=\([0-9]*\),.*/\1/p' | awk '{ n += $1 } END { print n + 0 }'
}
measure() { # library, side, port: a line in each of three files
    local name="$dir/${1// /_}.$2" before
    quiet
    redis-cli -p "$3" flushall >/dev/null
    before=$(calls "$3")
    run "$1" enqueue "$3" >>"$name.enqueue" && run "$1" work "$3" >>"$name.work" || return
    awk -v n=$(($(calls "$3") - before)) -v jobs="$jobs" 'BEGIN { printf "%.1f\n", n / jobs }' >>"$name.calls"
}
figures() { # library, side
    local name="$dir/${1// /_}.$2"
    if [ ! -s "$name.work" ]; then echo " - | - | - |" && return; fi
    echo " $(spread "$name.enqueue") | $(spread "$name.work") | $(median <"$name.calls") |"
}

libraries=()
[ -z "$has_python" ] || libraries+=("KV.QUEUE, redis-py" RQ Celery)
[ -z "$has_node" ] || libraries+=("KV.QUEUE, ioredis" BullMQ)
[ -z "$has_go" ] || libraries+=(asynq)
say_machine
start_tupled
start_redis
for _ in $(seq "$rounds"); do
    for library in "${libraries[@]}"; do
        measure "$library" tupled "$tport"
        [[ $library == KV.* ]] || measure "$library" redis "$rport"
    done
done
echo "$jobs jobs a round. Commands are those that the server has run for a job, those of scripts among them:"
echo
echo "| library | tupled: enqueued/s | done/s | commands a job | Redis: enqueued/s | done/s | commands a job |"
echo "| --- | --- | --- | --- | --- | --- | --- |"
for library in "${libraries[@]}"; do
    echo "| $library |$(figures "$library" tupled)$(figures "$library" redis)"
done

#!/bin/bash
# Three nodes on three PostgreSQL under load and failures, one after another, and a judgement of what clients heard
# (tests/campaign). `make test-cluster` is the long one.
# Environment: CAMPAIGN_SECONDS (18), CAMPAIGN_SEED, CAMPAIGN_FAULTS.

. "$(dirname "$0")/server.sh"
. tests/postgres/server.sh

if ! pg_can; then
    skip "a cluster under failures" "PostgreSQL is not installed (package postgresql)"
    finish
fi
faults=${CAMPAIGN_FAULTS:-kill,pause,postgres,cut,stop}
seed=${CAMPAIGN_SEED:-$((RANDOM))}

# A history with an acknowledged write taken out of the end: the judgement must not be good.
lying() {
    local stamp
    tests/campaign/run.sh none 2 "$seed" >"$scratch/none" 2>&1 || return
    [ -d "$CAMPAIGN_KEEP/history" ] || return
    build/asan/tests/campaign/campaign_check "$CAMPAIGN_KEEP"/history/* >"$scratch/verdict" || return
    stamp=$(awk '$1 == "feed" { stamp = $2 } END { print stamp }' "$CAMPAIGN_KEEP/history/end0")
    sed -i "/ $stamp /d; / $stamp\$/d" "$CAMPAIGN_KEEP/history/end0"
    ! build/asan/tests/campaign/campaign_check "$CAMPAIGN_KEEP"/history/* >"$scratch/verdict" &&
        grep -q 'is lost' "$scratch/verdict"
}

# tools/cluster.sh, at ports that are free. What it said is in $scratch/said.
cluster() {
    local first tries
    # shellcheck disable=SC2034
    for ((tries = 0; tries < 100; tries++)); do
        first=$((15000 + SRANDOM % 17000))
        for ((n = first; n < first + 3; n++)); do
            (exec 3<>"/dev/tcp/127.0.0.1/$n") 2>/dev/null && continue 2
        done
        break
    done
    CLUSTER_PORT=$first CLUSTER_LEASE=600 timeout -s INT "$1" tools/cluster.sh >"$scratch/said" 2>&1
}

plays() {
    cluster 60 <<<$'stop 1\nstop 2\nstop 3\nstart 2\nwait\npostgres\nstatus\nquit' || return
    cat "$scratch/said"
    grep -q 'node 2 .* leads' "$scratch/said" && grep -q 'node 1 .* is stopped' "$scratch/said" &&
        grep -q 'PostgreSQL 1 .* is down' "$scratch/said" && grep -q 'PostgreSQL [23] .* primary' "$scratch/said"
}

ends() {
    local directory directories=0 p ports=0
    sleep 30 | cluster 6
    cat "$scratch/said"
    grep -q 'node 1 .* waits\|leads' "$scratch/said" && grep -q '^cluster: stopping' "$scratch/said" || return
    for directory in $(sed -n 's/^data: //p' "$scratch/said"); do
        directories=$((directories + 1))
        [ ! -e "$directory" ] || return
    done
    for p in $(sed -n 's/.*127\.0\.0\.1:\([0-9]*\) .*/\1/p' "$scratch/said"); do
        ports=$((ports + 1))
        ! (exec 3<>"/dev/tcp/127.0.0.1/$p") 2>/dev/null || return
    done
    [ "$directories" = 2 ] && [ "$ports" = 6 ]
}

export NODE_BIN=$TUPLED_BIN
check "make cluster: nodes stop and start, PostgreSQL fails over" plays
check "... and Ctrl-C ends all of it and removes the data" ends
CAMPAIGN_KEEP=$scratch/kept check "without a fault all is good, and a write that is taken out is missed" lying
CAMPAIGN_EVERY=2 check "clients are told the truth (seed $seed)" \
    timeout 200 tests/campaign/run.sh "$faults" "${CAMPAIGN_SECONDS:-18}" "$seed"
cat "$scratch/check"
finish

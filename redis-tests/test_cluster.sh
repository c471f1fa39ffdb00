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

# Whether the judgement is as it should be, 0 for good; says what it was.
judged() {
    local status
    build/asan/tests/campaign/campaign_check "$CAMPAIGN_KEEP"/history/* >"$scratch/verdict" 2>&1
    status=$?
    cat "$scratch/verdict"
    [ "$status" = "$1" ]
}

# A history with an acknowledged write taken out of the end: the judgement must not be good.
lying() {
    local stamp
    tests/campaign/run.sh none 2 "$seed" || return
    [ -d "$CAMPAIGN_KEEP/history" ] && judged 0 || return
    # The last one of all that its client knows of: some of them wait for 60 ms only.
    stamp=$(awk '$1 == "write" { knows[$5] = 1 } $1 == "feed" && $2 in knows { stamp = $2 } END { print stamp }' \
        "$CAMPAIGN_KEEP"/history/client* "$CAMPAIGN_KEEP/history/feed0")
    echo "taken out: $stamp"
    sed -i "/ $stamp /d; / $stamp\$/d" "$CAMPAIGN_KEEP"/history/{feed0,end0}
    judged 1 && grep -q 'is lost' "$scratch/verdict"
}

# tools/cluster.sh, which reads $scratch/words and says $scratch/said; its process is $played.
play() {
    port_take first 3
    : >"$scratch/said"
    # A process in the background would take no notice of Ctrl-C.
    CLUSTER_PORT=$first CLUSTER_LEASE=600 timeout 120 env --default-signal=INT tools/cluster.sh \
        <"$scratch/words" >"$scratch/said" 2>&1 &
    played=$!
}

said() {
    local tries
    for ((tries = 0; tries < 1500; tries++)); do
        ! grep -q "$1" "$scratch/said" || return 0
        sleep 0.02
    done
    cat "$scratch/said"
    return 1
}

plays() {
    play
    printf '%s\n' 'stop 1' 'stop 2' 'stop 3' 'start 2' wait >&7
    said 'node 2 .* leads' && said 'node 1 .* is stopped' || return
    printf '%s\n' postgres status >&7
    said 'PostgreSQL 1 .* is down' && said 'PostgreSQL [23] .* primary'
}

# All that it had started and made is gone.
ends() {
    local directory directories=0 port ports=0
    kill -INT "$(pgrep -P "$played")"
    wait "$played"
    said '^cluster: stopping' || return
    # shellcheck disable=SC2013
    for directory in $(sed -n 's/^data: //p' "$scratch/said"); do
        directories=$((directories + 1))
        [ ! -e "$directory" ] || return
    done
    # shellcheck disable=SC2013
    for port in $(sed -n 's/.*127\.0\.0\.1:\([0-9]*\) .*/\1/p' "$scratch/said" | sort -u); do
        ports=$((ports + 1))
        ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || return
    done
    [ "$directories" = 2 ] && [ "$ports" = 6 ]
}

mkfifo "$scratch/words"
exec 7<>"$scratch/words"
export NODE_BIN=$TUPLED_BIN
check "make cluster: nodes stop and start, PostgreSQL fails over" plays
check "... and Ctrl-C ends all of it and removes the data" ends
CAMPAIGN_KEEP=$scratch/kept check "without a fault all is good, and a write that is taken out is missed" lying
CAMPAIGN_EVERY=2 check "clients are told the truth (seed $seed)" \
    timeout 200 tests/campaign/run.sh "$faults" "${CAMPAIGN_SECONDS:-18}" "$seed"
cat "$scratch/check"
finish

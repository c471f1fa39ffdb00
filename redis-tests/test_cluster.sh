#!/bin/bash
# Three nodes on three PostgreSQL under load and failures, one after another, and a judgement of what clients heard
# (tests/campaign). `make test-cluster` is the long one.
# Environment: CAMPAIGN_SECONDS (24), CAMPAIGN_SEED, CAMPAIGN_FAULTS.

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
    tests/campaign/run.sh none 3 "$seed" >"$scratch/none" 2>&1 || return
    [ -d "$CAMPAIGN_KEEP/history" ] || return
    build/asan/tests/campaign/campaign_check "$CAMPAIGN_KEEP"/history/* >"$scratch/verdict" || return
    stamp=$(awk '$1 == "feed" { stamp = $2 } END { print stamp }' "$CAMPAIGN_KEEP/history/end0")
    sed -i "/ $stamp /d; / $stamp\$/d" "$CAMPAIGN_KEEP/history/end0"
    ! build/asan/tests/campaign/campaign_check "$CAMPAIGN_KEEP"/history/* >"$scratch/verdict" &&
        grep -q 'is lost' "$scratch/verdict"
}

export NODE_BIN=$TUPLED_BIN
CAMPAIGN_KEEP=$scratch/kept check "without a fault all is good, and a write that is taken out is missed" lying
CAMPAIGN_EVERY=2 check "clients are told the truth (seed $seed)" \
    timeout 200 tests/campaign/run.sh "$faults" "${CAMPAIGN_SECONDS:-24}" "$seed"
cat "$scratch/check"
finish

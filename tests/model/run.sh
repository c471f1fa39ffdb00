#!/bin/bash
# Checks tests/model/term.pml with spin in every order of events, within bounds, and that it finds each planted fault.
# `make model` installs what is missing. MODEL_LONG=1: wider bounds, some ten minutes more (with MODEL_SECONDS=600,
# for each search). Prints `ok - name` and `not ok - name` lines.
set -u
cd "$(dirname "$0")/../.." || exit 1
model=$PWD/tests/model/term.pml

for tool in spin gcc; do
    command -v $tool >/dev/null || { echo "skip - the model of who leads: $tool is not installed"; exit 0; }
done
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
failures=0

# explored <search> <definition>...: its output is in $scratch/said. BFS finds the shortest way to an error, DFS needs
# the least memory for all.
explored() {
    local search=$1 optimize=-O2
    shift
    [ "$search" = REACH_ALL ] || optimize=-O1 # it ends soon, and is compiled in half the time
    rm -f pan*
    { spin "$@" -a "$model" && gcc "$optimize" -DSAFETY -DCOLLAPSE -DMEMLIM=4000 -DVECTORSZ=2048 "-D$search" -o pan pan.c &&
        timeout "${MODEL_SECONDS:-150}" ./pan -m100000 -w24; } >said 2>&1
}

not_ok() {
    echo "not ok - $1"
    grep -vE '^$|unreached|term.pml:' said | tail -n 20
    failures=1
}

# holds <name> <definition>...
holds() {
    local name=$1
    shift
    # A search that ran out of time, depth or memory says no elapsed time, or that it is not all.
    if explored REACH_ALL "$@" && grep -q 'errors: 0' said && grep -q 'elapsed time' said &&
        ! grep -qE 'not completed|max search depth too small|reached -D' said; then
        echo "ok - the model holds: $name ($(sed -n 's/^ *\([0-9]*\) states, stored$/\1/p' said) states)"
    else
        not_ok "the model holds: $name"
    fi
}

# finds <name> <definition>...
finds() {
    local name=$1
    shift
    explored BFS "$@"
    if grep -q 'assertion violated' said; then
        echo "ok - the model finds $name ($(sed -n 's/.*(at depth \([0-9]*\)).*/\1/p' said) steps)"
    else
        not_ok "the model finds $name"
    fi
}

holds "two nodes, PostgreSQL restarts and is lost" -DEPOCHS=2 -DBEATS=2
holds "PostgreSQL waits for no standby meanwhile, and is lost" -DEPOCHS=2 -DBEATS=1 -DEMPTIES=1 -DRESTARTS=0
holds "two appends sent at once, PostgreSQL restarts" -DEPOCHS=2 -DBEATS=1 -DAPPENDS_MAX=2 -DLOSSES=0
holds "two appends sent at once, PostgreSQL is lost" -DEPOCHS=2 -DBEATS=1 -DAPPENDS_MAX=2 -DRESTARTS=0
if [ -n "${MODEL_LONG:-}" ]; then
    holds "three beats, PostgreSQL restarts and is lost" -DEPOCHS=2 -DBEATS=3
    holds "two beats, PostgreSQL waits for no standby meanwhile, and is lost" -DEPOCHS=2 -DBEATS=2 -DEMPTIES=1 -DRESTARTS=0
    holds "two appends, three beats, PostgreSQL restarts" -DEPOCHS=2 -DBEATS=3 -DAPPENDS_MAX=2 -DLOSSES=0
    holds "two appends, three beats, PostgreSQL is lost" -DEPOCHS=2 -DBEATS=3 -DAPPENDS_MAX=2 -DRESTARTS=0
    holds "PostgreSQL waits for no standby, restarts and is lost" -DEPOCHS=2 -DBEATS=3 -DEMPTIES=1
    holds "two appends, PostgreSQL restarts and is lost" -DEPOCHS=2 -DBEATS=2 -DAPPENDS_MAX=2
fi
finds "a lease that counts from the answer" -DFAULT_LEASE_FROM_ANSWER
finds "a take-over without waiting" -DFAULT_NO_WAIT
finds "an append that is not fenced" -DFAULT_APPEND_NOT_FENCED
finds "an append ahead of one that was not done" -DFAULT_AHEAD_OF_NOTHING -DAPPENDS_MAX=2
finds "an answer without a lease" -DFAULT_ANSWER_WITHOUT_LEASE
finds "a batch that is found and counts at once" -DFAULT_FOUND_BATCH_COUNTS
finds "a wait that counts from before the row was asked for" -DFAULT_SEEN_FROM_BEFORE
finds "a leader that goes on at another server, which has less" -DFAULT_ANY_SERVER
finds "a commit that is believed where no standby was waited for" -DFAULT_BELIEVED -DEMPTIES=1
exit $failures

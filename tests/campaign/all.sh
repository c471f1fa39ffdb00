#!/bin/bash
# Every fault of the campaign, one after another, as a table (`make test-cluster`). Environment: CAMPAIGN_SECONDS (600, for
# each), CAMPAIGN_FAULTS (all), CAMPAIGN_SEED; see tests/campaign/run.sh. Ends with 1 when a verdict is not good; what was
# wrong is above the table.

set -u
cd "$(dirname "$0")/../.." || exit 2
seconds=${CAMPAIGN_SECONDS:-600}
seed=${CAMPAIGN_SEED:-$((RANDOM))}
read -r -a faults <<<"${CAMPAIGN_FAULTS:-$(tests/campaign/run.sh list)}"
said=$(mktemp) || exit 2
rows=$(mktemp) || exit 2
trap 'rm -f "$said" "$rows"' EXIT
trap 'kill -TERM "$run" 2>/dev/null; wait "$run"; exit 130' INT TERM
worst=0 run=''

for fault in "${faults[@]}"; do
    echo "$(date +%T) $fault, $seconds s, seed $seed"
    timeout $((seconds + 600)) tests/campaign/run.sh "$fault" "$seconds" "$seed" >"$said" 2>&1 &
    run=$!
    wait "$run" || worst=1
    grep -v '^fault=' "$said"
    grep '^fault=' "$said" >>"$rows" || echo "fault=$fault verdict=BAD" >>"$rows"
done
awk '
    BEGIN {
        split("fault seconds faults takeovers asked operations acknowledged unknown refused gap_ms verdict", names, " ")
        printf "| %s", names[1]
        for (i = 2; i <= 11; i++) printf " | %s", names[i]
        printf " |\n|"
        for (i = 1; i <= 11; i++) printf " --- |"
        print ""
    }
    {
        delete of
        for (i = 1; i <= NF; i++) { at = index($i, "="); of[substr($i, 1, at - 1)] = substr($i, at + 1) }
        printf "|"
        for (i = 1; i <= 11; i++) printf " %s |", of[names[i]]
        print ""
    }' "$rows"
exit "$worst"

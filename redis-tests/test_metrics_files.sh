#!/bin/bash
# The board for Grafana and the rules for Prometheus name only what metrics tell; both are well-formed; and other
# parsers than ours take both forms of metrics, written by a unit test's server (tests/unit/http/test_metrics.c).
. "$(dirname "$0")/server.sh"
. "$(dirname "$0")/libraries.sh"

board=conf/grafana/tupled.json
rules=conf/prometheus/tupled.rules.yml
program=build/asan/tests/unit/http/test_metrics
parse=$PWD/redis-tests/metrics_parse.py

# names <file>...: of metrics, as they stand there.
names() {
    grep -ohE 'tupled_[a-z_]+' "$@" | sort -u
}

unknown() {
    names "$@" | comm -23 - "$scratch/known"
}

"$program" --list | sort >"$scratch/known"
for form in text openmetrics; do "$program" "--$form" >"$scratch/$form"; done

same "there are as many names as the board and the rules need" yes \
    "$([ "$(wc -l <"$scratch/known")" -ge 80 ] && echo yes)"
same "the board names what there is" '' "$(unknown "$board")"
same "it names much of it" yes "$([ "$(names "$board" | wc -l)" -ge 50 ] && echo yes)"
same "the rules name what there is" '' "$(unknown "$rules")"
same "they name much of it" yes "$([ "$(names "$rules" | wc -l)" -ge 20 ] && echo yes)"
# In OpenMetrics families of counters have shorter names, which docs/metrics.md does not use.
same "the documents name what there is" '' "$(unknown docs/metrics.md | while read -r name; do
    grep -qE "^${name}_(bucket|sum|count)$" "$scratch/known" || echo "$name"
done)"
same "every alert has a rule that tests it" "$(sed -n 's/.*- alert: //p' "$rules" | sort)" \
    "$(sed -n 's/.*alertname="\([A-Za-z]*\)".*/\1/p' redis-tests/metrics_rules_test.yml | sort)"

# ---- the board ----
if command -v jq >/dev/null; then
    check "the board is JSON" jq -e . "$board"
    same "every panel that is none of a row asks for something" 0 \
        "$(jq '[.panels[] | select(.type != "row") | select((.targets | length) == 0 or any(.targets[]; .expr == ""))] | length' "$board")"
    same "panels have numbers of their own" '' "$(jq '.panels[].id' "$board" | sort | uniq -d)"
    same "all of it is asked of the data source that is chosen" '"${datasource}"' \
        "$(jq '.. | objects | select(.type? == "prometheus" and has("uid")) | .uid' "$board" | sort -u)"
elif command -v python3 >/dev/null; then
    check "the board is JSON" python3 -m json.tool "$board"
else
    skip "the board is JSON" "neither jq nor python3 is installed"
fi

# ---- the rules ----
if command -v promtool >/dev/null; then
    check "promtool takes the rules" promtool check rules "$rules"
    check "each alert is raised by what it is for" promtool test rules redis-tests/metrics_rules_test.yml
    # Those of the board, as if they were rules.
    if command -v jq >/dev/null; then
        {
            printf 'groups:\n- name: board\n  rules:\n'
            jq -r '.panels[].targets[]?.expr | gsub("\\$__rate_interval"; "1m")' "$board" |
                awk '{ gsub(/\047/, "\047\047"); printf "  - {record: x%d, expr: \047%s\047}\n", NR, $0 }'
        } >"$scratch/board.yml"
        check "promtool takes what the board asks" promtool check rules --lint=none "$scratch/board.yml"
    fi
    same "promtool has no complaint about the metrics" '' "$(promtool check metrics <"$scratch/text" 2>&1)"
else
    skip "promtool" "it is not installed (package prometheus)"
fi

# ---- the metrics ----
if install_python; then
    for form in text openmetrics; do
        check "prometheus_client takes the form $form" "$python" "$parse" "$form" \
            tupled_commands_total tupled_queue_messages tupled_command_duration_seconds_bucket <"$scratch/$form"
    done
    refuses() { # <name> <form> <file>
        "$python" "$parse" "$2" <"$3" >"$scratch/refused" 2>&1
        same "$1" 1 "$?"
    }
    refuses "one form is not the other" openmetrics "$scratch/text"
    sed '/^# EOF/d' "$scratch/openmetrics" >"$scratch/broken"
    refuses "without its end it is refused" openmetrics "$scratch/broken"
    sed 's/^tupled_clients /tupled_clients{ /' "$scratch/text" >"$scratch/broken"
    refuses "a broken line is refused" text "$scratch/broken"
    sed 's/^\(tupled_clients .*\)/\1\n\1/' "$scratch/text" >"$scratch/broken"
    refuses "a sample that comes twice is refused" text "$scratch/broken"
    sed 's/^\(tupled_journal_sync_duration_seconds_count\) .*/\1 99999/' "$scratch/text" >"$scratch/broken"
    refuses "a count that is not its buckets' is refused" text "$scratch/broken"
fi
finish

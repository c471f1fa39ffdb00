#!/bin/bash
# Nodes of two formats of the tables, as while tupled is upgraded (docs/cluster.md): those that stand by first, the leader
# last. Clients write all the while: nothing that was acknowledged is missing, and no older node leads over newer tables.

. "$(dirname "$0")/server.sh"
. redis-tests/postgres.sh

if ! pg_can; then
    skip "an upgrade" "PostgreSQL is not installed (package postgresql)"
    finish
fi
writer=''
clean_up_all() {
    [ -z "$writer" ] || kill -KILL "$writer" 2>/dev/null
    pg_clean_up
}
trap clean_up_all EXIT
options=(--lease 3000 --postgresql-durability provider --leader-wait 20000)
newer=1000

# is_upgraded <n>: a clean stop, and a start as a newer tupled.
is_upgraded() {
    node_signal "$1" -TERM
    node_gone "$1" || return
    TUPLED_TEST_FORMAT=$newer node_start "$1" "${options[@]}" && node_listens "$1"
}

# A sum, through node <n>, until there is a file `enough`: how often it was acknowledged goes to sums<n>. One that was not
# may have been done.
write_by() {
    local good=0 doubtful=0
    while [ ! -e "$scratch/enough" ]; do
        if node "$1" INCR "sum$1" 2>/dev/null | grep -qE '^[0-9]+$'; then
            good=$((good + 1))
        else
            doubtful=$((doubtful + 1))
            sleep 0.01
        fi
        echo "$good $doubtful" >"$scratch/sums$1"
    done
}
sum_is_right() {
    local good doubtful sum
    read -r good doubtful <"$scratch/sums$1"
    sum=$(node "$2" GET "sum$1")
    echo "$good acknowledged, $doubtful in doubt, $sum there"
    [ "$good" -gt 0 ] && [ "$sum" -ge "$good" ] && [ "$sum" -le $((good + doubtful)) ]
}
format() { pg_sql 'SELECT format FROM tupled_schema'; }

pg_start || { not_ok "PostgreSQL starts"; exit 1; }
for n in 1 2 3; do
    node_start "$n" "${options[@]}"
    if [ "$n" = 1 ]; then node_ready 1; else node_listens "$n"; fi || exit 1
done
check "the second one stands by" node_says 2 'standing by: node1/.* leads'
write_by 2 2>/dev/null &
writer=$!
older=$(format)

# ---- one that stands by ----
check "a node that stands by is upgraded" is_upgraded 3
check "... and stands by again" node_says 3 'standing by: node1/.* leads'
same "... the tables are newer now" "$newer" "$(format)"
same "the older leader goes on" OK "$(node 1 SET led yes)"
same "... also for those that stand by" yes "$(node 2 GET led)"

# ---- the leader is lost in the middle ----
# The newer one sleeps until the older one could have led.
node_signal 3 -STOP
node_signal 1 -KILL
node_gone 1
check "when it is lost the older one does not lead" \
    node_says 2 "supports formats up to $older and will not lead"
node_signal 3 -CONT
check "... but the newer one" node_ready 3
check "... but it passes clients on" test "$(node 2 GET led)" = yes
node_start 1 "${options[@]}"
node_gone 1
check "an older one does not start any more, and says why" grep -q "have format $newer, but this program supports formats up to $older" "$scratch/node1.log"

# ---- the others, and the leader last ----
: >"$scratch/enough"
wait "$writer"
writer=''
check "nothing that was acknowledged is missing" sum_is_right 2 3
TUPLED_TEST_FORMAT=$newer node_start 1 "${options[@]}"
check "it starts as a newer one" node_listens 1
rm "$scratch/enough"
write_by 1 2>/dev/null &
writer=$!
check "the last one is upgraded" is_upgraded 2
check "the leader hands over" is_upgraded 3
for ((i = 0; i < 1500; i++)); do node_leads 1 || node_leads 2 && break; sleep 0.02; done
check "... and another one leads" test "$i" -lt 1500
: >"$scratch/enough"
wait "$writer"
writer=''
check "nothing that was acknowledged is missing" sum_is_right 1 3
same "... of before" yes "$(node 2 GET led)"
finish

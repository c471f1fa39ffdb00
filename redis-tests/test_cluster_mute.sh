#!/bin/bash
# A leader that may not answer is not mute: no standby of PostgreSQL, a lock on the leader's row, a lock on the log,
# PostgreSQL away, a lock on what the next leader must read, on the users. What depends on nothing that was evaluated is answered all the while, at every node, and says why;
# commands get TRYAGAIN, and have not happened; what was evaluated before is answered when it counts.

. "$(dirname "$0")/server.sh"
. tests/postgres/server.sh
. tests/postgres/cluster.sh
. tests/campaign/nodes.sh

if ! pg_can; then
    skip "a leader that may not answer" "PostgreSQL is not installed (package postgresql)"
    finish
fi
locker=''
clean_up_all() {
    [ -z "$locker" ] || kill -KILL "$locker" 2>/dev/null
    nodes_remove
    clean_up
}
trap clean_up_all EXIT

cli() { timeout 60 redis-cli -p "${nodes_port[leader]}" "$@" 2>&1; }

# What a node answers by itself is there within two seconds; a machine under load may take its time.
of_node() { timeout 10 redis-cli -p "${nodes_port[$1]}" "${@:2}" 2>&1; }
of_sentinel() { timeout 10 redis-cli -p "${nodes_sentinel[$1]}" "${@:2}" 2>&1; }
of_http() { timeout 10 curl -s -w ' %{http_code}' "http://127.0.0.1:${nodes_http[$1]}$2" 2>&1 | tr -d '\n'; }

# until_true <command...>: for 30 seconds at most.
until_true() {
    local end=$((SECONDS + 30))
    while ! "$@" >"$scratch/until"; do
        [ "$SECONDS" -lt "$end" ] || { cat "$scratch/until"; return 1; }
        sleep 0.05
    done
}

logs_of() { echo "$(of_node "$1" SLOWLOG LEN)" "$(of_node "$1" LATENCY RESET)" | sed 's/ [0-9]*$/ OK/'; }

# says <pattern> <command...>
says() {
    local text
    text=$("${@:2}")
    grep -qE "$1" <<<"$text" || { echo "$text"; return 1; }
}

# all_answer <name> <pattern of the cause>: while the leader may not serve. What it says of the cause may be another one
# for a moment, on a machine under load.
all_answer() {
    local n
    check "$1: INFO of the leader says why" until_true says "^cluster_cause:.*$2" of_node "$leader" INFO replication
    check "... it answers PING" says PONG of_node "$leader" PING
    check "... ROLE" says master of_node "$leader" ROLE
    check "... CONFIG" says slowlog-max-len of_node "$leader" CONFIG GET slowlog-max-len
    check "... CLIENT LIST" says 'cmd=client.list' of_node "$leader" CLIENT LIST
    check "... SLOWLOG and LATENCY" says '^[0-9]+ OK$' logs_of "$leader"
    check "... is alive" says ' 200$' of_http "$leader" /livez
    check "... not ready, and says why" until_true says "$2.* 503$" of_http "$leader" '/readyz?verbose'
    check "... and so does Sentinel" until_true says "^NOQUORUM .*$2" of_sentinel "$leader" SENTINEL CKQUORUM mymaster
    for n in 1 2 3; do
        [ "$n" != "$leader" ] || continue
        check "... another node answers PING" says PONG of_node "$n" PING
        check "... INFO" says '^node_name:' of_node "$n" INFO replication
        check "... is alive" says ' 200$' of_http "$n" /livez
        check "... and not ready" says ' 503$' of_http "$n" /readyz
    done
}

# refuses <name> <cause>: commands have not happened, also as a transaction, also by another node.
refuses() {
    local other=$((leader % 3 + 1))
    is_refused "$1: a write is refused, and the reply says why" "^TRYAGAIN .*$2" cli SET refused 1
    is_refused "... by another node too" "^TRYAGAIN .*$2" of_node "$other" SET refused 2
    is_refused "... a request of HTTP too" "TRYAGAIN .*$2.* 503 ?$" timeout 60 curl -s -w ' %{http_code}' \
        -d '["SET","refused","2"]' "http://127.0.0.1:${nodes_http[leader]}/"
    is_refused "... and a transaction, as a whole" "^OK QUEUED QUEUED TRYAGAIN .*$2.* PONG $" transaction
}
transaction() { printf 'MULTI\nSET refused 3\nINCR refused\nEXEC\nPING\n' | cli; }

# is_refused <name> <pattern> <command>...: what it answers, in one line. The lease may end and begin again on a machine
# under load, and the reply says that then: it is asked again. So it is when the connection ends: a leader that has begun
# anew takes writes, and holds their replies, until it notices; if it begins anew once more, they are unknown. A write that is
# taken is told at once.
unknown=''
is_refused() {
    local name=$1 pattern=$2 reply='' end=$((SECONDS + 100))
    shift 2
    while [ "$SECONDS" -lt "$end" ]; do
        reply=$("$@" 2>&1 | tr '\n' ' ')
        grep -qE "$pattern" <<<"$reply" && break
        sleep 0.05
        grep -q TRYAGAIN <<<"$reply" && continue
        has_ended "$reply" || break
        unknown=yes
    done
    check "$name" says "$pattern" echo "$reply"
}
has_ended() { grep -qE '^(OK QUEUED QUEUED )?$|000 ?$|closed the connection|Could not connect|reset by peer' <<<"$1"; }

# goes_on <name>
goes_on() {
    check "$1: it goes on" until_true serves
    if [ -z "$unknown" ]; then
        check "... what was refused has not happened" until_true says '^$' cli GET refused
    else
        check "... what is unknown has happened whole, or not at all" until_true says '^[124]?$' cli GET refused
        cli DEL refused >/dev/null
        unknown=''
    fi
    check "... the leader is ready" until_true is_ready
    check "... and Sentinel knows it" until_true is_known
}
# Another one may lead in between, on a machine under load.
is_ready() { nodes_leader && says ' 200$' of_http "$leader" /readyz; }
is_known() { nodes_leader && says '^OK ' of_sentinel "$leader" SENTINEL CKQUORUM mymaster; }
serves() { nodes_leader && says '^cluster_writable:1' of_node "$leader" INFO replication; }

# lock <statement>: a session has the lock, until unlock.
lock() {
    PGAPPNAME=locker "$pg_bin/psql" -qAtX -h 127.0.0.1 -p "${pgc_ports[pgc_lead]}" -U tupled -d postgres \
        -c "BEGIN; $1; SELECT pg_sleep(600)" >/dev/null 2>&1 &
    locker=$!
    until_true says locker pgc_sql "$pgc_lead" \
        "SELECT application_name FROM pg_stat_activity WHERE application_name = 'locker' AND query LIKE '%pg_sleep%'
         AND wait_event = 'PgSleep'"
}

unlock() {
    pgc_sql "$pgc_lead" "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'locker'" \
        >/dev/null
    wait "$locker" 2>/dev/null
    locker=''
}

# What is evaluated is told only when it counts, whatever comes of it.
hold() {
    cli SET held "$1" >"$scratch/held" &
    held=$!
}
held_is_true() {
    local reply
    wait "$held"
    reply=$(cat "$scratch/held")
    case $reply in
    OK) same "... what was acknowledged is there" "$1" "$(cli GET held)" ;;
    TRYAGAIN*) check "... what was refused is not there" test "$(cli GET held)" != "$1" ;;
    *) check "... a connection that ended has said nothing" test -z "${reply##*closed*}" ;;
    esac
}

# One reply, that to MULTI, and the end.
no_transaction() {
    local all
    exec 9<>"/dev/tcp/127.0.0.1/${nodes_port[$1]}" || return
    printf 'MULTI\r\nSET refused 5\r\nEXEC\r\n' >&9
    all=$(timeout 20 cat <&9) || all+=' (and it goes on)'
    exec 9>&-
    [ "$(wc -l <<<"$all")" = 1 ] && echo "${all#-}"
}

for n in 1 2 3; do
    port_take "nodes_port[$n]" && port_take "nodes_http[$n]" && port_take "nodes_sentinel[$n]"
done
nodes_options=(--lease 1000 --leader-wait 1500)
nodes_start || { not_ok "three nodes on three PostgreSQL"; finish; }
check "a node leads" until_true serves

# ---- no standby has what is written ----
head -c 12000000 /dev/zero | tr '\0' v | cli -x SET large >/dev/null
if command -v python3 >/dev/null; then
    coproc reader { python3 redis-tests/python/slow_reader.py "${nodes_port[leader]}" large; }
    read -r begun <&"${reader[0]}"
    check "a client has the beginning of a large reply" test "$begun" -gt 0
else
    skip "a large reply" "there is no Python"
fi
for n in 2 3; do nodes_proxy "drop $(nodes_upstream "$n")"; done
hold 1
all_answer "no standby" 'standby'
if [ -n "${begun:-}" ]; then
    echo >&"${reader[1]}"
    read -r begun <&"${reader[0]}"
    check "... what was evaluated before is not sent on ($begun bytes so far)" test "$begun" -lt 12000000
fi
refuses "no standby" 'standby'
check "... the others know of no leader" says '^$' of_sentinel "$((leader % 3 + 1))" \
    SENTINEL get-master-addr-by-name mymaster
for n in 2 3; do nodes_proxy "pass $(nodes_upstream "$n")"; done
goes_on "the standbys are back"
held_is_true 1
if [ -n "${begun:-}" ]; then
    # "$12000000", the value, and the ends of two lines; or another node is the leader. On a machine under load the lease may
    # end and begin again, and the reply comes in pieces.
    end=$((SECONDS + 100))
    until grep -qE '^(12000013|ended)$' <<<"$begun" || [ "$SECONDS" -ge "$end" ]; do
        echo >&"${reader[1]}"
        read -r begun <&"${reader[0]}" || break
    done
    check "... and the rest of the reply comes ($begun)" grep -qE '^(12000013|ended)$' <<<"$begun"
    exec {reader[1]}>&-
    wait "$reader_PID"
fi

# ---- the leader's row is locked ----
check "a session locks the leader's row" lock "SELECT epoch FROM tupled_leader FOR UPDATE"
all_answer "a lock on the row" 'lock of process [0-9]+ .locker'
refuses "a lock on the row" 'lock of process [0-9]+ .locker'
check "... a log says so" until_true grep -q 'cannot renew the lease: PostgreSQL' "$nodes_dir"/n?.log
unlock
goes_on "the row is free"

starts_of() { grep -c 'is starting' "$nodes_dir/n$1.log"; }
all_starts() { echo "$(starts_of 1) $(starts_of 2) $(starts_of 3)"; }

# ---- the log is locked: the lease goes on ----
starts=$(all_starts)
same "a key" OK "$(cli SET known 1)"
check "a session locks the log" lock "LOCK TABLE tupled_log IN SHARE MODE"
hold 2
all_answer "a lock on the log" 'lock of process [0-9]+ .locker'
refuses "a lock on the log" 'lock of process [0-9]+ .locker'
same "... reads are answered" 1 "$(cli GET known)"
same "... and Sentinel knows the leader" "127.0.0.1" \
    "$(of_sentinel "$leader" SENTINEL get-master-addr-by-name mymaster | head -n 1)"
if [ "$(all_starts)" = "$starts" ]; then
    check "... what was evaluated waits" kill -0 "$held"
    unlock
    goes_on "the log is free"
    wait "$held"
    same "... what was evaluated is acknowledged" OK "$(cat "$scratch/held")"
    same "... and there" 2 "$(cli GET held)"
else # on a machine under load its lease has ended, and a leader began anew
    unlock
    goes_on "the log is free"
    held_is_true 2
fi

# ---- PostgreSQL does not respond ----
for p in 1 2 3; do for n in 1 2 3; do nodes_proxy "drop $(nodes_way "$n" "$p")"; done; done
hold 3
all_answer "PostgreSQL does not respond" 'PostgreSQL|its lease has expired'
refuses "PostgreSQL does not respond" 'PostgreSQL|its lease has expired'

# ---- ... and the leader is dead ----
: >"$nodes_dir/rest$leader"
nodes_signal "$leader" -KILL
other=$((leader % 3 + 1))
check "no leader: a node that stands by says why" until_true says '^cluster_cause:.*PostgreSQL' \
    of_node "$other" INFO replication
check "... that it is none itself" says '^role:slave' of_node "$other" INFO replication
check "... and so it refuses" says '^TRYAGAIN no leader: .*PostgreSQL' of_node "$other" SET refused 4
check "... a MULTI that was refused ends the connection: what follows it is none" \
    says '^TRYAGAIN' no_transaction "$other"
check "... Sentinel" says '^NOQUORUM .*PostgreSQL' of_sentinel "$other" SENTINEL CKQUORUM mymaster
rm "$nodes_dir/rest$leader"
for p in 1 2 3; do for n in 1 2 3; do nodes_proxy "pass $(nodes_way "$n" "$p")"; done; done
goes_on "PostgreSQL is back"
held_is_true 3

# ---- the leader is dead, and what the next one must read is locked ----
about_to_lead() {
    local n
    for n in 1 2 3; do
        [ "$n" != "$dead" ] && says '^cluster_cause:.*about to lead' of_node "$n" INFO replication >/dev/null && return
    done
    echo "no node is about to lead"
    return 1
}
nodes_leader
dead=$leader
check "a session locks what a new leader reads" lock "LOCK TABLE tupled_count IN ACCESS EXCLUSIVE MODE"
: >"$nodes_dir/rest$dead"
nodes_signal "$dead" -KILL
check "a node that is about to lead says so, while it waits" until_true about_to_lead
unlock
goes_on "what it reads is free"
same "... and has what was there" 1 "$(cli GET known)"
rm "$nodes_dir/rest$dead"

# ---- a leader begins anew, and cannot read the users ----
has_begun_anew() { [ "$(starts_of "$1")" -gt "$2" ]; }
check "the leader is ready" until_true is_ready
same "a user that nothing but PostgreSQL keeps" OK "$(cli ACL SETUSER kept on '>secret' '+@all' '~*')"
begun=$(starts_of "$leader")
check "a session locks the users" lock "LOCK TABLE tupled_users IN ACCESS EXCLUSIVE MODE"
pgc_sql "$pgc_lead" "UPDATE tupled_leader SET epoch = epoch + 1, holder = 'another/0', beat = 1" >/dev/null
check "the leader hears that another one leads, and begins anew" until_true has_begun_anew "$leader" "$begun"
check "... it lets clients in at once" until_true says '^node_name:' of_node "$leader" INFO replication
check "... each of the users" says '^PONG' of_node "$leader" --user kept --pass secret --no-auth-warning PING
check "... with their passwords" says 'WRONGPASS' of_node "$leader" --user kept --pass other --no-auth-warning PING
unlock
goes_on "the users can be read"
finish

#!/bin/bash
# Users with several nodes: kept in PostgreSQL, the same at each node, changed only when that is written
# (docs/cluster.md).

. "$(dirname "$0")/server.sh"
. redis-tests/postgres.sh

if ! pg_can; then
    skip "nodes on PostgreSQL" "PostgreSQL is not installed (package postgresql)"
    finish
fi
export NODE_BIN=$PWD/build/asan/tupled REDISCLI_AUTH=
# A lease that lasts on a machine under load: a leader that has lost it has another port.
options=(--lease 5000 --postgresql-durability provider --leader-wait 3000)

as() { # node, user, password, words
    timeout 60 redis-cli --no-auth-warning -p "${node_port[$1]}" --user "$2" --pass "$3" "${@:4}" 2>&1
}
soon() { # what it should say at last, then a command
    local i said
    for ((i = 0; i < 500; i++)); do
        said=$("${@:2}")
        [ "$said" = "$1" ] && break
        sleep 0.02
    done
    echo "$said"
}

pg_start || { not_ok "PostgreSQL starts"; exit 1; }
node_start 1 "${options[@]}" --requirepass first --user ann on '>a' '~*' +@all
node_ready 1 || exit 1
node_start 2 "${options[@]}" --user ann on '>other' '~*' +@all --user bob on nopass '~*' +@all
node_says 2 'standing by: node1/.* leads' || exit 1
node_listens 2

# ---- the first leader fills it ---------------------------------------------------------------------

same "the configured password holds" PONG "$(as 1 default first PING)"
same "... at the other node too, which has none configured" PONG "$(soon PONG as 2 default first PING)"
same "... where nobody comes in without" "NOAUTH Authentication required." "$(node 2 PING)"
same "the configured user" PONG "$(as 2 ann a PING)"
check "a password that is only configured there does not" grep -q WRONGPASS <(as 2 ann other PING)
check "nor a user" grep -q WRONGPASS <(as 2 bob any PING)
check "the log names those that differ" \
    grep -q 'the users of the configuration differ from those in PostgreSQL, which are used: ann, bob$' "$scratch/node2.log"
check "... and no password or hash" bash -c "! grep -E 'are used:.*(#|>)' '$scratch/node2.log'"

# ---- changes ---------------------------------------------------------------------------------------

same "a new user" OK "$(as 1 default first ACL SETUSER eve on '>e' '~*' +@all)"
same "... is known at once where he was made" PONG "$(as 1 eve e PING)"
same "... and soon at the other node" PONG "$(soon PONG as 2 eve e PING)"
same "a change by a node that stands by" OK "$(as 2 default first ACL SETUSER eve resetpass '>e2')"
same "... holds at the leader" PONG "$(as 1 eve e2 PING)"
check "... the old password no more" grep -q WRONGPASS <(as 1 eve e PING)
same "... and at the node" PONG "$(soon PONG as 2 eve e2 PING)"
check "a change that is wrong changes nothing" grep -q "^ERR Error in ACL SETUSER" \
    <(as 1 default first ACL SETUSER eve '>e3' nonsense)
same "... of the password before it" PONG "$(as 1 eve e2 PING)"
same "many at once" "40" "$(for ((i = 0; i < 40; i++)); do as $((1 + i % 2)) default first ACL SETUSER "u$i" on '>p' +@all & done | grep -c OK)"
same "... are all there" 43 "$(as 1 default first ACL USERS | wc -l)"
same "... soon at the other node" PONG "$(soon PONG as 2 u1 p PING)"
exec 3<>"/dev/tcp/127.0.0.1/${node_port[2]}"
printf 'AUTH u1 p\r\nPING\r\n' >&3
read -r -t 10 _ <&3
read -r -t 10 said <&3
same "somebody is connected to the other node" "+PONG" "${said%$'\r'}"
same "he is deleted, with another one" 2 "$(as 1 default first ACL DELUSER u1 u2 nobody)"
check "... and his connection ends" timeout 10 cat <&3
exec 3>&-
check "... he is gone there" grep -q WRONGPASS <(as 2 u1 p PING)
same "default stays" "ERR The 'default' user cannot be removed" "$(as 1 default first ACL DELUSER u3 default)"
same "... and so does the other one" PONG "$(as 1 u3 p PING)"
check "ACL SAVE says where they are" grep -q '^ERR users are stored in PostgreSQL' <(as 1 default first ACL SAVE)
check "ACL LOAD too" grep -q '^ERR users are stored in PostgreSQL' <(as 1 default first ACL LOAD)
check "requirepass too" grep -q '^ERR .*ACL SETUSER default' <(as 1 default first CONFIG SET requirepass x)
same "... which is as it was" PONG "$(as 1 default first PING)"
pg_sql 'ALTER TABLE tupled_users ADD CONSTRAINT closed CHECK (generation < 0) NOT VALID' >/dev/null
check "a change that PostgreSQL refuses is an error" grep -q '^ERR .*closed' <(as 1 default first ACL SETUSER ghost on '>g' +@all)
check "... and has not happened" grep -q WRONGPASS <(as 1 ghost g PING)
pg_sql 'ALTER TABLE tupled_users DROP CONSTRAINT closed' >/dev/null
same "... and later ones do" OK "$(as 1 default first ACL SETUSER u4 on '>p4')"
same "tupledctl knows" "" "$(TUPLEDCTL_PASSWORD=first build/tupledctl -u "redis://default@127.0.0.1:${node_port[1]}" user rules u3 +get 2>&1 | grep "is lost")"

# ---- another leader --------------------------------------------------------------------------------

same "a user is made ..." OK "$(as 1 default first ACL SETUSER last on '>l' '~*' +@all)"
node_signal 1 -KILL
node_gone 1
node_says 2 'serving as the leader' || exit 1
same "... and known to the next leader" PONG "$(as 2 last l PING)"
same "... who can change him" OK "$(as 2 default first ACL SETUSER last resetpass '>l2')"
node_start 1 "${options[@]}"
node_says 1 'standing by: node2/.* leads' || exit 1
node_listens 1
same "a node that comes later knows all of it" PONG "$(soon PONG as 1 last l2 PING)"
check "... and has nothing to say about its configuration" bash -c "! grep -q 'which are used' '$scratch/node1.log'"

# ---- PostgreSQL is away ----------------------------------------------------------------------------

node_signal 1 -KILL
node_gone 1
pg_kill
(as 2 default first ACL SETUSER late on '>x' +@all >"$scratch/late") &
writes=$!
sleep 0.5
check "a change waits for PostgreSQL" test ! -s "$scratch/late"
node_start 3 "${options[@]}" --user door on nopass '~*' +@all
node_listens 3
node 3 MSET a 1 b 2 c 3 d 4 e 5 f 6 >"$scratch/long" &
long=$!
check "a node that knows no users refuses every client, and says why" \
    grep -q 'TRYAGAIN the users are not loaded yet: PostgreSQL: .*No such file' <(node 3 PING)
check "... not by what it has configured" grep -q 'TRYAGAIN the users are not loaded yet' <(as 3 door any PING)
wait $long
check "... nor is a command told anything else that is long for a stranger" \
    grep -q 'TRYAGAIN the users are not loaded yet' "$scratch/long"
pg_start || not_ok "PostgreSQL starts again"
wait $writes
same "it is done then" OK "$(<"$scratch/late")"
same "... at the node that came meanwhile too" PONG "$(soon PONG as 3 late x PING)"
node_signal 2 -KILL
node_signal 3 -KILL
node_gone 2
node_gone 3
pg_sql 'ALTER TABLE tupled_users RENAME text TO hidden' >/dev/null
node_start 1 "${options[@]}" --leader-wait 30000
node_listens 1
as 1 late x PING >"$scratch/early" &
early=$!
check "without the users nobody leads" node_says 1 'standing by: users not loaded'
pg_sql 'ALTER TABLE tupled_users RENAME hidden TO text' >/dev/null
wait $early
same "... and who comes early waits for them" PONG "$(<"$scratch/early")"

finish

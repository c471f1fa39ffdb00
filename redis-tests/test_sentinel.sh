#!/bin/bash
# Sentinel's commands on a port of their own, and libraries that find the leader by them (docs/cluster.md).

. "$(dirname "$0")/server.sh"
. redis-tests/postgres.sh
. redis-tests/libraries.sh
. redis-tests/sentinels.sh

if ! pg_can; then
    skip "nodes on PostgreSQL" "PostgreSQL is not installed (package postgresql)"
    finish
fi
# What a flat list of names and values says of one name.
of() { grep -xA 1 "$1" | tail -n 1; }

pg_start || { not_ok "PostgreSQL starts"; exit 1; }
start 1
check "a node leads" node_ready 1
start 2
start 3
for n in 2 3; do node_says $n 'standing by: node1/.* leads'; done
# Each node hears of the others in its own time.
for ((i = 0; i < 500; i++)); do
    [ "$(ask 1 SENTINEL SENTINELS mymaster | grep -cx runid)$(ask 2 SENTINEL SENTINELS mymaster | grep -cx runid)" = 22 ] && break
    sleep 0.02
done

# ---- the commands ----------------------------------------------------------------------------------

same "PING" PONG "$(ask 1 PING)"
for n in 1 2 3; do
    same "who leads, says node $n" "127.0.0.1 ${node_port[1]}" "$(ask $n SENTINEL GET-MASTER-ADDR-BY-NAME mymaster | xargs)"
done
same "... of another name" "" "$(ask 1 SENTINEL get-master-addr-by-name other)"
same "the master" "mymaster 127.0.0.1 ${node_port[1]} master 2 2" "$(ask 2 SENTINEL MASTER mymaster >"$scratch/m"
    for name in name ip port flags num-slaves num-other-sentinels; do of $name <"$scratch/m"; done | xargs)"
same "all masters" 1 "$(ask 3 SENTINEL MASTERS | grep -cx ip)"
same "those who stand by" "$(printf '%s\n' "${node_port[@]:2:2}" | sort | xargs)" \
    "$(ask 1 SENTINEL REPLICAS mymaster | grep -xA 1 port | grep -E '^[0-9]+$' | sort | xargs)"
same "... in Redis's old word" 2 "$(ask 2 SENTINEL SLAVES mymaster | grep -cx ip)"
same "the other Sentinels" "$(printf '%s\n' "${sentinel_port[@]:2:2}" | sort | xargs)" \
    "$(ask 1 SENTINEL SENTINELS mymaster | grep -xA 1 port | grep -E '^[0-9]+$' | sort | xargs)"
check "CKQUORUM" grep -q '^OK 3 usable Sentinels' <(ask 1 SENTINEL CKQUORUM mymaster)
same "no such master" "ERR No such master with that name" "$(ask 1 SENTINEL MASTER other)"
check "other words are refused, and say what there is" grep -q 'SENTINEL supports MASTERS' <(ask 1 SENTINEL FAILOVER mymaster)
same "a command of data" "ERR unknown command 'GET': this port speaks the Sentinel protocol" "$(ask 1 GET a)"
same "ROLE" "sentinel mymaster" "$(ask 2 ROLE | xargs)"
same "INFO" "1 ok" "$(ask 2 INFO | tr -d '\r' | sed -nE 's/^sentinel_masters:(.*)/\1/p; s/.*,status=([a-z]*),.*/\1/p' | xargs)"
same "CLIENT SETNAME" "OK me" "$(printf 'CLIENT SETNAME me\nCLIENT GETNAME\n' | ask 1 | xargs)"
same "RESP3 has maps" '%20' "$(printf 'HELLO 3\r\nSENTINEL MASTER mymaster\r\nQUIT\r\n' |
    timeout 5 bash -c "exec 3<>/dev/tcp/127.0.0.1/${sentinel_port[1]}; cat >&3; cat <&3" | tr -d '\r' | grep -x '%20')"
same "too few words" "ERR wrong number of arguments for 'SENTINEL' command" "$(ask 1 SENTINEL)"
same "the nodes in ROLE" "$(printf '%s\n' "${node_port[@]:2:2}" | sort | xargs)" \
    "$(node 1 ROLE | grep -xE '[0-9]{4,5}' | sort -u | xargs)"
same "... and in INFO" 2 "$(node 1 INFO replication | tr -d '\r' | sed -n 's/^connected_slaves://p')"
same "... each with a line" 2 "$(node 2 INFO replication | grep -cE '^slave[01]:ip=127.0.0.1,port=[0-9]+,state=online')"
same "SENTINEL is no command of the port of data" ERR "$(node 1 SENTINEL MASTERS | cut -c1-3)"
same "garbage" "ERR Protocol error: invalid multibulk length" "$(printf '*x\r\n' |
    timeout 5 bash -c "exec 3<>/dev/tcp/127.0.0.1/${sentinel_port[1]}; cat >&3; cat <&3" | tr -d '\r-')"

node 1 ACL SETUSER default resetpass '>secret' >/dev/null
for ((i = 0; i < 500; i++)); do
    ask 2 PING | grep -q NOAUTH && break
    sleep 0.02
done
same "who has not said AUTH is told nothing" "NOAUTH Authentication required." "$(ask 2 SENTINEL MASTERS)"
check "a wrong password" grep -q WRONGPASS <(ask 2 AUTH wrong)
same "the password of the server" PONG "$(ask 2 --no-auth-warning -a secret PING)"
same "... by HELLO" secret "$(printf 'HELLO 3 AUTH default secret\r\nPING secret\r\nQUIT\r\n' |
    timeout 5 bash -c "exec 3<>/dev/tcp/127.0.0.1/${sentinel_port[2]}; cat >&3; cat <&3" | tr -d '\r' | grep -x secret)"
redis-cli -p "${node_port[1]}" --no-auth-warning -a secret ACL SETUSER default nopass >/dev/null
for n in 2 3; do
    for ((i = 0; i < 500; i++)); do
        ask $n PING | grep -q PONG && break
        sleep 0.02
    done
done

# ---- another leads ---------------------------------------------------------------------------------

(sleep 20) | timeout 60 redis-cli -p "${sentinel_port[3]}" SUBSCRIBE +switch-master >"$scratch/switch" &
one=$!
(sleep 20) | timeout 60 redis-cli -p "${sentinel_port[3]}" PSUBSCRIBE '+s*' 'x*' >"$scratch/pattern" &
two=$!
until grep -q subscribe "$scratch/switch" && grep -q 'x\*' "$scratch/pattern"; do sleep 0.02; done
check "another node follows the one that is killed" killed 1
for ((i = 0; i < 500; i++)); do
    grep -q "^mymaster" "$scratch/switch" && grep -q "^mymaster" "$scratch/pattern" && break
    sleep 0.02
done
wanted="mymaster 127.0.0.1 ${node_port[1]} 127.0.0.1 ${node_port[leads]}"
same "who listens is told" "$wanted" "$(grep '^mymaster' "$scratch/switch")"
same "... by a pattern too" "pmessage +s* +switch-master $wanted" "$(grep -B 3 '^mymaster' "$scratch/pattern" | xargs)"
kill $one $two 2>/dev/null
same "all say who leads" "${node_port[leads]} ${node_port[leads]}" \
    "$(for n in 2 3; do ask $n SENTINEL GET-MASTER-ADDR-BY-NAME mymaster | tail -n 1; done | xargs)"
check "the one that is gone is down, in the end" bash -c "for ((i = 0; i < 500; i++)); do
    redis-cli -p ${sentinel_port[leads]} SENTINEL REPLICAS mymaster | grep -q s_down,slave && exit 0; sleep 0.02; done; exit 1"

# ---- libraries -------------------------------------------------------------------------------------

if install_python; then goes_on redis-py "$python" redis-tests/python/sentinel.py; fi
if install_node; then goes_on ioredis node "$node_home/sentinel.js"; fi

# ---- before the users are known --------------------------------------------------------------------

for n in 1 2 3; do
    [ -z "${node_pid[n]}" ] || { node_signal "$n" -KILL; node_gone "$n"; }
done
pg_kill
start 1
check "without PostgreSQL a node says why it answers nothing" \
    grep -q '^TRYAGAIN the users are not loaded yet: PostgreSQL' <(ask 1 SENTINEL CKQUORUM mymaster 2>&1)
check "... also to who gives a password" grep -q '^TRYAGAIN the users' <(ask 1 AUTH wrong 2>&1)
exec 3<>"/dev/tcp/127.0.0.1/${sentinel_port[1]}"
pg_start || not_ok "PostgreSQL starts"
check "... and when it leads" node_ready 1
printf 'SENTINEL GET-MASTER-ADDR-BY-NAME mymaster\r\n' >&3
same "a connection of before is served" "${node_port[1]}" "$(timeout 60 head -n 5 <&3 | tr -d '\r' | tail -n 1)"
exec 3>&-
finish

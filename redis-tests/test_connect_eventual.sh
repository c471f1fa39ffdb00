#!/bin/bash
# KV Connect with several nodes: the leader tells clients to read at nodes that stand by, with consistency "eventual", and
# those answer such reads themselves (docs/deno.md).

. "$(dirname "$0")/server.sh"
. redis-tests/postgres.sh
. redis-tests/libraries.sh
. redis-tests/connect.sh

if ! pg_can; then
    skip "KV Connect with several nodes" "PostgreSQL is not installed (package postgresql)"
    finish
fi
for tool in curl redis-cli xxd; do
    command -v "$tool" >/dev/null || { skip "KV Connect with several nodes" "$tool is not installed"; finish; }
done
export NODE_BIN=$PWD/build/asan/tupled
options=(--lease 3000 --postgresql-durability provider --leader-wait 10000 --requirepass secret-token-123)

at() { echo "http://127.0.0.1:$((first + $1))"; }
start() { # node
    node_start "$1" "${options[@]}" --http-port $((first + $1)) --node-http-address "$(at "$1")"
}
pg_start || { not_ok "PostgreSQL starts"; exit 1; }
port_take first 3
for n in 1 2; do
    start "$n"
    if [ "$n" = 1 ]; then node_ready 1; else node_says "$n" 'standing by: node1/.* leads'; fi || exit 1
    node_listens "$n"
done
cli() { node "$@" 2>/dev/null; }
export REDISCLI_AUTH=secret-token-123

opens() { # node: what it says
    curl -s -m 20 -H "authorization: Bearer ${2:-secret-token-123}" -d '{"supportedVersions":[3]}' "$(at "$1")/connect"
}
until_is() { # wanted, command
    local wanted=$1 i
    shift
    for ((i = 0; i < 500; i++)); do
        [ "$("$@")" != "$wanted" ] || return 0
        sleep 0.02
    done
    "$@"
    return 1
}
eventual() { opens "$1" | grep -o '"url":"[^"]*","consistency":"eventual"' | cut -d '"' -f 4; }

check "the leader tells where to read" until_is "$(at 2)/connect/eventual" eventual 1
same "... also by a node that stands by" "$(at 2)/connect/eventual" "$(eventual 2)"
token=$(opens 1 | grep -o '"token":"[^"]*"' | cut -d '"' -f 4)
id=$(opens 1 | grep -o '"databaseId":"[^"]*"' | cut -d '"' -f 4)

cli 1 KV.SET '["a"]' '"v8"' >/dev/null
echo 0a0d0a030261001204026100001801 | xxd -r -p >"$scratch/body" # what is at ["a"]
ask() { # node, path, token: the status and the answer in hex
    curl -s -m 20 -o "$scratch/answer" -w '%{http_code} ' --data-binary @"$scratch/body" -H 'x-denokv-version: 3' \
        -H "x-denokv-database-id: $id" -H "authorization: Bearer ${3:-$token}" "$(at "$1")/connect/$2"
    xxd -p "$scratch/answer" | tr -d '\n'
}
strong() { ask "$@" | grep -c 2001; }
status() { ask "$@" | cut -d ' ' -f 1; }
entry() { ask "$@" | grep -o '^200 .*22027638' | wc -l; }

check "a node that stands by has the entry soon" until_is 1 entry 2 eventual/snapshot_read
same "the leader's reads are strong, there and here" "1 1" \
    "$(strong 1 v2/snapshot_read) $(strong 1 eventual/snapshot_read)"
same "the node's are not, and say so" "0 1" "$(strong 2 eventual/snapshot_read) $(entry 2 eventual/snapshot_read)"
same "the other way is the leader's" 1 "$(strong 2 v2/snapshot_read)"
same "a token that nobody made" 401 "$(ask 2 eventual/snapshot_read abc | cut -d ' ' -f 1)"
cli 1 ACL SETUSER ann on '>ann-password-1' '~*' +@all >/dev/null
token_of_ann=$(opens 1 ann:ann-password-1 | grep -o '"token":"[^"]*"' | cut -d '"' -f 4)
check "a user made meanwhile" until_is 1 entry 2 eventual/snapshot_read "$token_of_ann"
cli 1 ACL DELUSER ann >/dev/null
check "... who is deleted is nobody there" until_is 503 status 2 eventual/snapshot_read "$token_of_ann"
same "on one connection, what is not for the node ends it" "200 503 200" \
    "$(curl -s -m 20 -o /dev/null -o /dev/null -o /dev/null -w '%{http_code} ' --data-binary @"$scratch/body" -H 'x-denokv-version: 3' \
        -H "authorization: Bearer $token" "$(at 2)/connect/eventual/snapshot_read" \
        "$(at 2)/connect/v2/snapshot_read" "$(at 2)/connect/v2/snapshot_read" | xargs)"

# ---- Deno ----

requests() { curl -s -m 20 -u default:secret-token-123 "$(at "$1")/metrics" | sed -n 's/^tupled_http_requests_total{version="1.1"} //p'; }
if install_deno; then
    talk 120 "${deno_run[@]}" "$deno_home/eventual.mjs" "$(at 1)/connect" "$(at 2)/connect" "Deno, several nodes"
    if has "@deno/kv" node; then
        before=$(requests 2)
        talk 120 node "$deno_home/eventual.mjs" "$(at 1)/connect" "$(at 2)/connect" "@deno/kv, several nodes"
        check "... which asked the node that stands by" test $(($(requests 2) - before)) -ge 50
    fi
fi

# ---- another leader ----

node_signal 1 -KILL
node_gone 1
node_says 2 'serving as the leader' || exit 1
check "the next leader reads strongly at the same place" until_is 1 strong 2 eventual/snapshot_read
start 1
node_says 1 'standing by: node2/.* leads' || exit 1
check "... and tells of the node that came back" until_is "$(at 1)/connect/eventual" eventual 2
check "... which reads" until_is 1 entry 1 eventual/snapshot_read
node_start 3 --node-http-address 127.0.0.1:80
node_gone 3
same "an address that is none is refused" "tupled: node-http-address must be http://host:port, not \"127.0.0.1:80\"" \
    "$(<"$scratch/node3.out")"
finish

#!/bin/bash
# Values as Node's V8 and the npm package msgpackr write them, through src/foreign and tests/foreign/msgpackr.h and
# back (redis-tests/node/foreign.js); msgpackr in the version of redis-tests/node/package.json.
. "$(dirname "$0")/server.sh"
. "$(dirname "$0")/libraries.sh"

convert=$PWD/build/asan/tests/foreign/convert

has "values of V8 and msgpackr" node || finish

# values <form> <script> <how many>
values() {
    timeout 250 node "$2" "$1" "$convert" "$3"
    status=$?
    [ "$status" -eq 0 ] || failures=$((failures + 1))
    [ "$status" -le 1 ] || not_ok "foreign.js with $1 ends (status $status)"
}

values v8 redis-tests/node/foreign.js 3000
install_node || finish
values records "$node_home/foreign.js" 2000
values maps "$node_home/foreign.js" 2000
finish

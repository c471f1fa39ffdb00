#!/bin/bash
# Tests of tools/run.sh, with what is built already: where the server is, and a port that is taken.

set -u
cd "$(dirname "$0")/.." || exit 1
scratch=$(mktemp -d) || exit 1
first='' failures=0
stop() {
    [ -z "$first" ] || kill "$first" 2>/dev/null
    wait 2>/dev/null
    rm -rf "$scratch"
}
trap stop EXIT

same() { # name, wanted, got
    if [ "$2" = "$3" ]; then
        echo "ok - $1"
    else
        echo "not ok - $1"
        echo "    wanted: $2"
        echo "    got: $3"
        failures=1
    fi
}

answers() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
free_port() {
    local p
    for ((p = 20000 + RANDOM % 10000; ; p++)); do answers $p || break; done
    echo $p
}

export MAKE=true DIR=$scratch/data
PORT=$(free_port) HTTP_PORT=$(free_port)
export PORT HTTP_PORT
tools/run.sh --log-format json >"$scratch/said" 2>&1 &
first=$!
for ((i = 0; i < 600; i++)); do
    grep -qs 'The page' "$scratch/said" && break
    kill -0 "$first" 2>/dev/null || break
    sleep 0.1
done
same "the server's port is told" "redis-cli -p $PORT KV.SET" \
    "$(grep -o 'redis-cli -p [0-9]* KV.SET' "$scratch/said")"
same "and the page" "The page: http://127.0.0.1:$HTTP_PORT/ui/" "$(sed -n 's/^ *\(The page\)/\1/p' "$scratch/said")"
same "more settings may be given" 1 "$(grep -c '"message":"ready to accept connections' "$scratch/said")"
same "a port that is taken is told before the build" \
    "run: port $PORT is taken by another program; choose another one: make run PORT=..." "$(tools/run.sh 2>&1)"
taken=$PORT
PORT=$(free_port)
same "that of HTTP, too" \
    "run: port $HTTP_PORT is taken by another program; choose another one: make run HTTP_PORT=..." "$(tools/run.sh 2>&1)"
same "a build that fails starts nothing" "run: the build failed" \
    "$(MAKE=false PORT=$(free_port) HTTP_PORT=0 tools/run.sh 2>&1)"
kill -INT "$first"
wait "$first"
same "Ctrl-C ends it" 0 $?
first=''
answers "$taken"
same "and nothing is left" 1 $?
exit $failures

#!/bin/bash
# http: requests per second of one key over HTTP, 50 connections, beside nginx, which serves a file of the same
# bytes, and beside webdis over Redis 7 (as it is, and with every write synced); and how late changes come to many who watch. Both sides in every round; medians of the rounds.
#
#   tests/bench/http.sh [rounds (5)] [seconds a run (3)] [watchers (5000)]
#
# Needs wrk, h2load (nghttp2-client), nginx, curl, webdis, redis-server and redis-cli; servers listen on 127.0.0.1 alone and are stopped.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/bench/release.sh
rounds=${1:-5} seconds=${2:-3} watchers=${3:-5000}
for tool in wrk h2load nginx curl webdis redis-server redis-cli; do
    command -v "$tool" >/dev/null || { echo "http.sh: $tool is not installed" >&2; exit 1; }
done
dir=$(mktemp -d)
pids=()
stop() {
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    rm -rf "$dir"
}
trap stop EXIT

port=4796 resp=4795 other=4797
build/tupled --dir "$dir/data" --port $resp --http-port $port --logfile "$dir/log" &
pids+=($!)
mkdir "$dir/www"
cat >"$dir/nginx.conf" <<END
user root;
worker_processes 1;
daemon off;
pid $dir/pid;
error_log $dir/error.log;
events { worker_connections 1024; }
http {
    access_log off;
    default_type application/json;
    server { listen 127.0.0.1:$other; root $dir/www; keepalive_requests 100000000; }
    server { listen 127.0.0.1:$((other + 1)) http2; root $dir/www; keepalive_requests 100000000; }
}
END
cache=4799
redis-server --port $cache --bind 127.0.0.1 --dir "$dir" --save '' --appendonly yes --appendfsync always \
    --logfile "$dir/redis.log" >/dev/null &
pids+=($!)
cat >"$dir/webdis.json" <<END
{"redis_host": "127.0.0.1", "redis_port": $cache, "http_host": "127.0.0.1", "http_port": $((cache + 1)), "threads": 2,
 "pool_size": 20, "daemonize": false, "websockets": false, "database": 0, "verbosity": 0, "logfile": "$dir/webdis.log"}
END
webdis "$dir/webdis.json" 2>/dev/null & # it warns of each connection that ends
pids+=($!)
nginx -c "$dir/nginx.conf" -p "$dir" 2>/dev/null &
pids+=($!)
for ((i = 0; i < 100; i++)); do curl -s -o /dev/null "http://127.0.0.1:$port/livez" && break; sleep 0.05; done

value=$(printf '{"name":"Ada","text":"%060d"}' 0)
curl -s -o /dev/null -X PUT "http://127.0.0.1:$port/keyval/api/keys/bench/1" -d "$value"
curl -s "http://127.0.0.1:$port/keyval/api/keys/bench/1" >"$dir/www/entry"
printf '["KV.GET","[\\"bench\\",\\"1\\"]"]' >"$dir/get.json"
printf '["KV.SET","[\\"bench\\",2]","{\\"a\\":1}"]' >"$dir/set.json"
for what in get set; do
    echo "local f = io.open('$dir/$what.json'); wrk.method = 'POST'; wrk.body = f:read('*a')" >"$dir/$what.lua"
done

redis-cli -p $cache SET bench "$value" >/dev/null
by_1() { # url [script]
    wrk -t2 -c50 -d"${seconds}s" ${2:+-s "$2"} "$1" | awk '/^Requests\/sec/ { print int($2) } /Non-2xx/ { print 0; exit }'
}
by_2() { # url [h2load's words]
    local url=$1
    shift
    h2load -c50 -m10 -t2 -D"$seconds" "$@" "$url" 2>/dev/null | awk '/^finished in/ { print int($4) }'
}
row() { # name program...
    local name=$1
    shift
    printf '%s %s\n' "$name" "$("$@")" >>"$dir/figures"
}
base=http://127.0.0.1
for ((round = 0; round < rounds; round++)); do
    row nginx-1 by_1 $base:$other/entry
    row webdis-get-1 by_1 $base:$((cache + 1))/GET/bench
    row webdis-set-1 by_1 $base:$((cache + 1))/SET/bench2/abcdefgh
    row rest-1 by_1 $base:$port/keyval/api/keys/bench/1
    row command-1 by_1 $base:$port/ "$dir/get.lua"
    row write-1 by_1 $base:$port/ "$dir/set.lua"
    row nginx-2 by_2 $base:$((other + 1))/entry
    row rest-2 by_2 $base:$port/keyval/api/keys/bench/1
    row write-2 by_2 $base:$port/ -d "$dir/set.json"
done
echo "| what | requests/s, median of $rounds | beside nginx |"
echo "| --- | --- | --- |"
for name in nginx-1 webdis-get-1 webdis-set-1 rest-1 command-1 write-1 nginx-2 rest-2 write-2; do
    median=$(awk -v n="$name" '$1 == n { print $2 }' "$dir/figures" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }')
    [ "$name" != nginx-1 ] && [ "$name" != nginx-2 ] || nginx=$median
    echo "| $name | $median | $(awk -v a="$median" -v b="$nginx" 'BEGIN { printf "%.2f", a / b }') |"
done
make -s build/release/tests/bench/bench_watchers
build/release/tests/bench/bench_watchers http $port $resp "$watchers" 1000 10

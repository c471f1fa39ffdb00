#!/bin/bash
# @deno/kv in Node over KV Connect, beside clients of RESP on the same data; in the version of
# redis-tests/deno/package.json.
export HTTP=1
. "$(dirname "$0")/server.sh"
. "$(dirname "$0")/libraries.sh"
. "$(dirname "$0")/connect.sh"

has "@deno/kv" node && install_deno || finish
start_server
talk 120 node "$deno_home/node.mjs" "http://127.0.0.1:$http_port/connect" "$port" "@deno/kv"
stop_server
finish

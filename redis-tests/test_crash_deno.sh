#!/bin/bash
# kill -9 of the server under transactions of Deno and of RESP on the same keys.
export HTTP=1
. "$(dirname "$0")/server.sh"
. "$(dirname "$0")/libraries.sh"
. "$(dirname "$0")/connect.sh"

install_deno || finish
start_server
talk 120 "${deno_run[@]}" redis-tests/deno/bank.mjs "http://127.0.0.1:$http_port/connect" "$port" "Deno and RESP" 12 3
stop_server
finish

#!/bin/bash
# Deno with Deno.openKv over KV Connect, beside clients of RESP on the same data; Deno in the version of
# redis-tests/deno/package.json.
export HTTP=1
. "$(dirname "$0")/server.sh"
. "$(dirname "$0")/libraries.sh"
. "$(dirname "$0")/connect.sh"

install_deno || finish
for script in ${DENO_ONLY:-values}; do
    start_server
    talk 120 "${deno_run[@]}" "redis-tests/deno/$script.mjs" "http://127.0.0.1:$http_port/connect" "$port" "$script"
    stop_server
done
finish

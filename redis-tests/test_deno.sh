#!/bin/bash
# Deno with Deno.openKv over KV Connect, beside clients of RESP on the same data: over HTTP, and values and
# watches over HTTPS too. Deno in the version of redis-tests/deno/package.json.
export HTTP=1
. "$(dirname "$0")/server.sh"
. "$(dirname "$0")/libraries.sh"
. "$(dirname "$0")/connect.sh"
. "$(dirname "$0")/tls.sh"

install_deno || finish

# run <title> <script> <scheme>
run() {
    talk 120 "${deno_run[@]}" "redis-tests/deno/$2.mjs" "$3://localhost:$http_port/connect" "$port" "$1"
    stop_server
    rm -rf "$scratch/data"
}

for script in values keys atomic watch; do
    start_server
    run "Deno, $script" "$script" http
done

start_server
DENO_KV_ACCESS_TOKEN=deno:a-long-password run "Deno, users" users http

if has "Deno over HTTPS" openssl; then
    make_certificates
    server_words=(--http-tls yes --tls-cert-file "$scratch/server.crt" --tls-key-file "$scratch/server.key"
        --tls-ca-cert-file "$scratch/ca.crt" --tls-auth-clients no)
    for script in values watch; do
        start_server "${server_words[@]}"
        DENO_CERT=$scratch/ca.crt run "Deno over HTTPS, $script" "$script" https
    done
    start_server "${server_words[@]}"
    check "Deno refuses a server of another authority" \
        env DENO_CERT="$scratch/other-ca.crt" "${deno_run[@]}" redis-tests/deno/refuses.mjs \
        "https://localhost:$http_port/connect"
    stop_server
fi
finish

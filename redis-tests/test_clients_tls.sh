#!/bin/bash
# Clients that connect by TLS as a user with limited rights: redis-cli, redis-py, node-redis, ioredis.
# Those that must be compiled: clients_tls.sh.
. "$(dirname "$0")/server.sh"
. "$(dirname "$0")/tls.sh"
. "$(dirname "$0")/libraries.sh"

# ---- redis-cli ----
if ! command -v redis-cli >/dev/null || ! command -v openssl >/dev/null; then
    skip "clients by TLS" "redis-cli and openssl are not installed (packages redis-tools, openssl)"
    exit 0
fi
start_clients_server
export REDISCLI_AUTH=secret
by_tls=(redis-cli -h localhost -p "$tls" --tls --cacert "$scratch/ca.crt" --user "$tls_user")
cli() { timeout 20 "${by_tls[@]}" "$@" 2>&1; }

denied() {
    local name=$1
    shift
    same "$name" NOPERM "$(cli "$@" | head -n 1 | cut -d ' ' -f 1)"
}

# One listens; when it has said so, another publishes.
hears() {
    local tries pid said=''
    : >"$scratch/heard"
    timeout 60 stdbuf -oL "${by_tls[@]}" "$@" SUBSCRIBE app:news >"$scratch/heard" 2>&1 &
    pid=$!
    for ((tries = 0; tries < 1000; tries++)); do
        if grep -q '^hello' "$scratch/heard"; then break; fi
        if grep -q '^subscribe' "$scratch/heard" && [ -z "$said" ]; then
            said=yes
            cli "$@" PUBLISH app:news hello
        fi
        sleep 0.02
    done
    kill "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
    cat "$scratch/heard"
    grep -q '^hello' "$scratch/heard"
}

for resp in 2 3; do
    option=(-"$resp")
    same "redis-cli is who he says (RESP$resp)" "app user=app resp=$resp" \
        "$(cli "${option[@]}" ACL WHOAMI) $(cli "${option[@]}" CLIENT INFO | grep -oE '\<(user|resp)=[^ ]*' | xargs)"
    same "redis-cli sets and gets (RESP$resp)" '"text" "{\"n\":1}"' \
        "$(printf '%s\n' 'SET app:plain text' \
            "KV.SET '[\"app\",1]' '{\"n\":1}'" 'GET app:plain' "KV.GET '[\"app\",1]'" |
            cli --no-raw "${option[@]}" | tail -n 2 | xargs -d '\n')"
    same "redis-cli has transactions (RESP$resp)" '1) OK 2) STAMP 3) "7"' \
        "$(printf '%s\n' MULTI 'SET app:tx 7' "KV.SET '[\"app\",\"tx\"]' 1" 'GET app:tx' EXEC |
            cli --no-raw "${option[@]}" | tail -n 3 | sed 's/"[0-9a-f]\{20\}"/STAMP/' | xargs -d '\n')"
    check "redis-cli publishes and hears (RESP$resp)" hears "${option[@]}"
    denied "redis-cli may not read what is not his (RESP$resp)" "${option[@]}" KV.GET '["other"]'
    denied "redis-cli may not hear what is not his (RESP$resp)" "${option[@]}" SUBSCRIBE news
    denied "redis-cli may not end others (RESP$resp)" "${option[@]}" CLIENT KILL TYPE normal
    same "redis-cli needs his password (RESP$resp)" WRONGPASS \
        "$(REDISCLI_AUTH=wrong cli "${option[@]}" PING | grep -o WRONGPASS | head -n 1)"
done
for ((i = 0; i < 1000; i++)); do echo "KV.SET '[\"app\",\"pipe\",$i]' $i"; done >"$scratch/lines"
same "redis-cli pipelines a thousand" 'errors: 0, replies: 1000' "$(cli --pipe <"$scratch/lines" | tail -n 1)"
same "and they are there" 1000 "$(cli KV.COUNT PREFIX '["app","pipe"]')"
same "redis-cli refuses a server of another authority" 1 \
    "$(cli --cacert "$scratch/other-ca.crt" PING | grep -c 'certificate verify failed')"

# ---- libraries ----
if install_python; then
    library_by_tls redis-py "$python" redis-tests/python/tls.py
fi
if install_node; then
    library_by_tls node-redis node "$node_home/tls.js" redis
    library_by_tls ioredis node "$node_home/tls.js" ioredis
fi
stop_server
finish

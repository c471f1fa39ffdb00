# Sourced after server.sh: a server with TLS, and who may use it.
#
#   make_certificates            in $scratch: ca.crt, which has signed server.crt and client.crt (as
#                                docs/operation.md says); other-ca.crt, which has signed nothing
#   start_tls_server [argument...]  start_server with these certificates; the TLS port is $tls
#   start_clients_server         one that asks for no certificate but for a user, $tls_user, who may use
#                                keys and channels of the application "app" only
#   library_by_tls <name> <program>...  the tests of a library: by the protocol that it takes of
#                                itself, by 3 and by 2

make_certificates() (
    cd "$scratch" || exit 1
    for name in ca other-ca; do
        openssl req -x509 -newkey rsa:2048 -nodes -days 365 -subj /CN=trial-$name -keyout $name.key \
            -out $name.crt
    done
    for name in server client; do
        openssl req -newkey rsa:2048 -nodes -subj /CN=$name -keyout $name.key -out $name.csr
        printf 'subjectAltName=DNS:localhost,IP:127.0.0.1' >$name.ext
        openssl x509 -req -in $name.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 90 \
            -extfile $name.ext -out $name.crt
    done
) >"$scratch/openssl" 2>&1

start_tls_server() {
    export TUPLED_TEST_ANY_TLS_PORT=1
    start_server --tls-cert-file "$scratch/server.crt" --tls-key-file "$scratch/server.key" \
        --tls-ca-cert-file "$scratch/ca.crt" "$@"
    tls=$(sed -n 's/.*ready to accept TLS connections on .* port \([0-9]*\)$/\1/p' "$scratch/log")
}

# What an application gets in docs/clients.md. No client is `default` without a password.
tls_user=app
tls_rules=(on '>secret' '~app/*' '~app:*' '&app:*' +@kv +@connection +@transaction +@pubsub +get +set
    '+acl|whoami' -@dangerous)

start_clients_server() {
    make_certificates
    start_tls_server --tls-auth-clients no
    same "the user of the application is made" OK \
        "$(redis-cli -p "$port" ACL SETUSER "$tls_user" "${tls_rules[@]}")"
    redis-cli -p "$port" ACL SETUSER default '>for the operator' >/dev/null
    redis-cli -p "$port" PING >"$scratch/nobody"
    same "nobody comes in without a password" "NOAUTH Authentication required." "$(head -n 1 "$scratch/nobody")"
}

library_by_tls() {
    local name=$1 protocol status
    shift
    for protocol in default 3 2; do
        timeout 60 "$@" "$tls" "$scratch/ca.crt" "$scratch/other-ca.crt" "$protocol" "protocol $protocol"
        status=$?
        [ "$status" -eq 0 ] || failures=$((failures + 1))
        [ "$status" -le 1 ] || not_ok "$name by protocol $protocol ends (status $status)"
    done
}

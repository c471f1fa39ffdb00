#!/bin/bash
# TLS with tools that others wrote: redis-cli, redis-benchmark, openssl s_client. Certificates are made as
# docs/operation.md says.
. "$(dirname "$0")/server.sh"
. "$(dirname "$0")/tls.sh"

s_client() { # further arguments; says PING and QUIT, prints what comes
    printf 'PING\r\nQUIT\r\n' | timeout 20 openssl s_client -connect "127.0.0.1:$tls" -CAfile "$scratch/ca.crt" \
        -verify_return_error -cert "$scratch/client.crt" -key "$scratch/client.key" -quiet "$@" 2>/dev/null
}

make_certificates
start_tls_server
cli=(redis-cli -h localhost -p "$tls" --tls --cacert "$scratch/ca.crt")
mine=(--cert "$scratch/client.crt" --key "$scratch/client.key")

same "redis-cli speaks TLS" PONG "$("${cli[@]}" "${mine[@]}" ping)"
same "in RESP3 too" PONG "$("${cli[@]}" "${mine[@]}" -3 ping)"
check "without a certificate it gets nothing" test "$("${cli[@]}" ping 2>&1)" != PONG
same "a transaction" '1' "$("${cli[@]}" "${mine[@]}" kv.atomic set '["a"]' 1 >/dev/null; "${cli[@]}" "${mine[@]}" kv.get '["a"]')"
seq 20000 | sed 's/.*/INCR n/' | "${cli[@]}" "${mine[@]}" --pipe >"$scratch/pipe" 2>&1
same "a mass insertion" 'errors: 0, replies: 20000' "$(tail -n 1 "$scratch/pipe")"
check "redis-benchmark" timeout 120 redis-benchmark -p "$tls" --tls --cacert "$scratch/ca.crt" "${mine[@]}" \
    -n 5000 -c 50 -P 8 -q -t set,get
same "openssl s_client" "+PONG +OK" "$(s_client | tr '\r\n' '  ' | xargs)"
same "with TLS 1.2" "+PONG +OK" "$(s_client -tls1_2 | tr '\r\n' '  ' | xargs)"
same "not with TLS 1.1" "" "$(s_client -tls1_1 -cipher 'ALL:@SECLEVEL=0' | tr -d '\r')"
same "a session is resumed" 1 "$(s_client -tls1_2 -sess_out "$scratch/session" >/dev/null
    timeout 20 openssl s_client -connect "127.0.0.1:$tls" -tls1_2 -sess_in "$scratch/session" \
        -cert "$scratch/client.crt" -key "$scratch/client.key" 2>/dev/null </dev/null | grep -c '^Reused, TLSv1.2')"
mkdir "$scratch/cas" && cp "$scratch/ca.crt" "$scratch/cas" && openssl rehash "$scratch/cas"
same "a directory of authorities" OK \
    "$(redis-cli -p "$port" config set tls-ca-cert-file '' tls-ca-cert-dir "$scratch/cas")"
same "knows the client's" PONG "$("${cli[@]}" "${mine[@]}" ping)"
check "and nobody else" test "$("${cli[@]}" ping 2>&1)" != PONG
check "INFO shows the connections" grep -q '^tls_handshakes_done:[1-9]' <(redis-cli -p "$port" info tls)
stop_server
finish

#!/bin/bash
# HTTP/2 and TLS with programs that others wrote: curl and nghttp.
. "$(dirname "$0")/server.sh"
. "$(dirname "$0")/tls.sh"

http_port() {
    sed -n 's/.*ready to accept HTTP.* port \([0-9]*\)$/\1/p' "$scratch/log"
}

# ask [argument...]: the answer's status, version and body.
ask() {
    timeout 20 curl -sS --noproxy '*' -w ' %{http_code} %{http_version}' "$@" 2>&1
}

export TUPLED_TEST_ANY_HTTP_PORT=1
start_server --http-port 0
http=$(http_port)
url=http://127.0.0.1:$http
ahead=(--http2-prior-knowledge)

same "curl by HTTP/1.1" '{"result":"OK"} 200 1.1' "$(ask -d '["SET","a","1"]' "$url/")"
same "curl by HTTP/1.0" '{"result":"1"} 200 1.1' "$(ask -0 "$url/get/a")"
same "curl by HTTP/2" '{"result":"1"} 200 2' "$(ask "${ahead[@]}" "$url/get/a")"
same "a body by HTTP/2" '[{"result":2},{"result":"2"}] 200 2' \
    "$(ask "${ahead[@]}" -d '[["INCR","a"],["GET","a"]]' "$url/pipeline")"
head -c 300000 /dev/zero | tr '\0' x >"$scratch/big"
same "a long body, and curl expects 100" '{"result":"OK"} 200 1.1' \
    "$(ask -H 'Expect: 100-continue' --data-binary "@$scratch/big" "$url/set/big")"
same "in chunks" '{"result":"OK"} 200 1.1' \
    "$(ask -H 'Transfer-Encoding: chunked' --data-binary "@$scratch/big" "$url/set/big")"
same "by HTTP/2" '{"result":"OK"} 200 2' "$(ask "${ahead[@]}" --data-binary "@$scratch/big" "$url/set/big")"
for version in --http1.1 --http2-prior-knowledge; do
    timeout 20 curl -sS --noproxy '*' "$version" --compressed "$url/get/big" >"$scratch/answer"
    { printf '{"result":"'; cat "$scratch/big"; printf '"}'; } >"$scratch/wanted"
    check "gzip as curl undoes it ($version)" cmp "$scratch/wanted" "$scratch/answer"
done
same "HEAD" ' 200 2' "$(ask "${ahead[@]}" -o /dev/null -I "$url/livez")"
same "100 streams at once" 100 "$(timeout 60 nghttp -n -m 100 -s "$url/get/a" 2>&1 | grep -c ' 200 ')"
check "20000 requests of 100 at a time" bash -c \
    "timeout 120 h2load -n 20000 -c 4 -m 100 '$url/get/a' | grep -q '20000 succeeded, 0 failed'"
same "a stream of events" 'data: subscribe,news,1' \
    "$(head -n 1 < <(timeout 30 curl -sSN --noproxy '*' "${ahead[@]}" "$url/subscribe/news" 2>/dev/null))"
stop_server

make_certificates
start_tls_server --http-port 0 --http-tls yes --tls-auth-clients no
url=https://localhost:$(http_port)
tls=(--cacert "$scratch/ca.crt" --resolve "localhost:$(http_port):127.0.0.1")
same "TLS: what is chosen is HTTP/2" '{"result":"OK"} 200 2' "$(ask "${tls[@]}" -d '["SET","a","1"]' "$url/")"
same "TLS: HTTP/1.1 for who knows no more" '{"result":"1"} 200 1.1' "$(ask "${tls[@]}" --http1.1 "$url/get/a")"
same "TLS: without ALPN" '{"result":"1"} 200 1.1' "$(ask "${tls[@]}" --no-alpn "$url/get/a")"
same "TLS 1.2" '{"result":"1"} 200 2' "$(ask "${tls[@]}" --tls-max 1.2 "$url/get/a")"
same "the own origin is of https" '{"result":"1"} 200 2' "$(ask "${tls[@]}" -H "Origin: $url" "$url/get/a")"
check "and not of http" grep -q ' 403 2$' <(ask "${tls[@]}" -H "Origin: ${url/https/http}" "$url/get/a")
check "without TLS nothing is answered" bash -c "! timeout 20 curl -sS --noproxy '*' '${url/https/http}/ping'"
stop_server
finish

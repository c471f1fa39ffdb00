#!/bin/bash
# The configurations of docs/proxies.md, run as they stand there but for ports and paths: nginx, HAProxy and
# Caddy in front of HTTP, of events, and of RESP. Traefik's, which Debian does not have, is read as YAML.
HTTP=1
. "$(dirname "$0")/server.sh"
. "$(dirname "$0")/tls.sh"

proxy='' echoing='' stream='' name=kv.example.com

end() { # the process ids that are set
    local pid
    for pid in "$@"; do
        kill -KILL "$pid" 2>/dev/null && wait "$pid" 2>/dev/null
    done
}
clean_up_all() {
    # shellcheck disable=SC2086 # those that are empty are none
    end $stream $proxy $echoing
    clean_up
}
trap clean_up_all EXIT

block() { # name of the mark: the text of the block below it
    awk -v mark="<!-- $1 -->" '$0 == mark { found = 1; next } found && /^```/ { if (inside) exit; inside = 1; next }
        inside { print }' docs/proxies.md
}

# Certificates: the server's are those of tls.sh; the proxy's are of another authority, so that it is seen
# which of both ends TLS.
make_proxy_certificate() (
    cd "$scratch" || exit 1
    openssl req -newkey rsa:2048 -nodes -subj /CN=$name -keyout proxy.key -out proxy.csr
    printf 'subjectAltName=DNS:%s' "$name" >proxy.ext
    openssl x509 -req -in proxy.csr -CA other-ca.crt -CAkey other-ca.key -CAcreateserial -days 90 \
        -extfile proxy.ext -out proxy.crt
    cat proxy.crt proxy.key >proxy.pem
) >"$scratch/openssl" 2>&1

# config <proxy> <port of HTTP behind it>: its block with this test's ports and paths, on loopback only.
config() {
    block "run: $1" | sed -e "s|\b443\b|$first|; s|\b6380\b|$((first + 1))|; s|\b6381\b|$((first + 2))|" \
        -e "s|127.0.0.1:6379\b|127.0.0.1:$port|; s|127.0.0.1:6390\b|127.0.0.1:$tls|; s|127.0.0.1:4512\b|127.0.0.1:$2|" \
        -e "s|/etc/ssl/private/$name|$scratch/proxy|g; s|/etc/ssl/$name|$scratch/proxy|g" \
        -e "s|/run/nginx.pid|$scratch/nginx.pid|; s|/var/log/nginx|$scratch|; s|^user www-data|user $(id -un)|" \
        -e "s|^http {|&\n$(printf "%s_temp_path $scratch/temp;" client_body proxy fastcgi uwsgi scgi)|" \
        -e "s|listen \([0-9]\)|listen 127.0.0.1:\1|; s|bind :|bind 127.0.0.1:|" \
        -e "s|^$name {|{\n\tadmin off\n\tauto_https disable_redirects\n}\n$name:$first {\n\tbind 127.0.0.1|"
}

# begin_proxy <proxy> <port of HTTP behind it>; false when it does not listen.
begin_proxy() {
    local tries
    port_take first 3
    config "$1" "$2" >"$scratch/config"
    case $1 in
    nginx) PATH=$PATH:/usr/sbin nginx -e "$scratch/proxy.log" -g 'daemon off;' -c "$scratch/config" ;;
    haproxy) PATH=$PATH:/usr/sbin haproxy -db -f "$scratch/config" ;;
    caddy) HOME=$scratch XDG_DATA_HOME=$scratch XDG_CONFIG_HOME=$scratch caddy run --adapter caddyfile --config "$scratch/config" ;;
    esac >"$scratch/proxy.out" 2>&1 &
    proxy=$!
    for ((tries = 0; tries < 2000; tries++)); do
        (exec 3<>"/dev/tcp/127.0.0.1/$first") 2>/dev/null && return 0
        kill -0 "$proxy" 2>/dev/null || break
        sleep 0.01
    done
    not_ok "$1: it starts with what docs/proxies.md says"
    cat "$scratch/proxy.out" "$scratch/proxy.log" 2>/dev/null
    return 1
}
end_proxy() {
    kill -TERM "$proxy"
    wait "$proxy" 2>/dev/null
    proxy=''
}

# ask <path> [curl's arguments]: by HTTPS through the proxy.
ask() {
    local path=$1
    shift
    timeout 30 curl -sS --noproxy '*' --path-as-is --cacert "$scratch/other-ca.crt" \
        --resolve "$name:$first:127.0.0.1" "$@" "https://$name:$first$path" 2>&1
}
cli() { timeout 30 redis-cli "$@" 2>&1; }

# until_says <text> <command>...: that is the last line which the command prints, in the end.
until_says() {
    local wanted=$1 tries
    shift
    for ((tries = 0; tries < 1000; tries++)); do
        [ "$("$@" | tail -n 1)" != "$wanted" ] || return 0
        sleep 0.02
    done
    return 1
}
heard() { grep -qE "$1" "$scratch/events" && echo yes; }

# An event has come through while the stream is open, and when the client goes the server knows.
events() { # what, path, channel, its first line and that of a later event, curl's arguments
    local what=$1 path=$2 channel=$3 opened=$4 later=$5
    shift 5
    # Not by a function, so that the process is curl.
    curl -sSN --noproxy '*' --cacert "$scratch/other-ca.crt" --resolve "$name:$first:127.0.0.1" "$@" \
        "https://$name:$first$path" >"$scratch/events" 2>&1 &
    stream=$!
    check "$what: the first event comes while the stream is open" until_says yes heard "$opened"
    cli -p "$port" KV.SET '["seen"]' 1 >/dev/null
    cli -p "$port" PUBLISH news hello >/dev/null
    check "$what: so does the next one" until_says yes heard "$later"
    check "$what: and it is open still" kill -0 "$stream"
    end "$stream"
    stream=''
    [ -z "$channel" ] || check "$what: the server sees that it has gone" until_says 0 cli -p "$port" PUBSUB NUMSUB "$channel"
}

by_http() {
    same "$1: a command" '{"result":"OK"}' "$(ask / -d '["SET","a","1"]')"
    same "$1: by HTTP/1.1" '{"result":"1"}' "$(ask /get/a --http1.1)"
    same "$1: by HTTP/2" '{"result":"1"} 2' "$(ask /get/a --http2 -w ' %{http_version}')"
    same "$1: a path goes on as it came" '{"result":"a/b//c"}' "$(ask /echo/a%2Fb%2F%2Fc)"
    same "$1: slashes are not merged" "$(curl -sS --noproxy '*' "http://127.0.0.1:$http_port/echo//a")" "$(ask /echo//a)"
    head -c 5000000 /dev/zero | tr '\0' x >"$scratch/long"
    same "$1: a long body" '{"result":"OK"}' "$(ask /set/long --data-binary "@$scratch/long")"
    same "$1: ... and answer" 5000013 "$(ask /get/long | wc -c)"
    same "$1: its own page may ask" '{"result":"1"}' "$(ask / -H "Origin: https://$name:$first" -d '["GET","a"]')"
    same "$1: a page of others may not" 403 \
        "$(ask / -H "Origin: https://evil.example" -d '["GET","a"]' -o /dev/null -w '%{http_code}')"
    same "$1: a client does not say what it was asked for" '{"result":"1"}' "$(ask /get/a -H 'X-Forwarded-Host: evil.example')"
}

by_resp() {
    same "$1: RESP, TLS ended there" 1 "$(cli --tls --cacert "$scratch/other-ca.crt" -p $((first + 1)) GET a)"
    same "$1: RESP as it is, TLS ended here" 1 "$(cli --tls --cacert "$scratch/ca.crt" -p $((first + 2)) GET a)"
    check "$1: which has the server's certificate" grep -q 'certificate verify failed' \
        <(cli --tls --cacert "$scratch/other-ca.crt" -p $((first + 2)) GET a)
}

# What the server is told of the client: a server that answers with what it was sent.
begin_echo() {
    python3 -uc '
import http.server, json
class Echo(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        told = sorted((k.lower(), v) for k, v in self.headers.items() if k.lower().startswith("x-forwarded-") or k.lower() == "host")
        body = json.dumps(told).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo)
print(s.server_port)
s.serve_forever()' >"$scratch/echo" 2>"$scratch/echo.log" &
    echoing=$!
    until_says 1 grep -c '^[0-9]*$' "$scratch/echo"
}
told() { # proxy
    local lies=(-H 'X-Forwarded-For: 6.6.6.6' -H 'X-Forwarded-Proto: http' -H 'X-Forwarded-Host: evil.example') all
    until_says 200 ask /readyz -o /dev/null -w '%{http_code}' || return
    all=$(ask /a --interface 127.0.0.2 "${lies[@]}")
    same "$1: the last address it tells is the client's" 127.0.0.2 \
        "$(grep -oE '"x-forwarded-for", "[^"]*"' <<<"$all" | tail -n 1 | sed 's/.*[" ]\([0-9.]*\)"$/\1/')"
    same "$1: that TLS was spoken" '["x-forwarded-proto", "https"]' "$(grep -oE '\["x-forwarded-proto", "[^"]*"\]' <<<"$all")"
    check "$1: nothing of another name" bash -c '! grep -q evil' <<<"$all"
}

try_proxy() {
    begin_proxy "$1" "$http_port" || return
    until_says 200 ask /readyz -o /dev/null -w '%{http_code}'
    by_http "$1"
    local channel=(/subscribe/news news '^data: subscribe,news,1$' '^data: message,news,hello$')
    events "$1, events" "${channel[@]}" --http1.1
    events "$1, events by HTTP/2, compressed if it likes" "${channel[@]}" --http2 --compressed
    cli -p "$port" KV.DEL '["seen"]' >/dev/null
    events "$1, a watch" '/keyval/api/watch?keys=seen' '' '"key":\["seen"\],"value":null' '"value":1,' --http1.1
    [ "$1" = caddy ] || by_resp "$1"
    end_proxy
    [ -n "$echoing" ] || return
    begin_proxy "$1" "$(cat "$scratch/echo")" || return
    told "$1"
    end_proxy
}

for tool in redis-cli curl openssl; do
    command -v $tool >/dev/null || { skip "proxies" "$tool is not installed"; finish; }
done
make_certificates
make_proxy_certificate
mapfile -t settings < <(block "run: tupled" | sed 's/^\([a-z-]*\) "*\([^"]*\)"*$/--\1\n\2/')
start_tls_server --http-port 0 --tls-auth-clients no "${settings[@]}"
same "the server has what the page says" "127.0.0.1 ::1" "$(cli -p "$port" CONFIG GET http-trusted-proxies | tail -n 1)"
if command -v python3 >/dev/null; then
    begin_echo
else
    skip "what a proxy tells of the client" "there is no python3"
fi

modules=/etc/nginx/modules-enabled
for one in nginx haproxy caddy; do
    if ! PATH=$PATH:/usr/sbin command -v $one >/dev/null; then
        skip "$one" "it is not installed"
    elif [ $one = nginx ] && ! grep -qs ngx_stream_module $modules/*.conf; then
        skip "$one" "its module for TCP is not installed (package libnginx-mod-stream)"
    else
        try_proxy $one
    fi
done

if python3 -c 'import yaml' 2>/dev/null; then
    for one in traefik traefik-tupled; do
        check "$one is YAML" python3 -c 'import sys, yaml; sys.exit(not isinstance(yaml.safe_load(sys.stdin), dict))' \
            < <(block "yaml: $one")
    done
else
    skip "traefik" "nothing here reads YAML, and Debian has no Traefik"
fi
stop_server
finish

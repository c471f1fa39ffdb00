#!/bin/bash
# The clients of test_clients_tls.sh that must be compiled: go-redis, redis-rs, Jedis, Lettuce. It fetches
# much the first time, so `make clients` runs it, not `make test`.
. "$(dirname "$0")/server.sh"
. "$(dirname "$0")/tls.sh"
. "$(dirname "$0")/libraries.sh"

if ! command -v redis-cli >/dev/null || ! command -v openssl >/dev/null; then
    skip "clients by TLS" "redis-cli and openssl are not installed (packages redis-tools, openssl)"
    exit 0
fi
start_clients_server
if build_go; then
    library_by_tls go-redis "${go_tls[@]}"
fi
if build_rust; then
    library_by_tls redis-rs "${rust_tls[@]}"
fi
if build_java; then
    library_by_tls Jedis "${java_tls[@]}" jedis
    library_by_tls Lettuce "${java_tls[@]}" lettuce
fi
# There is no program for it: it could not be tried here.
skip hiredis "that of Debian 12 (0.14) has no TLS"
stop_server
finish

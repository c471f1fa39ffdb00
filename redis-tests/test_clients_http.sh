#!/bin/bash
# Libraries over HTTP: @upstash/redis (the command API), requests and httpx (REST, HTTP/1.1 and HTTP/2),
# prometheus_client's parsers (/metrics).
export HTTP=1
. "$(dirname "$0")/server.sh"
. "$(dirname "$0")/libraries.sh"

start_server --user alice on '>secret' '~*' '&*' +@all --user default off
url=http://127.0.0.1:$http_port

# says <program>...: its lines of report are this script's; it must end with status 0.
says() {
    timeout 100 "$@" >"$scratch/said" 2>&1
    local status=$?
    cat "$scratch/said"
    [ "$status" -eq 0 ] || failures=$((failures + 1))
    grep -q '^\(ok\|not ok\) - ' "$scratch/said" || not_ok "$1 says something (status $status)"
}

if install_node; then says node "$node_home/upstash.js" "$url"; fi
if install_python; then
    says "$python" redis-tests/python/rest.py "$url" "$scratch/text" "$scratch/openmetrics"
    for form in text openmetrics; do
        check "prometheus_client takes /metrics, $form" \
            "$python" redis-tests/metrics_parse.py "$form" tupled_http_requests_total <"$scratch/$form"
    done
fi
stop_server
exit "$((failures > 0))"

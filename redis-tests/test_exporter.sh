#!/bin/bash
# Debian's prometheus-redis-exporter scrapes the server. The package is only unpacked under build/, not
# installed: it would start a service.
. "$(dirname "$0")/server.sh"

unpacked=$PWD/build/exporter
exporter=$(command -v prometheus-redis-exporter || echo "$unpacked/prometheus-redis-exporter")

unpack() {
    (
        flock -w 120 9 || exit 1
        [ ! -x "$exporter" ] || exit 0
        mkdir "$scratch/package" && cd "$scratch/package" &&
            timeout 100 apt-get -q download prometheus-redis-exporter &&
            dpkg-deb -x prometheus-redis-exporter_*.deb . &&
            cp usr/bin/prometheus-redis-exporter "$unpacked/"
    ) 9>"$unpacked.lock" >"$scratch/unpack" 2>&1
}

mkdir -p "$unpacked"
if ! command -v curl >/dev/null && ! command -v python3 >/dev/null; then
    skip "prometheus-redis-exporter" "neither curl nor python3 is installed to ask it"
    exit 0
fi
if ! unpack || [ ! -x "$exporter" ]; then
    skip "prometheus-redis-exporter" "cannot be had: $(tail -n 1 "$scratch/unpack")"
    exit 0
fi

fetch() {
    if command -v curl >/dev/null; then
        curl -s --max-time 10 "$1"
    else
        python3 -c 'import sys, urllib.request as u; print(u.urlopen(sys.argv[1], timeout=10).read().decode())' "$1"
    fi
}

# A port that is free now: the server of before has just given it back.
start_server
exporter_port=$port
stop_server

start_server --slowlog-log-slower-than 0
for i in 1 2 3; do redis-cli -p "$port" KV.SET "[\"k\",$i]" "$i" EX 1000 >/dev/null; done
redis-cli -p "$port" set plain x >/dev/null
redis-cli -p "$port" KV.SUM '["text"]' '"no number"' >/dev/null
"$exporter" -redis.addr "redis://127.0.0.1:$port" -web.listen-address "127.0.0.1:$exporter_port" \
    >"$scratch/exporter" 2>&1 &
exporter_pid=$!
trap 'kill "$exporter_pid" 2>/dev/null; clean_up' EXIT

for ((tries = 0; tries < 500; tries++)); do
    fetch "http://127.0.0.1:$exporter_port/metrics" >"$scratch/metrics"
    grep -q '^redis_up' "$scratch/metrics" && break
    kill -0 "$exporter_pid" 2>/dev/null || break
    sleep 0.02
done

# metric <name with labels>: its value
metric() {
    awk -v name="$1" 'index($0, name) == 1 { print $2; exit }' "$scratch/metrics"
}

same "the exporter is up" 1 "$(metric 'redis_up')"
same "no scrape failed" 0 "$(metric 'redis_exporter_last_scrape_error')"
same "entries are counted" 4 "$(metric 'redis_db_keys{db="db0"}')"
same "entries that expire are counted" 3 "$(metric 'redis_db_keys_expiring{db="db0"}')"
same "calls of a command are counted" 3 "$(metric 'redis_commands_total{cmd="kv.set"}')"
same "the slow log is seen" yes \
    "$([ "$(metric 'redis_slowlog_length')" -ge 5 ] && echo yes || echo no)"
same "maxclients is seen" 10000 "$(metric 'redis_config_maxclients')"
same "memory is seen" yes \
    "$([ "$(metric 'redis_memory_used_bytes' | cut -d. -f1)" != 0 ] && echo yes || echo no)"
# An error that the rules of docs/production.md look for appears once there was one; any other will do here.
same "the rules for alerts name what there is" "" "$(sed -n '/^groups:/,/^```/p' docs/production.md |
    grep -oE 'redis_[a-z_]+' | sort -u | while read -r name; do grep -qE "^$name[ {]" "$scratch/metrics" || echo "$name"; done)"
same "of which there are several" yes \
    "$([ "$(sed -n '/^groups:/,/^```/p' docs/production.md | grep -c 'expr: .*redis_')" -ge 8 ] && echo yes || echo no)"
same "at least 80 metrics" yes \
    "$([ "$(grep -c '^redis_' "$scratch/metrics")" -ge 80 ] && echo yes || echo no)"
grep -iE 'level=(error|warn)' "$scratch/exporter" >"$scratch/complaints"
same "the exporter logs no error" '' "$(cat "$scratch/complaints")"
kill "$exporter_pid"
wait "$exporter_pid" 2>/dev/null
stop_server
finish

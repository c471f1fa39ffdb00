#!/bin/bash
# The recipes of docs/production.md, run as they stand there, on a server of their own: paths of the package are
# put into the scratch directory, `systemctl`, `redis-cli`, `tupled` and `install` are those below.
. "$(dirname "$0")/server.sh"

if ! command -v redis-cli >/dev/null; then
    skip "the recipes" "redis-cli is not installed (package redis-tools)"
    exit 0
fi

data=$scratch/lib/tupled
mkdir -p "$scratch/lib" "$scratch/backup" "$scratch/tmp" "$scratch/prometheus"

# What the recipes call. A second server's port, 7000 there, is a free one here.
cat >"$scratch/tools" <<END
systemctl() { echo "\$1" >&8; read -r _ <&7; }
redis-cli() {
    local words=() port
    port=\$(cat '$scratch/port')
    while [ \$# -gt 0 ]; do
        if [ "\$1 \${2:-}" = "-p 7000" ]; then port=\$(cat '$scratch/second'); shift; else words+=("\$1"); fi
        shift
    done
    timeout 20 '$(type -P redis-cli)' -p "\$port" "\${words[@]}"
}
tupled() {
    local words=()
    while [ \$# -gt 0 ]; do
        if [ "\$1" = --port ]; then words+=(--port 0); shift; else words+=("\$1"); fi
        shift
    done
    '$TUPLED_BIN' "\${words[@]}" &
    for ((i = 0; i < 2000; i++)); do
        sed -n 's/.*ready to accept connections on .* port \([0-9]*\)\$/\1/p' '$scratch/tmp/tupled-before/log' 2>/dev/null >'$scratch/second' || true
        [ ! -s '$scratch/second' ] || break
        command sleep 0.01
    done
    wait \$!
}
install() {
    local words=()
    while [ \$# -gt 0 ]; do
        case \$1 in -o | -g) shift ;; *) words+=("\$1") ;; esac
        shift
    done
    command install "\${words[@]}"
}
END

begin() {
    start_server --dir "$data"
    echo "$port" >"$scratch/port"
}
ask() { timeout 60 redis-cli -p "$port" "$@"; }
recipe() { # <name>: the text of it, for this directory
    awk -v name="<!-- run: $1 -->" '$0 == name { found = 1; next } found && /^```/ { if (inside) exit; inside = 1; next }
        inside { print }' docs/production.md |
        sed -e "s|/var/lib/tupled|$data|g; s|/srv/backup|$scratch/backup|g; s|/var/tmp|$scratch/tmp|g" \
            -e "s|/var/lib/prometheus/node-exporter|$scratch/prometheus|g"
}
# run_recipe <name>: what it prints is in $scratch/answer. The server is this script's to stop and start.
run_recipe() {
    local wish status
    recipe "$1" >"$scratch/recipe"
    if [ ! -s "$scratch/recipe" ]; then
        not_ok "$1: there is no such recipe"
        return
    fi
    coproc child {
        exec 7<&0 8>&1
        exec </dev/null >"$scratch/answer" 2>&1
        # shellcheck disable=SC1091
        . "$scratch/tools"
        set -e
        # shellcheck disable=SC1091
        . "$scratch/recipe"
    }
    # shellcheck disable=SC2154 # coproc sets child_PID
    local from=${child[0]} into=${child[1]} pid=$child_PID
    while read -r -t 60 -u "$from" wish; do
        if [ "$wish" = stop ]; then stop_server; else begin; fi
        echo "it is so" >&"$into"
    done
    wait "$pid"
    status=$?
    if [ "$status" -eq 0 ]; then
        echo "ok - $1: the recipe can be run"
    else
        not_ok "$1: the recipe ends with $status"
        sed 's/^/  /' "$scratch/answer"
    fi
}
same "every recipe is run here" "backup damaged disk-full health lost removed" \
    "$(sed -n 's/^<!-- run: \(.*\) -->$/\1/p' docs/production.md | sort | tr '\n' ' ' | sed 's/ $//')"

begin
for i in 1 2 3 4 5; do ask KV.SET "[\"users\",$i]" "{\"name\":\"user $i\"}" >/dev/null; done
ask KV.SET '["users","quoted \" \\ é"]' '"a \"value\"\nof two lines"' >/dev/null
for i in {1..400}; do echo "KV.SET [\"many\",$i] \"$(printf 'x%.0s' {1..300})\""; done | sed "s/\"x/'\"x/; s/x\"\$/x\"'/; s/\[/'[/; s/\]/]'/" |
    ask >/dev/null
same "there is something to lose" 406 "$(ask DBSIZE)"

# ---- backup, health ----
for i in 1 2 3; do
    ask KV.SET '["round"]' "$i" >/dev/null
    run_recipe backup
done
same "two backups stay" 2 "$(find "$data/backups" -name '*.db' | wc -l)"
same "all were copied" 3 "$(find "$scratch/backup" -name '*.db' | wc -l)"
run_recipe health
same "the collector is told" "tupled_health_ok 1" "$(cat "$scratch/prometheus/tupled.prom")"

# ---- the disk is full: what that does is looked at in test_disk_full ----
run_recipe disk-full
same "old backups are gone" 1 "$(find "$data/backups" -name '*.db' | wc -l)"
same "the history is short" 67108864 "$(ask CONFIG GET changes-retention-size | tail -n 1)"

# ---- somebody removed too much ----
ask KV.DELRANGE PREFIX '["users"]' >/dev/null
ask KV.SET '["users",3]' '"written since"' >/dev/null
run_recipe removed
same "what was removed is there" '{"name":"user 1"}' "$(ask KV.GET '["users",1]')"
same "also what must be quoted" '"a \"value\"\nof two lines"' "$(ask KV.GET '["users","quoted \" \\ é"]')"
same "what was written since stays" '"written since"' "$(ask KV.GET '["users",3]')"

# ---- the machine is lost ----
kill -KILL "$server"
wait "$server" 2>/dev/null
rm -r "$data"
begin
run_recipe lost
same "all of the backup is there" 407 "$(tail -n 1 "$scratch/answer")"
same "of the last one" 3 "$(ask KV.GET '["round"]')"

# ---- a page is damaged ----
ask KV.SET '["since"]' '"the backup"' >/dev/null
ask SAVE >/dev/null # so that all of it is in tupled.db
stop_server
pages=$(($(stat -c %s "$data/tupled.db") / 4096))
for ((page = pages / 2; page < pages; page++)); do
    printf 'damage' | dd of="$data/tupled.db" bs=1 seek=$((page * 4096 + 2000)) conv=notrunc status=none
done
begin
run_recipe damaged
same "it is seen" damaged "$(awk '$0 == "state" { getline; print; exit }' "$scratch/answer" | sed 's/running/damaged/')"
same "what was written since is saved" 1 "$(grep -c 'the backup' "$scratch/tmp/written-since")"
same "all of the backup is there again" 407 "$(ask DBSIZE)"
same "and can be read" 400 "$(ask KV.COUNT PREFIX '["many"]')"
for ((tries = 0; tries < 1000; tries++)); do
    state=$(ask KV.VERIFY STATUS | awk '$0 == "state" { getline; print; exit }')
    [ "$state" = running ] || break
    sleep 0.01
done
same "nothing is damaged any more" good "$state"
check "the damaged directory is kept" test -f "$data.damaged/tupled.db"
stop_server
finish

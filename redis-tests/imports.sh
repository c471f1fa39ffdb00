# Sourced after server.sh: what the tests of export and import share.

tool=$PWD/build/asan/tupledctl
cli() { redis-cli -p "$port" "$@"; }
ctl() { timeout 120 "$tool" -u "redis://127.0.0.1:$port" "$@"; }
flush() { cli FLUSHALL >/dev/null; }
# said <name> <status> <text in its errors> <words of ctl>...
said() {
    local name=$1 wanted=$2 text=$3 status
    shift 3
    ctl "$@" >"$scratch/out" 2>"$scratch/err"
    status=$?
    if [ "$status" -eq "$wanted" ] && grep -qF -- "$text" "$scratch/err"; then
        echo "ok - $name"
    else
        not_ok "$name"
        printf '  status %s, wanted %s: %s\n' "$status" "$wanted" "$(head -c 600 "$scratch/err")"
    fi
}

# on_slow_disk <words of the server>...: the server starts again, each sync of its journal 0.1 s slower, so that an import
# takes long enough to be killed on any machine.
on_slow_disk() {
    stop_server
    TUPLED_TEST_SYNC_DELAY_MS=100 start_server "$@"
}

# kill_imports <file of its place> <times at most> <words of tupledctl>...: runs it again and again, and kills it each
# time that its place has moved on. $kills is how often it was killed, $scratch/err what the last one said.
kill_imports() {
    local place=$1 times=$2 i tries importer before='' now
    shift 2
    kills=0
    for ((i = 0; i < times; i++)); do
        "$tool" -u "redis://127.0.0.1:$port" "$@" 2>"$scratch/err" &
        importer=$!
        for ((tries = 0; tries < 10000; tries++)); do
            now=$before
            [ ! -s "$place" ] || { read -r -d '' now <"$place"; } 2>/dev/null
            [ "$now" = "$before" ] && kill -0 "$importer" 2>/dev/null || break
            sleep 0.002
        done
        before=$now
        if kill -KILL "$importer" 2>/dev/null; then kills=$((kills + 1)); fi
        wait "$importer" 2>/dev/null
        [ -e "$place" ] || break
    done
}

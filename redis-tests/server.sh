# Sourced by the scripts of this folder: servers for a test, and its lines of report.
#
#   start_server [argument...]   the ASan build (RELEASE=1: the release build) on a free port: $port; with HTTP=1
#                                HTTP too: $http_port
#   stop_server                  SIGTERM; it must end with status 0
#   port_take                    that of tests/ports.sh
#   check <name> <command>...    `ok - name` when the command ends with status 0
#   same, skip, not_ok           those of tests/checks.sh
# At the end of the script the server is killed by its process id and the scratch directory removed.

set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
export LC_ALL=C
export TUPLED_TEST_ANY_PORT=1 # --port 0 is any free one
[ -z "${HTTP:-}" ] || export TUPLED_TEST_ANY_HTTP_PORT=1
TUPLED_BIN=${TUPLED_BIN:-$PWD/build/tupled}
TUPLED_ASAN_BIN=${TUPLED_ASAN_BIN:-$PWD/build/asan/tupled}
scratch=$(mktemp -d) || exit 1
server='' port='' http_port=''
. tests/checks.sh
. tests/ports.sh

clean_up() {
    [ -z "$server" ] || kill -KILL "$server" 2>/dev/null
    rm -rf "$scratch"
}
trap clean_up EXIT

check() {
    local name=$1
    shift
    if "$@" >"$scratch/check" 2>&1; then
        echo "ok - $name"
    else
        not_ok "$name"
        head -n 60 "$scratch/check" | sed 's/^/  /'
    fi
}

start_server() {
    local binary=$TUPLED_ASAN_BIN tries
    [ -z "${RELEASE:-}" ] || binary=$TUPLED_BIN
    : >"$scratch/log"
    # What a script does in 5 s on a machine of its own takes a crowded one more.
    "$binary" --dir "$scratch/data" --port 0 --http-port 0 --logfile "$scratch/log" --script-time-limit 60000 "$@" \
        >"$scratch/output" 2>&1 &
    server=$!
    for ((tries = 0; tries < 2000; tries++)); do
        port=$(sed -n 's/.*ready to accept connections on .* port \([0-9]*\)$/\1/p' "$scratch/log")
        http_port=$(sed -n 's/.*ready to accept HTTP.* port \([0-9]*\)$/\1/p' "$scratch/log")
        [ -z "$port" ] || return 0
        kill -0 "$server" 2>/dev/null || break
        sleep 0.01
    done
    not_ok "the server starts"
    cat "$scratch/log" "$scratch/output"
    exit 1
}

stop_server() {
    local status
    kill -TERM "$server"
    wait "$server"
    status=$?
    server=''
    if [ "$status" -eq 0 ]; then
        echo "ok - the server stops cleanly"
    else
        not_ok "the server stops cleanly (status $status)"
        cat "$scratch/output"
    fi
}

# reconnects <name> <port> <program>...: the program is started with the port and must print `ready`;
# then the server restarts on that port, the program reads a line, and must print `done`.
reconnects() {
    local name=$1 fixed=$2
    shift 2
    start_server --port "$fixed"
    if restart_under "$fixed" "$@"; then
        echo "ok - $name"
    else
        not_ok "$name"
    fi
    stop_server
}

restart_under() {
    local fixed=$1 word=''
    shift
    local program=$1 script=$2
    shift 2
    coproc client { exec timeout 30 "$program" "$script" "$fixed" "$@" 2>&1; }
    local to=${client[1]} from=${client[0]} pid=$client_PID
    read -r -t 20 -u "$from" word
    [ "$word" = ready ] || { echo "$word"; cat <&"$from"; return 1; }
    stop_server
    start_server --port "$fixed"
    echo go >&"$to"
    read -r -t 20 -u "$from" word
    [ "$word" = done ] || { echo "$word"; cat <&"$from"; return 1; }
    wait "$pid"
}

# The last line of a script: its exit status.
finish() {
    [ "$failures" -eq 0 ]
    exit
}

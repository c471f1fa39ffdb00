# Sourced after server.sh, libraries.sh: clients of KV Connect.
#
#   install_deno         $deno is Deno, and the scripts of $deno_home find @deno/kv: a copy of redis-tests/deno
#   restart_server       starts it on the ports that it had, with the arguments of $server_words
#   talk <seconds> <program>...  runs it; its lines of report are this script's. When it prints "ask kill" or
#                        "ask start", that is done with the server, and it is told "done"

deno=$PWD/build/deno/node_modules/@deno/linux-x64-glibc/deno
deno_home=$scratch/deno
deno_run=("$deno" run -A --no-lock --unstable-kv)
server_words=()
export DENO_KV_ACCESS_TOKEN=secret-token-123 DENO_NO_UPDATE_CHECK=1 DENO_DIR=$scratch/deno-dir

install_deno() {
    has "Deno" npm && fetched "Deno" build/deno redis-tests/deno/package.json fetch_deno || return 1
    "$deno" --version >"$scratch/deno-version" 2>&1 || { skip "Deno" "does not run here"; return 1; }
    cp -r redis-tests/deno "$deno_home" && ln -s "$PWD/build/deno/node_modules" "$deno_home/"
}

fetch_deno() {
    rm -rf node_modules
    timeout 200 npm install --no-package-lock --no-audit --no-fund --ignore-scripts \
        --fetch-retries 1 --fetch-timeout 20000
}

restart_server() {
    start_server --port "$port" --http-port "$http_port" "${server_words[@]}"
}

answer() { # what was asked for, file descriptor
    case $1 in
    kill)
        kill -KILL "$server"
        wait "$server" 2>/dev/null
        server=''
        ;;
    start) restart_server ;;
    *) not_ok "$1 is something to ask for" ;;
    esac
    echo "done" >&"$2"
}

talk() {
    local seconds=$1 line status=0
    shift
    coproc client { exec timeout "$seconds" "$@" 2>"$scratch/complaints"; }
    local to=${client[1]} from=${client[0]} pid=$client_PID
    trap '' PIPE # an answer to one that has ended is an error, not the end
    while IFS= read -r -u "$from" line; do
        case $line in
        ask\ *) answer "${line#ask }" "$to" ;;
        *) echo "$line" ;;
        esac
    done
    wait "$pid" || status=$?
    [ "$status" -eq 0 ] && return
    failures=$((failures + 1))
    [ "$status" -eq 1 ] || not_ok "$* ends (status $status)"
    tail -n 20 "$scratch/complaints" | cut -c 1-300
}

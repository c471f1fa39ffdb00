#!/bin/bash
# Builds the server and starts it, for `make run`: says what is built, how far it is, and where the server is once it is
# ready. PORT, HTTP_PORT and DIR of the environment are its settings; any others are given on the command line.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
port=${PORT:-6379} http_port=${HTTP_PORT:-4512} dir=${DIR:-tupled-data}

answers() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# Before anything is built.
for name in PORT HTTP_PORT; do
    wanted=$port
    [ $name = PORT ] || wanted=$http_port
    if [ "$wanted" != 0 ] && answers "$wanted"; then
        echo "run: port $wanted is taken by another program; choose another one: make run $name=..." >&2
        exit 1
    fi
done

build() {
    "${MAKE:-make}" --no-print-directory -j"${JOBS:-$(nproc)}" --output-sync=target "$@" build/tupled
}

# show <text>: over the last one on a terminal; elsewhere some of them, a line each.
show() {
    if [ -t 1 ]; then
        printf '\r%-60s' "$1"
    elif [ $((count % 100)) -eq 0 ]; then
        echo "$1"
    fi
}

total=$(build -n 2>/dev/null | grep -c '"  cc   ')
count=0
[ "$total" -eq 0 ] || echo "run: building $total files"
build 2>&1 | {
    while IFS= read -r line; do
        case $line in
        '  cc   '*)
            count=$((count + 1))
            show "run: compiled $count of $total"
            ;;
        '  link '*)
            [ ! -t 1 ] || echo
            echo "run: linking"
            ;;
        *) echo "$line" ;;
        esac
    done
}
[ "${PIPESTATUS[0]}" -eq 0 ] || { echo "run: the build failed" >&2; exit 1; }

# Told beside the server, which takes this process and its signals.
tell_when_ready() {
    local seconds=600
    while ! answers "$port"; do
        kill -0 $$ 2>/dev/null && [ $((seconds--)) -gt 0 ] || return
        sleep 0.2
    done
    echo
    echo "  tupled is ready. Data is in $dir; Ctrl-C ends it. In another terminal:"
    echo
    echo "    redis-cli -p $port KV.SET '[\"hello\",1]' '{\"to\":\"world\"}'"
    [ "$http_port" = 0 ] || printf '\n  The page: http://127.0.0.1:%s/ui/\n' "$http_port"
    echo
}
tell_when_ready &
exec build/tupled --port "$port" --http-port "$http_port" --dir "$dir" "$@"

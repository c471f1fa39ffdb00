#!/bin/bash
# Pastes the examples of docs/command-examples.txt, which `make docs` puts into docs/commands.md: of each command
#
#   ### NAME        or `### NAME (not pasted: why)`
#   > COMMAND ...   a line typed at the prompt of redis-cli
#   reply           what is answered to it, which must be so (pasted.sh says how exactly)
#
# Each example has one connection, and database 0 to itself. From a line with <receipt> or the like on it has a new
# connection, since what stands there must have been told before.
. "$(dirname "$0")/server.sh"
. redis-tests/pasted.sh
file=docs/command-examples.txt

if ! command -v redis-cli >/dev/null; then
    skip "the examples" "redis-cli is not installed (package redis-tools)"
    exit 0
fi

# What listens does so for ever: it is stopped when the answer is there.
listen() { # what is typed
    local tries
    timeout 60 stdbuf -oL redis-cli -p "$port" --no-raw <<<"$1" >"$scratch/answer" 2>&1 &
    for ((tries = 0; tries < 1000; tries++)); do
        like "$wanted" && break
        sleep 0.02
    done
    kill $!
    wait $! 2>/dev/null
}

# $lines, $wanted: pastes them on one connection.
paste_lines() {
    local text=$lines
    [ -n "$lines" ] || return 0
    fill_in
    case $text in
    *SUBSCRIBE* | MONITOR*) listen "$text" ;;
    *) timeout 60 redis-cli -p "$port" --no-raw <<<"$text" >"$scratch/answer" 2>&1 ;;
    esac
    remember "$text"
    like "$wanted" && return
    echo "$text"
    echo "answers:"
    head -n 40 "$scratch/answer"
    return 1
}

paste_example() { # name; its lines are in $scratch/example
    local line lines='' wanted=''
    told=()
    redis-cli -p "$port" FLUSHDB >/dev/null
    while IFS= read -r line; do
        case $line in
        '> '*'<'[a-z]*'>'*)
            paste_lines || return 1
            lines=${line#> } wanted=''
            ;;
        '> '*) lines=${lines:+$lines$'\n'}${line#> } ;;
        *) wanted=${wanted:+$wanted$'\n'}$line ;;
        esac
    done <"$scratch/example"
    paste_lines
}

: >"$scratch/users.acl"
start_server --aclfile "$scratch/users.acl" --archive-dir "$scratch/archive" --enable-debug-command yes \
    --slowlog-log-slower-than 100000000
name=''
tell() {
    case $name in
    '' | *'(not pasted: '*) ;;
    *) check "$name" paste_example "$name" ;;
    esac
    : >"$scratch/example"
}
while IFS= read -r line; do
    case $line in
    '### '*)
        tell
        name=${line#'### '}
        ;;
    '') ;;
    *) printf '%s\n' "$line" >>"$scratch/example" ;;
    esac
done <"$file"
tell
stop_server
finish

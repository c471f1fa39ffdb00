#!/bin/bash
# Pastes every command line of README.md and docs/*.md, file by file, each into a database of its own, in
# the order in which they stand. (docs/commands.md is pasted by test_command_examples.sh, and docs/benchmarks*.md run programs.)
#
# A command line is a line of a code block (four blanks, or between ```) that begins with
#
#   $ redis-cli       typed in a shell; what follows a # is a comment. With a ' that is open at its end,
#                     or a \, it goes on in the next line
#   KV.SET, GET, ...  a command's name in capitals: typed at the prompt of redis-cli; all in one line
#
# All other lines of a block are what is answered, pictures, or other languages. A word in angle brackets
# is what an earlier reply of the file has told: <versionstamp> and <id> the last one seen, <receipt> that
# of the last message, <cursor> that of the last page. A command may answer an error only if the next line
# begins with (error). One that listens must say that it does.
#
# The pages of recipes also say what is answered, which must be so: the lines of the block after a command, up to
# the next one. Versionstamps may be others, ... is anything, and what follows three blanks is a remark.
. "$(dirname "$0")/server.sh"
. redis-tests/pasted.sh

if ! command -v redis-cli >/dev/null; then
    skip "docs" "redis-cli is not installed (package redis-tools)"
    exit 0
fi

start_server
redis-cli -p "$port" COMMAND LIST | tr a-z A-Z | sed 's/|.*//' | sort -u >"$scratch/names"

# The command lines of a file, each after the number of its line and whether an error follows.
command_lines() {
    awk -v names="$scratch/names" '
        function goes_on(text) { return text ~ /\\$/ || gsub(/\047/, "", text) % 2 == 1 }
        function tell() {
            if (text != "") print number "\t" (text_next ~ /^\(error\)/ ? "error" : "fine") "\t" text
            text = ""
        }
        BEGIN { while ((getline name <names) > 0) known[name] = 1 }
        /^```/ { is_fenced = !is_fenced; tell(); next }
        {
            line = $0
            if (!is_fenced && !sub(/^    /, "", line)) { text_next = ""; tell(); next }
            if (is_open) {
                number = FNR
                text = text "\001" line
                is_open = goes_on(text)
                next
            }
            text_next = line
            tell()
            word = line
            sub(/ .*/, "", word)
            if (line ~ /^\$ redis-cli /) { number = FNR; text = line; is_open = goes_on(text) }
            else if (word ~ /^[A-Z][A-Z.]*$/ && word in known) { number = FNR; text = line }
        }
        END { text_next = ""; tell() }' "$1"
}

# $database, $text: runs it; what is answered goes to $scratch/answer.
paste() {
    local cli=(redis-cli -p "$port" -n "$database" --no-raw) words
    case $text in
    '$ redis-cli '*)
        # As the shell would take it, but for the program.
        words=${text#'$ redis-cli '}
        : >"$scratch/answer"
    eval "timeout 20 stdbuf -oL \"\${cli[@]}\" $words"
        ;;
    *) printf '%s\n' "$text" | timeout 20 "${cli[@]}" ;;
    esac
}

# One that listens ends by itself never: it is stopped when it has said that it does.
listen() {
    local tries pid words=${text#'$ redis-cli '}
    eval "exec timeout 20 stdbuf -oL redis-cli -p $port -n $database --no-raw $words" >"$scratch/answer" 2>&1 &
    pid=$!
    for ((tries = 0; tries < 1000; tries++)); do
        grep -q 'subscribe"' "$scratch/answer" && break
        sleep 0.02
    done
    kill "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
    grep -q 'subscribe"' "$scratch/answer"
}

# paste_file <file>: `ok` when all of its lines can be pasted.
paste_file() {
    local number wanted text count=0 bad=0
    told=()
    command_lines "$1" >"$scratch/lines"
    while IFS=$'\t' read -r -u 9 number wanted text; do
        text=${text//$'\001'/$'\n'}
        fill_in
        count=$((count + 1))
        : >"$scratch/answer"
        case $text in
        *'<'[a-z]*'>'*'</'*'>'*) paste >"$scratch/answer" 2>&1 ;; # <b> </b>: marks, not places
        *'<'[a-z]*'>'*) echo "nothing has told what stands in <>" >"$scratch/answer"; false ;;
        '$ redis-cli SUBSCRIBE '* | '$ redis-cli PSUBSCRIBE '* | SUBSCRIBE\ * | PSUBSCRIBE\ *) listen ;;
        *) paste >"$scratch/answer" 2>&1 ;;
        esac
        local status=$? got=fine
        remember "$text"
        grep -qE '^ *([0-9]+\) *)*\(error\)|^Invalid argument|^Could not' "$scratch/answer" && got=error
        case $1 in
        docs/coming-from-*.md | docs/modelling.md | docs/cookbook.md)
            is_as_shown "$1" "$number" || got='not as shown'
            ;;
        esac
        [ "$status" -eq 0 ] && [ "$got" = "$wanted" ] && continue
        bad=$((bad + 1))
        printf '  %s:%s: %s\n    %s\n' "$1" "$number" "$text" "$(head -n 3 "$scratch/answer")"
    done 9<"$scratch/lines"
    if [ "$bad" -eq 0 ]; then
        echo "ok - $1: $count lines can be pasted"
    else
        not_ok "$1: $bad of $count lines cannot be pasted"
    fi
    pasted=$((pasted + count))
}

# The lines of a file that follow a line of a block, up to the next command.
shown() { # file, number
    awk -v number="$2" 'FNR > number {
        if (!/^    / || /^    \$ /) exit
        sub(/^    /, ""); print
    }' "$1"
}

# What $scratch/answer has is what the file shows after that line.
is_as_shown() { # file, number
    local wanted
    wanted=$(shown "$1" "$2" | sed -E 's/([^ ])   +[^"]*$/\1/')
    [ -z "$wanted" ] || like "$wanted"
}

pasted=0 database=0
for file in README.md docs/*.md; do
    case $file in docs/commands.md | docs/benchmarks*.md) continue ;; esac
    [ "$database" -lt 16 ] || redis-cli -p "$port" KV.DB CREATE "page$database" >/dev/null
    paste_file "$file"
    database=$((database + 1))
done
same "each in a database of its own" "OK" "$(redis-cli -p "$port" -n $((database - 1)) SELECT $((database - 1)))"
check "which are many ($pasted)" test "$pasted" -ge 50
stop_server
finish

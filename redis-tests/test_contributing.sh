#!/bin/bash
# The example of CONTRIBUTING.md is a command: its file and its row are put beside the server's own, and it runs.

. "$(dirname "$0")/server.sh"

part=$scratch/part
mkdir -p "$part/request" "$part/command/kv"

# What the page says: the file, in the first block of C, and the row.
awk '/^```c$/ { n++; next } /^```$/ { if (n == 1) exit } n == 1' CONTRIBUTING.md >"$part/command/kv/same.c"
row=$(sed -n 's/^    \(X(kv_[a-z]*)\)$/\1/p' CONTRIBUTING.md)
same "the page has a row" "X(kv_same)" "$row"
awk -v row="$row" '
    /^    X\(/ && !done { split($1, has, /[()]/); if (has[2] > "kv_same") { print "    " row " \\"; done = 1 } }
    { print }' src/request/table.h >"$part/request/table.h"
check "it is in the table once" [ "$(grep -c 'X(kv_same)' "$part/request/table.h")" = 1 ]
same "the example has so many lines at most" 1 "$(($(wc -l <"$part/command/kv/same.c") <= 40))"

# As the server is built, with these two in place of the table alone.
commands=$(env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -nB build/asan/tupled 2>/dev/null)
compile=$(grep -E -- ' -c -o build/asan/obj/src/command/table.o ' <<<"$commands")
link=$(grep -E -- ' -o build/asan/tupled ' <<<"$commands")
check "the build says how it compiles" [ -n "$compile" ]
check "... and how it links" [ -n "$link" ]
build_one() { # <source> <object>
    local line=${compile/ -Isrc / -I"$part" -Isrc }
    line=${line/build\/asan\/obj\/src\/command\/table.o/$2}
    eval "${line/src\/command\/table.c/$1}"
}
check "the example compiles" build_one "$part/command/kv/same.c" "$part/same.o"
check "the table compiles with its row" build_one src/command/table.c "$part/table.o"
link=${link/ -o build\/asan\/tupled / -o "$part/tupled" "$part/same.o" "$part/table.o" }
check "it is linked" eval "$link"

TUPLED_ASAN_BIN=$part/tupled
start_server
cli() { redis-cli -p "$port" "$@" 2>&1; }
cli KV.SET '["a"]' '{"n":1}' >/dev/null
cli KV.SET '["b"]' '{"n":1}' >/dev/null
cli KV.SET '["c"]' 2 >/dev/null
same "equal values" 1 "$(cli KV.SAME '["a"]' '["b"]')"
same "others" 0 "$(cli KV.SAME '["a"]' '["c"]')"
same "no value" 0 "$(cli KV.SAME '["a"]' '["nothing"]')"
same "a number of words that is wrong is told with what is right" \
    "ERR wrong number of arguments for 'kv.same' command; usage: KV.SAME key other" "$(cli KV.SAME '["a"]' | head -n 1)"
check "a key that is none is named" grep -q '^ERR.*invalid key' <(cli KV.SAME '["a"' '["b"]')
same "COMMAND GETKEYS knows both" '["a"] ["b"] ' "$(cli COMMAND GETKEYS KV.SAME '["a"]' '["b"]' | tr '\n' ' ')"
check "COMMAND DOCS has it" grep -q 'equal values' <(cli COMMAND DOCS kv.same)
cli ACL SETUSER some on '>secret' +kv.same '~a' >/dev/null
check "a user needs both keys" grep -q "NOPERM.*'b'" <(cli --user some --pass secret --no-auth-warning KV.SAME '["a"]' '["b"]')
stop_server
finish

# pages: pages whose pieces of code are one program, run as it stands, which prints what the page says.
# Needs server.sh, and a server that was started.

# pieces <page> <language>: the program, for the server of the test.
pieces() {
    awk -v fence="\`\`\`$2" '$0 == fence { is_in = 1; next } /^```/ { is_in = 0 } is_in' "$1" | sed "s/6379/$port/"
}

# page <page> <language> <remark> <file> <program>...: the program, called with the file, says what the page has behind
# the remark of the language and an arrow.
page() {
    redis-cli -p "$port" FLUSHALL >/dev/null
    pieces "$1" "$2" >"$4"
    "${@:5}" "$4" >"$scratch/page" 2>"$scratch/page.errors" </dev/null
    same "$1: ends well" 0 "$?"
    same "$1: says what it says" "$(sed -n "s|^[[:blank:]]*$3 -> ||p" "$1")" "$(cat "$scratch/page")"
    [ -s "$scratch/page" ] || cat "$scratch/page.errors"
}

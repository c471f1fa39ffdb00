# Sourced by the tests of REST, after server.sh: requests, and streams of events.
#
#   begin_rest [path]                                  a server of both protocols; routes are below $base
#   ask <method> <path> [curl's arguments]             "<status> <body>", versionstamps as VS; noted in $scratch/asked
#   answers <name> <wanted> <method> <path> ..         `ok - name` when that is what ask says
#   status <name> <wanted status> <method> <path> ..
#   listen <name> <path> [curl's arguments]            a stream into $scratch/<name>, for some seconds
#   told <name> <text>                                 waits until the stream has it
#   end_streams

if ! command -v curl >/dev/null; then
    skip "REST" "there is no curl"
    exit 0
fi
streams=()
stamp='s/"[0-9a-f]{16}0000"/VS/g'

begin_rest() {
    start_server
    base=http://127.0.0.1:$http_port/keyval/api${1:-}
}

ask() {
    local method=$1 path=$2
    shift 2
    curl -s -m 40 -X "$method" -w '\n%{http_code}' "$base$path" "$@" | sed -E "$stamp" |
        awk -v what="$method $path" -v note="$scratch/asked" '{ line[NR] = $0 }
            END { print what, line[NR] >>note; printf "%s ", line[NR]; for (i = 1; i < NR; i++) print line[i] }'
}

answers() {
    local name=$1 wanted=$2
    shift 2
    same "$name" "$wanted" "$(ask "$@")"
}

status() {
    local name=$1 wanted=$2
    shift 2
    same "$name" "$wanted" "$(ask "$@" | cut -c1-3)"
}

listen() {
    local name=$1 path=$2
    shift 2
    curl -sN -m 30 "$base$path" "$@" >"$scratch/$name" &
    streams+=($!)
}

told() {
    local tries
    for ((tries = 0; tries < 1000; tries++)); do
        grep -qF "$2" "$scratch/$1" && return 0
        sleep 0.01
    done
    cat "$scratch/$1"
    return 1
}

end_streams() {
    kill "${streams[@]}"
    wait "${streams[@]}" 2>/dev/null
    streams=()
}

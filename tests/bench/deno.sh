#!/bin/bash
# deno: Deno's KV by KV Connect from a tupled, beside Deno's own KV in a file, both durable, in turn, on this
# machine; medians. Prints a table in Markdown; docs/benchmarks-requests.md keeps it. Needs npm, or Deno in build/deno.
#   tests/bench/deno.sh [rounds] [seconds for each]
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/bench/release.sh
rounds=${1:-3} seconds=${2:-2}
deno=build/deno/node_modules/@deno/linux-x64-glibc/deno
if [ ! -x "$deno" ]; then
    mkdir -p build/deno
    npm install --silent --no-package-lock --ignore-scripts --prefix build/deno deno@2.9.6 >/dev/null
fi
# Beside the repository's build, not in /tmp: that may be memory, and a sync must be one.
dir=$(mktemp -d "$PWD/build/bench.XXXXXX")
server=
stop() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    wait
    rm -rf "$dir"
}
trap stop EXIT
export TUPLED_TEST_ANY_PORT=1 TUPLED_TEST_ANY_HTTP_PORT=1 DENO_KV_ACCESS_TOKEN=any-long-password
export DENO_NO_UPDATE_CHECK=1 DENO_DIR=$dir/deno
build/tupled --dir "$dir/tupled" --port 0 --http-port 0 --logfile "$dir/log" &
server=$!
port=
for _ in $(seq 600); do
    port=$(sed -n 's/.*ready to accept HTTP.* port \([0-9]*\)$/\1/p' "$dir/log" 2>/dev/null || true)
    [ -n "$port" ] && break
    sleep 0.05
done
[ -n "$port" ] || { cat "$dir/log" >&2; exit 1; }
measure() { # side, url or file
    "$deno" run -A --no-lock --unstable-kv tests/bench/deno_connect.mjs "$2" "$seconds" | sed "s/^/$1 /" >>"$dir/rates"
}
for ((i = 0; i < rounds; i++)); do
    measure tupled "http://127.0.0.1:$port/connect"
    measure file "$dir/kv-$i.sqlite"
done
rates() { awk -v side="$1" -v name="$2" -v n="$3" '$1 == side && $2 == name && $3 == n { print $4 }' "$dir/rates" | sort -n; }
median() { awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
echo "Machine: $(nproc) x $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), Deno $("$deno" eval 'console.log(Deno.version.deno)'); $rounds rounds in turn, median (lowest-highest)."
echo
echo "| work | at a time | KV Connect to tupled /s | Deno's file /s | ratio |"
echo "| --- | --- | --- | --- | --- |"
for name in get set atomic watch; do
    for n in 1 50; do
        a=$(rates tupled "$name" "$n") b=$(rates file "$name" "$n")
        awk -v line="| $name | $n |" -v a="$(median <<<"$a")" -v b="$(median <<<"$b")" \
            -v as="$(head -1 <<<"$a")-$(tail -1 <<<"$a")" -v bs="$(head -1 <<<"$b")-$(tail -1 <<<"$b")" \
            'BEGIN { printf "%s %.0f (%s) | %.0f (%s) | **%.2f** |\n", line, a, as, b, bs, a / b }'
    done
done

#!/bin/bash
# page: the page in a browser, with few and with very many keys, and its feed for a long time. Needs node, npm and
# Debian's chromium. docs/benchmarks-requests.md keeps what it prints.
#   tests/bench/page.sh open [keys]              until screens show something: milliseconds, medians of 11
#   tests/bench/page.sh feed [minutes] [writes/s]   what the feed holds as time goes by
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/bench/release.sh
what=${1:-open}
if [ ! -d build/page/node_modules ]; then
    mkdir -p build/page && cp redis-tests/page/package.json build/page/
    npm install --silent --no-package-lock --ignore-scripts --prefix build/page >/dev/null
fi
# Beside the repository's build, not in /tmp: that may be memory.
dir=$(mktemp -d "$PWD/build/bench.XXXXXX")
server=
stop() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    wait
    rm -rf "$dir"
}
trap stop EXIT
export TUPLED_TEST_ANY_PORT=1 TUPLED_TEST_ANY_HTTP_PORT=1
build/tupled --dir "$dir/data" --port 0 --http-port 0 --changes-retention-size 64mb --logfile "$dir/log" &
server=$!
port_of() { sed -n "s/.*ready to accept $1.* port \([0-9]*\)$/\1/p" "$dir/log" 2>/dev/null | head -n 1; }
for _ in $(seq 600); do
    [ -z "$(port_of connections)" ] || break
    sleep 0.05
done
http=$(port_of HTTP) port=$(port_of connections)
[ -n "$http" ] && [ -n "$port" ] || { cat "$dir/log" >&2; exit 1; }
cp redis-tests/page/{browser,resp}.js redis-tests/page/package.json tests/bench/page.mjs "$dir/"
ln -s "$PWD/build/page/node_modules" "$dir/node_modules"
run() { (cd "$dir" && node page.mjs "$(command -v chromium)" "$http" "$port" "$@"); }
case $what in
open)
    run open 10
    run open "${2:-10000000}"
    ;;
feed) run feed "${2:-60}" "${3:-100}" ;;
*) sed -n '2,6p' "$0" >&2 && exit 2 ;;
esac

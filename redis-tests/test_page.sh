#!/bin/bash
# The page (web/) in a browser: Debian's chromium, driven by puppeteer-core (redis-tests/page). With
# SCREENSHOTS=1 it also writes the pictures of docs/ui.
HTTP=1
RELEASE=1
. "$(dirname "$0")/server.sh"
. "$(dirname "$0")/libraries.sh"

has "the page in a browser" node npm chromium || finish
fetched "puppeteer-core and axe-core" build/page redis-tests/page/package.json fetch_node || finish

home=$scratch/page
cp -r redis-tests/page "$home" && cp -r web "$home/web" || exit 1
ln -s "$PWD/build/page/node_modules" "$home/"
timeout 20 node "$home/units.js" || failures=$((failures + 1))

pictures=()
if [ -n "${SCREENSHOTS:-}" ]; then
    mkdir -p docs/ui && pictures=("$PWD/docs/ui")
fi
start_server
(cd "$home" && exec timeout -k 10 560 node drive.js "$(command -v chromium)" "$http_port" "$port" \
    "${pictures[@]}")
status=$?
[ "$status" -eq 0 ] || failures=$((failures + 1))
[ "$status" -le 1 ] || not_ok "drive.js ends (status $status)"
stop_server
finish

#!/bin/bash
# node-redis and ioredis, newest versions (redis-tests/node/package.json), installed under build/.
. "$(dirname "$0")/server.sh"

home=$PWD/redis-tests/node
installed=$PWD/build/node

# Installs once for each content of package.json; one run at a time.
install() {
    (
        flock -w 120 9 || exit 1
        ! cmp -s "$home/package.json" "$installed/done" || exit 0
        rm -rf "$installed/node_modules"
        cp "$home/package.json" "$installed/" && cd "$installed" &&
            timeout 100 npm install --no-package-lock --no-audit --no-fund --ignore-scripts \
                --fetch-retries 1 --fetch-timeout 20000 &&
            cp "$home/package.json" "$installed/done"
    ) 9>"$installed/lock" >"$scratch/install" 2>&1
}

mkdir -p "$installed"
if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
    skip "node-redis and ioredis" "node and npm are not installed"
    exit 0
fi
if ! install; then
    skip "node-redis and ioredis" \
        "cannot be installed: $(grep -v '^$' "$scratch/install" | tail -n 1)"
    exit 0
fi

start_server
# Node looks for packages beside the script: a copy of it gets them there.
mkdir "$scratch/node" && cp "$home"/*.js "$home/package.json" "$scratch/node/" &&
    ln -s "$installed/node_modules" "$scratch/node/node_modules"
for script in scenario ioredis; do
    for protocol in default 3 2; do
        timeout 60 node "$scratch/node/$script.js" "$port" "$protocol" "protocol $protocol"
        status=$?
        [ "$status" -eq 0 ] || failures=$((failures + 1))
        [ "$status" -le 1 ] || not_ok "$script.js by protocol $protocol ends (status $status)"
    done
done
fixed_port=$port
stop_server

for library in redis ioredis; do
    reconnects "$library: a client object goes on after the server restarts" "$fixed_port" \
        node "$scratch/node/reconnect.js" "$library"
done
finish

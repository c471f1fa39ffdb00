#!/bin/bash
# The helpers for TypeScript (clients/typescript): they compile, each feature over node-redis and ioredis,
# kill -9 of the server under transactions, workers and live views, and the page about them.
export HTTP=1
RELEASE=1 # it is the helpers that are tested here
. "$(dirname "$0")/server.sh"
. "$(dirname "$0")/libraries.sh"
. "$(dirname "$0")/connect.sh"

build_helpers || finish
same "helpers for TypeScript: what is packed" "README.md dist/ package.json" \
    "$(cd "$typescript_home" && npm pack --dry-run --json 2>/dev/null | sed -n 's/^ *"path": "\(dist\/\)*.*"/&/p' |
        sed 's/^ *"path": "//; s/".*//; s/^dist.*/dist\//' | sort -u | paste -sd ' ')"

start_server
cp redis-tests/node/helpers.js "$typescript_home/helpers.mjs"
talk 280 node "$typescript_home/helpers.mjs" "$port" "$PWD/include/tupled.h" "$typescript_home/dist/index.js"

# The page: its blocks are one program. It compiles by the types of both libraries, and prints what the
# comments after console.log say.
page=$typescript_home/page
mkdir "$page"
# shellcheck disable=SC2016
sed -n '/^```ts$/,/^```$/p' clients/typescript/README.md | grep -v '^```' >"$page/as_it_stands.ts"
sed "s/createClient()/createClient({ socket: { port: $port } })/; s/new Redis()/new Redis($port)/" \
    "$page/as_it_stands.ts" >"$page/page.mts"
sed -n 's|^.*console.log(.*; // ||p' "$page/as_it_stands.ts" >"$page/wanted"
check "helpers for TypeScript: the page compiles" env -C "$page" ../node_modules/.bin/tsc --strict --target es2022 \
    --module nodenext --types node --skipLibCheck page.mts
same "helpers for TypeScript: the page says what is printed" "$(cat "$page/wanted")" \
    "$(cd "$page" && timeout 30 node page.mjs 2>&1)"
check "which is something" test "$(wc -l <"$page/wanted")" -ge 8
stop_server
finish

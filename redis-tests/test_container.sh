#!/bin/bash
# The shape of the Containerfile: that what it names is there, and what the image will be like. Building it
# needs a network and a program for that: where both are, `podman build .` says the rest.
. "$(dirname "$0")/server.sh"

# Instructions, one a line, without comments.
sed -e '/^#/d' Containerfile | awk '{ if (sub(/\\$/, "")) printf "%s", $0; else print }' >"$scratch/all"
awk '/^FROM/ { stage++ } stage == 1' "$scratch/all" >"$scratch/build"
awk '/^FROM/ { stage++ } stage == 2' "$scratch/all" >"$scratch/final"
word() { sed -n "s/^$1 //p" "$scratch/final"; }

same "two stages, both Debian 12" "debian:12-slim debian:12-slim" \
    "$(awk '/^FROM/ { print $2 }' "$scratch/all" | tr '\n' ' ' | sed 's/ $//')"
for path in $(awk '$1 == "COPY" && $2 !~ /^--from/ { for (i = 2; i < NF; i++) print $i }' "$scratch/all"); do
    check "$path, which it copies, is there" test -e "$path"
done
for goal in $(grep -ohE 'RUN make [a-z-]+' "$scratch/all" | awk '{ print $3 }'); do
    check "make $goal, which it runs, is a goal" make -n -s "$goal"
done
same "what it builds with is what the Makefile names" "make" \
    "$(sed -n 's/.*apt-get .*install \(.*\)$/\1/p' "$scratch/build" | tr -d ' ')"
same "what is built is what the final stage takes" "/src/build/deb/tupled_*.deb" \
    "$(awk '$1 == "COPY" && $2 == "--from=build" { print $3 }' "$scratch/final")"
same "the final stage has no compiler" "/tmp/tupled_*.deb redis-tools" \
    "$(grep -oE 'install [^&]*' "$scratch/final" | sed 's/^install //; s/ *$//')"
same "it is not run by root" tupled "$(word USER | tail -n 1)"
same "whom the package makes" 1 "$(grep -c 'adduser .* tupled$' debian/tupled.postinst)"
same "the data is a volume" "$(sed -n 's/^STATEDIR ?= //p' Makefile)" "$(word VOLUME)"
same "the port is the server's" "$("$TUPLED_BIN" --help | awk '$1 == "--port" { getline; print $2 }')" "$(word EXPOSE)"
same "it ends by the signal of a clean stop" SIGTERM "$(word STOPSIGNAL)"
check "it looks after its health with redis-cli" grep -q redis-cli <(word HEALTHCHECK)
check "and not as a whole in a shell that swallows the signal" grep -q '^\["/usr/bin/tupled"' <(word ENTRYPOINT)
for ignored in build .git; do
    check "$ignored is not sent to the build" grep -qx "$ignored" .containerignore
done
same "docker ignores the same" "$(cat .containerignore)" "$(cat .dockerignore)"

# The words of ENTRYPOINT, after the path of the settings, are words the server takes.
if command -v redis-cli >/dev/null; then
    mapfile -t words < <(word ENTRYPOINT | grep -oE '"[^"]*"' | tr -d '"' | tail -n +3)
    start_server "${words[@]}"
    same "the server takes them, and the check of health" PONG "$(redis-cli -p "$port" PING)"
    stop_server
else
    skip "the server takes the words" "redis-cli is not installed (package redis-tools)"
fi
finish

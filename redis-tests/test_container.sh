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
default_of() { "$TUPLED_BIN" --help | awk -v name="--$1" '$1 == name { getline; print $2 }'; }
same "the ports are the server's" "$(default_of port) $(default_of http-port)" "$(word EXPOSE)"
same "it ends by the signal of a clean stop" SIGTERM "$(word STOPSIGNAL)"
check "and not as a whole in a shell that swallows the signal" grep -q '^\["/usr/bin/tupled"' <(word ENTRYPOINT)
for ignored in build .git; do
    check "$ignored is not sent to the build" grep -qx "$ignored" .containerignore
done
same "docker ignores the same" "$(cat .containerignore)" "$(cat .dockerignore)"

# The words of ENTRYPOINT, after the path of the settings, are words the server takes, and its health is asked for.
health=$(sed -n 's/.*CMD \["bash", "-c", "\(.*\)"\]$/\1/p' <(word HEALTHCHECK) | sed 's/\\\\/\\/g; s/\\"/"/g')
healthy() { timeout 10 bash -c "${health//127.0.0.1\/4512/127.0.0.1\/$http_port}" 2>"$scratch/health"; }
mapfile -t words < <(word ENTRYPOINT | grep -oE '"[^"]*"' | tr -d '"' | tail -n +3)
export TUPLED_TEST_ANY_HTTP_PORT=1
start_server "${words[@]}"
same "the server takes them" PONG "$(redis-cli -p "$port" PING)"
check "... and is healthy" healthy
stop_server
same "... and not when it is gone" 1 "$(healthy; echo $?)"

# ---- conf/kubernetes.yaml, conf/compose.yaml ----------------------------------------------------------------------

# manifest <file> <expression over docs>: a list of words, one a line.
manifest() {
    python3 -c 'import sys, yaml
docs = list(yaml.safe_load_all(open(sys.argv[1])))
print("\n".join(str(w) for w in eval(sys.argv[2])))' "$1" "$2"
}
# wants_postgresql <word>...: a server that is started so says that PostgreSQL does not answer.
wants_postgresql() {
    local node tries found=1
    "$TUPLED_ASAN_BIN" "$@" --postgresql-url postgresql://tupled@127.0.0.1:1/tupled --port 0 --http-port 0 \
        --dir "$scratch/node" >"$scratch/said" 2>&1 &
    node=$!
    for ((tries = 0; tries < 3000 && found != 0; tries++)); do
        grep -qiE 'postgresql.*(cannot|refused)|refused.*postgresql' "$scratch/said" && found=0
        kill -0 "$node" 2>/dev/null || break
        sleep 0.02
    done
    kill -KILL "$node" 2>/dev/null
    wait "$node" 2>/dev/null
    cat "$scratch/said"
    return "$found"
}
if python3 -c 'import yaml' 2>/dev/null; then
    pod='docs[1]["spec"]["template"]["spec"]'
    mapfile -t words < <(manifest conf/kubernetes.yaml "${pod}['containers'][0]['args']")
    start_server "${words[@]}" --dir "$scratch/data" --log-format text
    same "the server takes the words of conf/kubernetes.yaml" PONG "$(redis-cli -p "$port" PING)"
    for probe in startupProbe livenessProbe readinessProbe; do
        path=$(manifest conf/kubernetes.yaml "[${pod}['containers'][0]['$probe']['httpGet']['path']]")
        same "$probe asks what answers" 200 \
            "$(curl -s -o "$scratch/answer" -w '%{http_code}' "http://127.0.0.1:$http_port$path")"
    done
    stop_server
    same "its program is the image's" "$(word ENTRYPOINT | grep -oE '"[^"]*"' | head -n 1 | tr -d '"')" \
        "$(manifest conf/kubernetes.yaml "[${pod}['containers'][0]['command'][0]]")"
    same "the data is where the image has it" "$(word VOLUME)" \
        "$(manifest conf/kubernetes.yaml "[m['mountPath'] for m in ${pod}['containers'][0]['volumeMounts'] if m['name'] == 'data']")"
    same "three nodes, each with a name and an address of its own" "node1 node1:6379 node2 node2:6379 node3 node3:6379" \
        "$(manifest conf/compose.yaml "[s['command'][s['command'].index(w) + 1] for n, s in sorted(docs[0]['services'].items()) if n != 'postgresql' for w in ('--node-name', '--node-address')]" | tr '\n' ' ' | sed 's/ $//')"
    for n in 1 2 3; do
        mapfile -t words < <(manifest conf/compose.yaml "docs[0]['services']['node$n']['command']")
        check "node$n's words are taken: what it lacks is PostgreSQL" wants_postgresql "${words[@]}"
    done
else
    skip "conf/kubernetes.yaml and conf/compose.yaml" "python3-yaml is not installed"
fi
finish

# Sourced after server.sh: client libraries for tests, in the versions that files of this folder name, in
# build/. Each function ends with 0 when the library can be used; else it has printed why.
#
#   install_python  redis-py: $python is an interpreter that has it
#   install_mypy    $mypy is mypy, beside redis-py
#   install_node    node-redis and ioredis: they are found from $node_home, a copy of redis-tests/node
#   install_ecosystem_node    what redis-tests/ecosystem/package.json names: it is found from
#                   $ecosystem_home, a copy of that folder
#   install_gui_node  what redis-tests/gui/package.json names: it is found from $gui_home, a copy of that folder
#   install_ecosystem_python  what its requirements.txt names: $ecosystem_python is an interpreter
#                   that has it
#   install_ecosystem_python_few  likewise what requirements_few.txt there names, for $ecosystem_python_few
#   install_jobs_python  likewise what redis-tests/jobs/requirements.txt names, for $jobs_python; requirements_arq.txt,
#                   for $arq_python: arq cannot do with the others' redis-py
#   build_helpers   the helpers for TypeScript (clients/typescript), compiled into $typescript_home
#   build_go        go-redis and rueidis: the words of $go_tls start redis-tests/go; those of $go_sentinel its program
#                   for Sentinel, of $go_cache that for rueidis's cache
#   build_rust      redis-rs: likewise $rust_tls
#   build_java      Jedis and Lettuce: likewise $java_tls; its first argument is jedis or lettuce; so of $java_sentinel
#                   and of $java_cache
#
# What cannot be fetched is skipped; what then cannot be compiled is a failure. The tools keep what they
# fetch where they always do.

python=$PWD/build/python/env/bin/python
mypy=$PWD/build/mypy/env/bin/mypy
node_home=$scratch/node
ecosystem_home=$scratch/ecosystem
gui_home=$scratch/gui
ecosystem_python=$PWD/build/ecosystem-python/env/bin/python
ecosystem_python_few=$PWD/build/ecosystem-python-few/env/bin/python
jobs_python=$PWD/build/jobs-python/env/bin/python
arq_python=$PWD/build/arq-python/env/bin/python
typescript_home=$scratch/typescript
go_tls=("$PWD/build/clients/go/tls")
go_sentinel=("$PWD/build/clients/go/sentinel-client")
go_cache=("$PWD/build/clients/go/cache-client")
rust_tls=("$PWD/build/clients/rust/target/debug/tls")
java_tls=(java -cp "$PWD/build/clients/java/lib/*:$PWD/build/clients/java/classes" Tls)
java_sentinel=("${java_tls[@]::3}" Sentinel)
java_cache=("${java_tls[@]::3}" Cache)

# has <name> <tool>...
has() {
    local name=$1 tool
    shift
    for tool in "$@"; do
        command -v "$tool" >/dev/null || { skip "$name" "$tool is not installed"; return 1; }
    done
}

# fetched <name> <directory> <file> <function>: calls it in the directory, once for each content of the
# file, which names the versions; one at a time.
fetched() {
    local name=$1 to=$PWD/$2 file=$PWD/$3 make=$4 why
    mkdir -p "$to"
    (
        flock -w 400 9 || exit 1
        ! cmp -s "$file" "$to/done" || exit 0
        cp "$file" "$to/" && cd "$to" && "$make" "${file##*/}" && cp "$file" done
    ) 9>"$to/lock" >"$scratch/fetched" 2>&1 && return 0
    why=$(grep -v '^[^a-zA-Z]*$' "$scratch/fetched" | tail -n 1)
    skip "$name" "cannot be installed: ${why:-that took too long}"
    return 1
}

# compiled <name> <directory> <sources> <command>...
compiled() {
    local name=$1 to=$PWD/$2 from=$PWD/$3
    shift 3
    (flock -w 400 9 && cp -r "$from/." "$to" && cd "$to" && timeout 400 "$@") \
        9>"$to/lock" >"$scratch/compiled" 2>&1 && return 0
    not_ok "$name: the test can be compiled"
    tail -n 30 "$scratch/compiled"
    return 1
}

install_python() {
    has redis-py python3 &&
        fetched redis-py build/python redis-tests/python/requirements.txt fetch_python
}

fetch_python() { # file, pip's argument...
    rm -rf env
    python3 -m venv env &&
        timeout 100 env/bin/pip install -q --disable-pip-version-check --no-input --timeout 10 \
            --retries 1 -r "$@"
}

fetch_python_few() { # most of what is fetched is not imported: to compile it would take longer
    fetch_python "$1" --no-deps --no-compile
}

install_mypy() {
    has mypy python3 && fetched mypy build/mypy redis-tests/python/mypy.txt fetch_python
}

# Node looks for packages beside the script: a copy of it gets them there.
install_node() {
    has "node-redis and ioredis" node npm &&
        fetched "node-redis and ioredis" build/node redis-tests/node/package.json fetch_node &&
        cp -r redis-tests/node "$node_home" && ln -s "$PWD/build/node/node_modules" "$node_home/"
}

fetch_node() {
    rm -rf node_modules
    timeout 100 npm install --no-package-lock --no-audit --no-fund --ignore-scripts \
        --fetch-retries 1 --fetch-timeout 20000
}

has_node_20() { # name
    has "$1" node npm || return 1
    node -e 'process.exit(parseInt(process.version.slice(1)) < 20 ? 1 : 0)' ||
        { skip "$1" "Node is older than 20"; return 1; }
}

install_ecosystem_node() {
    has_node_20 "libraries of npm" || return 1
    fetched "libraries of npm" build/ecosystem-node redis-tests/ecosystem/package.json \
        fetch_node &&
        cp redis-tests/steps.mjs "$scratch/" && cp -r redis-tests/ecosystem "$ecosystem_home" &&
        ln -s "$PWD/build/ecosystem-node/node_modules" "$ecosystem_home/"
}

install_gui_node() {
    has_node_20 "GUIs of npm" &&
        fetched "GUIs of npm" build/gui-node redis-tests/gui/package.json fetch_node &&
        cp redis-tests/steps.mjs "$scratch/" && cp -r redis-tests/gui "$gui_home" &&
        ln -s "$PWD/build/gui-node/node_modules" "$gui_home/"
}

install_ecosystem_python() {
    has "libraries of PyPI" python3 &&
        fetched "libraries of PyPI" build/ecosystem-python redis-tests/ecosystem/requirements.txt \
            fetch_python
}

install_ecosystem_python_few() {
    has "scrapy-redis and redis-om" python3 &&
        fetched "scrapy-redis and redis-om" build/ecosystem-python-few \
            redis-tests/ecosystem/requirements_few.txt fetch_python_few
}

install_jobs_python() {
    has "job queues of PyPI" python3 &&
        fetched "job queues of PyPI" build/jobs-python redis-tests/jobs/requirements.txt fetch_python &&
        fetched arq build/arq-python redis-tests/jobs/requirements_arq.txt fetch_python
}

build_helpers() {
    has "helpers for TypeScript" node npm &&
        fetched "helpers for TypeScript" build/typescript clients/typescript/package.json fetch_node &&
        mkdir "$typescript_home" &&
        cp -r clients/typescript/{package.json,tsconfig.json,README.md,src} "$typescript_home" &&
        ln -s "$PWD/build/typescript/node_modules" "$typescript_home/" &&
        check "helpers for TypeScript: they compile" env -C "$typescript_home" node_modules/.bin/tsc &&
        [ -f "$typescript_home/dist/index.js" ]
}

build_go() {
    local name="go-redis and rueidis"
    has "$name" go && fetched "$name" build/clients/go redis-tests/go/go.mod fetch_go &&
        compiled "$name" build/clients/go redis-tests/go sh -c 'go build -mod=mod -p 2 -o tls . &&
            go build -mod=mod -p 2 -o sentinel-client ./sentinel && go build -mod=mod -p 2 -o cache-client ./cache'
}

fetch_go() {
    printf 'package main\n\nimport (\n\t_ "github.com/redis/go-redis/v9"\n\t_ "github.com/redis/rueidis"\n)\n\nfunc main() {}\n' >main.go
    timeout 200 go list -mod=mod -deps . >/dev/null
}

build_rust() {
    has redis-rs cargo && fetched redis-rs build/clients/rust redis-tests/rust/Cargo.toml fetch_rust &&
        compiled redis-rs build/clients/rust redis-tests/rust cargo build -q -j 2
}

fetch_rust() {
    mkdir -p src && touch src/main.rs && timeout 200 cargo fetch -q
}

build_java() {
    has "Jedis and Lettuce" java javac mvn &&
        fetched "Jedis and Lettuce" build/clients/java redis-tests/java/pom.xml fetch_java &&
        compiled "Jedis and Lettuce" build/clients/java redis-tests/java javac -cp 'lib/*' -d classes Tls.java Sentinel.java Cache.java
}

fetch_java() {
    rm -rf lib
    timeout 200 mvn -B -q dependency:copy-dependencies -DoutputDirectory=lib
}

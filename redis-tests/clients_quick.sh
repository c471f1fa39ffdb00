#!/bin/bash
# The quick starts whose languages `make test` does not use (docs/quick-*.md): each page is a program that prints what the page
# says. `make clients` runs it; those of Python, Node and C are run by test_run_examples.sh.
export HTTP=1 RELEASE=1 # it is the pages that are tested here
. "$(dirname "$0")/server.sh"
. redis-tests/libraries.sh
. redis-tests/pages.sh

if ! command -v redis-cli >/dev/null; then
    skip "quick starts" "redis-cli is not installed (package redis-tools)"
    exit 0
fi

run_go() {
    mkdir "$scratch/go" && cp redis-tests/go/go.mod "$scratch/go/"
    page docs/quick-go.md go // "$scratch/go/main.go" env -C "$scratch/go" timeout 300 go run -mod=mod
}

run_java() {
    page docs/quick-java.md java // "$scratch/Quick.java" timeout 300 java -cp "$PWD/build/clients/java/lib/*"
}

fetch_quick() {
    mkdir -p src && echo 'fn main() {}' >src/main.rs && timeout 200 cargo fetch -q
}

cargo_run() { # the file is where cargo looks for it
    (cd build/clients/rust_quick && timeout 550 cargo run -q -j 2)
}

run_rust() {
    page docs/quick-rust.md rust // "$PWD/build/clients/rust_quick/src/main.rs" cargo_run
}

fetch_csharp() {
    DOTNET_CLI_TELEMETRY_OPTOUT=1 timeout 200 dotnet restore -v quiet
}

dotnet_run() { # the file is where dotnet looks for it
    DOTNET_CLI_TELEMETRY_OPTOUT=1 timeout 200 dotnet run --no-restore --project build/clients/csharp
}

run_csharp() {
    page docs/quick-csharp.md csharp // "$PWD/build/clients/csharp/Quick.cs" dotnet_run
}

start_server
! build_go || run_go
! build_java || run_java
! { has redis-rs cargo && fetched redis-rs build/clients/rust_quick redis-tests/rust_quick/Cargo.toml fetch_quick; } || run_rust
! { has StackExchange.Redis dotnet && fetched StackExchange.Redis build/clients/csharp redis-tests/csharp/quick.csproj fetch_csharp; } ||
    run_csharp
if ! has redis-rb ruby; then
    :
elif ! ruby -e 'require "redis"' 2>/dev/null; then
    skip redis-rb "it is not installed (package ruby-redis)"
else
    page docs/quick-ruby.md ruby '#' "$scratch/quick.rb" timeout 100 ruby
fi
if ! has phpredis php; then
    :
elif ! php -m | grep -qx redis; then
    skip phpredis "it is not installed (package php-redis)"
else
    page docs/quick-php.md php '#' "$scratch/quick.php" timeout 100 php
fi
stop_server
finish

# Sourced by the benchmarks: what they measure is the release, and not what `make run` and `make test` build.
# shellcheck shell=bash
if [ "$(cat build/kind 2>/dev/null)" != release ]; then
    echo "bench: build/tupled is not the release; build it: make bench-build" >&2
    exit 2
fi

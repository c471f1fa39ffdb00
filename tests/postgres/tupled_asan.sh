#!/bin/bash
PG_REAL="$(dirname "$0")/../../build/asan/tupled" exec "$(dirname "$0")/tupled.sh" "$@"
